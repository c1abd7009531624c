"""RO-Crate 1.2, for archives: the folder, its files, and the action that made them.

Source: RO-Crate Metadata Specification 1.2; Process Run Crate 0.5.
"""

from typing import Any, Final

from deniable.catalogues.described import PROGRAM, Described
from deniable.catalogues.schema_org import schema_org

_SPECIFICATION: Final = "https://w3id.org/ro/crate/1.2"
_PROCESS: Final = "https://w3id.org/ro/wfrun/process/0.5"
_UNNAMED_LICENCE: Final = "The publisher has stated no licence."


def ro_crate(release: Described) -> dict[str, Any]:
    """The metadata of the folder as a crate: `ro-crate-metadata.json`."""
    base = schema_org(release)
    sizes = {each["path"]: each for each in release.tables}
    files: list[dict[str, Any]] = []
    for name, digest in sorted({**release.digests, "record.dsse.json": release.record_digest}.items()):
        file: dict[str, Any] = {"@id": name, "@type": "File", "name": name, "sha256": digest}
        if name in sizes:
            file |= {"contentSize": str(sizes[name]["bytes"]), "encodingFormat": sizes[name]["mediatype"]}
        files.append(file)
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": {"@id": _PROCESS},
        "identifier": release.identifier,
        "name": base["name"],
        "description": base["description"],
        "datePublished": release.published,
        "keywords": ", ".join(release.keywords),
        "license": {"@id": release.licence} if release.licence else _UNNAMED_LICENCE,
        "hasPart": [{"@id": file["@id"]} for file in files],
        "mentions": [{"@id": "#release"}],
    }
    entities: list[dict[str, Any]] = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": _SPECIFICATION},
        },
        root,
        *files,
        {
            "@id": "#release",
            "@type": "CreateAction",
            "name": f"Release {release.name}",
            "description": release.guarantee,
            "endTime": release.signed,
            "instrument": {"@id": "#program"},
            "result": [{"@id": file["@id"]} for file in files],
        },
        {
            "@id": "#program",
            "@type": "SoftwareApplication",
            "name": PROGRAM,
            "softwareVersion": release.version,
            "identifier": f"sha256:{release.record['code']['package']}",
        },
        {"@id": _PROCESS, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
    ]
    if release.licence:
        entities.append({"@id": release.licence, "@type": "CreativeWork", "name": str(release.said["licence"])})
    if publisher := release.said.get("publisher"):
        address = publisher.get("url") or "#publisher"
        root["publisher"] = {"@id": address}
        entities.append({"@id": address, "@type": "Organization", "name": publisher["name"]})
    return {"@context": f"{_SPECIFICATION}/context", "@graph": entities}
