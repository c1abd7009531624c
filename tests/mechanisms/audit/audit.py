"""The questions that are put to every mechanism, and what is found; a finding begins with the part that made it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
from scipy import stats

from deniable.foundation.errors import DeniableError, Refused
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteLaplace
from deniable.learners import certified
from deniable.learners.loglinear.exponential_mechanism import choose
from deniable.privacy.loss import MechanismEvent
from tests.extent import drawn
from tests.mechanisms.audit.doors import Address, Choice, Doors, Integers, Law, Release, StopRun, attribute, through
from tests.mechanisms.audit.fits import fits_once
from tests.mechanisms.audit.subjects import Subject
from tests.mechanisms.audit.tables import FULL, SPARSE

FALSE_ALARM = 1e-9
_FAR = 6.5
"""Standard deviations that a sum of many independent products exceeds with less than the probability of false alarm."""
KEYS = drawn(8, least=4)
"""Under how many keys a mechanism is run."""
_POPULATION = 4_000
"""Number of records of a model with which a certificate compares."""
_CHOICES = 400
"""How often a choice is made again."""
_ROUNDING = 1e-9
FAULTS = (DeniableError, ArithmeticError, LookupError, TypeError, ValueError)
PARTS = {
    "replay": "replay",
    "noise": "drawings",
    "streams": "drawings",
    "independence": "independence",
    "laws": "laws",
    "choices": "choices",
    "charge": "charge",
    "chunks": "chunks",
}
"""The parts of the audit, and the method of each."""


def key(number: int) -> ReleaseKey:
    return ReleaseKey(number.to_bytes(32, "big"))


@dataclass(eq=False)
class Audit:
    """The audit of one mechanism.

    Attributes:
        subject: the mechanism.
    """

    subject: Subject

    def found(self, *parts: str) -> list[str]:
        """Put all questions, or those of some parts only until each has found something."""
        findings = dict[str, None]()
        with fits_once(), attribute(certified, "POPULATION", _POPULATION):
            for ask in dict.fromkeys(PARTS[part] for part in parts or PARTS):
                try:
                    for finding in getattr(self, ask)():
                        findings[finding] = None
                        if parts and {*parts} <= parts_of(findings):
                            return [*findings]
                except FAULTS as fault:
                    part = next(part for part in parts or PARTS if PARTS[part] == ask)
                    findings[f"{part}: {said_of(fault)}"] = None
        return [*findings]

    @cached_property
    def first(self) -> tuple[Doors, Mapping[str, bytes]]:
        """The run that is repeated."""
        return self._run(FULL, 0)

    @cached_property
    def small(self) -> str:
        """The table of few records, or the first if the mechanism refuses few records."""
        try:
            self._run(SPARSE, 1)
        except Refused:
            return FULL
        return SPARSE

    @cached_property
    def others(self) -> list[Doors]:
        """Runs of few records under other keys."""
        return [self._run(self.small, number)[0] for number in range(1, KEYS + 1)]

    def _run(self, table: str, number: int) -> tuple[Doors, Mapping[str, bytes]]:
        return recorded(self.subject, self.subject.tables[table], number)

    @cached_property
    def repeated(self) -> list["Repeated"]:
        """Runs of all other tables and of all neighbours, with the answers of the first run."""
        there = [(name, "", table) for name, table in self.subject.tables.items() if name != FULL]
        there += [(f"neighbour {i} of {name}", name, table) for i, (name, table) in enumerate(self.subject.neighbours)]
        own = Repeated(FULL, "", *self.first)
        return [own, *(self._repeat(self.first[0], *each) for each in there)]

    def _repeat(self, forced: Doors, name: str, beside: str, table: Any) -> "Repeated":
        doors, published = Doors(forced=forced), dict[str, bytes]()
        try:
            with through(doors):
                published |= self.subject.run(table, key(0))
        except StopRun:
            pass
        except FAULTS as fault:
            doors.findings.append(said_of(fault))
        return Repeated(name, beside, doors, published)

    def replay(self) -> Iterator[str]:
        """With all released integers and all choices forced: the same questions, figures and bytes."""
        yield from differences(*self.first, self.repeated)
        if self.small != FULL:
            few = self._run(self.small, 0)
            tables = self.subject.tables
            yield from differences(*few, [self._repeat(few[0], name, "", tables[name]) for name in list(tables)[:3]])

    def drawings(self) -> Iterator[str]:
        """All noise goes into releases once, and no stream is opened for two draws or two choices."""
        for number in range(KEYS + 1):
            name, doors = (self.small, self.others[number - 1]) if number else (FULL, self.first[0])
            for draw in doors.draws:
                if draw.released != len(draw.noise):
                    yield (
                        f"noise: of {len(draw.noise)} numbers for {draw.address.mechanism} {draw.released} "
                        f"are added to counts, from the table {name!r}"
                    )
            drawn = [draw.address for draw in doors.draws] + [choice.address for choice in doors.choices]
            opened = Counter(address for address in doors.opened if address in doors.private)
            for address, times in (Counter(drawn) | opened).items():
                if times > 1:
                    yield f"streams: {times} draws of {address.mechanism} have the same words"
        yield from self._addresses()

    def _addresses(self) -> Iterator[str]:
        """One stream is for one question, whatever was answered before, under whatever budget and schema."""
        for subject in self.subject.variants():
            doors, _ = recorded(subject, subject.tables[self.small], 1)
            yield from shared([self.others[0], doors])
        yield from shared(self.others)

    def independence(self) -> Iterator[str]:
        """All noise of one run is independent."""
        draws = [doors.draws for doors in self.others]
        count = min(map(len, draws))
        pairs = list(combinations(range(count), 2))
        products, cells = 0.0, 0
        for i, j in pairs:
            same, seen, chance = 0, 0, 0.0
            for run in draws:
                n = min(len(run[i].noise), len(run[j].noise))
                one, two = run[i].noise[:n], run[j].noise[:n]
                products += float((one / deviation(run[i].law)) @ (two / deviation(run[j].law)))
                cells += n
                if run[i].law == run[j].law:
                    same, seen, chance = same + int((one == two).sum()), seen + n, coincidence(run[i].law)
            if seen and stats.binom.sf(same - 1, seen, chance) < FALSE_ALARM / len(pairs):
                yield (
                    f"independence: {same} of {seen} numbers for {draws[0][i].address.mechanism} and "
                    f"{draws[0][j].address.mechanism} are equal"
                )
                return
        if cells and abs(products) > _FAR * sqrt(cells) and cells > 50:
            yield "independence: the noise of one run is correlated"

    def laws(self) -> Iterator[str]:
        """Noise has the law that is charged, in empty cells and in others."""
        pooled: dict[tuple[Law, bool], list[Integers]] = defaultdict(list)
        for doors in [self.first[0], *self.others]:
            for release in doors.releases:
                if release.times == 1:
                    empty = release.exact == 0
                    for those in (True, False):
                        pooled[release.draw.law, those].append((release.sums - release.exact)[empty == those])
        for (law, empty), parts in pooled.items():
            noise = np.concatenate([part.ravel() for part in parts])
            if len(noise) >= 50 and p_value(noise, law) < FALSE_ALARM / len(pooled):
                yield f"laws: the noise of {'empty' if empty else 'other'} cells is not that of its event"

    def choices(self) -> Iterator[str]:
        """Choices have the law of their events: of their epsilon, for scores that a record moves as far as they say."""
        moved = defaultdict[int, int](int)
        for one, two in self._pairs():
            for place, (before, after) in enumerate(zip(one.choices, two.choices, strict=False)):
                if before.question == after.question:
                    moves = [abs(a - b) for a, b in zip(before.scores, after.scores, strict=True)]
                    moved[place] = max(moved[place], *moves)
        for place, choice in enumerate(self.first[0].choices):
            if moved[place] > choice.sensitivity:
                yield f"choices: a record moves a score by {moved[place]}, and {choice.sensitivity} is said"
        for doors in (self.first[0], self.others[0]):
            yield from self._laws_of_choices(doors, moved)

    def _laws_of_choices(self, doors: Doors, moved: Mapping[int, int]) -> Iterator[str]:
        charged = {
            step: {event.epsilon for event in events if event.mechanism == "exponential"}
            for step, events in self.subject.events.items()
        }
        drawn = [
            (place, choice)
            for place, choice in enumerate(doors.choices)
            if charged.get(choice.address.step) and moved[place]
        ]
        for _place, choice in drawn[:3]:
            (epsilon, *more) = charged[choice.address.step]
            if more or epsilon is None:
                continue
            behind = max(choice.scores) - np.asarray(choice.scores, float)
            law = np.exp(-float(epsilon) / (2 * choice.sensitivity) * behind)
            seen = np.bincount([again(choice, number) for number in range(_CHOICES)], minlength=len(law))
            if p_of_counts(seen, law / law.sum() * _CHOICES) < FALSE_ALARM:
                yield "choices: candidates are not chosen by the law of the event"
            if choice.epsilon > epsilon:
                yield f"choices: a choice is made with epsilon {choice.epsilon}, and {epsilon} is charged"

    def _pairs(self, only: str = "") -> Iterator[tuple[Doors, Doors]]:
        """Runs of tables that differ by one record: of all such, or of one table and its neighbours."""
        by_name = {each.name: each.doors for each in self.repeated}
        for each in self.repeated:
            if each.beside and only in ("", each.beside):
                yield by_name[each.beside], each.doors

    def charge(self) -> Iterator[str]:
        """What one record changes costs no more than is charged, and no more is drawn than is charged."""
        for step, events in self.subject.events.items():
            stated = total(events)
            # A guarantee that fails with some probability holds for answers that come from such tables.
            some = any(event.mechanism == "approximate" for event in events)
            for one, two in self._pairs(FULL if some else ""):
                spent = Spent.between(one, two, step)
                for what in ("epsilon", "rho"):
                    most, own = stated[what], getattr(spent, what)
                    if most is not None and own > most * (1 + _ROUNDING):
                        yield f"charge: one record costs {what} {own:.3g} in {step}, and {most:.3g} is charged"
                        return

    def chunks(self) -> Iterator[str]:
        """Chunks of records that are drawn from exact counts are no copies of each other."""
        drawn = self.subject.chunks(self.subject.tables[FULL], key(0))
        if len(set(drawn)) < len(drawn):
            yield "chunks: two chunks of records are the same"


@dataclass(frozen=True)
class Repeated:
    """A run with the answers of another run.

    Attributes:
        name: the name of its table.
        beside: that of the table of which it is a neighbour, if it is one.
        doors: what went through the doors.
        published: what was published.
    """

    name: str
    beside: str
    doors: Doors
    published: Mapping[str, bytes]


def differences(first: Doors, published: Mapping[str, bytes], repeated: Sequence[Repeated]) -> Iterator[str]:
    """In what runs differ from the run whose answers they were given."""
    for run in repeated:
        doors, differing = run.doors, [file for file in published if run.published.get(file) != published[file]]
        if doors.findings:
            yield f"replay: {doors.findings[0]}, from the table {run.name!r}"
        elif len(doors.releases) < len(first.releases) or len(doors.choices) < len(first.choices):
            yield f"replay: fewer questions, from the table {run.name!r}"
        elif doors.opened != first.opened:
            yield f"replay: other streams, from the table {run.name!r}"
        elif differing:
            yield f"replay: counts reach {differing[0]} beside the noisy integers, from the table {run.name!r}"


def parts_of(findings: Iterable[str]) -> set[str]:
    """The parts that found something."""
    return {finding.partition(":")[0] for finding in findings}


def said_of(fault: Exception) -> str:
    return f"a fault ({type(fault).__name__}: {str(fault)[:100]})"


def recorded(subject: Subject, table: Any, number: int) -> tuple[Doors, Mapping[str, bytes]]:
    """Run a mechanism once and remember what went through its doors."""
    with through(Doors()) as doors:
        published = subject.run(table, key(number))
    return doors, published


def shared(runs: Sequence[Doors]) -> Iterator[str]:
    """Streams that several runs of one table use for different questions."""
    asked: dict[Address, Any] = {}
    for doors in runs:
        questions: dict[Address, Any] = {
            # A single number may be about an earlier answer, such as the error of a model.
            release.draw.address: (release.draw.law, release.exact.tobytes() if release.exact.size > 1 else b"")
            for release in doors.releases
        }
        # A choice among equal scores says nothing about the records.
        telling = [choice for choice in doors.choices if len(set(choice.scores)) > 1]
        questions |= {choice.address: (choice.epsilon, choice.sensitivity) for choice in telling}
        for address, question in questions.items():
            if asked.setdefault(address, question) != question:
                yield f"streams: two questions of {address.mechanism} have the same words"
                return


def deviation(law: Law) -> float:
    return float(sqrt(law.variance))


def coincidence(law: Law) -> float:
    """A bound on the probability that two independent numbers are equal: that of the likeliest."""
    return law.probability(0)


def p_value(noise: Integers, law: Law) -> float:
    """Of noise, by how much of it lies between multiples of a fraction of the deviation."""
    ends = np.unique(np.ceil(np.array([-2, -1, -0.5, 0, 0.5, 1, 2]) * deviation(law)).astype(np.int64))
    above = np.array([1.0, *(law.tail(int(end)) for end in ends), 0.0])
    observed = np.bincount(np.searchsorted(ends, noise, side="right"), minlength=len(ends) + 1)
    return p_of_counts(observed, (above[:-1] - above[1:]) * len(noise))


def p_of_counts(observed: Integers, expected: Any) -> float:
    """Of Pearson's statistic; what is rare is put together."""
    often = expected >= 5
    seen, mean = (np.append(each[often], each[~often].sum()) for each in (observed, expected))
    if mean[-1] < 1e-6 and not seen[-1]:
        seen, mean = seen[:-1], mean[:-1]
    if len(mean) < 2:
        return 1.0
    return float(stats.chi2.sf(float(((seen - mean) ** 2 / mean).sum()), len(mean) - 1))


def again(choice: Choice, number: int) -> int:
    """Make a choice again, as the mechanism made it, with other words."""
    stream = key(0).stream(step="again", mechanism="choice", inputs="", parameters={"number": number})
    return choose(choice.scores, sensitivity=choice.sensitivity, epsilon=choice.epsilon, stream=stream)


def total(events: Sequence[MechanismEvent]) -> dict[str, float | None]:
    """What events cost together, by the measure of pure and of concentrated privacy; None if there is no such."""
    found: dict[str, float | None] = {}
    for what in ("epsilon", "rho"):
        each = [getattr(event, what) for event in events]
        found[what] = (
            None
            if any(one is None for one in each)
            else float(sum(one * event.outputs for one, event in zip(each, events, strict=True)))
        )
    return found


@dataclass
class Spent:
    """What it costs that one record is there, by what it changed.

    Attributes:
        epsilon: sum of epsilon; infinite with Gaussian noise.
        rho: sum of rho.
    """

    epsilon: float = 0.0
    rho: float = 0.0

    @classmethod
    def between(cls, one: Doors, two: Doors, step: str) -> "Spent":
        """Of two runs with the same answers, in one step."""
        spent = cls()
        for before, after in zip(one.releases, two.releases, strict=False):
            if before.draw.address.step == step and before.question == after.question:
                spent.table(before, after)
        for before, after in zip(one.choices, two.choices, strict=False):
            if before.address.step == step and before.question == after.question and before.scores != after.scores:
                spent.epsilon += float(before.epsilon)
                spent.rho += float(before.epsilon) ** 2 / 8
        return spent

    def table(self, before: Release, after: Release) -> None:
        """Add the cost of one table."""
        change, law = np.abs(after.exact - before.exact).astype(float), before.draw.law
        if not change.any():
            return
        if isinstance(law, DiscreteLaplace):
            own = float(change.sum()) / float(law.scale)
            self.epsilon += own
            self.rho += own**2 / 2 / before.times
        else:
            self.epsilon = float("inf")
            self.rho += float((change**2).sum()) / (2 * before.times * float(law.sigma_squared))
