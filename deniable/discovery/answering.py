"""The mechanism of discovery: noisy counts of the values that occur, and of a public grid of numbers.

**Claim.** Let each record have at most one value in each requested column, and let tables be neighbouring if one is
the other with a record added or removed. For a column of categories, let h(v) be the number of records with value v;
the set of all (v, h(v) + Z_v) with h(v) > 0 and h(v) + Z_v >= tau is released, for independent discrete Laplace noise
of scale 1 / epsilon_c. For a column of numbers, the counts of all buckets of a data-independent grid are released,
each with independent noise of scale 4 / (3 epsilon_c), and so are the counts of the numbers by their decimals, with
noise of scale 4 / epsilon_c. Then all answers together are (epsilon, delta)-differentially private, with epsilon = m
epsilon_c for m columns, and delta = k p for k columns of categories and p = Pr[1 + Z >= tau].

**Derivation.** Values of categories: Theorem B of deniable.samplers.histogram_seeds.noisy_histogram, with the value in
place of the prefix. The set of possible values need not be known or finite: a value that no record has is released
with probability 0, and a value that only one record has with probability at most p. Whether a text counts as a value
or, say, as a code for missing, is decided for each record alone, so that such records are simply not in the histogram.
Grid: a record is in one bucket, so that one of the counts changes by 1; discrete Laplace noise of scale s then costs 1
/ s (Ghosh, Roughgarden, Sundararajan 2009), and every bucket is released, empty or not, so no delta is needed: 3/4
epsilon_c for the range, 1/4 epsilon_c for the decimals. The answers have independent noise, so costs are summed over
columns (basic composition). A record without a value in a column does not affect that column's answer.

Noise is assigned to values in the order of their bytes, and to all buckets, so that the release does not depend on the
order of the records. Everything else (proposals, ranges and schema) is a function of the release.

If one record per person is used, the guarantee is for a person (deniable.privacy.one_person). A discovery uses one,
even where releases use several: more would need more noise, and a value of many people is found by one each.

Source: Korolova, Kenthapadi, Mishra, Ntoulas 2009; Bun, Nissim, Stemmer 2016 (thresholds on noisy counts).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.discovery.answers import Answer, Answers, RangeAnswer, ValuesAnswer
from deniable.discovery.number_grid import BUCKETS, MOST_DECIMALS, place_of
from deniable.discovery.plan import DiscoveryPlan, Question
from deniable.foundation.keys import StreamOpener
from deniable.foundation.noise import DiscreteLaplace

if TYPE_CHECKING:
    from deniable.foundation.keys import Parameter


def answers(plan: DiscoveryPlan, counts: Mapping[str, Mapping[str, int]], open_stream: StreamOpener) -> Answers:
    """Answer the questions of a plan that has been charged.

    Args:
        plan: the plan.
        counts: for each column, the number of records with each text that is neither missing nor unusable;
            confidential.
        open_stream: opens the streams of this step, under keyed digests of the counted data.
    """
    made: list[Answer] = []
    for question in plan.questions:
        found = counts[question.column]
        if question.kind == "values":
            made.append(_values(plan, question, found, open_stream))
        else:
            made.append(_range(plan, question, found, open_stream))
    return Answers(plan=plan, answers=tuple(made))


def _values(
    plan: DiscoveryPlan, question: Question, counts: Mapping[str, int], open_stream: StreamOpener
) -> ValuesAnswer:
    """The values whose noisy counts reach the threshold."""
    occurring = sorted((value for value, count in counts.items() if count > 0), key=str.encode)
    parameters: dict[str, Parameter] = {
        "column": question.column,
        "epsilon": plan.epsilon_per_column,
        "threshold": plan.threshold,
        "missing": list(question.missing),
    }
    law = DiscreteLaplace(1 / plan.epsilon_per_column)
    noise = law.sample(open_stream(mechanism="values", parameters=parameters), len(occurring))
    noisy = np.array([counts[value] for value in occurring], np.int64) + noise
    found = zip(occurring, noisy.tolist(), strict=True)
    return ValuesAnswer(question.column, tuple(each for each in found if each[1] >= plan.threshold))


def _range(
    plan: DiscoveryPlan, question: Question, counts: Mapping[str, int], open_stream: StreamOpener
) -> RangeAnswer:
    """Noisy counts of all buckets of the grid, and of numbers by their decimals."""
    buckets, decimals = np.zeros(BUCKETS, np.int64), np.zeros(MOST_DECIMALS + 1, np.int64)
    for text, count in counts.items():
        if (place := place_of(text)) is not None:
            buckets[place[0]] += count
            decimals[place[1]] += count

    def noisy(exact: NDArray[np.int64], what: str, law: DiscreteLaplace) -> tuple[int, ...]:
        parameters: dict[str, Parameter] = {
            "column": question.column,
            "scale": law.scale,
            "missing": list(question.missing),
        }
        noise = law.sample(open_stream(mechanism=what, parameters=parameters), len(exact))
        return tuple((exact + noise).tolist())

    return RangeAnswer(
        question.column,
        noisy(buckets, "grid", DiscreteLaplace(1 / plan.epsilon_range)),
        noisy(decimals, "decimals", DiscreteLaplace(1 / plan.epsilon_decimals)),
    )
