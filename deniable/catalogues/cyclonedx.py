"""A bill of materials: the program and the libraries that determined a release's bytes.

The versions are those of the signed record. Licences and files of libraries are not in it.

Source: CycloneDX 1.6.
"""

from typing import Any, Final

from deniable.catalogues.described import PROGRAM, Described
from deniable.catalogues.lineage_events import run_id

_SPECIFICATION: Final = "1.6"
_PROGRAM_REF: Final = "program"


def cyclonedx(release: Described) -> dict[str, Any]:
    """The bill of materials of a release."""
    code, environment = release.record["code"], release.record["environment"]
    libraries = [
        {
            "type": "library",
            "bom-ref": purl(name, version),
            "name": name,
            "version": version,
            "purl": purl(name, version),
        }
        for name, version in environment["packages"].items()
        if name.lower() != PROGRAM.lower()
    ]
    program = {
        "type": "application",
        "bom-ref": _PROGRAM_REF,
        "name": PROGRAM.lower(),
        "version": release.version,
        "purl": purl(PROGRAM.lower(), release.version),
        "properties": _properties(
            {
                "modules_sha256": code["package"],
                "commit": code["commit"],
                "uncommitted_changes": code["dirty"],
                "requirements_sha256": environment["requirements"],
            }
        ),
    }
    python = {
        "type": "platform",
        "bom-ref": "python",
        "name": str(environment["implementation"]),
        "version": str(environment["python"]),
        "properties": _properties({"platform": environment["platform"], "machine": environment["machine"]}),
    }
    components = [program, python, *libraries]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": _SPECIFICATION,
        "serialNumber": f"urn:uuid:{run_id(release.record_digest, 'bill of materials')}",
        "version": 1,
        "metadata": {
            "timestamp": release.signed,
            "component": {
                "type": "data",
                "bom-ref": release.name,
                "name": release.name,
                "version": release.published,
                "description": release.text,
                "properties": _properties({"record_sha256": release.record_digest}),
            },
        },
        "components": components,
        "dependencies": [
            {"ref": release.name, "dependsOn": [_PROGRAM_REF]},
            {"ref": _PROGRAM_REF, "dependsOn": [str(each["bom-ref"]) for each in components[1:]]},
        ],
    }


def purl(name: str, version: str) -> str:
    """The package URL of a library on the Python Package Index, by the rules of purl for the type pypi."""
    return f"pkg:pypi/{name.lower().replace('_', '-')}@{version.replace('+', '%2B')}"


def _properties(values: dict[str, Any]) -> list[dict[str, str]]:
    """Facts that the format has no field for; what is not known is left out."""
    stated = {name: str(value).lower() if isinstance(value, bool) else value for name, value in values.items()}
    return [{"name": f"deniable:{name}", "value": str(value)} for name, value in stated.items() if value is not None]
