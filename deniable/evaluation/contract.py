"""The contract of metrics: what the module of a metric declares, as METRIC, and that of an attack, as ATTACK.

Reports, thresholds, MLflow, comparisons and pages read what is declared here, and none of them takes the name of a
figure apart. How to add a metric: docs/developer/adding-a-metric.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeAlias, TypeVar

Kind: TypeAlias = Literal["utility", "risk"]
Table: TypeAlias = Literal["released", "holdout", "training", "baseline"]
"""The released records, real records that were not used, real records that were, and independent attributes."""
Each: TypeAlias = Literal["", "attribute"]
Better: TypeAlias = Literal["low", "high", "near", "neither"]
Knowledge: TypeAlias = Literal["nothing", "some attributes", "all attributes"]
Target: TypeAlias = Literal["presence", "identity", "an attribute"]

CLASSIFIERS: Final = {
    "tree": "decision tree",
    "forest": "random forest",
    "adaboost": "AdaBoost",
    "logistic": "logistic regression",
    "svm": "support vector machine",
}
"""The classifiers that a spec may name, in words."""

BESIDE: Final[tuple[Table, Table]] = ("training", "baseline")
"""The tables that are measured as the release is, and shown beside it."""

E = TypeVar("E")


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What a release's evaluation covers, from which its figures follow.

    Attributes:
        classifiers: names of the classifiers.
        sensitive: names of the attributes that an intruder infers.
        kinds: what is measured.
        beside: the tables that are measured beside the release.
        analyses: the analyses that the spec declares, in words.
        commutes: whether two attributes are places, between which distances are compared.
    """

    classifiers: tuple[str, ...] = tuple(CLASSIFIERS)
    sensitive: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ("utility", "risk")
    beside: tuple[Table, ...] = BESIDE
    analyses: tuple[str, ...] = ()
    commutes: bool = False


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What a figure is; its metric measures it.

    Attributes:
        name: its name in thresholds, in MLflow and in comparisons: lower-case letters, digits and `_`.
        better: which values are better: low or high ones, those near the value by chance, or neither.
        words: what it is, for the first table of the report and for comparisons; without words, it is only listed.
        summary: what it is, after its value in the summary of a release; without words, it is not in the summary.
        chance: its value by chance or without skill, or the name of the figure that has this value.
        beside: names of the figures in the two columns beside it, if there are any: for utility those of real and of
            independent records, for risk those of people used and of people not used.
        each: what it summarizes, if the worst of these are named beside it.
        has_error: whether it is measured with a standard error.
        may_be_bounded: whether a spec may set a threshold for it.
        is_count: whether it is a number of records.
        is_listed: whether MLflow's list of releases has a column for it.
        audience: who may see it; a figure measured on real records without noise is internal.
    """

    name: str
    better: Better
    words: str = ""
    summary: str = ""
    chance: float | str = 0.0
    beside: tuple[str | None, str | None] = (None, None)
    each: Each = ""
    has_error: bool = True
    may_be_bounded: bool = True
    is_count: bool = False
    is_listed: bool = False
    audience: Literal["internal", "public"] = "internal"


@dataclass(frozen=True)
class Value:
    """A measured figure.

    Attributes:
        value: the figure.
        error: its standard error; None if it is not known.
        summarizes: the values of which it is a summary, for plots; one for each attribute, in order, if the figure
            says that it summarizes attributes.
        errors: the standard errors of these values, as far as they are known.
        beside: further values for each of these, by name, for pages.
        texts: texts for each of these, by name, for pages.
    """

    value: float
    error: float | None = None
    summarizes: Sequence[float] = ()
    errors: Sequence[float] = ()
    beside: Mapping[str, Sequence[float]] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Metric(Generic[E]):
    """Figures that are measured together.

    Attributes:
        figures: declares them for the scope of a release, in the order in which they are listed.
        measure: measures them by name, given what is known of the tables; it may leave out what cannot be measured.
        needs: the tables without which nothing is measured.
        kind: what the figures are about.
    """

    figures: Callable[[Scope], Iterable[Figure]]
    measure: Callable[[E], Mapping[str, Value]]
    needs: frozenset[Table] = frozenset({"released", "holdout"})
    kind: Kind = "utility"


@dataclass(frozen=True, kw_only=True)
class Derived:
    """Figures that follow from others.

    Attributes:
        figures: declares them, as those of a metric.
        derive: computes them by name, given the measured figures and the scope.
    """

    figures: Callable[[Scope], Iterable[Figure]]
    derive: Callable[[Mapping[str, Value], Scope], Mapping[str, Value]]


@dataclass(frozen=True, kw_only=True)
class Attack(Metric[E]):
    """A metric of risk: an adversary attacks people whose records were used, and a control group.

    Attributes:
        knows: what the adversary knows about a person, besides the released records.
        seeks: what the adversary seeks to find out about a person.
        control: the people, or the guesses, that show what succeeds without the release's use of a record.
    """

    knows: Knowledge
    seeks: Target
    control: str = "people not used"
    needs: frozenset[Table] = frozenset({"released", "training", "holdout"})
    kind: Kind = "risk"


def name_for(table: Table, figure: str) -> str:
    """The name of a figure for a table; the release's has no addition.

    Args:
        table: the table.
        figure: the name of the release's figure.
    """
    return figure if table == "released" else f"{figure}_{table}"


def names_beside(figure: str, scope: Scope) -> tuple[str | None, str | None]:
    """The names of the figures beside a figure, for the tables that are measured as the release is."""
    real, independent = (name_for(table, figure) if table in scope.beside else None for table in BESIDE)
    return real, independent
