"""Charges a release's steps to the ledger of its dataset: before they draw, once, and never beyond a cap.

The costs of steps belong to `schemas.spec.accounts`, the sums of charges to `deniable.ledger.budget`.
"""

import getpass
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from deniable.discovery.plan import STEP as DISCOVER
from deniable.foundation.errors import DeniableError
from deniable.foundation.keys import Parameter, WordStream
from deniable.ledger.budget import cost_of
from deniable.ledger.drawing_versions import drawing_of, mechanism_name, require_same_version, stream_name
from deniable.ledger.entries import Charge, Claim, Cost, Joint, PeriodCap, Policy, digest_of
from deniable.ledger.state import NoPolicy
from deniable.privacy.loss import Guarantee
from deniable.privacy.rounding import float_above
from deniable.privacy.step_costs import StepCost
from schemas.references import Reference
from schemas.spec.accounts import Accounts, SpentSoFar
from schemas.spec.release_spec import Budget, ReleaseSpec
from stores.ledger.accounts import admit, require_unknown
from stores.ledger.ledger import Ledger, Reserved
from stores.ledger.state_ledger import state_ledger
from stores.vault.scratch import is_scratch
from stores.vault.workspace import Workspace


def open_ledger(workspace: Workspace) -> Ledger:
    """The ledger of a release's state folder, or the one that DENIABLE_LEDGER names."""
    return state_ledger(workspace.state)


def policy_of(spec: ReleaseSpec, budget: Budget) -> Policy:
    """The policy for a dataset from the budget in a spec."""
    period = budget.period
    return Policy(
        dataset=spec.dataset_name,
        limit=Cost(epsilon=budget.epsilon, delta=budget.delta),
        period=None
        if period is None
        else PeriodCap(length=period.length, limit=Cost(epsilon=period.epsilon, delta=period.delta)),
        seed_cost=budget.seed_cost,
        set_by=f"{getpass.getuser()}, by the spec {spec.name}",
    )


def require_room(workspace: Workspace, accounts: Accounts) -> None:
    """Refuse a release that does not fit into the dataset's budget; the spec's budget applies if there is none yet.

    Steps that were charged under the same key, in an earlier run of this release or by the release that this one
    replays, are not counted again: repeating their draws costs nothing. A different draw is refused later.

    Args:
        workspace: the release.
        accounts: its future costs.

    Raises:
        NoPolicy: neither the ledger nor the spec has a budget.
        BudgetExceeded: it would cost more than is left; nothing was charged.
        Refused: it adds no noise, and the ledger knows its dataset or its source as confidential.
    """
    ledger, spec = open_ledger(workspace), workspace.spec
    if spec.learner.is_without_noise:
        require_not_confidential(workspace.state, spec)
        return
    if not is_scratch(workspace.state):
        admit(workspace.state, spec, ledger, None if spec.budget is None else policy_of(spec, spec.budget))
    commitment = workspace.key().commitment()
    made = [charged.charge for charged in ledger.charges(spec.dataset_name) if charged.charge.commitment == commitment]
    for charge in made:
        # Before anything is read: this version would draw different noise than the noise that was charged.
        require_same_version(charge, _mechanism(spec, charge.step))
    known = {charge.step for charge in made}
    steps = [step for step in accounts.steps if step.step not in known]
    planned = _planned(workspace.release_id, spec, steps, made, commitment=commitment)
    ledger.policy(spec.dataset_name)
    if planned:
        ledger.check(*planned)


def require_not_confidential(state: Path, spec: ReleaseSpec) -> None:
    """Refuse a release without noise of anything that the state folder's ledger knows as confidential.

    Args:
        state: the state folder.
        spec: the spec of a release without noise.

    Raises:
        Refused: the ledger has an account or a charge for the dataset, or knows its source as that of an account.
    """
    require_unknown(state, spec, state_ledger(state))


def planned_charges(spec: ReleaseSpec, accounts: Accounts) -> list[Charge]:
    """The charges that a release will make, without the digests of its inputs, which are not known yet."""
    return _planned("planned", spec, accounts.steps, [], commitment="planned")


def _planned(
    release_id: str, spec: ReleaseSpec, steps: Sequence[StepCost], made: Sequence[Charge], *, commitment: str
) -> list[Charge]:
    """The charges that steps will make after those made before, without the digests of their inputs."""
    split = made[0].split if made else "planned"
    charge = partial(_charge, commitment=commitment, split=split, inputs="planned", parameters={})
    planned: list[Charge] = []
    for step in steps:
        planned.append(charge(release_id, spec, step, [*made, *planned]))
    return planned


def _charge(
    release_id: str,
    spec: ReleaseSpec,
    cost: StepCost,
    made: Sequence[Charge],
    *,
    commitment: str,
    split: str,
    inputs: str,
    parameters: dict[str, Parameter],
) -> Charge:
    return Charge(
        dataset=spec.dataset_name,
        release=release_id,
        step=cost.step,
        mechanism=_mechanism(spec, cost.step),
        part=cost.part,
        probability=cost.probability,
        split=split,
        claim=Claim.of(cost.charged),
        per_record=Claim.of(cost.record) if cost.record is not None else None,
        joint=_joint(cost, made, split),
        events=cost.events,
        inputs=inputs,
        # The events contain every scale: a different scale is a different draw.
        parameters=parameters
        | {"events": digest_of([event.to_record() for event in cost.events]), "domain": spec.domain.digest},
        commitment=commitment,
        most_records=cost.most_records,
    )


def _joint(cost: StepCost, made: Sequence[Charge], split: str) -> Joint | None:
    """The joint cost of a step and those that were charged before it, for the same split of the same rows.

    Args:
        cost: the cost of the step.
        made: the charges under the release's key, in order.
        split: the split that the step reads.
    """
    if cost.joint is None:
        return None
    last = {charge.step: charge for charge in made if (charge.split, charge.part) == (split, cost.part)}
    if not last.keys() >= set(cost.joint.steps):
        # Another split of the rows was learnt from: the costs add up.
        return None
    return Joint(claim=Claim.of(cost.joint.guarantee), others=tuple(last[step].identity for step in cost.joint.steps))


def _mechanism(spec: ReleaseSpec, step: str) -> str:
    """The mechanism of a step, with its version."""
    return mechanism_name(drawing_of(spec.learner.kind, step, dict(spec.synthesis)), step)


def opened_streams(workspace: Workspace, step: str, inputs: str) -> Callable[..., WordStream]:
    """Return the function that opens a step's streams, under the key of the release and the version of the mechanism.

    Args:
        workspace: the release.
        step: the step.
        inputs: digests of all inputs.
    """
    spec = workspace.spec
    name = stream_name(drawing_of(spec.learner.kind, step, dict(spec.synthesis)), step)
    return partial(workspace.key().stream, step=name, inputs=inputs)


def reserve(
    workspace: Workspace, cost: StepCost, part: Reference, *others: Reference, parameters: dict[str, Parameter]
) -> str:
    """Charge a step before it draws.

    Args:
        workspace: the release.
        cost: the cost of the step.
        part: the part of the data that it reads.
        others: other inputs that determine the draw.
        parameters: all other parameters, besides these and the key, that determine the draw.

    Returns:
        The identity of the charge; the same draw is charged once, however often this is called.

    Raises:
        BudgetExceeded: a cap would be exceeded; nothing was charged and nothing may be drawn.
    """
    probabilities = {name: str(probability) for name, probability in workspace.spec.split.probabilities.items()}
    commitment = workspace.key().commitment()
    made = open_ledger(workspace).charges(workspace.spec.dataset_name) if cost.joint is not None else []
    charge = _charge(
        workspace.release_id,
        workspace.spec,
        cost,
        [charged.charge for charged in made if charged.charge.commitment == commitment],
        commitment=commitment,
        split=digest_of([part.whole, probabilities]),
        inputs=" ".join(reference.digest for reference in (part, *others)),
        parameters=parameters,
    )
    return reserve_charge(workspace, charge).identity


def reserve_charge(workspace: Workspace, charge: Charge) -> Reserved:
    """Charge what a release, or a discovery, is about to draw; the ledger's gate decides each time.

    Raises:
        LedgerReplaced: a witness proves a charge that the ledger lacks.
        BudgetExceeded: a cap would be exceeded; nothing was charged and nothing may be drawn.
    """
    return open_ledger(workspace).reserve(charge)


def commit(workspace: Workspace, identity: str, output: Reference) -> None:
    """Note that the output of a draw is stored."""
    open_ledger(workspace).commit(identity, output.digest)


def note_publication(workspace: Workspace, published: Reference) -> None:
    """Note that the release is public."""
    open_ledger(workspace).publish(workspace.spec.dataset_name, workspace.release_id, published.digest)


def was_charged(workspace: Workspace) -> bool:
    """Whether anything was charged for a release, so that it must be resumed rather than started again."""
    return is_charged(workspace.state, workspace.spec.dataset_name, workspace.release_id)


def is_charged(state: Path, dataset: str, release_id: str) -> bool:
    """Whether anything was charged to a dataset for a release."""
    charges = state_ledger(state).charges(dataset)
    return any(charged.charge.release == release_id for charged in charges)


def is_known_to_be_charged(state: Path, dataset: str, release_id: str) -> bool | None:
    """Whether anything was charged to a dataset for a release; None if the ledger cannot be read at the moment."""
    try:
        return is_charged(state, dataset, release_id)
    except DeniableError:
        return None


def charged_under(state: Path, dataset: str, commitment: str) -> set[str]:
    """Names of the releases that were charged to a dataset under a key."""
    charges = state_ledger(state).charges(dataset)
    return {charged.charge.release for charged in charges if charged.charge.commitment == commitment}


def spent_so_far(workspace: Workspace) -> SpentSoFar | None:
    """The joint cost of all releases of the dataset, including this one; None if the dataset is not in the ledger."""
    ledger, dataset = open_ledger(workspace), workspace.spec.dataset_name
    try:
        policy = ledger.policy(dataset)
    except NoPolicy:
        return None
    charges = [charged.charge for charged in ledger.charges(dataset)]
    whole, counted = cost_of(charges, "total"), cost_of(charges, policy.seed_cost)
    return SpentSoFar(
        releases=len({charge.release for charge in charges}),
        spent=Guarantee(float_above(whole.epsilon), min(float_above(whole.delta), 1.0), "basic"),
        counted=(float_above(counted.epsilon), float_above(counted.delta)),
        seed_cost=policy.seed_cost,
        discoveries=len({charge.release for charge in charges if charge.step == DISCOVER}),
    )
