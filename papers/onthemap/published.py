"""The numbers that Machanavajjhala and others 2008 print; ours do not belong here. Their figures print none."""

from fractions import Fraction
from typing import Final

EPSILON, DELTA = Fraction(46, 10), Fraction(1, 10**5)
KEPT: Final = Fraction(378, 10_000)
"""Smallest probability with which an origin without workers stays in the domain."""
ADDED: Final = 3.97
"""What domain sampling adds to epsilon."""
PRIOR_WORKERS: Final = 419
"""Prior workers of a destination in experiment 1."""
DESTINATIONS, MEAN_JOBS = 120, 15
"""Number of random destinations, and their mean number of jobs."""
BLOCKS: Final = {"experiment 1": 233_726, "experiment 2": 120_690}
SMALLEST_PRIOR: Final = {"experiment 1": 0.01245, "experiment 2": 0.039764}
"""The smallest prior weight of an origin."""
QUANTILES: Final = {0.5: 6.23, 0.75: 13.1, 0.9: 21.5}
"""Commutes in miles, by the share of workers below."""
