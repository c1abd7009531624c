"""DCAT-AP 3, as JSON-LD, for data portals.

Source: W3C, Data Catalog Vocabulary 3; SEMIC, DCAT-AP 3.0.1.
"""

from typing import Any, Final

from deniable.catalogues.described import PROGRAM, Described

_CONTEXT: Final = {
    "adms": "http://www.w3.org/ns/adms#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "prov": "http://www.w3.org/ns/prov#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_MEDIA: Final = "https://www.iana.org/assignments/media-types/"
_PUBLIC: Final = "http://publications.europa.eu/resource/authority/access-right/PUBLIC"
_DATES: Final = {4: "xsd:gYear", 7: "xsd:gYearMonth", 10: "xsd:date"}
"""The type of a time, by the length of its text."""


def dcat(release: Described) -> dict[str, Any]:
    """A release as a dcat:Dataset with a distribution for each file of the table."""
    said, language = release.said, str(release.said.get("language") or "en")
    found: dict[str, Any] = {
        "@id": release.identifier,
        "@type": "dcat:Dataset",
        "dct:identifier": release.name,
        "dct:title": _text(release.title, language),
        "dct:description": _text(f"{release.text} {release.guarantee}", language),
        "dct:issued": _time(release.published),
        "dct:accessRights": {"@id": _PUBLIC, "@type": "dct:RightsStatement"},
        "dct:provenance": {
            "@type": "dct:ProvenanceStatement",
            "rdfs:label": _text(f"Made by {PROGRAM} {release.version}. Signed record: {_record(release)}", "en"),
        },
        "dcat:keyword": [_text(word, "en") for word in release.keywords],
        "dcat:version": release.name,
        "dcat:distribution": [_distribution(release, each) for each in release.tables],
    }
    if previous := said.get("supersedes"):
        found["dct:replaces"] = {"@id": f"urn:deniable:release:{previous}"}
    if publisher := said.get("publisher"):
        found["dct:publisher"] = {"@type": "foaf:Agent", "foaf:name": _text(publisher["name"], language)}
        if publisher.get("url"):
            found["dct:publisher"]["foaf:homepage"] = {"@id": publisher["url"], "@type": "foaf:Document"}
    if curator := said.get("curator"):
        found["dcat:contactPoint"] = {"@type": "vcard:Kind", "vcard:fn": curator["name"]}
        if curator.get("email"):
            found["dcat:contactPoint"]["vcard:hasEmail"] = {"@id": f"mailto:{curator['email']}"}
    if release.period:
        first, last = release.period
        period = {"@type": "dct:PeriodOfTime", "dcat:startDate": _time(first), "dcat:endDate": _time(last)}
        found["dct:temporal"] = period
    if said.get("region"):
        found["dct:spatial"] = {"@type": "dct:Location", "skos:prefLabel": _text(said["region"], language)}
    return {"@context": _CONTEXT, **found}


def _distribution(release: Described, file: Any) -> dict[str, Any]:
    place = release.place(file["path"])
    address = place if release.address else f"{release.identifier}:{file['path']}"
    found: dict[str, Any] = {
        "@type": "dcat:Distribution",
        "dct:title": _text(file["path"], "en"),
        "dcat:accessURL": {"@id": release.address or address, "@type": "rdfs:Resource"},
        "dcat:downloadURL": {"@id": address, "@type": "rdfs:Resource"},
        "dcat:mediaType": {"@id": _MEDIA + file["mediatype"], "@type": "dct:MediaType"},
        "dcat:byteSize": {"@value": str(file["bytes"]), "@type": "xsd:nonNegativeInteger"},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256", "@type": "spdx:ChecksumAlgorithm"},
            "spdx:checksumValue": {"@value": file["sha256"], "@type": "xsd:hexBinary"},
        },
    }
    if release.licence:
        found["dct:license"] = {"@id": release.licence, "@type": "dct:LicenseDocument"}
    return found


def _record(release: Described) -> str:
    return f"{release.place('record.dsse.json')}, SHA-256 {release.record_digest}"


def _text(text: str, language: str) -> dict[str, str]:
    return {"@value": text, "@language": language}


def _time(text: str) -> dict[str, str]:
    return {"@value": text, "@type": _DATES[len(text)]}
