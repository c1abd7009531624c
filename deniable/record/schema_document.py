"""The public domain of a release as a document: `schema.json`; `Domain.from_document` reads it."""

from collections.abc import Mapping
from typing import Any

from deniable.foundation.domain import Domain


def describe_domain(
    domain: Domain, titles: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Return the domain as a document: the attributes in column order, with their kinds, values and buckets.

    For an attribute with bins, the document has the step of its numbers, and the last number of each bin.
    It includes the rules and the public totals of the table, and how people are distinguished, if there are any.
    """
    rules, totals = [rule.document() for rule in domain.rules], [total.document() for total in domain.totals]
    known: dict[str, Any] = ({"rules": rules} if rules else {}) | ({"totals": totals} if totals else {})
    if domain.person is not None:
        known["person"] = domain.person.document()
    return {
        "target": domain.target,
        "attributes": [
            {
                "name": attribute.name,
                "title": titles.get(attribute.name, ""),
                "kind": attribute.kind,
                **({} if attribute.bins is None else {"step": attribute.bins.step}),
                **({} if attribute.missing is None else {"missing": attribute.missing}),
                **({"type": "boolean"} if attribute.is_boolean else {}),
                "values": [
                    {"value": value, "label": labels.get(attribute.name, {}).get(str(value), ""), "bucket": bucket}
                    | ({} if attribute.bins is None else {"last": attribute.bins.last[code]})
                    for code, (value, bucket) in enumerate(zip(attribute.values, attribute.buckets, strict=True))
                ],
            }
            for attribute in domain.attributes
        ],
        **known,
    }
