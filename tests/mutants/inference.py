"""Faults in inference from a release: intervals that would not cover what they say, or as often as they say."""

from tests.mutants.mutant import faults

_VARIANCES = "unit/test_variances_of_answers.py::"
_RATIOS = _VARIANCES + "test_a_ratio_has_the_variance_of_its_noise_and_of_sampling"
_OF_A_PART = _VARIANCES + "test_a_count_of_a_part_has_the_error_of_what_was_not_measured"
_DIFFERENCES = _VARIANCES + "test_a_difference_has_the_noise_of_both_groups_together"
_COEFFICIENTS = _VARIANCES + "test_coefficients_without_noise_have_the_errors_of_least_squares"
_RELEASES = _VARIANCES + "test_releases_of_one_table_count_by_their_precision"
_LAWS = "unit/test_laws_of_errors.py::"
_ONE_COUNT = _LAWS + "test_one_count_has_the_exact_law_of_its_noise"
_COVER = "unit/test_intervals_cover.py::"
_CELLS = _COVER + "test_cells_of_tables_cover_one_by_one_and_all_together[count-gaussian]"
_STEP = _COVER + "test_a_quantile_at_a_step_has_both_of_its_sides"
_SQUARES = "unit/test_inference_is_least_squares.py::"
_SYSTEMS = _SQUARES + "test_the_closed_form_is_explicit_least_squares_on_random_systems[gaussian]"
_CERTIFIED = "unit/test_certified_answers.py::"
_TOGETHER = _CERTIFIED + "test_all_that_an_interval_rests_on_misses_together_as_seldom_as_it_says"
_OF_A_SAMPLE = _CERTIFIED + "test_a_certified_count_of_a_sample_is_off_by_the_error_of_sampling_too"
_COMMAND = "unit/test_infer_command.py::"
_TESTS = _COMMAND + "test_a_test_rejects_0_as_often_as_an_interval_of_its_level_leaves_it_out"
_MANY = "unit/test_attributes_of_very_many_values.py::"
_OTHERS = "unit/test_other_releases_are_inferred_from.py::"
_LEVELS = _OTHERS + "test_intervals_have_the_level_that_is_asked_for_and_no_more"
_FILE = "unit/test_interval_table.py::"
_BOUNDS = "unit/test_bounds_are_no_estimates.py::"
_CHOSEN = "unit/test_counts_that_chose_buckets.py::"
_REGRESSIONS = "unit/test_regressions_on_buckets.py::"

MUTANTS = (
    *faults(
        "deniable/inference/laws.py",
        (
            "            p = exp(-float(1 / each.noise.amount))",
            "            p = exp(-float(2 / each.noise.amount))",
            "sums of Laplace noise have half of its scale",
            _LAWS + "test_sums_of_laplace_noise_have_their_law_and_not_the_normal_one",
        ),
        (
            "-(places**2) / (2 * amount)",
            "-(places**2) / amount",
            "a single count has Gaussian noise of half the variance",
            _ONE_COUNT,
        ),
        (
            "return normal_quantile((1 + level) / 2)",
            "return normal_quantile(level)",
            "an interval has one tail of what it may miss, and is used on both sides",
            _CERTIFIED + "test_a_certified_count_of_a_sample_is_off_by_the_error_of_sampling_too",
        ),
        (
            "down = (1 - inside[np.maximum(-k - 1, 0)]) / 2",
            "down = (1 - inside[np.maximum(-k, 0)]) / 2",
            "the lower tail of a single count has one value too few",
            _ONE_COUNT,
        ),
        (
            "weight = value * precision / whole",
            "weight = value / whole",
            "several releases of a table count alike, whatever their noise",
            _RELEASES,
        ),
        (
            "before + count * release.multiplier)",
            "before + count)",
            "the sum of several draws has the noise of one",
            _LAWS + "test_several_draws_are_averaged",
        ),
        (
            "        normal = self.normal + (_SMOOTHED * step) ** 2",
            "        normal = (_SMOOTHED * step) ** 2",
            "the error of sampling is left out beside Laplace noise",
            _RELEASES,
        ),
    ),
    *faults(
        "deniable/inference/intervals.py",
        (
            "    constant, linear, square = own, -2 * shared + factor * records, whole - factor * records",
            "    constant, linear, square = own, factor * records, whole - factor * records",
            "the covariance of a cell with the number of records is forgotten",
            _LAWS + "test_intervals_of_many_shares_are_those_of_each",
        ),
        (
            "denominator**2).plus(variance, -z * z)",
            "denominator**2).plus(variance, -z)",
            "intervals of ratios have the root of the number of standard deviations",
            _RATIOS,
        ),
        (
            "    tail = (1 - level) / 2\n    top =",
            "    tail = 1 - level\n    top =",
            "the exact interval of a small share misses on either side as often as on both",
            _LAWS + "test_exact_intervals_cover_small_counts_whatever_the_share",
        ),
        (
            "    tail = (1 - level) / 2\n    most =",
            "    tail = 1 - level\n    most =",
            "the exact interval of a small count of a part misses on either side as often as on both",
            _LAWS + "test_exact_counts_cover_whatever_the_count",
        ),
    ),
    *faults(
        "deniable/inference/estimation.py",
        (
            "self.system.variance(above), -2 * self.system.covariance(above, below), self.system.variance(below)",
            "self.system.variance(above), 0.0, self.system.variance(below)",
            "the covariance of numerator and denominator is forgotten",
            _RATIOS,
        ),
        (
            "            sampled = Quadratic(0.0, other, -other)",
            "            sampled = Quadratic(0.0, other, 0.0)",
            "the number of a group is sampled as if groups had no size",
            _RATIOS,
        ),
        (
            "    return 1 - (1 - level) / parts",
            "    return level",
            "intervals that must hold together hold one by one",
            _TOGETHER,
        ),
        (
            "        level = _level_of_part(level, 2 if is_narrower else 1)\n",
            "",
            "the counts of a narrower group have the whole of what an interval may miss",
            _TOGETHER,
        ),
        (
            'return 1 - self.kept if sampling == "census" else self._effect(asked)',
            'return 1 - self.kept if sampling == "census" else 1.0',
            "the design effect is left out of intervals for the population",
            _RATIOS,
        ),
        (
            "            return 1 - self.kept\n        stated =",
            "            return 0.0\n        stated =",
            "intervals leave out that a part of the rows was measured",
            _COVER + "test_intervals_that_ignore_that_a_part_was_measured_do_not_cover",
        ),
        (
            "spread = Quadratic(noise, self.kept * (1 - self.kept), 0.0)",
            "spread = Quadratic(noise, 0.0, 0.0)",
            "the interval of a count leaves out that a part of the rows was measured",
            _OF_A_PART,
        ),
        (
            "        most = min(max(self.records / 2, low), high) if of_all else high",
            "        most = low",
            "a certified count of a sample varies as the smallest count in its interval does",
            _OF_A_SAMPLE,
        ),
        (
            "asked) for own in (lowest, highest)",
            "asked) for own in (highest, highest)",
            "the lower end of a mean of buckets has the highest values of its buckets",
            _COVER + "test_a_mean_of_bucketed_values_has_the_bounds_of_its_buckets",
        ),
        (
            "counts = self._counts(of_group.of, asked, level, of_all=True)",
            "counts = dict(counts)",
            "the bounds of a share are among those that satisfy its condition",
            _COVER + "test_bounds_of_a_share_are_of_its_own_group",
        ),
        (
            "            estimate=estimate if interval is None else interval.nearest(estimate),",
            "            estimate=estimate,",
            "an estimate may lie outside its interval",
            _BOUNDS + "test_a_mean_of_few_records_among_many_values_lies_in_its_interval",
        ),
        (
            "        estimate = self._of_model(*of) if is_model else nan",
            "        estimate = self._of_model(*of) if is_model else (bounds.low + bounds.high) / 2",
            "the midpoint of bounds is given as an estimate",
            _BOUNDS + "test_bounds_have_no_estimate_in_any_form",
        ),
        (
            "for end in (np.minimum, np.maximum)]",
            "for end in (np.maximum, np.maximum)]",
            "values that a condition leaves out count below its lower bound",
            _BOUNDS + "test_every_condition_is_answered_whatever_buckets_were_chosen",
        ),
    ),
    *faults(
        "deniable/inference/bounds.py",
        (
            "counts = {subset: own for subset, own in counts.items() if set(subset) <= set(whole)}",
            "counts = dict(counts)",
            "counts of other conditions are taken for those of a group",
            _BOUNDS + "test_bounds_of_a_group_are_by_its_own_conditions",
        ),
        (
            "above.append(lower[one] + lower[other] - upper[both])",
            "above.append(lower[one] + lower[other] - lower[both])",
            "the lower bound of two counts takes the lower end of what they have in common",
            _COVER + "test_the_lower_bound_of_two_conditions_is_frechets",
        ),
        (
            "high[one] = np.minimum(high[one], high[0] - low[other])",
            "high[one] = np.minimum(high[one], high[0] - high[other])",
            "an upper bound takes away the largest count of the others",
            _COVER + "test_bounds_contain_those_of_a_linear_program_and_are_hardly_wider",
        ),
        (
            "        low[place], high[place] = max(own.low, 0.0), own.high",
            "        low[place], high[place] = max((own.low + own.high) / 2, 0.0), own.high",
            "what counts imply for complements leaves out the error below them",
            _COVER + "test_bounds_contain_those_of_a_linear_program_and_are_hardly_wider",
        ),
    ),
    *faults(
        "deniable/inference/certified.py",
        (
            "reach = float(np.abs(cells).sum()) * self",
            "reach = float(np.abs(cells).max()) * self",
            "the error of several cells is bounded as that of one",
            _CERTIFIED + "test_a_count_of_several_cells_may_be_off_by_as_many_bounds",
        ),
        (
            "            if not np.array_equal(own[self._buckets[i]], of[i]):",
            "            if not len(own):",
            "a certificate of buckets is used for single values",
            _CERTIFIED + "test_what_the_certificate_is_not_about_is_bounded",
        ),
    ),
    *faults(
        "deniable/inference/system.py",
        (
            "        if id(table) in self._choosing:",
            "        if id(table) in self._choosing and self.is_large[table.attributes[0]]:",
            "counts that chose buckets are summed over these buckets",
            _CHOSEN + "test_totals_and_subtotals_are_unbiased_and_covered_whatever_buckets_were_chosen[mst-sds0]",
        ),
        (
            "named = {i for each in (query, *beside) for i in each.attributes}",
            "named = {*query.attributes}",
            "the two parts of a share in a group are from different tables",
            _CHOSEN + "test_a_question_about_several_attributes_uses_no_sum_of_the_counts_that_chose",
        ),
        (
            "        if missing:\n",
            "        kept = {subset: kept[subset] for subset in kept.keys() - missing}\n        if not kept:\n",
            "what no table measured counts as 0",
            _SYSTEMS,
        ),
        (
            "                variance *= 2.0\n",
            "",
            "contrasts of values within buckets have half of their variance",
            _SYSTEMS,
        ),
        (
            "                    spread[i] = self._values_in[i]",
            "                    variance *= float(self._values_in[i].mean())",
            "buckets of many values count as being as precise as those of few",
            _SYSTEMS,
        ),
        (
            "return sum(part for source, part in zip(self._sources, parts, strict=True) if source.table is None)",
            "return 0.0 * len(parts)",
            "public totals leave no doubt which rows were measured",
            _VARIANCES + "test_public_totals_bring_the_error_of_which_rows_were_measured",
        ),
    ),
    *faults(
        "deniable/inference/many_values.py",
        (
            "precisions.append(1 / (table.variance * prod(table.values.shape[axis] for axis in others)))",
            "precisions.append(1 / table.variance)",
            "a value that is summed over others has the noise of one entry",
            _MANY + "test_answers_are_those_of_an_attribute_of_few_values",
        ),
        (
            "self.variance * numbers * (1 - numbers / size)",
            "self.variance * numbers * (1 - numbers / size) / 100",
            "quantiles of many values are looked for where the noise hardly reaches",
            _MANY + "test_quantiles_are_looked_for_as_far_as_the_noise_reaches",
        ),
    ),
    *faults(
        "deniable/inference/comparisons.py",
        (
            "functional = inference.functional(one.minus(other))",
            "functional = inference.functional(one.plus(other))",
            "the noise that groups have in common is added where it cancels",
            _DIFFERENCES,
        ),
        (
            "sampling = pair[0].sampling_deviation ** 2 + pair[1].sampling_deviation ** 2",
            "sampling = pair[0].sampling_deviation ** 2",
            "a difference has the error of sampling of one group",
            _DIFFERENCES,
        ),
        (
            "min(1.0, max(2 * (1 - below), 0.0))",
            "min(1.0, max(1 - below, 0.0))",
            "the test of a difference has one tail",
            _TESTS,
        ),
        (
            "        level = (1 + asked.level) / 2\n",
            "        level = asked.level\n",
            "the intervals of two groups that were not measured hold one by one",
            _COMMAND + "test_differences_that_were_not_measured_have_intervals_that_hold_together",
        ),
    ),
    *faults(
        "deniable/inference/comparisons.py",
        (
            "Interval(ends[0].low - ends[1].high, ends[0].high - ends[1].low)",
            "Interval(ends[0].low - ends[1].low, ends[0].high - ends[1].high)",
            "the errors of groups that were not measured cancel",
            _VARIANCES + "test_a_difference_that_was_not_measured_has_the_ends_of_both_groups",
        ),
        (
            "        if test and grade not in _TESTED:",
            "        if test and not grade:",
            "a difference that is bounded alone is tested",
            _VARIANCES + "test_a_difference_that_was_not_measured_has_the_ends_of_both_groups",
        ),
    ),
    *faults(
        "deniable/inference/regression.py",
        (
            "counts = table.values if table.denoised is None else table.denoised",
            "counts = np.zeros(len(values))",
            "the values of a bucket count alike, however rare some of them are",
            _REGRESSIONS + "test_slopes_on_means_of_buckets_are_covered_and_those_on_midpoints_are_not",
        ),
        (
            "*(each[k] for each in noise_of_means)",
            "*(each[k] for each in noise_of_means if not each)",
            "the means of buckets have no noise",
            _REGRESSIONS + "test_coefficients_have_the_noise_of_the_means_of_buckets[age-regressors1]",
        ),
        (
            "law.reach(asked.level) + float(allowances[k])",
            "law.reach(asked.level)",
            "slopes within buckets are taken to be those between them",
            _REGRESSIONS + "test_the_interval_allows_for_other_slopes_within_buckets",
        ),
        (
            "if worst is None or shares[worst] <= _MOST_HIDDEN:",
            "if worst is None or shares:",
            "coefficients of numbers with a heavy tail are measured",
            _REGRESSIONS + "test_a_number_most_of_whose_variance_is_within_buckets_has_no_measured_coefficient",
        ),
        (
            "max(inference.records - len(coefficients), 1.0)",
            "max(inference.records, 1.0)",
            "residuals have as many degrees of freedom as there are rows",
            _COEFFICIENTS,
        ),
        (
            "return np.where(of_any > 0, of_any, equal), of_any > 0",
            "return equal, of_any > 0",
            "errors of sampling have the same variance in all groups, whatever was counted",
            _VARIANCES + "test_a_slope_of_a_small_group_whose_shares_vary_more_is_covered",
        ),
        (
            "inverted, squares, inverted) * inference.records / freedom",
            "inverted, squares, inverted)",
            "squared residuals of any variance are not corrected for their degrees of freedom",
            _VARIANCES + "test_coefficients_of_what_was_counted_together_have_errors_of_any_variance",
        ),
        (
            "or not _is_of_buckets(inference, target, y.values):",
            "or False:",
            "squared residuals of a condition within a bucket are those of its first value",
            _VARIANCES + "test_a_condition_that_divides_a_bucket_has_errors_of_equal_variance",
        ),
        (
            "inference.system.variance(functional), factor * float(variances[k])",
            "inference.system.variance(functional), min(factor, 1.0) * float(variances[k])",
            "the design effect is left out of coefficients",
            _COEFFICIENTS,
        ),
        (
            "_sum([row.within(residual), ",
            "_sum([row.within(moments.y.query), ",
            "coefficients have the noise of the outcome alone",
            _VARIANCES + "test_coefficients_have_the_noise_of_regressors_and_outcome",
        ),
        (
            "p_value = min(1.0, 2 * (1 - float(",
            "p_value = min(1.0, 1 * (1 - float(",
            "the test of a coefficient has one tail",
            _TESTS,
        ),
    ),
    *faults(
        "deniable/inference/quantiles.py",
        (
            "low = _first(lambda place: _high(found(place)) >= probability, begin, last)",
            "low = _first(lambda place: found(place).estimate >= probability, begin, last)",
            "a quantile has no value below its estimate",
            _STEP,
        ),
        (
            "if _low(found(place)) < probability), -1))",
            "if found(place).estimate < probability), -1))",
            "a quantile has no value above its estimate",
            _STEP,
        ),
        (
            "noise = variances + (shares - probability) ** 2 * whole",
            "noise = variances + (shares - estimates) ** 2 * whole",
            "quantiles of many values are looked for as far as the noise at the estimate reaches",
            _MANY + "test_quantiles_are_looked_for_as_far_as_the_noise_reaches",
        ),
    ),
    *faults(
        "deniable/inference/tables.py",
        (
            "        answers=tuple(answers[place] for place in listed),",
            "        answers=tuple(answers),",
            "the cells of a table are named in the requested order, and counted in that of the columns",
            _BOUNDS + "test_a_table_is_answered_in_the_order_in_which_it_is_asked",
        ),
        (
            "level = asked.level ** (1 / several) if",
            "level = asked.level if",
            "the cells of a table with simultaneous intervals hold one by one",
            _CELLS,
        ),
        (
            "found.variances - 2 * shares * found.shared + shares**2 * whole",
            "found.variances + shares**2 * whole",
            "the stated noise of shares of a table forgets its covariance with the number of records",
            _VARIANCES + "test_a_share_of_a_table_states_what_the_share_alone_does",
        ),
        (
            "            spread = Quadratic(noise, kept * (1 - kept), 0.0)",
            "            spread = Quadratic(noise, 0.0, 0.0)",
            "the counts of a table leave out that a part of the rows was measured",
            _OF_A_PART,
        ),
        (
            "level=min(1 - (1 - asked.level) / several, HIGHEST_LEVEL)",
            "level=asked.level",
            "cells that were not counted together hold one by one where they must together",
            _COMMAND + "test_cells_that_were_not_counted_together_share_the_level_of_a_table",
        ),
    ),
    *faults(
        "deniable/inference/answers.py",
        (
            "return GRADES.index(grade) <= GRADES.index(self.grade)",
            "return GRADES.index(grade) <= GRADES.index(self.grade) + 1",
            "an answer of a lower grade than is accepted is given",
            _COMMAND + "test_the_model_is_believed_only_when_it_is_asked_for",
        ),
    ),
    *faults(
        "deniable/inference/interval_table.py",
        (
            "    if [*own[:first], *own[last:]] != [*right[:first], *right[last:]]:",
            "    if own[:first] != right[:first]:",
            "the file of intervals may state another grade than its cells have",
            _FILE + "test_what_follows_holds_and_what_does_not_is_found",
        ),
        (
            "        abs(one - other) <= _TOLERANCE * (scale + abs(other) + 1e-6)",
            "        abs(one - other) <= scale + abs(other) + 1e-6",
            "the file of intervals may have other numbers than follow from what was measured",
            _FILE + "test_what_follows_holds_and_what_does_not_is_found",
        ),
    ),
    *faults(
        "deniable/inference/others/draws.py",
        (
            "        least = (1 - level) / 2\n        low = _first",
            "        least = 1 - level\n        low = _first",
            "the share of rows from draws misses on either side as often as on both",
            _OTHERS + "test_ends_of_an_interval_are_those_whose_tails_are_enumerated",
        ),
        (
            "reach = sqrt(number * np.log(2 / miss) / 2)",
            "reach = sqrt(number * np.log(2 / miss) / 8)",
            "the number of rows of a part has bounds of half the width",
            _OTHERS + "test_rows_of_a_part_are_within_their_bounds",
        ),
    ),
    *faults(
        "deniable/inference/others/prefixes.py",
        (
            "reach = reach_of(self._scale, (1 - asked.level) / prefixes)",
            "reach = reach_of(self._scale, 1 - asked.level)",
            "the noise of several prefixes is bounded as that of one",
            _LEVELS,
        ),
        (
            " + absent * (self._threshold - 1 + reach)",
            " + absent * (self._threshold - 1)",
            "prefixes that are not there are below the threshold without their noise",
            _LEVELS,
        ),
    ),
    *faults(
        "deniable/inference/others/responses.py",
        (
            "if (own > miss / 2) == above else",
            "if (own > miss) == above else",
            "the exact interval of responses misses on either side as often as on both",
            _OTHERS + "test_exact_intervals_of_responses_are_those_of_clopper_and_pearson",
        ),
        (
            "p, q = held + (size - 1) * other, size * other",
            "p, q = held, size * other",
            "a response that supports another of the requested values does not count",
            _OTHERS + "test_shares_of_answers_cover_those_of_the_population",
        ),
    ),
    *faults(
        "deniable/inference/others/flows.py",
        (
            "        miss = (1 - asked.level) * _PART_OF_TOTALS",
            "        miss = 1.0",
            "the number of workers of a destination has no error",
            _LEVELS,
        ),
    ),
    *faults(
        "deniable/inference/others/sets.py",
        (
            "            outside=(inside.size - cells) * self._prior,",
            "            outside=cells * self._prior,",
            "the prior weight of the other cells is that of those requested",
            _LEVELS,
        ),
    ),
)
