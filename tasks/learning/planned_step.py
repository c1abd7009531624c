"""Carry out a step that a learner or a sampler has planned: reserve its cost, run it, keep its products, commit."""

from collections.abc import Mapping
from typing import Any

from deniable.foundation.errors import Refused
from deniable.measurements.document import with_sampling
from deniable.mechanisms import MEASURED, Counter, EarlierRelease, Made, PlannedStep, Product, PublicTable
from reports.plots.products import picture_of
from schemas.references import Audience, Reference
from stores.ledger.charging import commit, opened_streams, require_not_confidential, reserve
from stores.tracking.model_record import record_model
from stores.tracking.step_run import StepRecord, recorded_step
from stores.vault.models import read_product
from stores.vault.workspace import Workspace
from tasks.data.earlier_release import EarlierDocuments
from tasks.data.public_rows import PublicCounter
from tasks.running.counting import PartCounter
from tasks.running.step import as_task


def planned_step(
    workspace: Workspace, step: str, part: Reference | None, given: tuple[Reference, ...]
) -> tuple[Reference, ...]:
    """Carry out one of the steps that the spec's learner and sampler have planned.

    Args:
        workspace: the release.
        step: the name of its task.
        part: codes of the part that the step reads, at a cost or because it is public; None if it reads none.
        given: the products of earlier steps that it reads, as listed in the plan.

    Returns:
        The products, as listed in the plan.

    Raises:
        Refused: the spec has no such step, or it would count a table without noise that a ledger knows as confidential.
    """
    plan = workspace.plan.step(step)
    read = given if part is None else (part, *given)
    with recorded_step(workspace, plan.task, inputs=read) as record:
        if plan.shown:
            record.parameters(**plan.shown)
        products = {item.name: read_product(workspace.plan.products[item.name], item) for item in given}
        if plan.foresee is not None:
            plan.foresee(products)
        if part is not None and plan.part is None:
            require_not_confidential(workspace.state, workspace.spec)
        charge = None if part is None or plan.part is None else _reserve(workspace, plan, part, given)
        made = _run(workspace, plan, part, given, products)
        if charge is not None:
            cost = workspace.plan.cost(plan)
            record.spent(cost.guarantee, cost.events)
        _record_figures(record, made)
        kept = {product.name: _keep(record, product, made) for product in plan.makes}
        if charge is not None and not plan.draws_later:
            commit(workspace, charge, kept.get("model", next(iter(kept.values()))))
        if "model" in kept:
            record_model(record, kept["model"], workspace.plan.accounts.model)
        # The draws of a later step are committed by that step, under the charge that its input carries.
        paid = {"charge": charge} if charge is not None and plan.draws_later else {}
        return tuple(reference.model_copy(update=paid) for reference in kept.values())


def _reserve(workspace: Workspace, plan: PlannedStep, part: Reference, given: tuple[Reference, ...]) -> str:
    return reserve(workspace, workspace.plan.charge(plan), part, *given, parameters=dict(plan.parameters))


def _run(
    workspace: Workspace,
    plan: PlannedStep,
    part: Reference | None,
    given: tuple[Reference, ...],
    products: Mapping[str, Any],
) -> Made:
    counter = _counter(workspace, plan, part)
    inputs = " ".join(reference.digest for reference in (*(() if part is None else (part,)), *given))
    return plan.run(counter, products, opened_streams(workspace, plan.name, inputs))


def _counter(workspace: Workspace, plan: PlannedStep, part: Reference | None) -> Counter:
    """Return the counter of a step's rows: those of its part, of a public table, or none; or the documents it reads."""
    if part is not None:
        return PartCounter(workspace, part, plan.task)
    if isinstance(plan.public, EarlierRelease):
        return EarlierDocuments(workspace, plan.public)
    if isinstance(plan.public, PublicTable):
        return PublicCounter(workspace.spec, plan.public, workspace.state)
    return _NoRows()


class _NoRows:
    """A counter for a step that has no part of the rows."""

    def count(self, *_: object) -> Any:
        """Refuse to count."""
        raise Refused("a step that reads no part of the rows must count none, and requested counts.")

    def advance(self, _: int) -> None:
        """Report nothing: such a step takes hardly any time."""


def _record_figures(record: StepRecord, made: Made) -> None:
    for figures, audience in ((made.figures, Audience.PUBLIC), (made.internal, Audience.INTERNAL)):
        if figures:
            record.figures(figures, audience)


def _keep(record: StepRecord, product: Product, made: Made) -> Reference:
    """Write a product, plot it if its kind has a picture, and record both."""
    workspace, value = record.workspace, made.products[product.name]
    if product is MEASURED and workspace.spec.sampling is not None:
        # A custodian's statement about the source, which is unknown to learners.
        value = with_sampling(value, workspace.spec.sampling.kind)
    audience = Audience.PUBLIC if product.is_public else Audience.RESTRICTED
    with workspace.writing(product.file, audience) as path, path.open("wb") as file:
        product.write(value, file)
    picture = picture_of(product.name, made.products, workspace.spec)
    if picture is not None:
        record.drawing(picture, f"{product.name}.svg", audience)
    if product.is_shown:
        record.document(value, product.file, audience)
    return record.output(workspace.refer(product.name, product.file, audience))


def _named(workspace: Workspace, step: str, part: Reference | None, given: tuple[Reference, ...]) -> str:  # noqa: ARG001 - as the step is called
    return step


planned_step_task = as_task(planned_step, named=_named)
