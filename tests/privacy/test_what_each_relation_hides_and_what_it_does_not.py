"""An attack on each neighbouring relation: what it hides is guessed no better than stated, and the rest is read off.

Everything is computed exactly. Guesses are between two worlds at even odds by someone who knows everything else; the
best of them is right with probability 1/2 + TV/2, TV being the total variation distance between the outcomes.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest

from deniable.foundation.noise import DiscreteLaplace
from deniable.learners.diverse.diversity import diverse_priors
from deniable.learners.origin_destination.plan import FlowsPlan
from deniable.learners.registry import relation_of, steps_of
from deniable.local.designs import Design
from deniable.privacy.group_privacy import of_person
from deniable.privacy.loss import Guarantee
from deniable.privacy.neighbours import ANSWERS, NOTHING_HIDDEN, ORIGIN, RECORD
from deniable.privacy.one_person import kept_records, person_keys
from deniable.privacy.urn_costs import UNIT
from tests.mechanisms.table import VARIANTS, commuters
from tests.small_release import write_small_release
from tests.urn_law import urn_law

Law = Mapping[Hashable, float]
_FAR = 80


def best_guess(one: Law, other: Law) -> float:
    """Probability that the best guess between two worlds is right, from even odds."""
    return 0.5 + sum(abs(one.get(out, 0.0) - other.get(out, 0.0)) for out in {*one, *other}) / 4


def noisy_count(count: int, epsilon: Fraction) -> dict[Hashable, float]:
    """The law of a count with discrete Laplace noise."""
    law = DiscreteLaplace(1 / epsilon)
    return {count + z: float(law.probability(z)) for z in range(-_FAR, _FAR + 1)}


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(2)])
def test_presence_of_a_record_is_hidden_and_of_a_person_with_several_it_is_not(epsilon: Fraction) -> None:
    claim = Guarantee(float(epsilon), 0.0, "basic")
    found = best_guess(noisy_count(5, epsilon), noisy_count(6, epsilon))
    assert 0.98 * claim.guessing_bound < found <= claim.guessing_bound + 1e-9
    several = best_guess(noisy_count(5, epsilon), noisy_count(9, epsilon))
    assert several > claim.guessing_bound + 0.05, (
        "a person with four records is found more often than is stated for one"
    )
    assert several <= Guarantee(4 * float(epsilon), 0.0, "basic").guessing_bound
    assert any(line.startswith("People with several records. With r records, epsilon is r") for line in RECORD.left_out)


def test_presence_of_a_person_is_hidden_however_many_records_and_with_two_identifiers_it_is_not() -> None:
    """The count of records kept, one or at most two of each person; noise is scaled for one record."""
    epsilon = Fraction(1)
    others = ["b", "c", "c"]
    for most in (1, 2):
        claim = of_person(Guarantee(float(epsilon), 0.0, "basic"), most)
        for of_a in (1, 4):
            without, there = kept(others, most), kept([*others, *["a"] * of_a], most)
            found = best_guess(noisy_count(without, epsilon), noisy_count(there, epsilon))
            assert found <= claim.guessing_bound + 1e-9
        twice = kept([*others, *["a", "another a"] * most], most)
        found = best_guess(noisy_count(kept(others, most), epsilon), noisy_count(twice, epsilon))
        assert found > claim.guessing_bound + 0.02
        relation = relation_of({"kind": "marginals"}, {"column": "id", "most_records": most})
        assert relation.left_out[0].startswith("People with several values of id.")


def kept(people: Sequence[str], most: int) -> int:
    """How many records of these people are used."""
    words = np.arange(len(people), dtype=np.uint64)
    return int(kept_records(person_keys(people), words, most).sum())


def missing_worker(known: Sequence[Sequence[str]], urns: Mapping[str, object]) -> str | None:
    """Where the one worker works whom the attacker does not know; None if there is none: a subtraction."""
    works = [work for work, _ in known]
    listed = {urn["destination"]: urn["workers"] - works.count(urn["destination"]) for urn in urns["urns"]}  # type: ignore[attr-defined, index]
    return next((work for work, more in listed.items() if more), None)


@pytest.fixture(scope="module")
def published_urns(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Sequence[Sequence[str]]], Mapping[str, object]]:
    """What a release publishes as `urns.json` whose totals are those of its table."""
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415 - imports pandas

    asked = VARIANTS["per_draw of origins whose destinations are public"]
    spec = load_spec(write_small_release(tmp_path_factory.mktemp("commuters"), **asked))
    domain = spec.domain

    def publish(rows: Sequence[Sequence[str]]) -> Mapping[str, object]:
        totals = {str(work): sum(row[0] == work for row in rows) for work in domain.attributes[0].values}
        entry = spec.learner.model_copy(update={"totals": totals})
        (step,) = steps_of(entry, domain, lambda _, delta: delta)  # type: ignore[arg-type, return-value]
        made = step.run(None, {}, None)  # type: ignore[arg-type]
        urns: Mapping[str, object] = made.products["urns"]
        return urns

    return publish


def test_presence_and_workplace_are_read_off_where_origins_alone_are_protected(
    published_urns: Callable[[Sequence[Sequence[str]]], Mapping[str, object]],
) -> None:
    rows = commuters()
    chosen = [0, 900, 1_300, 1_450]
    for place in chosen:
        known = [row for number, row in enumerate(rows) if number != place]
        assert missing_worker(known, published_urns(rows)) == rows[place][0], "present, and where"
        assert missing_worker(known, published_urns(known)) is None, "absent"
    assert {line.partition(".")[0] for line in ORIGIN.left_out[:2]} == {"Presence", "The destination of a worker"}
    assert "with certainty" in ORIGIN.left_out[0]


@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1/10"), ("1", "1/20")])
def test_an_origin_is_guessed_no_better_than_is_stated(epsilon: str, delta: str) -> None:
    plan = FlowsPlan(1, 4, Fraction(epsilon), Fraction(delta), totals=(3,))
    claim = Guarantee(float(plan.epsilon), float(plan.delta), "basic")

    def most(prior: int) -> float:
        """The best guess at the origin of one of three workers, over all origins of the others."""
        return max(
            best_guess(origins(others, one, prior), origins(others, other, prior))
            for others in product(range(4), repeat=2)
            for one in range(4)
            for other in range(one)
        )

    found = most(plan.prior(3, 3))
    assert 0.53 < found <= claim.guessing_bound, "origins are guessed better than by a coin, and no better than stated"
    assert most(UNIT >> 12) > claim.guessing_bound, "with next to no prior weight they are guessed better"


def origins(others: Sequence[int], own: int, prior: int) -> dict[Hashable, float]:
    """The law of what is drawn for three workers of one destination."""
    counts = tuple([*others, own].count(place) for place in range(4))
    return {drawn: float(chance) for drawn, chance in urn_law(counts, prior, 3).items()}


def test_answers_are_hidden_from_the_collector() -> None:
    for ratio in (Fraction(3), Fraction(10)):
        for kind, values in (("warner", 2), ("forced", 2), ("k_rr", 4), ("oue", 4)):
            design = Design(kind, values, ratio)  # type: ignore[arg-type]
            laws = [{out: float(design.probability(out, answer)) for out in design.responses()} for answer in (0, 1)]
            claim = Guarantee(log(ratio), 0.0, "basic")
            found = best_guess(*laws)  # type: ignore[arg-type]
            assert 0.6 < found <= claim.guessing_bound + 1e-12, kind
    assert ANSWERS.left_out[0].startswith("Participation.")


def test_without_a_guarantee_a_single_draw_may_show_that_someone_is_there() -> None:
    """Entropy l-diversity adds nothing to an even row: a value is drawn if and only if someone has it."""
    without, there = np.array([[50, 50, 0]]), np.array([[50, 50, 1]])
    assert diverse_priors(without, 1.5).tolist() == diverse_priors(there, 1.5).tolist() == [0]
    shows = there[0, 2] / there.sum()
    assert shows > 0
    assert without[0, 2] == 0
    claims = [1 - (1 - delta) / (1 + exp(epsilon)) for epsilon, delta in [(1.0, 1e-9), (5.0, 1e-3)]]
    many = 1 - (1 - shows) ** 2_000
    assert 0.5 + many / 2 > max(claims), (
        "in two thousand records the value is nearly sure to occur, and proves presence"
    )
    assert not NOTHING_HIDDEN.is_guarantee
    assert "Nothing bounds what the release reveals" in NOTHING_HIDDEN.left_out[0]
