"""W3C PROV, as PROV-JSON: the steps of a release, what they used and what they generated.

Source: W3C, PROV-DM; the PROV-JSON serialization (member submission 2013).
"""

from typing import Any

from deniable.catalogues.described import PROGRAM, Described

_PREFIX = "deniable"


def prov(release: Described) -> dict[str, Any]:
    """The record's lineage as a PROV document."""
    entities: dict[str, Any] = {}
    activities: dict[str, Any] = {}
    used: dict[str, Any] = {}
    generated: dict[str, Any] = {}
    associated: dict[str, Any] = {}

    def entity(item: Any) -> str:
        digest = str(item.get("digest") or item.get("sha256"))
        name = f"{_PREFIX}:{item['name']}-{digest[:16]}"
        entities[name] = {
            "prov:label": item["name"],
            f"{_PREFIX}:digest": digest,
            f"{_PREFIX}:audience": item["audience"],
        }
        return name

    for number, step in release.steps():
        activity = f"{_PREFIX}:step-{number}"
        activities[activity] = {"prov:label": step["step"], "prov:type": {"$": "deniable:step", "type": "xsd:QName"}}
        if (cost := step["cost"]) is None:
            activities[activity][f"{_PREFIX}:guarantee"] = "none"
        else:
            activities[activity] |= {
                f"{_PREFIX}:{name}": {"$": repr(float(cost[name])), "type": "xsd:double"}
                for name in ("epsilon", "delta")
            }
        for item in step["inputs"]:
            used[f"_:used{len(used)}"] = {"prov:activity": activity, "prov:entity": entity(item)}
        for item in [*step["outputs"], *step["artifacts"]]:
            generated[f"_:generated{len(generated)}"] = {"prov:activity": activity, "prov:entity": entity(item)}
        associated[f"_:by{number}"] = {"prov:activity": activity, "prov:agent": f"{_PREFIX}:program"}
    agents: dict[str, Any] = {
        f"{_PREFIX}:program": {
            "prov:type": {"$": "prov:SoftwareAgent", "type": "xsd:QName"},
            "prov:label": f"{PROGRAM} {release.version}",
            f"{_PREFIX}:code": release.record["code"]["package"],
        }
    }
    folder = f"{_PREFIX}:{release.name}"
    entities[folder] = {
        "prov:label": release.title,
        "prov:type": {"$": "prov:Collection", "type": "xsd:QName"},
        f"{_PREFIX}:record": release.record_digest,
    }
    members: dict[str, Any] = {}
    for name, digest in release.digests.items():
        file = f"{_PREFIX}:file-{digest[:16]}"
        entities[file] = {"prov:label": name, f"{_PREFIX}:sha256": digest}
        members[f"_:member{len(members)}"] = {"prov:collection": folder, "prov:entity": file}
    document: dict[str, Any] = {
        "prefix": {_PREFIX: "urn:deniable:prov:", "xsd": "http://www.w3.org/2001/XMLSchema#"},
        "entity": entities,
        "activity": activities,
        "agent": agents,
        "used": used,
        "wasGeneratedBy": generated,
        "wasAssociatedWith": associated,
        "hadMember": members,
    }
    if publisher := release.said.get("publisher"):
        agents[f"{_PREFIX}:publisher"] = {
            "prov:type": {"$": "prov:Organization", "type": "xsd:QName"},
            "prov:label": publisher["name"],
        }
        document["wasAttributedTo"] = {"_:publisher": {"prov:entity": folder, "prov:agent": f"{_PREFIX}:publisher"}}
    return document
