"""The requirements on the model of an earlier release: its digest and its cost are those that the spec states.

That they are those of the earlier release's record does not belong here (deniable.verification.earlier_release).
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

from deniable.foundation.checks import Check, found
from deniable.privacy.loss import Guarantee
from deniable.privacy.planned import Document, ExpectedStep
from deniable.roles import Role

_MODEL = "model.json"


def paid(asked: Document) -> Guarantee:
    """The cost of the model, which the earlier release was charged for.

    Args:
        asked: the entry in a spec, as in the record.
    """
    return Guarantee(float(Fraction(asked["epsilon"])), float(Fraction(asked["delta"])), "earlier_release")


def check_model(record: Document, _: Document, __: Document) -> tuple[Check, ...]:
    """Check that the model of the release has the digest that the spec states."""

    def faults() -> Iterator[str]:
        right = record["spec"]["document"]["learner"]["model"]
        made = [thing for step in record["steps"] for thing in step["outputs"] if thing["name"] == "model"]
        if [thing["digest"] for thing in made] != [right]:
            yield f"{_MODEL} is another than that with the SHA-256 {right}, which the spec names"

    return (Check("the model is the one that the spec names", found(faults)),)


EXPECTED_STEPS: Final[Mapping[str, ExpectedStep]] = {
    Role.PARAMETERS: ExpectedStep(
        part=None, makes={"graph": "graph.json", "model": _MODEL}, checks={_MODEL: check_model}
    ),
}
