"""schema.org's Dataset, as JSON-LD, which search engines read from a page's head.

Source: schema.org/Dataset; Google's guide to structured data of datasets.
"""

from typing import Any

from deniable.catalogues.described import PROGRAM, Described, codes_of


def schema_org(release: Described) -> dict[str, Any]:
    """A release as a schema.org Dataset."""
    said = release.said
    found: dict[str, Any] = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "@id": release.identifier,
        "identifier": release.name,
        "name": release.title,
        "description": f"{release.text} {release.guarantee}",
        "datePublished": release.published,
        "version": release.name,
        "keywords": list(release.keywords),
        "isAccessibleForFree": True,
        "variableMeasured": [_variable(field) for field in release.fields],
        "measurementTechnique": f"synthetic records, {PROGRAM} {release.version}",
        "distribution": [
            {
                "@type": "DataDownload",
                "name": each["path"],
                "contentUrl": release.place(each["path"]),
                "encodingFormat": each["mediatype"],
                "contentSize": f"{each['bytes']} B",
                "sha256": each["sha256"],
            }
            for each in release.tables
        ],
    }
    if release.address:
        found["url"] = release.address
    if release.licence:
        found["license"] = release.licence
    if publisher := said.get("publisher"):
        organisation = {"@type": "Organization", "name": publisher["name"]}
        if publisher.get("url"):
            organisation["url"] = publisher["url"]
        found["publisher"] = found["creator"] = organisation
    if curator := said.get("curator"):
        found["maintainer"] = {"@type": "Person", "name": curator["name"]}
        if curator.get("email"):
            found["maintainer"]["email"] = curator["email"]
    if release.period:
        first, last = release.period
        found["temporalCoverage"] = first if first == last else f"{first}/{last}"
    stated = {"spatialCoverage": "region", "inLanguage": "language", "usageInfo": "conditions"}
    found |= {ours: said[theirs] for ours, theirs in stated.items() if said.get(theirs)}
    return found


def _variable(field: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"@type": "PropertyValue", "name": field["name"]}
    if field.get("title"):
        found["description"] = field["title"]
    limits = field.get("constraints", {})
    for ours, theirs in (("minValue", "minimum"), ("maxValue", "maximum")):
        if theirs in limits:
            found[ours] = limits[theirs]
    labels = [f"{code}: {label}" if label else code for code, label in codes_of(field)]
    if labels:
        found["valueReference"] = labels
    return found
