"""For any requests in any order, the admitted ones stay within the cap, and their sum is never understated."""

from decimal import Decimal, localcontext
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.ledger.budget import BudgetExceeded, cost_of
from deniable.ledger.entries import ALL_ROWS, Charge, Cost
from deniable.ledger.state import LedgerState
from deniable.ledger.verification import verify
from tests.charging import SALT, TIME, chain, charge, policy, yearly
from tests.extent import drawn

PROBABILITIES = {
    "structure": Fraction(1, 7),
    "parameters": Fraction(1, 3),
    "seeds": Fraction(1, 2),
    ALL_ROWS: Fraction(1),
}

epsilons = st.fractions(min_value=0, max_value=3, max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 10), max_denominator=1000)


@st.composite
def asked(draw: st.DrawFn) -> Charge:
    part, delta = draw(st.sampled_from(list(PROBABILITIES))), draw(deltas)
    split = "" if part == ALL_ROWS else draw(st.sampled_from(["one split", "another"]))
    epsilon = draw(epsilons)
    return charge(
        epsilon,
        delta,
        part=part,
        probability=PROBABILITIES[part],
        split=split,
        inputs=f"{part} of {split}",
        parameters={"epsilon": epsilon, "delta": delta},
        release=draw(st.sampled_from(["r1", "r2"])),
        step=draw(st.sampled_from(["a", "b", "c"])),
        commitment=draw(st.sampled_from(["one key", "another"])),
    )


@settings(max_examples=drawn(80))
@given(st.lists(asked(), max_size=12), epsilons.filter(bool), deltas)
def test_no_order_of_requests_exceeds_a_cap(charges: list[Charge], epsilon: Fraction, delta: Fraction) -> None:
    entries = chain(policy(epsilon, delta, period=yearly(epsilon / 2, delta)))
    books = LedgerState()
    for entry in entries:
        books.enter(entry)
    admitted, refused = [], []
    for each in charges:
        if books.known(each) is not None:
            continue
        try:
            books.require_room([each], TIME)
        except BudgetExceeded as refusal:
            refused.append(refusal)
            continue
        entries.append(books.next_entry(each, TIME, SALT))
        books.enter(entries[-1])
        admitted.append(each)
    lifetime, year = books.balances("people", TIME)
    assert lifetime.spent == year.spent == cost_of(admitted)
    assert not year.spent.exceeds(Cost(epsilon=epsilon / 2, delta=delta))
    assert all(refusal.asked.exceeds(refusal.left) for refusal in refused)
    assert verify([entry.to_record() for entry in entries], head=entries[-1].digest).holds


@settings(max_examples=drawn(80))
@given(st.lists(st.tuples(st.fractions(Fraction(1, 50), Fraction(1, 5)), epsilons), min_size=1, max_size=5))
def test_a_joint_sum_is_never_below_its_exact_value(parts: list[tuple[Fraction, Fraction]]) -> None:
    spent = cost_of([charge(e, part=f"part {i}", probability=p) for i, (p, e) in enumerate(parts)]).epsilon
    with localcontext(prec=100):
        terms = [decimal(p) * (decimal(e).exp() - 1) for p, e in parts]
        exact = Fraction((1 + sum(terms)).ln())
    # The digits of the comparison itself end somewhere, too.
    assert exact - Fraction(1, 10**90) <= spent <= exact + Fraction(1, 10**29)


@settings(max_examples=drawn(100))
@given(st.lists(asked(), max_size=8))
def test_what_is_summed_does_not_depend_on_the_order(charges: list[Charge]) -> None:
    there, back = cost_of(charges), cost_of(charges[::-1])
    assert abs(there.epsilon - back.epsilon) < Fraction(1, 10**40)
    assert there.delta == back.delta


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
