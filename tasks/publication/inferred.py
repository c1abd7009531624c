"""What the noisy counts of a release say about the analyses of its spec, for the report.

Questions and answers are those of `deniable data infer`: what a reviewer compares is what anybody can ask.
"""

import json
from math import isfinite

from deniable.evaluation.analyses.declared import Analysis
from deniable.foundation.domain import Domain
from deniable.foundation.errors import DeniableError, Refused
from deniable.inference.answers import Answer, Asked
from deniable.inference.estimation import Inference
from deniable.inference.quantiles import quantile
from deniable.inference.regression import regress
from deniable.inference.system import NotMeasured
from deniable.measurements.document import Measurements
from deniable.measurements.estimates import probability_of
from reports.figures.analyses import Inferred
from schemas.references import Reference
from schemas.spec.release_spec import ReleaseSpec
from stores.own_files import read_own

_MOST_GROUPS = 12


def inferred_analyses(spec: ReleaseSpec, measured: Reference) -> tuple[Inferred, ...]:
    """Answer the analyses of a spec from noisy counts.

    Args:
        spec: the release's spec.
        measured: the noisy counts.

    Returns:
        For each analysis, the intervals of its estimates, or why there are none.
    """
    domain = spec.domain
    known = Measurements.from_document(domain.modelled, json.loads(read_own(measured.path)))
    try:
        inference = Inference(known, probability=probability_of(known, spec.split.probabilities))
    except (Refused, NotMeasured) as refusal:
        return tuple(Inferred({}, str(refusal)) for _ in spec.analyses)
    return tuple(_inferred(inference, analysis, domain) for analysis in spec.analyses)


def _inferred(inference: Inference, analysis: Analysis, domain: Domain) -> Inferred:
    names = analysis.estimates(domain)
    try:
        if analysis.kind == "regression":
            found = regress(inference, analysis.outcome_in_words, analysis.terms, Asked()).answers[1:]
        else:
            groups = _groups(inference, analysis)
            if len(groups) != len(names):
                return Inferred({}, f"values of {analysis.by} were counted in buckets.")
            if len(groups) > _MOST_GROUPS:
                return Inferred({}, f"they are for at most {_MOST_GROUPS} groups; ask for each of the others.")
            found = tuple(_answer(inference, analysis, given) for given in groups)
    except NotMeasured:
        return Inferred({}, f"{' and '.join(analysis.attributes)} were not counted together.")
    except DeniableError as refusal:
        return Inferred({}, str(refusal))
    if len(found) != len(names):
        return Inferred({}, "values were counted in buckets, and the regression is on these.")
    intervals = {
        name: (answer.estimate, answer.interval.low, answer.interval.high)
        for name, answer in zip(names, found, strict=True)
        if answer.interval is not None and not answer.has_bounds and isfinite(answer.estimate)
    }
    return Inferred(intervals, "" if intervals else "the counts only bound the estimates.")


def _answer(inference: Inference, analysis: Analysis, given: str) -> Answer:
    """The answer for one group."""
    if analysis.kind == "quantile":
        return quantile(inference, analysis.outcome, analysis.at, given, Asked())
    if analysis.value is not None:
        return inference.share(analysis.outcome_in_words, given, Asked())
    return inference.mean(analysis.outcome, given, Asked())


def _groups(inference: Inference, analysis: Analysis) -> tuple[str, ...]:
    """The condition of each group."""
    if analysis.by is None:
        return ("",)
    words = inference.conditions
    j = words.attribute(analysis.by)
    return tuple(words.named(j, codes) for codes in inference.groups(j))
