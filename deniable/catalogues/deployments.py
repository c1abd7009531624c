"""An entry for the public registry of deployments of differential privacy, as YAML of the kind that JSON is.

What a release does not state, the entry leaves empty: the region and the intended use are the publisher's to say.

Source: the registry's JSON schema of deployments.
"""

from collections.abc import Iterator
from typing import Any, Final

from deniable.catalogues.described import PROGRAM, Described

_UNSTATED: Final = "Not stated."


def deployment(release: Described) -> dict[str, Any]:
    """A release as an entry of the registry, tier 3, as a draft."""
    statement, said, total = release.statement, release.said, release.total
    publisher = (said.get("publisher") or {}).get("name", _UNSTATED)
    epsilon, delta = total or (None, None)
    variant = "Custom" if total is None else "Approximate DP" if delta else "Pure DP"
    return {
        "url_slug": release.name.lower().replace("_", "-"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": release.title,
                "data_curators": [publisher],
                "intended_use": said.get("purpose") or _UNSTATED,
                "data_product_type": "Synthetic data",
                "data_product_region": said.get("region") or _UNSTATED,
                "description": release.text,
                "publication_date": release.published,
                **({"data_product_sector": said["sector"]} if said.get("sector") else {}),
            },
            "dp_variant": {
                "variant_name": variant,
                "data_domain": _domain(release),
                "unprotected_quantities": " ".join(_unprotected(statement)),
            },
            "privacy_loss": {
                "privacy_unit": statement["privacy_unit"],
                "privacy_unit_details": f"Two tables are neighbours if {statement['neighbouring_relation']}.",
                "privacy_parameters": {} if total is None else {"epsilon": epsilon, "delta": delta},
                "privacy_parameters_details": release.guarantee,
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": statement["trust_model"],
                "actors": f"{statement['trust_model']}. Adversary: {statement['adversary']}.",
                "release_type": "Many releases" if release.record["release"].get("previous") else "One release",
                "release_type_details": _so_far(statement),
                "data_source_type": "Static",
                "data_source_type_details": f"Period of the data: {said.get('period') or 'not stated'}.",
                "access_type": "Non-interactive",
                "access_type_details": "The records and the model are published as files.",
            },
            "accounting": {
                "post_processing": "The model is fitted to noisy counts, and records are drawn from it and chosen. The "
                "confidential table is read again only in the steps of the signed record that state so.",
                "composition": "; ".join(
                    f"{step['step']}: epsilon {step['epsilon']:.4g}, delta {step['delta']:.3g}, by {step['accountant']}"
                    for step in statement.get("steps", ())
                    if "epsilon" in step
                )
                or _UNSTATED,
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": " ".join(
                    [
                        "Schema and parameters are public, and are not chosen by looking at the records.",
                        *(f"Left out: {rule}." for rule in (statement.get("rows_left_out") or {}).get("rules", ())),
                    ]
                ),
                "mechanisms": _mechanisms(release),
                "justification": str(said.get("legal_basis") or _UNSTATED),
            },
            "administrative": {
                "sources": release.address or f"The folder of release {release.name}.",
                "notes": f"The signed record has SHA-256 {release.record_digest}.",
                "registry_authors": [(said.get("curator") or {}).get("name", publisher)],
            },
        },
    }


def _domain(release: Described) -> str:
    names = ", ".join(field["name"] for field in release.fields)
    return f"Tables of any number of records with the attributes {names}; schema.json lists their values."


def _unprotected(statement: Any) -> Iterator[str]:
    yield "Whether and when the release was published:"
    yield from map(str, (statement.get("publication") or {}).get("tells", ()))


def _mechanisms(release: Described) -> str:
    events = [event for step in release.statement.get("steps", ()) for event in step["events"]]
    names = sorted({str(event["mechanism"]).replace("_", " ") for event in events}) or ["none"]
    said = f"{', '.join(names)}, by {PROGRAM} {release.version}."
    return f"{said} All random numbers are drawn in integers." if release.total else said


def _so_far(statement: Any) -> str:
    so_far = statement.get("dataset_so_far")
    if not so_far or "epsilon" not in so_far:
        return "The signed record has the ledger's entries."
    return (
        f"{so_far['releases']} of this dataset so far, epsilon {so_far['epsilon']:.4g} and delta {so_far['delta']:.3g} "
        "together, in a ledger that charges a release before noise is drawn."
    )
