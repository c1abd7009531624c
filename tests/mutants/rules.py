"""Deliberate faults in the rules of tables: what they say, the networks that keep them, and who checks them."""

from tests.mutants.mutant import Mutant

_RULES = "deniable/foundation/rules.py"
_COMBINED = "deniable/foundation/rule_components.py"
_KERNELS = "deniable/models/constrained_kernels.py"
_KEPT = "tests/property/test_records_keep_the_rules_of_their_table.py"
_STATED = "tests/contracts/test_rules_in_schemas.py"
_RELEASED = "tests/tasks/test_a_release_keeps_the_rules_of_its_table.py"

MUTANTS = (
    Mutant(
        breaks="a skip pattern that only says what happens where its condition holds",
        file=_RULES,
        before="        allowed[..., 0] = True\n",
        after="        allowed[...] = True\n",
        test=f"{_KEPT}::test_every_relation_says_what_its_rule_says",
    ),
    Mutant(
        breaks="an order whose relation excludes equal numbers",
        file=_RULES,
        before="allowed = first[:, None] < second if self.strict else first[:, None] <= second",
        after="allowed = first[:, None] < second",
        test=f"{_KEPT}::test_every_relation_says_what_its_rule_says",
    ),
    Mutant(
        breaks="the data as the public source of a rule",
        file=_RULES,
        before='if said.lower().rstrip(".") in _NOT_PUBLIC or',
        after="if",
        test=f"{_STATED}::test_a_rule_that_is_not_public_or_does_not_fit_is_refused_in_one_sentence",
    ),
    Mutant(
        breaks="rules that contradict each other are not refused",
        file=_COMBINED,
        before="if not all(each.any() for each in",
        after="if not all(each.size for each in",
        test=f"{_STATED}::test_a_rule_that_is_not_public_or_does_not_fit_is_refused_in_one_sentence[a contradiction]",
    ),
    Mutant(
        breaks="pairs that are not made path consistent",
        file=_COMBINED,
        before="    changed = True\n    while changed:",
        after="    changed = False\n    while changed:",
        test=f"{_KEPT}::test_the_two_ways_to_combine_rules_agree",
    ),
    Mutant(
        breaks="pairs that are taken for closed under medians",
        file=_COMBINED,
        before="    return bool((covered | left).all())",
        after="    return True",
        test=f"{_KEPT}::test_closure_under_medians_is_recognised_by_corners",
    ),
    Mutant(
        breaks="a beginning that keeps its own rules but is a dead end",
        file=_COMBINED,
        before="            found = [self._projected(self.joint, [*known, column])]",
        after="            found = [self._projected(self.joint, [*known, column])][len(known) < 2 :]",
        test=f"{_KEPT}::test_the_density_is_one_over_records_that_keep_the_rules_and_zero_elsewhere",
    ),
    Mutant(
        breaks="a density that does not know what is forbidden",
        file=_KERNELS,
        before="    if total == 0 or shares[value] == 0:\n        return 0.0\n",
        after="    if total == 0 or shares[value] == 0:\n        return 1.0 / 4294967296.0\n",
        test=f"{_KEPT}::test_the_density_is_one_over_records_that_keep_the_rules_and_zero_elsewhere",
    ),
    Mutant(
        breaks="forbidden values that are drawn",
        file=_KERNELS,
        before="        shares[value] *= np.int64(permitted[rules.class_of[start + value]])\n",
        after="        shares[value] *= np.int64(1)\n",
        test=f"{_KEPT}::test_no_record_that_is_drawn_breaks_a_rule_and_drawing_evenly_has_the_same_law",
    ),
    Mutant(
        breaks="shares of words that are off by one",
        file=_KERNELS,
        before="np.uint64(32)) + np.uint64(total - 1)\n",
        after="np.uint64(32)) + np.uint64(total)\n",
        test=f"{_KEPT}::test_each_value_is_selected_by_exactly_the_share_of_words_that_its_density_states",
    ),
    Mutant(
        breaks="values to which the network gives no share, with no fallback",
        file=_KERNELS,
        before="    if total == 0:\n        for value in range(size):",
        after="    if total == -1:\n        for value in range(size):",
        test=f"{_KEPT}::test_the_density_is_one_over_records_that_keep_the_rules_and_zero_elsewhere",
    ),
    Mutant(
        breaks="only the first relation of several",
        file=_KERNELS,
        before="                    permitted[own] &= rules.allowed[first + own]",
        after="                    permitted[own] &= np.uint8(1)",
        test=f"{_KEPT}::test_relations_of_pairs_are_all_kept_where_a_component_is_too_large_to_enumerate",
    ),
    Mutant(
        breaks="a verifier that looks at a rule of the first record only",
        file="deniable/record/released_table.py",
        before="            broken = known[~rule.holds(domain, coded[known].astype(domain.code_type))]",
        after="            broken = known[~rule.holds(domain, coded[known].astype(domain.code_type))][:0]",
        test=f"{_RELEASED}::test_a_forged_record_that_breaks_a_rule_is_named_though_it_was_signed",
    ),
    Mutant(
        breaks="a verifier that does not check rules",
        file="deniable/verification/release.py",
        before="    if not stated:\n        return ()\n",
        after="    if stated:\n        return ()\n",
        test=f"{_RELEASED}::test_every_record_keeps_every_rule_and_anyone_sees_it",
    ),
    Mutant(
        breaks="a digest of the domain that does not bind the rules",
        file="deniable/foundation/domain.py",
        before="        if known.rules or known.totals:\n",
        after="        if False:\n",
        test=f"{_RELEASED}::test_a_schema_without_the_rules_is_not_that_of_the_record",
    ),
    Mutant(
        breaks="a determined column that budget is spent on",
        file="deniable/learners/registry.py",
        before="        entry, domain.modelled, delta_of\n",
        after="        entry, domain, delta_of\n",
        test=f"{_RELEASED}::test_a_determined_column_is_computed_and_costs_nothing",
    ),
    Mutant(
        breaks="rows of the source that break a rule are valid",
        file="schemas/table.py",
        before="        kept[known] = rule.holds(",
        after="        rule.holds(",
        test=f"{_STATED}::test_rows_that_break_a_rule_are_invalid_and_counted_by_it",
    ),
    Mutant(
        breaks="a learner that cannot hold rules is planned",
        file="deniable/learners/registry.py",
        before="    if domain.rules and not entry.holds_rules:\n",
        after="    if False:\n",
        test=f"{_STATED}::test_no_plan_is_made_for_a_learner_that_cannot_hold_rules",
    ),
)
