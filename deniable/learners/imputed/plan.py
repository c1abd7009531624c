"""The prior weights of imputed values, and the cost of a record; needs no compiled code.

Theorem. If a value j is drawn with probability (p_j + alpha) / (1 + C alpha), where p is any vector of probabilities
computed from the table, the draw costs ln(1 + 1 / alpha), for any two tables.

Proof. p_j is in [0, 1], so the probabilities under two tables have a ratio of (p_j + alpha) / (q_j + alpha) <= (1 +
alpha) / alpha. Here p_j are integers that sum to 2^32, and alpha 2^32 is an integer.

Source: Park, Ghosh, Shankar 2013, section 3.5.
"""

from fractions import Fraction
from typing import Final

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.learners.pegs.plan import DrawsPlan
from deniable.privacy.urn_costs import UNIT

ONE: Final = 1 << 32
"""Sum of the integer weights of a regression's probabilities."""
_LARGEST_MASS = 1 << 62


def imputation_plan(domain: Domain, records: int, epsilon: Fraction) -> DrawsPlan:
    """The draws of a release: one of each attribute for each record; the cost is that of urns with the same alpha."""
    return DrawsPlan(domain=domain, records=records, epsilon=epsilon)


def prior_weight(prior: int) -> int:
    """The weight added to each of the integer weights, from alpha in units of 1 / b."""
    return prior * (ONE // UNIT)


def require_mass(domain: Domain, plan: DrawsPlan) -> None:
    """Refuse weights whose sum does not fit into 64 bits.

    Raises:
        InvalidInput: the sum does not fit.
    """
    sizes = zip(plan.priors, domain.cardinalities, strict=True)
    if max(prior_weight(prior) * size for prior, size in sizes) + ONE > _LARGEST_MASS:
        raise InvalidInput("the weights of a draw must fit into 64 bits, and do not; raise epsilon.")
