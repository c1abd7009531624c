"""Croissant 1.0 with its vocabulary for responsible AI, for machine learning.

Source: MLCommons, Croissant Format Specification 1.0, and Croissant RAI Specification 1.0.
"""

from typing import Any, Final

from deniable.catalogues.described import Described, type_of
from deniable.catalogues.schema_org import schema_org

_TYPES: Final = {"boolean": "sc:Boolean", "integer": "sc:Integer", "number": "sc:Float", "string": "sc:Text"}
_CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TABLE: Final = "synthetic.csv"


def croissant(release: Described) -> dict[str, Any]:
    """A release as a Croissant dataset, whose record set is the table."""
    base, said = schema_org(release), release.said
    kept = ("name", "description", "datePublished", "keywords", "license", "publisher", "creator", "inLanguage", "url")
    found: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **{name: base[name] for name in kept if name in base},
        # A version must be one of three numbers; a release has a time.
        "version": "1.0.0",
        "citeAs": f"{release.title}. Release {release.name}, {release.published}. "
        f"Record: sha256:{release.record_digest}.",
        "distribution": [_file(release, each["path"], each["mediatype"], each["sha256"]) for each in release.tables],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "records",
                "name": "records",
                "description": f"{release.records:,} synthetic records.",
                "field": [_field(each) for each in release.fields],
            }
        ],
        "rai:dataCollection": "Drawn by the steps that record.dsse.json, the signed record, states.",
        "rai:dataManipulationProtocol": release.guarantee,
        "rai:personalSensitiveInformation": "None of real people: the records are made up.",
        "rai:dataLimitations": " ".join(map(str, release.statement.get("not_covered", ()))),
    }
    found["distribution"].append(
        _file(release, "record.dsse.json", "application/json", release.record_digest, "The signed record.")
    )
    if said.get("purpose"):
        found["rai:dataUseCases"] = said["purpose"]
    if said.get("not_for"):
        found["rai:dataSocialImpact"] = f"Not meant for: {said['not_for']}"
    return found


def _file(release: Described, path: str, media: str, digest: str, text: str = "") -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        **({"description": text} if text else {}),
        "contentUrl": release.place(path),
        "encodingFormat": media,
        "sha256": digest,
    }


def _field(field: Any) -> dict[str, Any]:
    name = field["name"]
    return {
        "@type": "cr:Field",
        "@id": f"records/{name}",
        "name": name,
        **({"description": field["title"]} if field.get("title") else {}),
        "dataType": type_of(field, _TYPES),
        "source": {"fileObject": {"@id": _TABLE}, "extract": {"column": name}},
    }
