"""SLSA provenance: which files a release has, from which spec and inputs, and by which program they were made.

It is an in-toto statement about the same files as the record, which is one too and is signed; this one is not.

Source: SLSA 1.0, provenance; in-toto attestation framework, statement 1.
"""

from typing import Any, Final

from deniable.catalogues.cyclonedx import purl
from deniable.catalogues.described import PROGRAM, Described

_STATEMENT: Final = "https://in-toto.io/Statement/v1"
_PREDICATE: Final = "https://slsa.dev/provenance/v1"
_BUILD: Final = "urn:deniable:slsa:release:1"


def slsa(release: Described) -> dict[str, Any]:
    """The provenance of a release's files."""
    code, environment = release.record["code"], release.record["environment"]
    commit = {} if code["commit"] is None else {"gitCommit": code["commit"]}
    inputs: list[dict[str, Any]] = [
        # Nobody without the release key can compare the table with this digest.
        {"name": "confidential table", "digest": {"hmacSha256": release.record["input"]["commitment"]}},
        {
            "name": PROGRAM.lower(),
            "uri": purl(PROGRAM.lower(), release.version),
            "digest": {"modulesSha256": code["package"], **commit},
        },
        *({"name": name, "uri": purl(name, version)} for name, version in environment["packages"].items()),
    ]
    if environment["requirements"] is not None:
        inputs.append({"name": "requirements", "digest": {"sha256": environment["requirements"]}})
    return {
        "_type": _STATEMENT,
        "subject": [_file(release, name, digest) for name, digest in release.digests.items()],
        "predicateType": _PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": _BUILD,
                "externalParameters": {"spec": release.record["spec"]["document"]},
                "internalParameters": {"python": environment["python"], "machine": environment["machine"]},
                "resolvedDependencies": inputs,
            },
            "runDetails": {
                "builder": {
                    "id": f"urn:deniable:signer:{release.record['signed']['keyid']}",
                    "version": {PROGRAM.lower(): release.version},
                },
                "metadata": {"invocationId": release.name, "finishedOn": release.signed},
                "byproducts": [{"name": "record.dsse.json", "digest": {"sha256": release.record_digest}}],
            },
        },
    }


def _file(release: Described, name: str, digest: str) -> dict[str, Any]:
    """A file of the release; one with the table says what its records are, and what is guaranteed."""
    about = {"description": release.text, "guarantee": release.guarantee}
    is_table = name in {str(each["path"]) for each in release.tables}
    return {"name": name, "digest": {"sha256": digest}, **({"annotations": about} if is_table else {})}
