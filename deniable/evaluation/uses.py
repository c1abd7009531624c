"""What a release is good for: the uses that people make of records, and the public rules by which each is judged.

A use is judged by one figure, which says how far the release is off beyond what chance gives real records. It is `good`
if the whole 95% interval of the figure is up to one bound, to be used `with caution` if it is up to another, and not to
be used if the interval is beyond that. If the interval decides none of these, the use is not judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from deniable.evaluation.contract import Scope, Value

Grade: TypeAlias = Literal["good", "with caution", "do not"]

GRADES: Final[tuple[Grade, ...]] = ("do not", "with caution", "good")
"""The grades; the number of each is its place, so that a larger one is better."""

_SIGMAS: Final = 1.96


@dataclass(frozen=True, kw_only=True)
class Use:
    """A use of the records.

    Attributes:
        name: its name in the names of figures.
        words: the use, in words.
        figure: the figure that decides; None if it is the accuracy lost by a classifier of the spec.
        unit: what the figure counts, in words.
        good: largest figure of a good release.
        usable: largest figure of a release that is to be used with caution.
        caution: a sentence for data users, where the release is to be used with caution.
        refusal: a sentence for data users, where it is not to be used.
    """

    name: str
    words: str
    figure: str | None
    unit: str
    good: float
    usable: float
    caution: str
    refusal: str

    def figure_in(self, scope: Scope) -> str:
        """The figure that decides."""
        if self.figure is not None:
            return self.figure
        classifier = "forest" if "forest" in scope.classifiers else scope.classifiers[0]
        return f"accuracy_loss_{classifier}"

    def advice(self, grade: Grade) -> str:
        """The sentence for data users."""
        return {"good": "", "with caution": self.caution, "do not": self.refusal}[grade]

    def grade(self, value: Value) -> Grade | None:
        """The grade for a figure; None if its interval does not decide.

        Args:
            value: the figure, with its standard error.
        """
        if value.error is None:
            return None
        reach = _SIGMAS * value.error
        if value.value + reach <= self.good:
            return "good"
        if value.value + reach <= self.usable:
            return "with caution"
        return "do not" if value.value - reach > self.usable else None


GROUPS: Final = Use(
    name="groups",
    words="shares within groups",
    figure="group_gap_worst",
    unit="distance",
    good=0.05,
    usable=0.15,
    caution="Compare groups of many people only.",
    refusal="Do not compare groups; shares within them are off.",
)

ATTRIBUTES: Final = Use(
    name="attributes",
    words="shares of each single attribute",
    figure="tvd_1way_beyond_worst",
    unit="distance, the worst attribute",
    good=0.05,
    usable=0.15,
    caution="Check an attribute in the report before you state its shares.",
    refusal="Do not use the attributes that are off in the report.",
)

ANALYSES: Final = Use(
    name="analyses",
    words="regressions, means by group and medians",
    figure="analysis_gap_worst",
    unit="standard deviations",
    good=0.05,
    usable=0.15,
    caution="Check the analysis in the report before you rely on it.",
    refusal="Do not report the analyses that are off in the report.",
)

USES: Final = (
    Use(
        name="shares",
        words="shares of one attribute",
        figure="tvd_1way_beyond",
        unit="distance",
        good=0.02,
        usable=0.05,
        caution="State shares of single attributes in whole percents.",
        refusal="Do not state shares of single attributes.",
    ),
    ATTRIBUTES,
    Use(
        name="tables",
        words="cross-tables of two attributes",
        figure="tvd_2way_beyond",
        unit="distance",
        good=0.03,
        usable=0.08,
        caution="Read large cells of a cross-table only.",
        refusal="Do not cross-tabulate; tables of two attributes are off.",
    ),
    GROUPS,
    Use(
        name="means",
        words="means",
        figure="mean_gap_worst",
        unit="standard deviations",
        good=0.05,
        usable=0.15,
        caution="Say with every mean that it is of synthetic records.",
        refusal="Do not report means of numbers.",
    ),
    Use(
        name="totals",
        words="totals of amounts",
        figure="amount_mean_gap_worst",
        unit="share of the total",
        good=0.05,
        usable=0.15,
        caution="State totals of amounts to one digit.",
        refusal="Do not state totals of amounts.",
    ),
    Use(
        name="quantiles",
        words="medians and other quantiles",
        figure="quantile_gap_worst",
        unit="cumulative share",
        good=0.03,
        usable=0.08,
        caution="Report medians, not top shares.",
        refusal="Report neither medians nor top shares.",
    ),
    Use(
        name="tails",
        words="large amounts",
        figure="amount_upper_gap_worst",
        unit="share of the upper hundredth",
        good=0.1,
        usable=0.3,
        caution="Do not single out the largest amounts.",
        refusal="Do not study large amounts; the upper hundredth is off.",
    ),
    Use(
        name="correlations",
        words="correlations and simple regressions",
        figure="correlation_gap_worst",
        unit="correlation",
        good=0.05,
        usable=0.15,
        caution="Report the sign of a slope, not its size.",
        refusal="Do not interpret slopes; associations of numbers are off.",
    ),
    ANALYSES,
    Use(
        name="classification",
        words="classification of the target",
        figure=None,
        unit="accuracy lost",
        good=0.02,
        usable=0.05,
        caution="Expect models to lose some accuracy on real records.",
        refusal="Use these records to try code, not to train models.",
    ),
    Use(
        name="rare",
        words="rare values",
        figure="rare_values_lost",
        unit="share of them lost",
        good=0.1,
        usable=0.3,
        caution="A value that does not occur may exist.",
        refusal="Do not study rare values; many are lost.",
    ),
)


def judged(values: Mapping[str, Value], scope: Scope) -> dict[str, Grade | None]:
    """The grade of each use whose figure was measured, by the name of the use; None if it is not decided.

    Args:
        values: the measured figures.
        scope: what the evaluation covers.
    """
    found = {use.name: values.get(use.figure_in(scope)) for use in USES}
    return {use.name: use.grade(value) for use in USES if (value := found[use.name]) is not None}
