"""Faults in the doors, the plan and the questions of the log-linear learner."""

from tests.mutants.mutant import faults

_LAWS = "privacy/test_loglinear_answers_have_the_noise_of_their_events.py::"
_LAW = _LAWS + "test_an_answer_has_the_noise_that_its_event_says"
_OWN = _LAWS + "test_every_answer_has_noise_of_its_own"
_CHOICE = _LAWS + "test_a_choice_has_the_law_that_its_event_says"
_NEXT = _LAWS + "test_a_choice_says_nothing_of_the_next_one"
_CHARGED = _LAWS + "test_the_doors_let_through_what_the_events_charge_and_no_more"
_AUDIT = "privacy/test_the_loglinear_learner_sees_rows_through_its_doors_alone.py::"
_SCORE = _LAWS + "test_a_row_more_changes_one_number_by_one_and_a_score_by_one_at_most"
_EXPONENTIAL = "privacy/test_tables_are_chosen_by_the_exponential_law.py::"
_PLAN = "unit/test_loglinear_plan.py::"
_WHOLE = _PLAN + "test_a_plan_costs_no_more_than_its_recipe_allows_and_wastes_little"
_UNIT = "unit/test_loglinear_learning.py::"

MUTANTS = (
    *faults(
        "deniable/learners/loglinear/measurements.py",
        ("noise.sum(axis=0)", "noise.sum(axis=0) // 100", "noise of tables shrunk to 1 %", _LAW),
        ("noise.sum(axis=0)", "0 * noise.sum(axis=0)", "tables have no noise", _LAW),
        (
            "law.sample(stream, multiplier * counts.size).reshape(multiplier, *counts.shape)",
            "law.sample(stream, counts.size).reshape(1, *counts.shape).repeat(multiplier, 0)",
            "the shares of a table have the same noise",
            _LAW,
        ),
        (
            "law.sample(stream, multiplier * counts.size).reshape(multiplier, *counts.shape)",
            "law.sample(stream, multiplier).reshape(multiplier, *[1] * counts.ndim)",
            "the cells of a table have the same noise",
            _OWN,
        ),
        (
            "sums = multiplier * counts",
            "sums = 2 * multiplier * counts",
            "a row counts twice in what is released",
            _LAW,
        ),
        (
            "        self._turn += 1\n",
            "        self._turn = 1\n",
            "a repeated question has the same noise, and all choices are made from one stream",
            _OWN,
        ),
        (
            '"turn": self._next_turn(),\n                "purpose": purpose,\n                "number": made,\n',
            "",
            "all choices are made from one stream",
            _NEXT,
        ),
        (
            "sensitivity=1, epsilon=self.plan.choice_epsilon,",
            "sensitivity=1, epsilon=2 * self.plan.choice_epsilon,",
            "choices are made with twice the epsilon that is charged",
            _CHOICE,
        ),
        (
            "0 < shares <= layout.table_shares - self.shares:",
            "0 < shares <= layout.table_shares - self.shares + 1:",
            "a share more than is charged",
            _CHARGED,
        ),
        (
            "            self.shares += shares\n",
            "            self.shares += 1\n",
            "all shares of a table are counted as one",
            _UNIT + "test_doors_refuse_what_was_not_planned",
        ),
        (
            "if first and 0 < shares == planned.get(attributes[0]):",
            "if first and shares <= planned.get(attributes[0], 0) + 1:",
            "a share more of an attribute by itself than is charged",
            _CHARGED,
        ),
        (
            "first = len(attributes) == 1 and attributes[0] not in alone",
            "first = len(attributes) == 1",
            "an attribute by itself is released over and over for one charge",
            _CHARGED,
        ),
        (
            "law = self.plan.law(shares, at_once=at_once)",
            "law = self.plan.law(shares, at_once=len(attributes) == 1)",
            "a repeated attribute has the noise of all its shares in each of its releases",
            _LAW,
        ),
        (
            "if made >= planned.get(purpose, 0):",
            "if made > planned.get(purpose, 0):",
            "a choice more than is charged",
            _CHARGED,
        ),
        (
            "self.choices[purpose] = made + 1",
            "self.choices[purpose] = made",
            "choices are not counted",
            _UNIT + "test_doors_refuse_what_was_not_planned",
        ),
    ),
    *faults(
        "deniable/learners/loglinear/plan.py",
        (
            "return DiscreteLaplace(self.amount / shares)",
            "return DiscreteLaplace(self.amount / (2 * shares))",
            "Laplace noise of tables halved",
            _LAW,
        ),
        (
            "if at_once else self.amount)",
            "if at_once else self.amount / 2)",
            "Gaussian noise of tables with half the variance",
            _LAW,
        ),
        (
            "return DiscreteGaussian(self.amount / shares if at_once else self.amount)",
            "return DiscreteGaussian(self.amount / shares)",
            "the variance of each share divided by their number, as if it were released once",
            _LAW,
        ),
        (
            "return DiscreteGaussian(self.amount / shares if at_once else self.amount)",
            "return DiscreteGaussian(self.amount / (2 * shares) if at_once else self.amount)",
            "Gaussian noise of single attributes with half the variance",
            _LAW,
        ),
        (
            'range(1, layout.tree_choices + 1)),\n            *(self._chosen(f"choice of extra',
            'range(1, layout.tree_choices)),\n            *(self._chosen(f"choice of extra',
            "a choice of the tree is not charged",
            _CHARGED,
        ),
        (
            '            *(self._chosen(f"choice of extra table, {slot}") for slot in layout.extra_slots),\n',
            "",
            "choices beyond the tree are not charged",
            _CHARGED,
        ),
        ("            *self._tables(),\n", "", "tables of several attributes are not charged", _CHARGED),
        (
            "rest = layout.table_shares - len(queries)",
            "rest = layout.table_shares - len(queries) - 1",
            "a share of tables is not charged",
            _CHARGED,
        ),
        (
            "whole = layout.table_shares / self.amount",
            "whole = (layout.table_shares - 1) / self.amount",
            "a share of tables with Laplace noise is not charged",
            _CHARGED,
        ),
        (
            "amount = self.amount * outputs / shares",
            "amount = self.amount",
            "all shares of a single attribute are charged as one",
            _CHARGED,
        ),
        (
            "outputs = self.releases(shares, at_once=at_once)",
            "outputs = 1",
            "tables are charged as if they were released at once",
            _CHARGED,
        ),
        (
            "max(1, round(own * _growth(domain.attributes[i], most.get(i, inf))))",
            "max(1, round(own / _growth(domain.attributes[i], most.get(i, inf))))",
            "attributes of many values get fewer shares instead of more",
            _PLAN + "test_shares_grow_with_the_number_of_values_and_take_none_from_tables",
        ),
        (
            "epsilon_per_choice=self.choice_epsilon",
            "epsilon_per_choice=self.choice_epsilon / 2",
            "choices are charged half",
            _CHOICE,
        ),
        (
            "table_epsilon = self.epsilon * (1 - CHOICE_BUDGET * bool(layout.choices)) / layout.shares",
            "table_epsilon = self.epsilon / layout.shares",
            "choices get a part of epsilon that tables spend too",
            _PLAN + "test_pure_privacy_is_the_sum_of_all_epsilons",
        ),
        (
            "return self.shares / (2 * (rho - self._for_choices(rho)))",
            "return self.shares / (4 * (rho - self._for_choices(rho)))",
            "Gaussian noise is calibrated to twice the budget",
            _PLAN + "test_a_plan_costs_no_more_than_its_recipe_allows_and_wastes_little",
        ),
    ),
    *faults(
        "deniable/privacy/accounting.py",
        (
            "        if cost * (1 + _LIBRARY_AGREES) <= epsilon:\n",
            "        if True:\n",
            "calibration takes noise that costs more than the recipe allows",
            _WHOLE,
        ),
        (
            "if least <= known <= least",
            "if known <= least",
            "a kept cost below the true one is believed",
            "unit/test_remembered_costs.py::test_no_kept_cost_is_believed_that_is_too_low",
        ),
        (
            "        if again.guarantee.epsilon <= epsilon:\n",
            "        if True:\n",
            "kept noise that costs more than the recipe allows is used",
            "unit/test_remembered_costs.py::test_no_kept_amount_is_used_that_overspends",
        ),
        (
            "direction * (known - start) > 0 and fits(int(known)):",
            "direction * (known - start) > 0:",
            "kept noise of a mechanism that costs more than its budget is used",
            "unit/test_remembered_costs.py::test_calibrated_noise_is_kept_and_checked",
        ),
    ),
    *faults(
        "deniable/learners/loglinear/exponential_mechanism.py",
        (
            "rate = epsilon / (2 * sensitivity)",
            "rate = epsilon / sensitivity",
            "the exponential mechanism with twice its epsilon",
            _CHOICE,
        ),
        (
            "rate = epsilon / (2 * sensitivity)",
            "rate = epsilon / 2",
            "scores are not divided by their sensitivity",
            _EXPONENTIAL + "test_scores_are_scaled_by_their_sensitivity",
        ),
        (
            "if _accepted(stream, behind[picked] * rate, _DEEPEST - weights[picked].bit_length() + 1):",
            "if True:",
            "proposals are taken as they come",
            _CHOICE,
        ),
        (
            "if not scores or not all(issubclass(kind, int) for kind in set(map(type, scores))):",
            "if not scores:",
            "scores may be floats",
            _EXPONENTIAL + "test_scores_must_be_whole_numbers",
        ),
    ),
    *faults(
        "deniable/foundation/uniform.py",
        (
            "        if uniform < bound:\n            return uniform",
            "        return uniform % bound",
            "proposals favour some candidates",
            _CHOICE,
        ),
    ),
    *faults(
        "deniable/learners/loglinear/candidate_queries.py",
        (
            "- round(_NOISE * noise), 0).sum())",
            "- round(_NOISE * noise), 0).sum() * 2)",
            "a row moves a score by two",
            _SCORE,
        ),
        (
            "- round(_NOISE * noise), 0).sum())",
            "- round(_NOISE * noise), 0).sum() + answer.sum())",
            "a score has the number of rows in it",
            _LAWS + "test_the_number_of_rows_alone_does_not_move_a_score",
        ),
        (
            "{question: contrast_counts(found[question])",
            "{question: 2 * contrast_counts(found[question])",
            "a row counts twice in an answer",
            _SCORE,
        ),
    ),
    *faults(
        "deniable/models/contrasts.py",
        (
            "table = np.diff(table, axis=axis)",
            "table = np.concatenate([np.diff(table, axis=axis), table.sum(axis=axis, keepdims=True)], axis=axis)",
            "a row changes a sum beside each difference",
            _SCORE,
        ),
    ),
    *faults(
        "deniable/learners/loglinear/estimation/counting.py",
        (
            "second[np.uint64(cells[half + r])] += 1",
            "second[np.uint64(cells[half + r])] += 2",
            "every other row counts twice in small tables",
            _SCORE,
        ),
        (
            "first[cell] += second[cell]",
            "first[cell] += 2 * second[cell]",
            "half of the counts of small tables enter twice",
            _SCORE,
        ),
        (
            "range(some):\n                    first[np.uint64(cells[r])] += 1",
            "range(some):\n                    first[np.uint64(cells[r])] += 2",
            "a row counts twice in large tables",
            "unit/test_loglinear_learning.py::test_small_and_large_tables_of_many_rows_are_counted_alike",
        ),
    ),
    *faults(
        "deniable/learners/loglinear/learning.py",
        (
            "attributes = _buckets(plan, ones, total, signal)",
            "attributes = _buckets(plan, ones, counter.tables(Partition.finest(plan.domain), [(0,)])[0].sum(), signal)",
            "the exact number of rows decides what values within a bucket are worth",
            _AUDIT + "test_one_row_changes_nothing_but_one_cell_and_scores_by_one[1/2-laplace-a3]",
        ),
    ),
)
