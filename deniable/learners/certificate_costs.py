"""The cost of a certificate, and the budget left to the learner; used both to plan and to verify.

The certificate is part of the step that makes the model. It takes a share s of the step's budget (epsilon, delta):

* If everything else in the step has pure differential privacy, the learner is planned with (1 - s) epsilon, and the
  number has discrete Laplace noise of scale 1 / (s epsilon). Basic composition gives epsilon.
* Otherwise the learner is planned with (1 - s) epsilon at the same delta, and the number has discrete Gaussian noise of
  rho_c = s rho(epsilon, delta), where rho is the largest for which zCDP is known to imply the budget
  (`composition.epsilon_to_zcdp`). In zCDP the sum is within the budget: epsilon is increasing and concave in rho, and
  0 at 0, so that epsilon((1 - s) rho) >= (1 - s) epsilon, and so rho((1 - s) epsilon) <= (1 - s) rho(epsilon). A
  learner calibrated by a tighter accountant uses slightly more than that rho, and so does the sum, in proportion. The
  stated guarantee is always composed from all events, and planning refuses a sum beyond the budget.

Whether any pair remains unmeasured depends on later choices, but the cost must be reserved before. It is therefore
charged in any case, and the number is always drawn: over all pairs, if every pair was measured. Omitting it would save
nothing, because the reserved amount entered the calibration of the noise.

Drawing it does not belong here (certified), because verification needs no compiled code.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import isclose, log10
from typing import Any, Literal

from deniable.foundation.checks import Check
from deniable.foundation.domain import Domain
from deniable.measurements.certificate import FILE
from deniable.privacy.common_events import CERTIFICATE, certificate_event
from deniable.privacy.composition import epsilon_to_zcdp
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.planned import (
    Delta,
    Document,
    ExpectedStep,
    FileCheck,
    Planned,
    faults_of_claim,
    stated_amount,
)
from deniable.privacy.step_costs import StepCost

Noise = Literal["laplace", "gaussian"]

_FOUR_DIGITS = 2e-3
_DIGITS = 4


@dataclass(frozen=True)
class CertificateCost:
    """The budget of a step, of which the certificate takes a share.

    Attributes:
        epsilon: epsilon of the step.
        delta: delta of the step, for the records that it reads.
        share: the certificate's share, in (0, 1).
    """

    epsilon: Fraction
    delta: Fraction
    share: Fraction

    @property
    def left(self) -> Fraction:
        """The epsilon with which the learner is planned."""
        return (1 - self.share) * self.epsilon

    def noise(self, others: Sequence[MechanismEvent]) -> Noise:
        """The kind of noise, given the other events of the step."""
        return "laplace" if self.delta == 0 or all(event.epsilon is not None for event in others) else "gaussian"

    def amount(self, noise: Noise) -> Fraction:
        """Scale (Laplace) or variance (Gaussian, rounded up to four digits) of the noise."""
        if noise == "laplace":
            return 1 / (self.share * self.epsilon)
        rho = float(self.share) * epsilon_to_zcdp(float(self.epsilon), float(self.delta))
        variance = Fraction(1 / (2 * rho))
        unit = Fraction(10) ** (int(log10(variance) // 1) - _DIGITS + 1)
        return (int(variance / unit) + 1) * unit

    def event(self, others: Sequence[MechanismEvent]) -> MechanismEvent:
        """The event of the certificate, given the other events of the step."""
        noise = self.noise(others)
        return certificate_event(noise, self.amount(noise))


def with_certificate(steps: Mapping[str, ExpectedStep]) -> dict[str, ExpectedStep]:
    """The steps of a learner whose spec entry requests a certificate, for verification.

    Args:
        steps: the same steps without the certificate.
    """
    return {name: _certified(step) if "measured" in step.makes else step for name, step in steps.items()}


def _certified(step: ExpectedStep) -> ExpectedStep:
    return replace(
        step,
        makes={**step.makes, "certificate": FILE},
        plan=partial(_planned, step),
        checks={name: partial(_checked, check) for name, check in step.checks.items()},
    )


def _planned(expected: ExpectedStep, spec: Document, domain: Domain, step: StepCost, delta: Delta) -> Planned:
    cost = _cost_in(spec, delta)
    own = [event for event in step.events if event.query == CERTIFICATE]
    others = tuple(event for event in step.events if event.query != CERTIFICATE)
    planned = expected.plan(_without(spec), domain, replace(step, events=others), delta)
    noise = cost.noise(planned.events)
    right = cost.amount(noise)
    # Logarithms on two machines may differ in the last digits, so the record's amount is used if it is close.
    amount = stated_amount(own, noise) if noise == "gaussian" and own else right
    events = (*planned.events, certificate_event(noise, amount))

    def amounts() -> Iterator[str]:
        yield from planned.amounts()
        if not isclose(amount, right, rel_tol=_FOUR_DIGITS):
            yield f"the noise of the certificate has variance {float(amount):g}, but its share gives {float(right):g}"

    return Planned(events, amounts, lambda guarantee: faults_of_claim(guarantee, events, cost.delta))


def _checked(check: FileCheck, record: Document, described: Document, document: Document) -> tuple[Check, ...]:
    """A check of the learner's products, given the spec and events without the certificate."""
    steps = [
        {**step, "events": [event for event in step["events"] if event["query"] != CERTIFICATE]}
        for step in record["cost"]["steps"]
    ]
    spec = {**record["spec"], "document": _without(record["spec"]["document"])}
    return check({**record, "spec": spec, "cost": {**record["cost"], "steps": steps}}, described, document)


def _cost_in(spec: Document, delta: Delta) -> CertificateCost:
    learner = spec["learner"]
    budget = learner["parameters"]
    return CertificateCost(
        Fraction(budget["epsilon"]),
        delta(Fraction(budget.get("delta", 0))),
        Fraction(learner["certificate"]["share"]),
    )


def _without(spec: Document) -> dict[str, Any]:
    """The spec with which the learner itself was planned."""
    learner = {name: value for name, value in spec["learner"].items() if name != "certificate"}
    left = _cost_in(spec, lambda delta: delta).left
    return {**spec, "learner": {**learner, "parameters": {**learner["parameters"], "epsilon": str(left)}}}
