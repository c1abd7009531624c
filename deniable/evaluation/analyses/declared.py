"""What an analysis of a table is: a regression, means by group, or a quantile, of an attribute or of a condition.

An analysis is declared in a spec, or made from the kinds of a table's attributes. It knows its estimates by name
without any record: those of a regression are the coefficients of numbers and of indicators of all values of another
attribute but the first, as `deniable data infer regress` has them. Estimation does not belong here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal, TypeAlias

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput

Kind: TypeAlias = Literal["regression", "mean", "quantile"]

MOST_COEFFICIENTS: Final = 40
"""The largest number of coefficients of a regression, the constant included."""
MOST_GROUPS: Final = 200
"""The largest number of groups."""
MOST_MADE: Final = 10
"""The number of analyses that are made for a table without declared ones, at most."""

_FEW_VALUES: Final = 12
_NUMBERS, _CATEGORIES = 4, 2


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """An analysis.

    Attributes:
        kind: a linear regression with a constant, means, or a quantile.
        outcome: the attribute that is explained or averaged, or whose quantile is estimated.
        value: the value of the outcome whose indicator is taken in its place; None for a number itself.
        terms: the attributes that explain the outcome of a regression.
        by: the attribute whose values are groups; None for all records together.
        at: the share of records up to the quantile.
    """

    kind: Kind
    outcome: str
    value: str | None = None
    terms: tuple[str, ...] = ()
    by: str | None = None
    at: float = 0.5

    @property
    def outcome_in_words(self) -> str:
        """The outcome, as it is written in a spec."""
        return self.outcome if self.value is None else f"{self.outcome}={self.value}"

    @property
    def words(self) -> str:
        """The analysis, in words."""
        if self.kind == "regression":
            return f"regression of {self.outcome_in_words} on {', '.join(self.terms)}"
        what = "median" if self.at == 0.5 else f"{self.at:g} quantile"
        told = f"{what} of {self.outcome}" if self.kind == "quantile" else f"mean of {self.outcome_in_words}"
        if self.value is not None:
            told = f"share with {self.outcome_in_words}"
        return told if self.by is None else f"{told} by {self.by}"

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes that it needs together, the outcome first."""
        return (self.outcome, *self.terms, *([] if self.by is None else [self.by]))

    def estimates(self, domain: Domain) -> tuple[str, ...]:
        """The names of its estimates: coefficients without the constant, or groups.

        Args:
            domain: the table's, which has all attributes.
        """
        if self.kind == "regression":
            terms = [_attribute(domain, name) for name in self.terms]
            return tuple(name for term in terms for name in _columns(term))
        if self.by is None:
            return ("all records",)
        return tuple(str(value) for value in _attribute(domain, self.by).values)

    def require_in(self, domain: Domain) -> None:
        """Require that a table has what the analysis needs.

        Args:
            domain: the table's.

        Raises:
            InvalidInput: an attribute is unknown, of the wrong kind or named twice, a value is unknown, or there would
                be too many estimates.
        """
        for name in self.attributes:
            if name not in domain.names:
                near = get_close_matches(name, domain.names, 1)
                hint = f"did you mean {near[0]}?" if near else f"name one of {', '.join(domain.names)}."
                raise InvalidInput(f"an analysis must be of attributes of the dataset, got {name}; {hint}")
        if len(set(self.attributes)) < len(self.attributes):
            raise InvalidInput(f"an analysis must name each attribute once, got the {self.words}; leave one out.")
        outcome = _attribute(domain, self.outcome)
        if self.value is None and outcome.kind != "numeric":
            raise InvalidInput(
                f"the outcome of the {self.words} must be numeric, and {self.outcome} is {outcome.kind}; name a number"
                + ("." if self.kind == "quantile" else f", or one of its values: {self.outcome}={outcome.values[-1]}.")
            )
        if self.value is not None and self.value not in map(str, outcome.values):
            raise InvalidInput(f"the outcome of the {self.words} must be a value of {self.outcome}; correct the value.")
        found, most = len(self.estimates(domain)), MOST_GROUPS
        if self.kind == "regression":
            found, most = found + 1, MOST_COEFFICIENTS
        if found > most:
            raise InvalidInput(
                f"the {self.words} must have at most {most} estimates, got {found:,}; leave out attributes with "
                "many values."
            )


def regression(written: str) -> Analysis:
    """Read a regression, such as `income ~ age + sex` or `employed=yes ~ age`.

    Args:
        written: the outcome, `~`, and the attributes that explain it, separated by `+`.

    Raises:
        InvalidInput: it is written otherwise.
    """
    outcome, tilde, right = (part.strip() for part in written.partition("~"))
    terms = tuple(term.strip() for term in right.split("+"))
    if not (outcome and tilde and all(terms)):
        raise InvalidInput(
            f"a regression must be written as an outcome, ~ and attributes separated by +, got {written!r}; write for "
            "example income ~ age + sex."
        )
    name, value = _outcome(outcome)
    return Analysis(kind="regression", outcome=name, value=value, terms=terms)


def means(written: str, by: str | None) -> Analysis:
    """Read means of a number, or shares of records with a value, such as `hours` or `employed=yes`.

    Args:
        written: the number, or the value.
        by: the attribute whose values are groups; None for all records.
    """
    name, value = _outcome(written.strip())
    return Analysis(kind="mean", outcome=name, value=value, by=by)


def quantile(written: str, at: float, by: str | None) -> Analysis:
    """Read a quantile.

    Args:
        written: the number.
        at: the share of records up to it.
        by: the attribute whose values are groups; None for all records.
    """
    return Analysis(kind="quantile", outcome=written.strip(), at=at, by=by)


def made_for(domain: Domain) -> tuple[Analysis, ...]:
    """The analyses of a table whose spec declares none, from the kinds of its attributes and its target.

    Numbers are explained by other numbers and by attributes with few values, and so is the target; their means and
    medians are by the first attribute with few values.

    Args:
        domain: the table's.

    Returns:
        At most `MOST_MADE` analyses; none if the table has too few attributes.
    """
    numbers = [each for each in domain.attributes if each.kind == "numeric" and each.cardinality > 1]
    few = [each for each in domain.attributes if each.kind != "numeric" and 1 < each.cardinality <= _FEW_VALUES]
    numbers.sort(key=lambda each: each.name != domain.target)
    made = [*_regressions(domain, numbers[:_NUMBERS], few), *_by_group(numbers[: _NUMBERS - 1], few)]
    return tuple(made[:MOST_MADE])


def _regressions(domain: Domain, numbers: Sequence[Attribute], few: Sequence[Attribute]) -> Iterator[Analysis]:
    target = next((each for each in few if each.name == domain.target), None)
    outcomes: list[tuple[str, str | None]] = [(each.name, None) for each in numbers]
    if target is not None:
        outcomes.insert(0, (target.name, str(target.values[-1])))
    for name, value in outcomes[:_NUMBERS]:
        others = [each.name for each in numbers if each.name != name][:_CATEGORIES]
        others += [each.name for each in few if each.name != name][:_CATEGORIES]
        if others:
            yield Analysis(kind="regression", outcome=name, value=value, terms=tuple(others))


def _by_group(numbers: Sequence[Attribute], few: Sequence[Attribute]) -> Iterator[Analysis]:
    by = few[0].name if few else None
    yield from (Analysis(kind="mean", outcome=each.name, by=by) for each in numbers)
    yield from (Analysis(kind="quantile", outcome=each.name, by=by) for each in numbers)
    if not numbers and len(few) > 1:
        yield Analysis(kind="mean", outcome=few[-1].name, value=str(few[-1].values[-1]), by=by)


def _outcome(written: str) -> tuple[str, str | None]:
    name, sign, value = written.partition("=")
    return (name.strip(), value.strip()) if sign else (written, None)


def _attribute(domain: Domain, name: str) -> Attribute:
    return domain.attributes[domain.index(name)]


def _columns(attribute: Attribute) -> list[str]:
    """The columns by which an attribute enters a regression."""
    if attribute.kind == "numeric":
        return [attribute.name]
    return [f"{attribute.name}={value}" for value in attribute.values[1:]]
