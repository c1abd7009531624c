"""Faults of MST: its private queries, its scores, its account, and what may be a public file."""

from tests.mutants.mutant import faults

_MST = "mechanisms/test_mst.py::"
_NIST = "mechanisms/test_nist_mst.py::"
_NOISE = _MST + "test_tables_have_the_noise_that_is_charged"
_AUDIT = _MST + "test_with_forced_answers_a_record_changes_nothing_but_what_is_asked_by_one"
_PLANNED = _MST + "test_no_more_is_measured_than_was_planned"
_THIRDS = _MST + "test_rho_is_divided_into_three_equal_parts"
_ALTERED = _MST + "test_each_change_of_what_was_measured_is_named"
_SOURCE = _NIST + "test_the_confidential_source_is_refused_under_its_name_and_as_a_copy"

MUTANTS = (
    *faults(
        "deniable/learners/mst/measuring.py",
        (
            "Release(counts + noise, law, turn)",
            "Release(counts + 0 * noise, law, turn)",
            "tables of MST have no noise",
            _NOISE,
        ),
        (
            'law = NoiseLaw("gaussian", self.plan.variance_of(number))',
            'law = NoiseLaw("gaussian", self.plan.one_way_variance)',
            "pairs of MST have the noise of single attributes",
            _NOISE,
        ),
        (
            "self._require(len(self.choices) < self.plan.layout.choices)",
            "self._require(len(self.choices) <= self.plan.layout.choices)",
            "MST chooses once more than is charged",
            _PLANNED,
        ),
        (
            "self._require(len(measured) < len(self.plan.layout.counted))",
            "self._require(len(measured) <= len(self.plan.layout.counted))",
            "MST counts an attribute more than is charged",
            _PLANNED,
        ),
        (
            "self._require(number < (layout.choices or len(layout.cliques)))",
            "self._require(number <= (layout.choices or len(layout.cliques)))",
            "MST counts a pair more than is charged",
            _PLANNED,
        ),
        (
            "choose(scores, sensitivity=1, epsilon=self.plan.choice_epsilon,",
            "choose(scores, sensitivity=1, epsilon=2 * self.plan.choice_epsilon,",
            "choices of MST have twice the epsilon that is charged",
            _MST + "test_choices_follow_the_exponential_law",
        ),
    ),
    *faults(
        "deniable/learners/mst/learning.py",
        (
            "expected_counts(margins[a], margins[b], alone.total))",
            "expected_counts(counts[a, b].sum(1), counts[a, b].sum(0), counts[a, b].sum()))",
            "expected counts of MST are those of the records",
            _AUDIT,
        ),
        (
            "released = queries.measure_one(attribute, counts).releases[0].sums\n",
            "released = queries.measure_one(attribute, counts).releases[0].sums * 0 + counts\n",
            "MST pools values by their exact counts",
            _AUDIT,
        ),
    ),
    *faults(
        "deniable/learners/mst/selection.py",
        (
            "return int(np.abs(counts - expected).sum())",
            "return 2 * int(np.abs(counts - expected).sum())",
            "a record changes a score of MST by two",
            _MST + "test_one_record_changes_a_score_by_one_at_most",
        ),
    ),
    *faults(
        "deniable/learners/mst/plan.py",
        (
            "return len(self.counted) / (2 * float(self.one_way_rho) * rho)",
            "return len(self.counted) / (4 * float(self.one_way_rho) * rho)",
            "single attributes of MST have half the variance of their part",
            _THIRDS,
        ),
        (
            "outputs=layout.choices, epsilon_per_choice=choice",
            "outputs=layout.choices - 1, epsilon_per_choice=choice",
            "a choice of MST is not charged",
            _THIRDS,
        ),
        (
            "query=PAIRS, part=PART, outputs=layout.choices)",
            "query=PAIRS, part=PART, outputs=layout.choices - 1)",
            "a pair of MST is not charged",
            _THIRDS,
        ),
    ),
    *faults(
        "deniable/learners/mst/published.py",
        (
            '    if any(table.releases[0].noise.law != "gaussian" for table in tables) or stated != right:',
            '    if any(table.releases[0].noise.law != "gaussian" for table in tables):',
            "the noise of a table of MST is not held against its event",
            _ALTERED,
        ),
        (
            "if choice.candidates != len(those) or those[choice.chosen] != choice.attributes:",
            "if choice.candidates != choice.candidates:",
            "a choice of MST may be any pair",
            _ALTERED,
        ),
    ),
    *faults(
        "tasks/data/public_rows.py",
        (
            "path.samefile(other) or _sha256(other) == digest",
            "path.samefile(other)",
            "a copy of the confidential source counts as public",
            _SOURCE,
        ),
        (
            "    if digest != sha256:",
            "    if not digest:",
            "any file counts as the public file",
            _NIST + "test_a_file_with_another_digest_is_refused",
        ),
    ),
    *faults(
        "deniable/learners/nist_mst/steps.py",
        (
            "    if list(tables_of(domain, information, thresholds)) != list(tables):",
            "    if False:",
            "tables that do not follow from the public file are measured",
            _NIST + "test_tables_that_do_not_follow_from_the_file_are_refused",
        ),
    ),
)
