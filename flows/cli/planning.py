"""Shows what a release would cost, in total, against the budget left, and step by step, before any record is read.

Every figure is computed from the spec and the public domain; the source is not opened.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from math import inf, isfinite
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deniable.discovery.plan import STEP as DISCOVER
from deniable.evaluation.thresholds import bounds_of
from deniable.foundation.errors import DeniableError
from deniable.ledger.budget import Balance, cost_of, counted
from deniable.ledger.entries import day_of
from deniable.ledger.state import Charged, LedgerState
from deniable.mechanisms import Tail
from deniable.plausible_deniability.seed_accounting import compose_candidates
from deniable.privacy.accounting import compose
from deniable.privacy.group_privacy import of_person
from deniable.privacy.loss import (
    ApproximateEvent,
    ConcentratedEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    Guarantee,
    MechanismEvent,
    PoissonAttemptsEvent,
    PrivacyTestEvent,
    SampledTestEvent,
    StabilityHistogramEvent,
)
from deniable.privacy.neighbours import records_used
from deniable.privacy.rounding import rounded_down, rounded_up
from deniable.privacy.step_costs import StepCost, added_up, with_paid
from schemas.spec.accounts import Accounts
from schemas.spec.decision import Policy
from schemas.spec.plan import ReleasePlan, lost_analyses, plan_release
from schemas.spec.publication import missing
from schemas.spec.release_spec import ReleaseSpec
from stores.ledger.accounts import require_account
from stores.ledger.charging import planned_charges, policy_of, require_not_confidential
from stores.ledger.database import written_time
from stores.ledger.remembered_costs import remember_costs
from stores.ledger.state_ledger import state_ledger
from stores.record.rehearsals import last_rehearsal
from stores.releases.resumable_releases import what_comes_next
from stores.statement.statement import in_words

FITS, DOES_NOT_FIT = 0, 1
OPENED = "(the spec's budget; the ledger does not know the dataset yet)"
_MANY = 4
_HELD = "; a person must decide on its publication"
_ACCOUNTANTS = ("basic", "advanced", "zcdp", "pld", "theorem_a", "theorem_b")


def show_plan(spec: ReleaseSpec, state: Path, *, everything: bool = False) -> int:
    """Print the plan of a release: the verdict, the totals and the budget left; with --all, the mechanisms too.

    Args:
        spec: the release spec.
        state: the state folder, for its ledger.
        everything: whether to print each mechanism and the figures of each accountant as well.

    Returns:
        0 if the budget would allow the release now, 1 if it would be refused.
    """
    remember_costs(state)
    plan = plan_release(spec)
    accounts = plan.accounts
    console = Console(highlight=False)
    drawn = spec.synthesis
    wanted = f"{drawn.records:,} records"
    if drawn.attempts != drawn.records:
        wanted += f" from {drawn.attempts:,} candidates, all of them tested and charged"
    fits, verdict, charged = _verdict(spec, accounts, state)
    console.print(f"[bold]{escape(spec.title)}[/bold]\n{wanted}; {drawn.guarantee}. No data were read.\n")
    console.print(verdict)
    console.print()
    console.print(
        _two_columns([*_claims(plan), *charged, *_rehearsed(spec, state), ("next", what_comes_next(state, spec))])
    )
    if spec.derived:
        console.print("\n[bold]What the spec leaves out[/bold], derived from the spec and the schema")
        console.print(_two_columns(_derived(spec), indent=1))
    if not everything:
        console.print("\nMechanisms and accountants: add --all, or ALL=1 to make plan.")
        return FITS if fits else DOES_NOT_FIT
    console.print("\n[bold]What each step does to the records it reads[/bold] (sensitivity of all outputs together)")
    for step in accounts.steps:
        console.print()
        console.print(_step_line(step))
        console.print(_mechanisms(step))
    console.print()
    console.print(_totals(accounts))
    if accounts.record is not None and (beside := _if_records_were_charged(spec, accounts)):
        console.print(f"\n{beside}")
    return FITS if fits else DOES_NOT_FIT


def _rehearsed(spec: ReleaseSpec, state: Path) -> Iterator[tuple[str, str]]:
    """Yield the last rehearsal of the dataset on public records, if there was one."""
    found = last_rehearsal(state, spec.dataset_name)
    if found is not None:
        epsilons = ", ".join(rung.epsilon for rung in found.rungs)
        yield "rehearsed", f"{day_of(found.ended)} on {found.stand_in.words}, at epsilon {epsilons}"


def _two_columns(rows: Iterable[tuple[str, str]], indent: int = 0) -> Table:
    """Return labelled lines; the continuation of a long one is indented to match."""
    table = Table.grid(padding=(0, 2, 0, indent))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row(label, escape(text))
    return table


def _derived(spec: ReleaseSpec) -> Iterator[tuple[str, str]]:
    """Yield the entries that the spec leaves out, each with its derived value and the reason."""
    for entry in spec.derived:
        yield entry.entry, f"{entry.value} ({entry.reason})"


def _claims(plan: ReleasePlan) -> Iterator[tuple[str, str]]:
    """Yield what the release would claim, and who would decide on its publication."""
    spec, accounts = plan.spec, plan.accounts
    relation = accounts.relation
    used = f"; {records_used(relation.most_records, ' of each')}" if relation.kind == "person" else ""
    yield "privacy unit", f"{relation.unit}{used}"
    if exposed := relation.conditions or relation.left_out * relation.is_replacement:
        yield "not covered", "; ".join(line.partition(".")[0] for line in exposed)
    if relation.most_records > 1:
        yield "noise", "scaled for one record of a person, so that all records used cost what is stated"
    yield "whole release", _whole(accounts)
    if accounts.model_stated is not None:
        yield "model", f"{in_words(accounts.model_stated)}, by {accounts.model_stated.accountant}"
    if (seeds := seeds_in_words(accounts)) is not None:
        yield "seeds", seeds
    if accounts.record is not None:
        yield "one attempt", f"{in_words(accounts.record)}, by the exact form of Theorem 1"
    if spec.decision is not None:
        yield "published by", _who_decides(spec.decision)
    if spec.publication is not None and (left := missing(spec.publication)):
        yield "not stated", f"{', '.join(left)} (deniable release publication lists them)"
    if (unused := unused_buckets(spec)) is not None:
        yield "not used", unused
    yield from (("caution", f"{step.caution}{_HELD * step.is_held}") for step in plan.steps if step.caution)
    tails = [tail for step in plan.steps for tail in step.tails]
    yield from (("tail", _tail(tail, spec.synthesis.records)) for tail in tails)
    if noisy := [tail.attribute for tail in tails if tail.is_noisy(spec.synthesis.records)]:
        yield "caution", _noisy_tails(noisy)
    yield from (("caution", lost) for lost in lost_analyses(plan))


def _tail(tail: Tail, records: int) -> str:
    """Return the information limit of a number's tail, in words."""
    least = float(f"{tail.least_mean(records):.2g}")
    return (
        f"{tail.attribute}: one count beyond {tail.begins:,.10g} has noise of about {tail.noise:,.0f} records, so that "
        f"of {records:,} records a mean below {least:,.10g} may be off by more than 10 %"
    )


def _noisy_tails(names: Sequence[str]) -> str:
    """Return what helps where the noise of a tail may be more than 10 % of a usual mean, in words."""
    return (
        f"noise in the tail of {', '.join(names)} may be more than 10 % of the mean; lower the highest number of the "
        "schema with clip=True, raise epsilon, or bring more records"
    )


def seeds_in_words(accounts: Accounts) -> str | None:
    """Return how the seeds are charged with the learner's steps on the same rows; None if they are charged alone."""
    if accounts.joint is not None:
        cost, steps = accounts.joint.guarantee, " and ".join(accounts.joint.steps)
        return f"with {steps} {in_words(cost)} for the records read, by {cost.accountant}, and so charged"
    if accounts.adds_up:
        return f"added to the cost of {' and '.join(accounts.adds_up)}, whose loss has no known distribution"
    return None


def unused_buckets(spec: ReleaseSpec) -> str | None:
    """Return what a learner does instead of using the schema's buckets; None if it uses them, or there are none."""
    coarse = [each.name for each in spec.domain.attributes if each.bucket_count < each.cardinality]
    if not coarse or spec.learner.reads_buckets:
        return None
    instead = "makes buckets of its own from noisy counts" if spec.learner.makes_buckets else "counts by values"
    return f"width, edges and buckets of {', '.join(coarse)}: a learner of kind {spec.learner.kind} {instead}"


def _who_decides(policy: Policy) -> str:
    """Return who decides on publication according to the spec."""
    asked = " or ".join(policy.approvers) if policy.approvers else "anyone but the person who starts it"
    alone = " and ".join(_bounds(policy.publish_within)) if not policy.always_ask else ""
    said = [f"itself, where {alone}; else {asked}" if alone else asked]
    said += [f"no one, unless {' and '.join(_bounds(policy.refuse_beyond))}"] if policy.refuse_beyond else []
    return "; ".join(said)


def _bounds(thresholds: Mapping[str, float]) -> list[str]:
    """Return thresholds in words."""
    return [f"{bound.figure} is {bound.words}" for bound in bounds_of(thresholds)]


def _step_line(step: StepCost) -> str:
    """Return a line on a step: its name, what it reads, and its cost for the records that it reads."""
    cost = "no differential privacy" if step.guarantee is None else in_words(step.guarantee)
    return f"[bold]{step.step}[/bold], part {step.part} (probability {float(step.probability):g}): {cost}"


def _mechanisms(step: StepCost) -> Table:
    """Return lines on the mechanisms of a step."""
    rows = []
    for events in _alike(step.events):
        event, *_, last = (*events, events[-1])
        facts = [event.mechanism, _noise(event), _sensitivity(event), _outputs(event)]
        if len(events) > 1:
            facts[-1] += " each"
        query = event.query if len(events) == 1 else f"{len(events)} events, {event.query} … {last.query}"
        rows.append(("-", f"{query}: {', '.join(fact for fact in facts if fact)}"))
    return _two_columns(rows, indent=1)


def _alike(events: Sequence[MechanismEvent]) -> Iterator[list[MechanismEvent]]:
    """Group events, in order, that differ only in their query, so that they share a line; the record lists each."""
    for _, those in groupby(events, key=lambda event: (replace(event, query=""), event.query.split()[:2])):
        alike = list(those)
        yield from [alike] if len(alike) >= _MANY else [[event] for event in alike]


def _sensitivity(event: MechanismEvent) -> str:
    """Return by how much one record changes an output; a table of counts is one output."""
    if not isinstance(event, DiscreteLaplaceEvent | DiscreteGaussianEvent):
        return ""
    return f"sensitivity {event.sensitivity}"


def _outputs(event: MechanismEvent) -> str:
    return f"{event.outputs:,} output{'s' if event.outputs > 1 else ''}"


def _noise(event: MechanismEvent) -> str:
    """Return the scale of a mechanism's noise, in words."""
    if isinstance(event, DiscreteLaplaceEvent):
        return f"scale {float(event.scale):.4g}"
    if isinstance(event, DiscreteGaussianEvent):
        return f"sigma {float(event.variance) ** 0.5:.4g}"
    if isinstance(event, StabilityHistogramEvent):
        return f"scale {float(event.scale):.4g}, kept from {event.threshold}"
    if isinstance(event, ExponentialEvent | ApproximateEvent | ConcentratedEvent):
        name, cost = ("epsilon", event.epsilon) if event.epsilon else ("probability", event.delta)
        if isinstance(event, ConcentratedEvent):
            name, cost = "rho of zCDP for all of them together", event.rho
        return f"{name} {rounded_up(float(cost))}"
    return _attempts(event)


def _attempts(event: MechanismEvent) -> str:
    """Return how attempts from seeds are tested, in words."""
    if isinstance(event, PoissonAttemptsEvent):
        full = event.plausible + len(event.law)
        return f"{float(event.attempts_per_row):.3g} a row, all pass from {full:,} plausible seeds on"
    if isinstance(event, PrivacyTestEvent):
        some = f", p = {float(event.check_probability):.4g}" if isinstance(event, SampledTestEvent) else ""
        return f"k = {event.k}, scale {float(1 / event.eps0):.4g}, rho = {float(event.drop_probability):g}{some}"
    return ""


def _totals(accounts: Accounts) -> Table:
    """Return epsilon of each step, and of all together, by each accountant that applies; claimed values are in bold."""
    charged = [(step, step.guarantee) for step in accounts.steps if step.guarantee is not None]
    found = [_by_accountant(step, guarantee) for step, guarantee in charged]
    least = [min(those.values(), key=lambda guarantee: guarantee.epsilon) for those in found]
    names = [name for name in _ACCOUNTANTS if any(those.get(name) for those in found)]
    table = Table(
        box=None,
        title="Epsilon by accountant",
        title_justify="left",
        title_style="bold",
        header_style="",
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("", no_wrap=True)
    for name in (*names, "claimed"):
        table.add_column(name, justify="right", no_wrap=True)
    for (step, _), those, best in zip(charged, found, least, strict=True):
        cells = [_epsilon(those.get(name)) for name in names]
        table.add_row(step.step, *cells, f"[bold]{_epsilon(best)}[/bold]")
    if accounts.total is not None:
        # Where an accountant does not apply to a step, the tightest one that does is used instead.
        sums = [
            [
                replace(step, guarantee=those.get(name, best))
                for (step, _), those, best in zip(charged, found, least, strict=True)
            ]
            for name in names
        ]
        if accounts.paid is not None:
            table.add_row("model, paid before", *[""] * len(names), f"[bold]{_epsilon(accounts.paid)}[/bold]")
        together = [_epsilon(with_paid(added_up(steps), accounts.paid)) for steps in sums]
        table.add_row("all together", *together, f"[bold]{_epsilon(accounts.total)}[/bold]")
    return table


def _if_records_were_charged(spec: ReleaseSpec, accounts: Accounts) -> str:
    """Return the cost of as many candidates as records requested, next to the cost of all that are tested."""
    (event,) = next(step.events for step in accounts.steps if step.part in {"seeds", "shared"} and step.record)
    if not isinstance(event, PrivacyTestEvent) or accounts.candidates is None:
        return ""
    fewer = compose_candidates(replace(event, outputs=spec.synthesis.records), accounts.candidates.delta)
    least = min((guarantee.epsilon for guarantee in fewer.values()), default=inf)
    return (
        f"{spec.synthesis.records:,} candidates, as many as the records requested, would cost epsilon = "
        f"{rounded_up(least)}; the {event.outputs:,} that are tested cost {rounded_up(accounts.candidates.epsilon)}, "
        "and that is what is charged."
    )


def _by_accountant(step: StepCost, claimed: Guarantee) -> dict[str, Guarantee]:
    """Return a step's guarantee by each accountant."""
    (first, *rest) = step.events
    if isinstance(first, PrivacyTestEvent):
        return compose_candidates(first, claimed.delta) or {"basic": claimed}
    if isinstance(first, StabilityHistogramEvent):
        return {claimed.accountant: claimed}
    of_record = step.of_record.charged
    found = compose([first, *rest], of_record.delta)
    return {name: of_person(guarantee, step.most_records) for name, guarantee in found.items()}


def _epsilon(guarantee: Guarantee | None) -> str:
    if guarantee is None:
        return ""
    return rounded_up(guarantee.epsilon) if isfinite(guarantee.epsilon) else "none"


def _whole(accounts: Accounts) -> str:
    total = accounts.total
    if total is None:
        return f"no differential privacy: {accounts.why_none}"
    return f"{in_words(total)}, by {total.accountant}"


def _verdict(spec: ReleaseSpec, accounts: Accounts, state: Path) -> tuple[bool, str, list[tuple[str, str]]]:
    """Return whether the release would be allowed, the verdict in words, its charge, and the budget left."""
    books, now, known = trial_books(spec, state)
    lines = []
    if spec.learner.is_without_noise:
        return _verdict_without_noise(spec, state)
    try:
        charges = planned_charges(spec, accounts)
        seed_cost = books.policy(spec.dataset_name).seed_cost
        cost = cost_of(charges, seed_cost)
        # A caveat about other releases' charges does not concern this release's charge.
        caveat = counted(seed_cost) if any(charge.per_record is not None for charge in charges) else ""
        charged = f"epsilon = {rounded_up(cost.epsilon)}, delta = {rounded_up(cost.delta)}{caveat}"
        lines.append(("charged", charged))
        lines += [("discovered", _discovered(each)) for each in books.charges(spec.dataset_name) if _is_discovery(each)]
        lines += [("left now", _left(balance, opened=not known)) for balance in books.balances(spec.dataset_name, now)]
        if charges:
            require_account(state, spec, state_ledger(state), opened=False)
            books.require_room(charges, now)
    except DeniableError as refusal:
        return False, f"[red]The release would be refused:[/red] {escape(str(refusal))}", lines
    return True, "[green]The budget allows this release.[/green]", lines


def _verdict_without_noise(spec: ReleaseSpec, state: Path) -> tuple[bool, str, list[tuple[str, str]]]:
    """Return the same for a release without noise, which is for public tables and costs nothing."""
    try:
        require_not_confidential(state, spec)
    except DeniableError as refusal:
        return False, f"[red]The release would be refused:[/red] {escape(str(refusal))}", []
    words = "[yellow]Nothing is guaranteed, and nothing is charged.[/yellow] The table must be public."
    return True, words, [("charged", "nothing")]


def trial_books(spec: ReleaseSpec, state: Path) -> tuple[LedgerState, str, bool]:
    """Return a copy of the ledger's state for trial entries; nothing is written to the ledger.

    Args:
        spec: a spec; its budget is entered if the ledger does not know its dataset.
        state: the state folder.

    Returns:
        The copy, the time that an entry would have now, and whether the ledger knows the dataset.
    """
    books = LedgerState()
    for entry in state_ledger(state).entries():
        books.enter(entry)
    now = max(written_time(datetime.now(UTC)), books.head.time if books.head is not None else "")
    known = spec.dataset_name in books.policies
    if not known and spec.budget is not None:
        # The custodian signs it when the account is opened; a plan has no key, and opens none.
        books.policies[spec.dataset_name] = policy_of(spec, spec.budget)
    return books, now, known


def _is_discovery(charged: Charged) -> bool:
    """Whether a charge paid for a discovery: values or ranges proposed for a schema."""
    return charged.charge.step == DISCOVER


def _discovered(charged: Charged) -> str:
    """Return an earlier charge of a discovery, in words."""
    cost = charged.charge.claim.cost
    return (
        f"epsilon {rounded_up(cost.epsilon)}, delta {rounded_up(cost.delta)} on {day_of(charged.entry.time)}, by "
        f"{charged.charge.release}"
    )


def _left(balance: Balance, *, opened: bool) -> str:
    """Return what is left of a budget, in words."""
    left, limit = balance.left, balance.limit
    words = (
        f"epsilon {rounded_down(left.epsilon)} of {rounded_down(limit.epsilon)}, delta {rounded_down(left.delta)} of "
        f"{rounded_down(limit.delta)}, of {balance.dataset}, {balance.cap}"
    )
    return f"{words} {OPENED}" if opened else words
