"""Answers questions about a release that publishes no noisy tables, from the other documents in its folder."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.errors import Refused
from deniable.inference.conditions import Labels
from deniable.inference.others.asking import OtherRelease
from deniable.inference.others.flows import FlowsInference
from deniable.inference.others.prefixes import PrefixInference
from deniable.inference.others.responses import SurveyInference
from deniable.inference.others.sets import ReleasedSetsInference
from deniable.learners.multinomial_sets.plan import FORMAT as SETS
from deniable.learners.multinomial_sets.plan import plan_of as sets_plan
from deniable.learners.origin_destination.plan import FORMAT as FLOWS
from deniable.learners.origin_destination.plan import plan_of as flows_plan
from deniable.local.responses import support_counts
from deniable.local.survey import Survey, rows_of
from deniable.privacy.urn_costs import UNIT

URNS = "urns.json"
SEEDS = "seeds.json"
NOTHING = "nothing can be inferred from it but what PRIVACY.md states of errors"

Document = Mapping[str, Any]
Codes = Callable[[], NDArray[np.int64]]


def drawn_release(
    spec: Document, domain: Domain, urns: Document, codes: Codes, people: int | None, labels: Labels
) -> OtherRelease:
    """A release whose records were drawn from exact counts.

    Args:
        spec: the spec's document, from the record.
        domain: the public domain.
        urns: `urns.json`.
        codes: reads the released records, shape (records, m).
        people: number of people, if the user states it.
        labels: what values stand for.

    Raises:
        Refused: the distribution of its records is not public.
    """
    if urns["format"] == SETS:
        found = codes()
        plan = sets_plan({name: urns[name] for name in ("sets", "shared", "epsilon")}, domain, len(found))
        counts = np.zeros(prod(domain.cardinalities), np.int64)
        np.add.at(counts, np.ravel_multi_index(tuple(found.T), domain.cardinalities), 1)
        return ReleasedSetsInference(
            domain,
            counts.reshape(domain.cardinalities),
            trials=plan.draws,
            urns=plan.urns,
            prior=plan.prior / UNIT,
            people=people if people is not None else urns["people"],
            kept=_kept(spec),
            labels=labels,
        )
    if urns["format"] == FLOWS:
        return _flows(spec, domain, urns, codes, labels)
    raise Refused(
        "the records of this release were drawn one by one from exact counts that are not released, by a law that "
        f"depends on all of them; {NOTHING}."
    )


def _flows(spec: Document, domain: Domain, urns: Document, codes: Codes, labels: Labels) -> FlowsInference:
    asked = spec["learner"]
    plan = flows_plan(asked, domain)
    if plan.kept is not None or plan.accept_reject:
        raise Refused(
            "the draws of this release depend on origins that stayed in the domain, or were rejected, neither of which "
            f"is published; {NOTHING}."
        )
    places = domain.index(urns["destination"]), domain.index(urns["origin"])
    origin, found = domain.attributes[places[1]], codes()
    drawn = np.bincount(found[:, places[0]], minlength=plan.destinations).tolist()
    areas = np.asarray(origin.bucket_of if asked["coarsen"] else range(origin.cardinality))
    added = np.zeros(plan.origins, np.int64)
    public = urns.get("prior_workers", {})
    np.add.at(added, areas, [public.get(str(value), 0) for value in origin.values])
    scale = None if asked["totals"] is not None else 1 / float(Fraction(asked["totals_epsilon"]))
    return FlowsInference(
        domain,
        found,
        places=places,
        areas=areas,
        added=added.tolist(),
        prior=[] if plan.delta else [plan.prior(number, number) / UNIT for number in drawn],
        prior_of=(lambda place, workers: plan.prior(workers, drawn[place]) / UNIT) if plan.delta else None,
        workers=[urn["workers"] for urn in urns["urns"]],
        scale=scale,
        kept=_kept(spec),
        labels=labels,
    )


def _kept(spec: Document) -> float:
    """The probability that a row is in the part from which records were drawn.

    Raises:
        Refused: the spec states no split, so the probability is unknown.
    """
    split = spec.get("split")
    if not split:
        raise Refused(
            "the record's spec must state the split for estimates, and has none: how many rows the records were drawn "
            "from is not known."
        )
    return float(Fraction(split["shared"] if "shared" in split else split["parameters"]))


def histogram_release(record: Document, domain: Domain, seeds: Document, labels: Labels) -> OtherRelease:
    """A release whose seeds come from a noisy histogram.

    Args:
        record: the record's predicate.
        domain: the public domain.
        seeds: `seeds.json`.
        labels: what values stand for.
    """
    events = [event for step in record["cost"]["steps"] for event in step["events"]]
    [event] = [event for event in events if event["mechanism"] == "stability_histogram"]
    columns = domain.subset(seeds["attributes"])
    code_of = [{value: code for code, value in enumerate(domain.attributes[i].values)} for i in columns]
    cells = [[own[value] for own, value in zip(code_of, cell, strict=True)] for cell in seeds["cells"]]
    return PrefixInference(
        domain,
        columns,
        np.asarray(cells, np.int64).reshape(len(cells), len(columns)),
        np.asarray(seeds["counts"], np.int64),
        scale=float(Fraction(event["scale"])),
        threshold=event["threshold"],
        labels=labels,
    )


def survey_release(survey: Survey, responses: list[dict[str, str]]) -> OtherRelease:
    """A survey with its responses.

    Args:
        survey: the survey.
        responses: each respondent's response to each question, by name.
    """
    rows = rows_of(survey, responses)
    return SurveyInference(survey, support_counts(survey, rows), len(rows))
