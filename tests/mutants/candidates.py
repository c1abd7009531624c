"""Faults in the privacy tests, and in what candidates cost."""

from tests.mutants.mutant import faults

_LAW = "privacy/test_synthesis_releases_by_the_law_of_mechanism_1_star.py::"
_FREQUENCIES = _LAW + "test_release_frequencies_are_those_of_the_definition[{2: 1}]"
_THEOREM_1 = "privacy/test_privacy_test_two_spends_no_more_than_theorem_1.py::"
_THEOREM_A = "privacy/test_mechanism_one_star_spends_no_more_than_theorem_a.py::"
_CURVES = _THEOREM_A + "test_one_attempt_stays_below_the_curves"
_THEOREM = "unit/test_seed_accounting.py::test_the_curves_are_those_of_theorem_a"
_UNIT = "unit/test_privacy_tests.py::"
_SOME = "privacy/test_a_test_on_some_of_the_rows_spends_no_more_than_its_curves.py::"

MUTANTS = (
    *faults(
        "deniable/plausible_deniability/mechanism_one_kernels.py",
        (
            "plausible[i] >= attempt.k + noise[i]",
            "plausible[i] + 1 >= attempt.k + noise[i]",
            "off by one in k",
            _FREQUENCIES,
        ),
        (
            "plausible[i] >= attempt.k + noise[i]",
            "plausible[i] >= attempt.k",
            "the threshold has no noise",
            _FREQUENCIES,
        ),
        ("kept = ticket >= attempt.drop_numerator", "kept = True", "no attempt is dropped unseen", _FREQUENCIES),
        (
            "max(size, attempt.public_rows)",
            "size",
            "seeds are drawn among the rows, whose number the results tell",
            _FREQUENCIES,
        ),
        (
            "                noises[live] = noise\n",
            "                noises[live] = noises[0]\n",
            "the candidates of a block share their noise",
            _LAW + "test_noise_of_one_candidate_says_nothing_of_another_s",
        ),
    ),
    *faults(
        "deniable/plausible_deniability/mechanism_one.py",
        (
            "else 1 / self.test.eps0)",
            "else 1 / (2 * self.test.eps0))",
            "the threshold has half the noise that is charged",
            _LAW + "test_candidates_pass_as_often_as_their_event_says",
        ),
        (
            "randomized=self.test.randomized,",
            "randomized=False,",
            "the randomized test is not randomized",
            _FREQUENCIES,
        ),
    ),
    *faults(
        "deniable/plausible_deniability/mechanism_one.py",
        (
            "< int(self.check_probability * WORDS)",
            "< 2 * int(self.check_probability * WORDS)",
            "twice as many seeds are scored as is charged",
            _SOME + "test_the_program_decides_by_the_law",
        ),
        (
            "among=counting.scored(seeds, stream),",
            "among=seeds[: int(len(seeds) * counting.check_probability)],",
            "the same seeds are scored for every candidate",
            _SOME + "test_the_program_decides_by_the_law",
        ),
    ),
    *faults(
        "deniable/plausible_deniability/sampled_tests.py",
        (
            "heights = law.passes[1:] + x",
            "heights = law.passes[:-1] + x",
            "a row more does not make a candidate pass more often, among some of the rows",
            _SOME + "test_one_attempt_stays_below_the_curves",
        ),
        (
            "np.maximum(0.0, 1 / places - excess)",
            "np.maximum(0.0, 0 / places - excess)",
            "removing a row forgets that seeds become likelier, among some of the rows",
            _SOME + "test_the_curves_are_those_of_theorem_a",
        ),
        (
            "rises.append(p * float(",
            "rises.append(p * p * float(",
            "a row is scored less often in the account than in the test",
            _SOME + "test_one_attempt_stays_below_the_curves",
        ),
    ),
    *faults(
        "deniable/privacy/common_events.py",
        (
            "check_probability=check_probability(max_check_plausible, public_rows),",
            "check_probability=check_probability(max_check_plausible, 2 * public_rows),",
            "half as many seeds are charged as are scored",
            _SOME + "test_the_event_has_the_probability_that_is_drawn_with",
        ),
    ),
    *faults(
        "deniable/samplers/tested_seeds/sampler.py",
        (
            'mechanism="mechanism_1_star", parameters=parameters, chunk=chunk',
            'mechanism="mechanism_1_star", parameters=parameters, chunk=0',
            "all chunks of candidates have the same seeds and noise",
            "tasks/test_blocks.py::test_each_chunk_of_candidates_opens_a_stream_of_its_own",
        ),
    ),
    *faults(
        "deniable/plausible_deniability/privacy_tests.py",
        (
            "return count >= self.k + noise",
            "return count > self.k + noise - 2",
            "off by one in k where candidates are tested one by one",
            _UNIT + "test_the_two_tests_decide_and_say_how_often",
        ),
        (
            '(0.5, 0.5) if law == "laplace" else (1 / (1 + decay), decay / (1 + decay))',
            "(0.5, 0.5)",
            "probabilities of passing are of other noise than is drawn",
            _UNIT + "test_pass_probability_is_the_chance_of_the_noise",
        ),
        (
            "found = max(0, floor(quotient))",
            "found = max(0, round(quotient))",
            "a bucket holds what lies around its bound",
            _UNIT + "test_a_bucket_holds_what_lies_between_its_bounds",
        ),
        (
            "epsilon=float(eps0) + log1p(float(gamma) / t)",
            "epsilon=float(eps0)",
            "Theorem 1 without what the number of rows tells",
            _UNIT + "test_one_record_spends_what_theorem_1_says",
        ),
        (
            "delta=exp(-float(eps0) * (k - t))",
            "delta=exp(-float(eps0) * (k - t + 1))",
            "off by one in the delta of Theorem 1",
            _UNIT + "test_one_record_spends_what_theorem_1_says",
        ),
        (
            "exp(-float(eps0) * (k - t)) > delta:",
            "exp(-float(eps0) * (k - t - 1)) > delta:",
            "t is one too large for its delta",
            _UNIT + "test_best_t_is_the_largest_that_keeps_to_delta",
        ),
        (
            "return 1 / (1 + (rows + 1) * expm1(epsilon))",
            "return 1 / (1 + (rows + 2) * expm1(epsilon))",
            "dropped too rarely for no output to be covered",
            _UNIT + "test_no_output_is_covered_by_no_less_dropping",
        ),
        (
            "expm1(epsilon) + exp(epsilon) / rows",
            "expm1(epsilon)",
            "the exact form of Theorem 1 forgets that a row more changes the number of seeds",
            _THEOREM_1 + "test_the_exact_form_of_theorem_1_bounds_every_law_and_is_nearly_met",
        ),
        (
            "for x in {1 / float(gamma), float(gamma)}:",
            "for x in {1 / float(gamma)}:",
            "the worst table is looked for at one end of a bucket",
            _THEOREM_1 + "test_the_exact_form_of_theorem_1_bounds_every_law_and_is_nearly_met",
        ),
        (
            "after = pass_probability(counts + 1, k=k, eps0=eps0, law=law)",
            "after = pass_probability(counts, k=k, eps0=eps0, law=law)",
            "a row more does not make a candidate pass more often",
            _CURVES,
        ),
    ),
    *faults(
        "deniable/plausible_deniability/seed_accounting.py",
        ("places / (places + 1)\n", "1\n", "removing a row forgets that seeds become likelier", _THEOREM),
        (
            "silent = (1 - drop) / places - drop * excess",
            "silent = -drop * excess",
            "no output tells nothing",
            _THEOREM,
        ),
        (
            "shrinking = np.maximum(0.0, 1 / places - excess)",
            "shrinking = 0 * excess",
            "removing a row forgets that the others become likelier",
            _THEOREM,
        ),
        (
            "failing = highest_of_falling_lines(fails, fails_after, discount) + fails[-1]",
            "failing = highest_of_falling_lines(fails, fails_after, discount) * 0",
            "removing a row forgets that other candidates fail",
            _THEOREM,
        ),
        (
            "forward, backward), times=event.outputs, delta=delta)",
            "forward, backward), times=1, delta=delta)",
            "one candidate is charged for all",
            _THEOREM_A + "test_several_attempts_stay_within_their_total",
        ),
        (
            "for forward, backward in ((added, removed), (removed, added))",
            "for forward, backward in ((removed, added),)",
            "a record added is not looked at",
            _THEOREM_A + "test_several_attempts_stay_within_their_total",
        ),
        (
            "return one if hidden and t <= event.ratio * event.public_rows else None",
            "return one",
            "Theorem 1 is used where no output is not covered",
            "unit/test_seed_accounting.py::test_theorem_1_is_not_used_for_one_candidate_where_no_output_is_not_covered",
        ),
        (
            "one = candidate_guarantee(event, delta / event.outputs)",
            "one = candidate_guarantee(event, delta)",
            "the deltas of candidates are not added up",
            "unit/test_seed_accounting.py::test_the_deltas_of_candidates_add_up_to_no_more_than_the_total",
        ),
    ),
    *faults(
        "deniable/plausible_deniability/plausible_seeds.py",
        (
            "step, fraction = steps[-1], fractions[-1] / ratio",
            "step, fraction = steps[-1], fractions[-1] / ratio**2",
            "buckets are squared: plausible seeds are less alike than is promised",
            "property/test_plausible_seeds_are_counted_exactly.py::test_prefix_counts_equal_the_definition",
        ),
    ),
)
