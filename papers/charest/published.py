"""The numbers that Charest 2010 prints, with the paper's own labels; ours do not belong here.

Each is for 100 people, sets of 100 records, equal prior weights, and 1,000 simulated surveys.
"""

from typing import Final

PEOPLE: Final = 100
RUNS: Final = 1000
LARGE: Final = 250
"""The paper's epsilon without noise to speak of."""

BIAS: Final = {
    (0.25, 2, 1): 6.00,
    (0.25, 2, 2): 13.50,
    (0.25, 2, 5): 20.57,
    (0.25, 2, 10): 22.55,
    (0.5, 2, 2): -0.04,
    (0.5, 2, 5): -0.07,
    (0.5, 2, 10): 0.0,
    (0.25, LARGE, 2): -0.31,
    (0.25, LARGE, 5): -0.50,
    (0.25, LARGE, 10): 0.14,
}
"""Table 1, labelled relative bias in per cent, by share, epsilon and number of sets."""

VARIANCE: Final = {
    (0.25, 2, 2): 22.40,
    (0.25, 2, 5): 6.42,
    (0.25, 2, 10): 3.05,
    (0.5, 2, 2): 23.57,
    (0.5, 2, 5): 7.09,
    (0.5, 2, 10): 3.12,
    (0.25, LARGE, 2): 39.42,
    (0.25, LARGE, 5): 30.35,
    (0.25, LARGE, 10): 25.46,
}
"""Table 2, labelled variance in units of 10^-2."""

STAR: Final = {
    (0.25, 2, 2): 54,
    (0.25, 2, 5): 251,
    (0.25, 2, 10): 504,
    (0.5, 2, 2): 63,
    (0.5, 2, 5): 226,
    (0.5, 2, 10): 466,
    (0.25, LARGE, 2): -15,
    (0.25, LARGE, 5): -15,
    (0.25, LARGE, 10): -17,
}
"""Table 2, relative bias of the estimator T_M* of that variance, in per cent."""
