"""Faults in what events cost, and in how costs add up."""

from tests.mutants.mutant import faults

_LOSS = "unit/test_loss.py::"
_COST = _LOSS + "test_cost_of_one_output"
_COMPOSITION = "unit/test_composition.py::"
_ACCOUNTING = "unit/test_accounting.py::"
_LAWS = "unit/test_loss_laws.py::"
_PAIR = "unit/test_dominating_pair.py::"
_STEPS = "unit/test_step_costs.py::"
_PART_DELTA = _STEPS + "test_the_delta_of_a_part_makes_that_of_the_whole_and_never_more"
_THEOREMS = _ACCOUNTING + "test_accountants_follow_their_theorems"
_RESPONSE = _COMPOSITION + "test_a_joint_split_is_met_by_randomized_response"
_RESPONSE_DELTA = _COMPOSITION + "test_a_joint_split_of_responses_that_may_fail_is_met"
_CALIBRATED = _ACCOUNTING + "test_calibrated_noise_uses_the_budget_up_and_no_more[11-1.0-1e-06]"

MUTANTS = (
    *faults(
        "deniable/privacy/loss.py",
        (
            "return self.sensitivity / self.scale",
            "return 1 / self.scale",
            "Laplace noise is charged for sensitivity 1, whatever it is",
            _COST,
        ),
        (
            "return self.sensitivity**2 / (2 * self.variance)",
            "return self.sensitivity / (2 * self.variance)",
            "Gaussian noise is charged for the sensitivity, not its square",
            _COST,
        ),
        (
            "return self.sensitivity**2 / (2 * self.variance)",
            "return self.sensitivity**2 / (4 * self.variance)",
            "Gaussian noise is charged half",
            _COST,
        ),
        (
            "return self.epsilon_per_choice**2 / 8",
            "return self.epsilon_per_choice**2 / 16",
            "choices are charged half in concentrated privacy",
            _COST,
        ),
        (
            "else self.epsilon**2 / 2",
            "else self.epsilon**2 / 4",
            "pure privacy is charged half in concentrated privacy",
            _COST,
        ),
        (
            "discrete_laplace_tail(1 / self.scale, self.threshold - 1)",
            "discrete_laplace_tail(1 / self.scale, self.threshold)",
            "off by one in the delta of a histogram",
            _LOSS + "test_a_stability_histogram_costs_the_probability_of_releasing_a_cell_of_one_record",
        ),
        (
            "return Fraction(1) if self.equal_probabilities else self.gamma",
            "return Fraction(1)",
            "plausible seeds are charged as if all were alike",
            _LOSS + "test_plausible_seeds_of_equal_probability_are_accounted_for_with_gamma_one",
        ),
        (
            "    above = exp_probability(z * epsilon, bits) + 1\n",
            "    above = exp_probability(z * epsilon, bits)\n",
            "a delta is rounded down",
            _LOSS + "test_the_tail_of_discrete_laplace_noise_is_bounded_from_above_to_thirty_digits",
        ),
        (
            "(1 << bits) + exp_probability(epsilon, bits))",
            "1 << bits) / 2",
            "half of the delta of a histogram is charged",
            _LOSS + "test_the_tail_of_discrete_laplace_noise_is_bounded_from_above_to_thirty_digits",
        ),
    ),
    *faults(
        "deniable/privacy/composition.py",
        ("delta=kept * max(", "delta=kept**2 * max(", "delta * eta^2 in the joint split", _RESPONSE_DELTA),
        (
            "delta=kept * max((guarantee.delta for _, guarantee in parts)",
            "delta=max((probability * guarantee.delta for probability, guarantee in parts)",
            "delta of a joint split is that of one part alone",
            _RESPONSE_DELTA,
        ),
        (
            "float(probability) * _expm1(guarantee.epsilon)",
            "float(probability) ** 2 * _expm1(guarantee.epsilon)",
            "sampling amplifies twice",
            _RESPONSE,
        ),
        (
            "epsilon=min(log1p(growth), most),",
            "epsilon=min(log1p(growth), most) / 2,",
            "half of the epsilon of a joint split",
            _RESPONSE,
        ),
        (
            "or kept > 1 + 1e-12:",
            "or kept > 2:",
            "parts that are no split are amplified",
            _COMPOSITION + "test_parts_that_are_no_split_are_refused",
        ),
        (
            "epsilon=sum(guarantee.epsilon for guarantee in guarantees),",
            "epsilon=max(guarantee.epsilon for guarantee in guarantees),",
            "of releases from the same rows the dearest alone counts",
            _COMPOSITION + "test_releases_from_the_same_rows_add_up",
        ),
        (
            "delta=min(1.0, sum(guarantee.delta for guarantee in guarantees)),",
            "delta=max(guarantee.delta for guarantee in guarantees),",
            "deltas of releases from the same rows do not add up",
            _COMPOSITION + "test_releases_from_the_same_rows_add_up",
        ),
        (
            "return sqrt(2 * log(1 / slack) * spread) + drift",
            "return sqrt(log(1 / slack) * spread) + drift",
            "Theorem 3 without its factor 2",
            _COMPOSITION + "test_advanced_composition_of_equal_releases_is_that_of_theorem_3",
        ),
        (
            "- log1p(1 / excess)",
            "- 2 * log1p(1 / excess)",
            "concentrated privacy is converted to less than it costs",
            _COMPOSITION + "test_conversion_is_the_best_order_of_the_proposition",
        ),
        (
            "open_mass = -expm1(times * log1p(-delta))",
            "open_mass = 0 * delta",
            "composition forgets the deltas that are spent",
            _COMPOSITION + "test_deltas_that_already_exceed_the_total_leave_no_epsilon",
        ),
    ),
    *faults(
        "deniable/privacy/accounting.py",
        (
            "slack = float(Fraction(delta) - spent)",
            "slack = float(Fraction(delta))",
            "delta is spent twice",
            _ACCOUNTING + "test_different_events_add_up",
        ),
        (
            "        total += event.outputs * event.epsilon\n",
            "        total += event.epsilon\n",
            "outputs beyond the first are not charged in basic composition",
            _THEOREMS,
        ),
        (
            "        total += event.outputs * event.rho\n",
            "        total += event.rho\n",
            "outputs beyond the first are not charged in concentrated privacy",
            _THEOREMS,
        ),
        (
            "composed = one.self_compose(event.outputs) if event.outputs > 1 else one",
            "composed = one",
            "outputs beyond the first are not charged in the loss distribution",
            _THEOREMS,
        ),
        (
            "outputs[kind] = outputs.get(kind, 0) + event.outputs",
            "outputs[kind] = event.outputs",
            "equal events are charged once",
            _ACCOUNTING + "test_order_and_grouping_of_events_do_not_matter",
        ),
        (
            "float(event.epsilon / sensitivity), sensitivity, value",
            "float(event.epsilon / sensitivity), 1, value",
            "Laplace noise on counts of sensitivity 3 is charged as for 1",
            _ACCOUNTING + "test_pld_of_laplace_noise_is_that_of_its_enumerated_law[3]",
        ),
        (
            "sqrt(event.variance), event.sensitivity, step",
            "sqrt(event.variance), 1, step",
            "Gaussian noise on counts of sensitivity 3 is charged as for 1",
            _ACCOUNTING + "test_pld_of_gaussian_noise_is_that_of_its_enumerated_law[3]",
        ),
        (
            "np.expm1((epsilon - inside) / 2) ** 2 * np.exp(inside) / expm1(epsilon)",
            "np.expm1((epsilon - inside) / 4) ** 2 * np.exp(inside) / expm1(epsilon)",
            "choices are charged less than the worst of them costs",
            _ACCOUNTING + "test_pld_of_choices_bounds_every_exponential_mechanism",
        ),
        ("    return good\n", "    return bad\n", "calibrated noise is a step too small", _CALIBRATED),
        (
            "sure = _index_below(budget / outputs)",
            "sure = _index_below(budget)",
            "the budget of all outputs goes to each",
            _ACCOUNTING + "test_laplace_noise_without_delta_is_the_budget_divided",
        ),
        (
            "for scale in {1, finer})",
            "for scale in {1})",
            "noise that is scaled to a sensitivity known later costs more than was calibrated",
            _ACCOUNTING + "test_gaussian_noise_may_be_scaled_along_with_a_large_sensitivity",
        ),
        (
            "if any(isinstance(event, PrivacyTestEvent) for event in events):",
            "if False:",
            "candidates are composed as noise is",
            _ACCOUNTING + "test_candidates_are_not_composed_as_noise_is",
        ),
    ),
    *faults(
        "deniable/privacy/loss_laws.py",
        (
            "outputs[kind] = outputs.get(kind, 0) + event.outputs",
            "outputs[kind] = event.outputs",
            "the verifier charges equal events once",
            _LAWS + "test_equal_outputs_are_composed_as_one_however_they_are_listed",
        ),
        (
            "above = np.clip(np.expm1(below * step - losses) / expm1(-step), 0.0, 1.0)",
            "above = np.zeros(len(losses))",
            "losses are rounded down",
            _LAWS + "test_a_law_on_the_grid_dominates_the_one_it_is_made_of_and_is_exact_at_its_places",
        ),
        (
            "(1 - delta) * np.array([lie, 1 - lie]), infinity_mass=delta)",
            "np.array([lie, 1 - lie]))",
            "the verifier forgets the deltas of outputs",
            _LAWS + "test_both_derivations_agree",
        ),
        (
            "inside = np.minimum(grid, epsilon)",
            "inside = np.minimum(2 * grid, epsilon)",
            "the verifier charges choices less than the worst of them costs",
            _LAWS + "test_both_derivations_agree",
        ),
        (
            "return sensitivity * (sensitivity - 2 * z) / (2 * variance)",
            "return sensitivity * (sensitivity - 2 * z) / (3 * variance)",
            "the verifier charges Gaussian noise two thirds",
            _LAWS + "test_both_derivations_agree",
        ),
    ),
    *faults(
        "deniable/privacy/dominating_pair.py",
        (
            "spare = delta + expm1(",
            "spare = delta + 0 * expm1(",
            "infinite losses are not charged",
            _PAIR + "test_infinite_losses_that_exceed_delta_leave_no_epsilon",
        ),
        (
            "return fsum(times * pair.log_moment(order) for pair, times in runs)",
            "return fsum(pair.log_moment(order) for pair, times in runs)",
            "runs beyond the first are not in the moments",
            _PAIR + "test_randomized_response_composes_as_it_should",
        ),
        (
            "        log_size += times * log_one\n",
            "        log_size += log_one\n",
            "runs beyond the first are not in the transform",
            _PAIR + "test_the_pair_agrees_with_dp_accounting",
        ),
    ),
    *faults(
        "deniable/privacy/step_costs.py",
        (
            "    exact = whole / read\n",
            "    exact = whole / read**2\n",
            "the delta of a part makes more than that of the whole",
            _PART_DELTA,
        ),
        (
            "return found if float(read) * float(found)",
            "return found + unit if float(read) * float(found)",
            "the delta of a part is rounded up",
            _PART_DELTA,
        ),
        (
            "tighter = sequential([together, *rest]) if rest else together",
            "tighter = together",
            "candidates are not added to noise on the same records",
            _STEPS + "test_candidates_are_added_to_noise_on_the_same_records",
        ),
        (
            "return self.guarantee or TRIVIAL",
            'return self.guarantee or Guarantee(0.0, 0.0, "trivial")',
            "what has no guarantee is charged nothing",
            _STEPS + "test_what_has_no_guarantee_is_charged_as_what_holds_of_anything",
        ),
        (
            "sequential([step.charged for step in those])",
            "those[0].charged",
            "of steps on the same records the first alone is charged",
            _STEPS + "test_noise_on_the_same_records_is_composed_as_one_whoever_composes_it",
        ),
    ),
)
