"""The numbers that Bindschaedler, Shokri and Gunter 2017 print; ours do not belong here.

The bars of Figures 1 and 2, the boxes of Figures 3 and 4 and the curves of Figures 5 and 6 have no printed numbers.
"""

from typing import Final

SIZES: Final = {
    "age": 79,
    "wc": 8,
    "edu": 24,
    "ms": 5,
    "occ": 25,
    "rel": 18,
    "race": 5,
    "sex": 2,
    "hpw": 99,
    "waob": 8,
    "incc": 2,
}
"""Table 1: number of values of each attribute."""

RAW, CLEAN, POSSIBLE, UNIQUE = 3_132_796, 1_494_974, 540_587_520_000, 1_022_718
"""Table 2: records before and after cleaning, possible records, unique records."""
LEARNT_FROM, SEEDS, TESTED = 280_000, 735_000, 100_000
"""About how many records the model is learnt from (structure and parameters each), seeds are, and tests have."""

PARENTS: Final = {
    "wc": ["occ"],
    "edu": ["age", "rel"],
    "ms": ["age", "rel"],
    "occ": ["edu"],
    "rel": ["age"],
    "race": ["waob"],
    "sex": ["occ"],
    "hpw": ["age", "occ"],
    "waob": ["edu", "occ"],
    "incc": ["age", "edu", "hpw"],
}
ORDER: Final = ["age", "rel", "edu", "ms", "occ", "wc", "waob", "race", "sex", "hpw", "incc"]
"""The graph and the order that the authors' tool learnt from their records, and published with it."""

K, GAMMA, EPS0, DELTA = 50, 4, 1, "9.3e-10"
"""The parameters of the experiments; delta is 2^-30."""
OMEGAS: Final = {
    "omega 11": {11: 1},
    "omega 10": {10: 1},
    "omega 9": {9: 1},
    "omega 9 to 11": {9: 1, 10: 1, 11: 1},
    "omega 5 to 11": dict.fromkeys(range(5, 12), 1),
}
"""Numbers of re-sampled attributes, with equal weights: the unlabelled rows of Tables 3 to 5, in their order."""

CLASSIFIERS: Final = ("tree", "forest", "adaboost")
TRAINED_RIGHT: Final = {
    "reals": (77.8, 80.4, 79.3),
    "marginals": (57.9, 63.8, 69.2),
    "omega 11": (72.4, 75.3, 78.0),
    "omega 10": (72.3, 75.2, 78.1),
    "omega 9": (72.4, 75.2, 77.5),
    "omega 9 to 11": (72.3, 75.2, 78.1),
    "omega 5 to 11": (72.1, 75.2, 78.1),
}
"""Table 3: accuracy of the tree, the forest and AdaBoost, in per cent."""
TRAINED_SAME: Final = {
    "reals": (80.2, 86.4, 92.4),
    "marginals": (58.5, 65.4, 75.6),
    "omega 11": (73.9, 79.0, 83.0),
    "omega 10": (73.8, 78.9, 83.6),
    "omega 9": (73.9, 79.2, 82.4),
    "omega 9 to 11": (73.7, 79.0, 83.9),
    "omega 5 to 11": (73.6, 79.2, 83.3),
}
"""Table 3: agreement of each with the same classifier trained on reals, in per cent."""

PRIVATE_TRAINING: Final = {
    "not private": (79.9, 78.5),
    "output perturbation": (69.7, 76.2),
    "objective perturbation": (76.3, 78.2),
    "marginals": (68.9, 68.9),
    "omega 11": (77.6, 77.2),
    "omega 10": (77.7, 77.1),
    "omega 9": (77.5, 77.1),
    "omega 9 to 11": (77.5, 76.9),
    "omega 5 to 11": (77.7, 77.3),
}
"""Table 4: accuracy of logistic regression and of the SVM, in per cent."""

DISTINGUISHED: Final = {
    "reals": (50.0, 50.0),
    "marginals": (79.8, 73.2),
    "omega 11": (62.3, 58.9),
    "omega 10": (61.8, 58.6),
    "omega 9": (63.0, 59.8),
    "omega 9 to 11": (60.1, 57.9),
    "omega 5 to 11": (61.4, 58.4),
}
"""Table 5: share of records that the forest and the tree tell from real ones, in per cent."""

RECORDS_IN_TEN_MINUTES, RECORDS_IN_AN_HOUR, CORES = 10_000, 1_000_000, 16
"""Figure 5: records that one core, and several, make in less than that time."""
TOOLS_CANDIDATES: Final = (61, 79)
"""Candidates per second that the authors' tool (0.10a) made on one core of a machine like ours; least and most."""
