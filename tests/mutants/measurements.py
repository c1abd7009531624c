"""Faults in what is published of noisy tables, and in its verification."""

from tests.mutants.mutant import faults

_VERIFICATION = "unit/test_measurement_verification.py::"
_CHANGED = _VERIFICATION + "test_what_was_changed_is_found"
_PAID = _VERIFICATION + "test_more_than_was_paid_for_is_found"
_PRIVBAYES = "unit/test_privbayes_measurements.py::"
_IN_FULL = "unit/test_consistent_estimates.py::"
_CERTIFICATE = "unit/test_certificate.py::"
_CERTIFIED = "privacy/test_certificates_spend_no_more_than_they_claim.py::"

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
        "deniable/learners/loglinear/published_measurements.py",
        (
            "elif event.outputs != first.multiplier:",
            "elif not event.outputs:",
            "an attribute by itself may have several draws of noise where one was charged",
            _VERIFICATION + "test_a_first_release_has_as_many_draws_as_its_event",
        ),
        (
            "(*_in_turn(one)[1:], *",
            "(*_in_turn(one)[2:], *",
            "a repeated attribute may have other noise than tables",
            _VERIFICATION + "test_a_repeated_attribute_has_the_noise_of_the_tables",
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
        "deniable/measurements/certificate.py",
        (
            "    return max(int(np.abs(counted - own).max()) for",
            "    return sum(int(np.abs(counted - own).max()) for",
            "the errors of all pairs are added up in a certificate",
            _CERTIFIED + "test_one_record_changes_the_largest_error_by_one",
        ),
        (
            "return int(np.argmax(tails <= rest))",
            "return max(0, int(np.argmax(tails <= rest)) - 1)",
            "the margin of a bound is one too small",
            _CERTIFIED + "test_a_bound_is_exceeded_as_seldom_as_it_says_and_no_smaller_one_is",
        ),
        (
            "set(part) <= set(table.attributes) and set(table.differences) <= set(part)",
            "set(part) <= set(table.attributes)",
            "a pair counts as measured whatever its differences",
            _CERTIFICATE + "test_pairs_are_those_whose_tables_do_not_follow_from_measured_ones",
        ),
        (
            "if (certificate.noise, event.sensitivity, event.outputs) == (paid, 1, 1) and len(events) == 1:",
            "if len(events) == 1:",
            "a certificate may have other noise than was charged",
            _CERTIFICATE + "test_what_was_changed_is_found",
        ),
        (
            "            if document[entry] != right[entry]:",
            "            if not right:",
            "another bound may be stated than follows from the released number",
            _CERTIFICATE + "test_what_was_changed_is_found",
        ),
        (
            "    if certificate.workload != right:",
            "    if not right:",
            "a certificate may leave pairs out",
            _CERTIFICATE + "test_what_was_changed_is_found",
        ),
    ),
    *faults(
        "deniable/learners/certified.py",
        (
            "return int((largest_error(tables, model) + drawn.sample(stream, 1))[0])",
            "return int((largest_error(tables, model) + 0 * drawn.sample(stream, 1))[0])",
            "the noise of a certificate is left out",
            _CERTIFIED + "test_a_certificate_has_the_noise_that_is_charged",
        ),
        (
            "drawn = DiscreteLaplace(law.amount) if",
            "drawn = DiscreteLaplace(law.amount * type(law.amount)(9, 10)) if",
            "the noise of a certificate is a tenth narrower than charged",
            _CERTIFIED + "test_a_certificate_has_the_noise_that_is_charged",
        ),
        (
            '"parameters": budget.model_copy(update={"epsilon": left})',
            '"parameters": budget',
            "the learner keeps the whole budget beside the certificate",
            _CERTIFIED + "test_model_and_certificate_together_stay_within_the_budget_of_the_parameters",
        ),
        (
            "    events = (*step.events, event)\n",
            "    events = step.events\n",
            "a certificate is not charged",
            _CERTIFIED + "test_model_and_certificate_together_stay_within_the_budget_of_the_parameters",
        ),
        (
            "    workload, records = workload_of(measured), records_of(measured)\n",
            (
                "    workload = workload_of(measured)\n"
                "    empty = partial(SmallTables, Partition.finest(domain), [(0,)])\n"
                '    records = int(counter.count(empty, "rows").tables[0].sum())\n'
            ),
            "the model of a certificate is scaled to the exact number of rows",
            _CERTIFIED + "test_nothing_but_the_noisy_number_depends_on_the_rows_once_the_model_is_fixed",
        ),
    ),
    *faults(
        "deniable/learners/certificate_costs.py",
        (
            "return 1 / (self.share * self.epsilon)",
            "return 1 / (2 * self.share * self.epsilon)",
            "the Laplace noise of a certificate costs twice its share",
            _CERTIFIED + "test_model_and_certificate_together_stay_within_the_budget_of_the_parameters",
        ),
        (
            "variance = Fraction(1 / (2 * rho))",
            "variance = Fraction(1 / (4 * rho))",
            "the Gaussian noise of a certificate costs twice its share",
            _CERTIFIED + "test_model_and_certificate_together_stay_within_the_budget_of_the_parameters",
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
