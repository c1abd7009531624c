"""What a release is good for: the first table of the report, with the rules by which each use is judged.

Nothing is measured here: grades follow from figures by the rules of `deniable.evaluation.uses`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from deniable.evaluation.contract import Value
from deniable.evaluation.derived.verdict import ESSENTIAL, Overall, undecided, verdict_of
from deniable.evaluation.metrics import compared_records, groups, marginal_distances, subsample
from deniable.evaluation.uses import ATTRIBUTES, GRADES, GROUPS, USES, Grade, Use
from reports.figures.marginals import DescribedTable
from reports.figures.numbers import guessed
from reports.figures.value_groups import label_of
from reports.pages.attack_rows import AttackRow
from reports.pages.headline_figures import Estimate, reach_of
from reports.pages.pages import Card
from schemas.spec.accounts import Accounts
from schemas.spec.evaluation import EvaluationFigures, errors_of
from schemas.spec.release_spec import ReleaseSpec

_SIGMAS: Final = 1.96
_WORST: Final = GRADES[0]

UNDECIDED: Final = "not decided"
"""The verdict if the interval of a figure is too wide for any other."""

_SHOWN_GROUPS: Final = 8
_NAMED_ATTACKS, _NAMED_ATTRIBUTES = 2, 3
_MANY_TIMES, _ROUNDING = 20, 1e-9
_CERTAIN, _LITTLE = "An attack succeeds", "An attack finds something"
_TONES: Final[Mapping[Grade | None, str]] = {"good": "met", "with caution": "open", "do not": "missed", None: "open"}
_MARKS: Final[Mapping[Grade | None, str]] = {"good": "✓", "with caution": "!", "do not": "✗", None: "○"}


@dataclass(frozen=True)
class JudgedUse:
    """A use, and how it is judged.

    Attributes:
        use: the use, with its rule.
        figure: the name of the figure that decides.
        value: the figure.
        grade: the grade; None if the figure's interval does not decide.
        advice: a sentence for data users, if there is anything to say.
    """

    use: Use
    figure: str
    value: Estimate
    grade: Grade | None
    advice: str

    @property
    def is_beyond_usable(self) -> bool:
        """Whether the error itself is more than is usable, whether or not that is certain."""
        return self.value.value > self.use.usable

    @property
    def why_undecided(self) -> str:
        """What leaves the use undecided, and what would decide it."""
        value, reach = self.value.value, self.value.reach
        said = f"It is not decided whether it may be used for {self.use.words}"
        if not reach:
            return f"{said}: the error has no interval."
        low, high = max(value - reach, 0), value + reach
        said = f"{said}: its error is from {low:.2g} to {high:.2g}, and usable up to {self.use.usable:g}."
        times = (reach / max(abs(value - self.use.usable), reach / (2 * _MANY_TIMES))) ** 2
        records = f"about {ceil(times - _ROUNDING)} times as many" if times <= _MANY_TIMES else "many more"
        epsilon = "; a larger epsilon would make the error smaller" if value > self.use.good else ""
        return f"{said} To decide it, hold out and release {records} records{epsilon}."

    @property
    def verdict(self) -> str:
        """The grade in words."""
        return self.grade or UNDECIDED

    @property
    def tone(self) -> str:
        """How the verdict is shown."""
        return _TONES[self.grade]

    @property
    def mark(self) -> str:
        """A sign that distinguishes the verdict without colour."""
        return _MARKS[self.grade]


@dataclass(frozen=True)
class JudgedGroup:
    """A group of people.

    Attributes:
        attribute: the attribute that defines it.
        label: its value, in words.
        size: number of its real records in the tables that are compared.
        gap: how far shares within it are off, beyond chance.
        grade: how good they are, by the rule of the use; None if the interval does not decide.
        failed: whether they are certainly off by more than is usable, allowing for the number of groups.
    """

    attribute: str
    label: str
    size: int
    gap: Estimate
    grade: Grade | None
    failed: bool

    @property
    def verdict(self) -> str:
        """The grade in words; a group of many is off by chance, and does not fail because of that."""
        if self.failed:
            return "fails"
        return UNDECIDED if self.grade in (None, _WORST) else str(self.grade)

    @property
    def tone(self) -> str:
        """How the verdict is shown."""
        return "missed" if self.failed else "open" if self.grade in (None, _WORST) else _TONES[self.grade]

    @property
    def mark(self) -> str:
        """A sign that distinguishes the verdict without colour."""
        return "✗" if self.failed else _MARKS[None if self.grade == _WORST else self.grade]


@dataclass(frozen=True)
class Fitness:
    """What a release is good for.

    Attributes:
        uses: the uses that were measured.
        groups: the groups that were judged, those furthest off first, as far as they are shown.
        judged: number of groups that were judged.
        too_small: number of groups that are too small to be judged.
        failed: number of groups that are certainly off by more than is usable.
        good_from: the size of group from which on all are well described; None if there is none.
        off: the attributes whose shares are off by more than is usable, the worst first, as far as they are named.
    """

    uses: tuple[JudgedUse, ...]
    groups: tuple[JudgedGroup, ...]
    judged: int
    too_small: int
    failed: int
    good_from: int | None
    off: tuple[str, ...]

    def are(self, grade: Grade) -> list[str]:
        """The uses of a grade, in words."""
        return [each.use.words for each in self.uses if each.grade == grade]


@dataclass(frozen=True)
class OverallVerdict:
    """The verdict on the whole release.

    Attributes:
        verdict: the verdict.
        reasons: why, one sentence each.
        is_bounded: whether its guarantee says more than next to nothing.
    """

    verdict: Overall
    reasons: tuple[str, ...]
    is_bounded: bool = True

    @property
    def may_reassure(self) -> bool:
        """Whether the page may show in green what is well: the release is fit, and its guarantee says something."""
        return self.verdict == "fit" and self.is_bounded

    @property
    def tone(self) -> str:
        """How the verdict is shown."""
        return "met" if self.may_reassure else {"fit": "open", "not decided": "open"}.get(self.verdict, "missed")

    @property
    def mark(self) -> str:
        """A sign that distinguishes the verdict without colour."""
        return "✓" if self.may_reassure else {"fit": "!", "not decided": "○"}.get(self.verdict, "✗")

    @property
    def words(self) -> str:
        """The verdict in words, with what it does not say."""
        return "Fit, but hardly bounded" if self.verdict == "fit" and not self.is_bounded else self.verdict.capitalize()


def overall_of(fitness: Fitness | None, attacks: Sequence[AttackRow], accounts: Accounts) -> OverallVerdict:
    """The verdict on the whole release, with reasons.

    Args:
        fitness: what it is good for; None if that was not measured.
        attacks: the attacks; empty if none was carried out.
        accounts: its privacy costs.
    """
    grades = {} if fitness is None else {each.use.name: each.grade for each in fitness.uses}
    dangerous = [each for each in attacks if each.is_danger]
    beyond = [] if fitness is None else [each.use.name for each in fitness.uses if each.is_beyond_usable]
    verdict = verdict_of(grades, beyond, dangerous)
    loose = next_to_nothing(accounts)
    return OverallVerdict(verdict, tuple(_reasons(verdict, fitness, attacks, loose)), is_bounded=not loose)


def next_to_nothing(accounts: Accounts) -> str:
    """A sentence on a guarantee that says next to nothing; empty if it says more.

    Args:
        accounts: the costs of a release.
    """
    relation, total = accounts.relation, accounts.total
    if total is None or not relation.is_guarantee:
        return f"Nothing bounds what an adversary can learn: {accounts.why_none or relation.why_none}."
    if not total.is_vacuous:
        return ""
    return (
        f"Its guarantee says next to nothing: anyone who sees the whole release and starts from {relation.even_odds} "
        f"may guess {relation.guessed} correctly up to {guessed(total)} of the time."
    )


def _reasons(verdict: Overall, fitness: Fitness | None, attacks: Sequence[AttackRow], loose: str) -> Iterator[str]:
    """Why, one sentence each: of what is unsafe the attack comes first, of anything else a guarantee that is loose."""
    told = [_of_attacks(attacks), [loose] if loose else []]
    for each in told if verdict == "unsafe" else reversed(told):
        yield from each
    yield from ["No use was judged."] if fitness is None else _of_uses(verdict, fitness)


def _of_attacks(attacks: Sequence[AttackRow]) -> Iterator[str]:
    succeeding = sorted(
        (each for each in attacks if each.succeeds), key=lambda each: (not each.is_danger, -each.excess)
    )
    for each in succeeding[:_NAMED_ATTACKS]:
        worst = f" ({each.worst})" if each.worst else ""
        yield f"{_CERTAIN if each.is_danger else _LITTLE}, {each.excess:.3f} beyond chance: {each.figure.words}{worst}."
    if succeeding[_NAMED_ATTACKS:]:
        yield f"So do {len(succeeding) - _NAMED_ATTACKS} more."
    if not succeeding:
        yield f"No attack of {len(attacks)} is certainly beyond chance." if attacks else "No attack was carried out."


def _of_uses(verdict: Overall, fitness: Fitness) -> Iterator[str]:
    uses = fitness.uses
    usable = sum(each.grade in GRADES[1:] for each in uses)
    if verdict == "unfit":
        beyond = sum(each.is_beyond_usable for each in uses)
        yield f"Errors are, certainly or not, beyond what is usable for {beyond} of {len(uses)} uses."
        yield from (each.use.refusal for each in uses if each.grade == _WORST and each.use.name in ESSENTIAL)
        if fitness.off:
            yield f"Furthest off: {', '.join(fitness.off)}."
    if verdict == "fit":
        yield f"It is good, or usable with caution, for {usable} of {len(uses)} uses."
    if verdict == "not decided":
        left = undecided({each.use.name: each.grade for each in uses})
        yield from (each.why_undecided for each in uses if each.use.name in left)
        if not left:
            yield f"It is known to be usable for {usable} of {len(uses)} uses only; hold out more records."


def fitness_of(found: EvaluationFigures, spec: ReleaseSpec) -> Fitness | None:
    """Judge the uses and the groups of a release; None if no use was measured.

    Args:
        found: the results of the utility evaluation.
        spec: the release's spec.
    """
    scope = spec.evaluation.scope
    good_from = found.figures.get(groups.GOOD_FROM)
    named = [(use, use.figure_in(scope)) for use in USES]
    uses = tuple(_judged(use, name, found, good_from) for use, name in named if name in found.figures)
    if not uses:
        return None
    judged = _groups(found, spec)
    sizes = found.series.get(groups.JUDGED, ())
    return Fitness(
        uses=uses,
        groups=tuple(sorted(judged, key=lambda each: (not each.failed, -each.gap.value))[:_SHOWN_GROUPS]),
        judged=len(judged),
        too_small=sum(size > 0 for size in sizes) - len(judged),
        failed=sum(each.failed for each in judged),
        good_from=None if good_from is None else int(good_from),
        off=_attributes_off(found, spec),
    )


def _attributes_off(found: EvaluationFigures, spec: ReleaseSpec) -> tuple[str, ...]:
    gaps = found.series.get(marginal_distances.ATTRIBUTE, ())
    far = [(gap, name) for gap, name in zip(gaps, spec.domain.names, strict=False) if gap > ATTRIBUTES.usable]
    return tuple(name for _, name in sorted(far, reverse=True)[:_NAMED_ATTRIBUTES])


def _judged(use: Use, figure: str, found: EvaluationFigures, good_from: float | None) -> JudgedUse:
    """Judge one use by its figure."""
    value = Value(found.figures[figure], found.errors.get(figure))
    grade = use.grade(value)
    advice = "Too few records were held out to decide." if grade is None else use.advice(grade)
    if use is GROUPS and grade != GRADES[-1] and good_from is not None:
        advice = f"Compare groups of {good_from:,.0f} or more real records only."
    return JudgedUse(use, figure, Estimate(value.value, reach_of(found, figure)), grade, advice)


def _groups(found: EvaluationFigures, spec: ReleaseSpec) -> list[JudgedGroup]:
    """The groups that were judged, in the order in which they were measured."""
    table, attributes = DescribedTable.of(spec), spec.group_attributes
    domain = spec.domain
    named = [
        (name, label_of(value, table.labels.get(name, {})))
        for name in attributes
        for value in domain.attributes[domain.index(name)].values
    ]
    series = [
        found.series.get(name, ()) for name in (groups.JUDGED, groups.WORST, errors_of(groups.WORST), groups.FAILED)
    ]
    return [
        JudgedGroup(
            name, label, int(size), Estimate(gap, _SIGMAS * error), GROUPS.grade(Value(gap, error)), bool(failed)
        )
        for (name, label), size, gap, error, failed in zip(named, *series, strict=False)
        if size >= groups.FEWEST and error > 0
    ]


def equivalent_card(found: EvaluationFigures) -> Card | None:
    """To how many real records the release is equivalent; None if it was not measured."""
    name = subsample.name_of(2)
    if name not in found.figures:
        return None
    records, reach = found.figures[name], reach_of(found, name) or 0.0
    compared = int(found.figures[compared_records.NAME])
    if records >= compared:
        return Card("As good as", f"{compared:,} or more", "real records: no further away, by pairs, than others are")
    unit = 10 ** max(len(f"{int(max(reach, 1))}") - 1, 0)
    low, high = (max(round(end / unit) * unit, 0) for end in (records - reach, min(records + reach, compared)))
    return Card(
        "As good as",
        f"{round(records / unit) * unit:,}",
        f"real records, by pairs: {low:,} to {high:,} with 95% confidence, of {compared:,} that are compared",
    )
