"""The steps that the audits of one run and of trade-off curves attack: those that release noisy integers.

A twin is the same step planned for several times the epsilon, so that it has too little noise for what it claims.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from benchmarks.audits.learned import StepExperiment
from benchmarks.audits.releases import made_before, spec_with, specs_of_learners
from benchmarks.audits.tracing import Answer, Noised
from deniable.foundation.noise import DiscreteGaussian
from deniable.mechanisms import PlannedStep
from deniable.privacy.loss import DiscreteGaussianEvent, DiscreteLaplaceEvent, ExponentialEvent
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec
from tests.mechanisms.table import LEARNERS, SAMPLERS

Floats = NDArray[np.float64]

ALARM: Final = 0.001
"""The probability of a bound that is too large."""


@dataclass(frozen=True)
class Attacked:
    """A step, with what earlier steps have made of no confidential record.

    Attributes:
        name: learner, noise and step, as in audits.
        spec: the release of which it is.
        experiment: the step.
    """

    name: str
    spec: ReleaseSpec
    experiment: StepExperiment

    @property
    def step(self) -> PlannedStep:
        """The planned step."""
        return self.experiment.step

    @property
    def deviations(self) -> float:
        """The claimed mu: by how many deviations of its Gaussian noise one record moves all integers together."""
        events = [event for event in self.step.events if isinstance(event, DiscreteGaussianEvent)]
        return sqrt(sum(2 * float(event.rho) * event.outputs for event in events))

    def at(self, times: int) -> "Attacked":
        """The same step planned for several times the epsilon."""
        dearer = self.spec.model_copy(update={"learner": dearer_entry(self.spec.learner, times)})
        planned = next(each for each in plan_release(dearer).learning if each.name == self.step.name)
        return replace(self, spec=dearer, experiment=replace(self.experiment, step=planned))


@cache
def steps(*, schema: str = "", gaussian: bool = False) -> Mapping[str, ReleaseSpec]:
    """The last step of each learner with each kind of noise, by its name in audits, if it releases noisy integers.

    Args:
        schema: the schema of the table in place of the usual one; learners with a public file or a schema of their own
            are left out then.
        gaussian: whether only steps with Gaussian noise of fixed amounts are asked for.

    Returns:
        The releases of which they are the last steps.
    """
    return dict(_steps(schema, gaussian=gaussian))


def _steps(schema: str, *, gaussian: bool) -> Iterator[tuple[str, ReleaseSpec]]:
    wanted = DiscreteGaussianEvent if gaussian else DiscreteGaussianEvent | DiscreteLaplaceEvent
    for name, usual in specs_of_learners():
        *_, last = plan_release(usual).learning
        if last.part is None or not any(isinstance(event, wanted) for event in last.events):
            continue
        if gaussian and not all(isinstance(event, DiscreteGaussianEvent | ExponentialEvent) for event in last.events):
            continue
        spec = usual if not schema else _with_schema(name, schema)
        if spec is not None:
            yield f"{name}: {last.name}", spec


def attacked(name: str, spec: ReleaseSpec) -> Attacked:
    """The last step of a learner, given what the others have made."""
    *before, last = plan_release(spec).learning
    there: dict[str, Any] = {}
    for step in before:
        there |= made_before(spec, step, there)
    return Attacked(name, spec, StepExperiment(last, there))


def _with_schema(name: str, schema: str) -> ReleaseSpec | None:
    kind, _, noise = name.removesuffix(" noise").partition(", ")
    row = LEARNERS.get(kind)
    if row is None or "public_file" in str(row.asked) or "schema" in row.asked:
        return None
    number = row.noises.index(noise) if noise else 0
    return spec_with({**SAMPLERS["seedless"], **row.asked, **row.with_noise(number), "schema": schema})


def dearer_entry(entry: Any, times: int) -> Any:
    """An entry with several times each of its budgets."""
    changed: dict[str, Any] = {}
    for name in type(entry).model_fields:
        value = getattr(entry, name)
        if "epsilon" in name and isinstance(value, Fraction):
            changed[name] = times * value
        elif isinstance(value, BaseModel):
            changed[name] = dearer_entry(value, times)
    return entry.model_copy(update=changed)


def noised(answers: list[Answer]) -> list[Noised]:
    """The noisy integers among the answers."""
    return [answer for answer in answers if isinstance(answer, Noised)]


def gains(answer: Noised, elsewhere: Noised, *, by_entry: bool = False) -> Any:
    """The log ratio of the probabilities of what was released, given the exact integers here and elsewhere.

    Gaussian noise is taken for continuous, which changes nothing from a variance of 4 on.
    """
    here, there = (answer.released - each.exact for each in (answer, elsewhere))
    if isinstance(answer.law, DiscreteGaussian):
        found = (there.astype(float) ** 2 - here.astype(float) ** 2) / (2 * answer.copies * float(answer.law.variance))
    else:
        found = (np.abs(there) - np.abs(here)) / float(answer.law.scale)
    return found if by_entry else float(found.sum())
