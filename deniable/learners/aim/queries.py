"""The two private queries between rows and model, a choice and a noisy table, with their account.

All information about the data passes through them, as integers. The rho of a query is subtracted before anything is
drawn, and a query without enough rho left is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import Parameter, StreamOpener
from deniable.foundation.noise import DiscreteGaussian
from deniable.foundation.tables import Counts
from deniable.learners.aim.plan import RoundsPlan, rho_of_choice, rho_of_table
from deniable.learners.aim.workload import Attributes
from deniable.learners.loglinear.exponential_mechanism import choose


@dataclass(eq=False)
class PrivateQueries:
    """The private queries, with keyed noise.

    Attributes:
        plan: the budget.
        open_stream: opens the streams of this step.
        spent: the rho spent so far.
    """

    plan: RoundsPlan
    open_stream: StreamOpener
    spent: Fraction = Fraction(0)
    _turn: int = field(default=0, init=False)

    @property
    def left(self) -> Fraction:
        """The remaining rho."""
        return self.plan.rho - self.spent

    @property
    def turn(self) -> int:
        """Number of the last query, from 1."""
        return self._turn

    def measure(self, attributes: Attributes, counts: Counts, variance: Fraction) -> Counts:
        """Release a table with discrete Gaussian noise; one record changes one count by 1.

        Args:
            attributes: its attributes.
            counts: the exact counts.
            variance: variance of the noise.

        Raises:
            InvalidInput: too little is left; nothing was drawn.
        """
        self._pay(rho_of_table(variance))
        parameters: dict[str, Parameter] = {
            "turn": self._turn,
            "attributes": [self.plan.domain.names[i] for i in attributes],
            "variance": variance,
            "domain": self.plan.domain.digest,
        }
        stream = self.open_stream(mechanism="counts", parameters=parameters)
        noisy: Counts = counts + DiscreteGaussian(variance).sample(stream, counts.size).reshape(counts.shape)
        return noisy

    def choose(self, scores: Sequence[int], sensitivity: int, epsilon: Fraction) -> int:
        """Release the number of a candidate, favouring high scores.

        Args:
            scores: the candidates' scores.
            sensitivity: largest change of a score by one record.
            epsilon: epsilon of the choice.

        Raises:
            InvalidInput: too little is left; nothing was drawn.
        """
        self._pay(rho_of_choice(epsilon))
        parameters: dict[str, Parameter] = {
            "turn": self._turn,
            "candidates": len(scores),
            "epsilon": epsilon,
            "sensitivity": sensitivity,
            "domain": self.plan.domain.digest,
        }
        stream = self.open_stream(mechanism="choice", parameters=parameters)
        # Scores are not monotone: the general form applies, not the one for scores that a record can only increase.
        return choose(scores, sensitivity=sensitivity, epsilon=epsilon, stream=stream)

    def _pay(self, rho: Fraction) -> None:
        if not 0 < rho <= self.left:
            raise InvalidInput(
                f"a query must stay within the planned rho, got {float(rho):g} with {float(self.left):g} left; "
                "plan more."
            )
        self.spent += rho
        self._turn += 1
