"""Faults in what a ledger charges, adds up and refuses."""

from tests.mutants.mutant import faults

_BUDGET = "unit/test_budget.py::"
_BOOKS = "unit/test_ledger_state.py::"
_LEDGER = "unit/test_ledger_entries.py::"
_ROUNDING = "unit/test_rounding.py::"
_SUM = "property/test_a_cap_holds_whatever_is_asked.py::"
_JOINTLY = _BUDGET + "test_the_parts_of_a_split_are_combined_jointly"
_IDENTITY = _LEDGER + "test_the_identity_of_a_draw_is_what_decides_it"
_CAP = _BOOKS + "test_a_charge_that_exceeds_a_cap_by_any_amount_is_refused"

MUTANTS = (
    *faults(
        "deniable/ledger/budget.py",
        ("delta=kept * max(", "delta=kept**2 * max(", "delta * eta^2 in the ledger's joint split", _JOINTLY),
        (
            "return sum((charge.cost(seed_cost) for charge in charges), start=NOTHING)",
            "return charges[-1].cost(seed_cost)",
            "of charges to one part the last alone counts",
            _BUDGET + "test_steps_that_read_the_same_part_add_up",
        ),
        (
            "(1 + growth).ln() + _ROUNDING)",
            "(1 + growth).ln() - _ROUNDING)",
            "sums are rounded down",
            _BUDGET + "test_the_joint_cost_is_that_of_composition_and_never_below_its_exact_value",
        ),
        (
            "(_decimal(probability) * (_decimal(epsilon).exp() - 1)",
            "(_decimal(probability) ** 2 * (_decimal(epsilon).exp() - 1)",
            "the ledger amplifies twice",
            _JOINTLY,
        ),
        (
            "(charge.commitment, charge.split)",
            '("", charge.split)',
            "splits under different keys are taken for one",
            _BUDGET + "test_a_split_under_another_key_is_another_split",
        ),
        (
            "(charge.commitment, charge.split)",
            '(charge.commitment, "")',
            "different splits are taken for one",
            _BUDGET + "test_two_splits_within_one_release_add_up",
        ),
        (
            "    if kept > 1:\n",
            "    if kept > 2:\n",
            "parts that are no split are amplified",
            _BUDGET + "test_the_parts_of_a_split_cannot_hold_more_than_all",
        ),
        (
            "if before and before[0].probability != charge.probability:",
            "if False:",
            "a part has two probabilities",
            _BUDGET + "test_a_part_has_one_probability",
        ),
        (
            "- sum(c.epsilon for c in before)",
            "- 2 * sum(c.epsilon for c in before)",
            "what was spent of a split is refunded with its next charge",
            _BUDGET + "test_a_sum_kept_up_is_the_sum_from_scratch",
        ),
    ),
    *faults(
        "deniable/ledger/state.py",
        (
            "if each.claim.cost.delta >= 1]",
            "if each.claim.cost.delta * each.probability >= 1]",
            "a part of the rows lets a step without privacy into any ledger",
            _BOOKS + "test_a_part_of_the_rows_does_not_let_a_step_without_privacy_into_a_ledger_that_promises_some",
        ),
        (
            "if fresh and would_be.spent.exceeds(balance.limit):",
            "if fresh and balance.spent.exceeds(balance.limit):",
            "a charge is let through that exceeds the cap",
            _CAP,
        ),
        (
            "for balance, would_be in zip(balances, after, strict=True):",
            "for balance, would_be in zip(balances[:1], after[:1], strict=True):",
            "the caps of periods are not kept",
            _BOOKS + "test_each_calendar_period_has_a_cap_of_its_own",
        ),
        (
            "if dataset == charge.dataset and span.covers(entry):",
            "if dataset == charge.dataset and span.length is None:",
            "what is charged is not added to the cap of its period",
            _SUM + "test_no_order_of_requests_exceeds_a_cap",
        ),
        (
            "difference = charged and charge.differs_from(charged.charge)",
            "difference = None",
            "one identity is charged for two draws",
            _BOOKS + "test_one_identity_with_other_facts_is_refused",
        ),
        (
            "self._tally(charge.dataset, self.policies[charge.dataset].seed_cost, _Span())",
            "None",
            "parts that do not fit together are entered",
            _BOOKS + "test_parts_that_do_not_fit_together_are_not_entered_though_nobody_asked_for_a_sum",
        ),
    ),
    *faults(
        "deniable/privacy/rounding.py",
        (
            "_CLAIMED = Context(prec=12, rounding=ROUND_CEILING)",
            '_CLAIMED = Context(prec=12, rounding="ROUND_FLOOR")',
            "charges are rounded down",
            _LEDGER + "test_a_claim_is_the_decimal_that_was_written_or_more",
        ),
        (
            "return _written(value, ROUND_CEILING)",
            "return _written(value, ROUND_HALF_EVEN)",
            "what is spent is stated to be less than it is",
            _ROUNDING + "test_what_is_spent_is_rounded_up_and_what_is_left_down_by_less_than_a_unit",
        ),
        (
            "return _written(value, ROUND_FLOOR)",
            "return _written(value, ROUND_HALF_EVEN)",
            "what is left is stated to be more than it is",
            _ROUNDING + "test_what_is_spent_is_rounded_up_and_what_is_left_down_by_less_than_a_unit",
        ),
        (
            "return nextafter(float(value), inf)",
            "return float(value)",
            "a sum that is stated as a float is below the exact one",
            _ROUNDING + "test_a_float_is_taken_for_the_decimal_number_that_it_is_written_in",
        ),
    ),
    *faults(
        "deniable/ledger/entries.py",
        (
            "return self.epsilon > limit.epsilon or self.delta > limit.delta",
            "return self.epsilon > limit.epsilon and self.delta > limit.delta",
            "a cap holds of epsilon or of delta alone",
            _CAP,
        ),
        (
            "return self.epsilon > limit.epsilon or self.delta > limit.delta",
            "return float(self.epsilon) > float(limit.epsilon) or float(self.delta) > float(limit.delta)",
            "a cap is compared with a rounded sum",
            _CAP,
        ),
        (
            "epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta",
            "epsilon=max(self.epsilon, other.epsilon), delta=self.delta + other.delta",
            "epsilons do not add up",
            _BUDGET + "test_steps_that_read_the_same_part_add_up",
        ),
        (
            'seed_cost == "per_record" and self.per_record is not None else',
            "self.per_record is not None else",
            "one record is charged for all candidates",
            _BUDGET + "test_candidates_count_in_total_or_by_the_record_as_the_policy_says",
        ),
        (
            "self.mechanism, self.inputs, parameters,",
            'self.mechanism, "", parameters,',
            "draws from other data are taken for one",
            _IDENTITY,
        ),
        (
            'for name in ("part", "probability", "split", "events", "most_records"):',
            'for name in ("part", "probability", "split"):',
            "one identity stands for two mechanisms",
            _BOOKS + "test_one_identity_with_other_facts_is_refused",
        ),
        (
            "max(time, self.time)",
            "time",
            "a clock that is set back opens a period again",
            _BOOKS + "test_a_clock_set_back_opens_no_period_again",
        ),
    ),
)
