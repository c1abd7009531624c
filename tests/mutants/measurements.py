"""Faults in what is published of noisy tables, and in its verification."""

from tests.mutants.mutant import faults

_CHANGED = "unit/test_measurement_verification.py::test_what_was_changed_is_found"
_PAID = "unit/test_measurement_verification.py::test_more_than_was_paid_for_is_found"
_PRIVBAYES = "unit/test_privbayes_measurements.py::"
_IN_FULL = "unit/test_consistent_estimates.py::"

MUTANTS = (
    *faults(
        "deniable/measurements/noisy_tables.py",
        (
            "self.sums.dtype != np.int64:",
            "self.sums.dtype not in (np.int64, np.float64):",
            "floating-point numbers count as released integers",
            _PRIVBAYES + "test_what_was_changed_is_found",
        ),
        (
            "return self.multiplier * self.noise.cost",
            "return self.noise.cost",
            "a sum of several draws counts as one release",
            _PAID,
        ),
    ),
    *faults(
        "deniable/measurements/document.py",
        (
            "elif max(turns, default=0) != len(turns):",
            "elif not turns:",
            "a query may be missing from what is published",
            _CHANGED,
        ),
        ("            if key in asked:", "            if not key:", "a query may be published twice", _CHANGED),
    ),
    *faults(
        "deniable/measurements/checks.py",
        (
            "if spent > covered:",
            "if spent > 1000 * covered:",
            "releases may cost more than their events",
            _PRIVBAYES + "test_more_than_was_paid_for_is_found",
        ),
    ),
    *faults(
        "deniable/learners/privbayes/verification.py",
        (
            'if laws != [("laplace", plan.scale, 1, turn)]:',
            "if not laws:",
            "tables of PrivBayes may have less noise than was charged",
            _PRIVBAYES + "test_what_was_changed_is_found",
        ),
    ),
    *faults(
        "deniable/measurements/consistency.py",
        (
            "basis.T / observation.spread[i] if",
            "basis.T if",
            "sums of many values count as being as precise as single values",
            _IN_FULL + "test_estimates_are_those_of_generalized_least_squares_worked_out_in_full",
        ),
    ),
)
