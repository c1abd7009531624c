"""Faults in what is proposed for a schema: values of open categories and ranges of numbers."""

from tests.mutants.mutant import faults

_PRIVACY = "privacy/test_discoveries_spend_no_more_than_they_claim.py::"
_LAW = _PRIVACY + "test_values_are_released_within_epsilon_and_delta"
_COST = _PRIVACY + "test_the_events_cost_no_more_than_was_asked_for"
_RANGE = _PRIVACY + "test_counts_of_numbers_have_the_noise_that_is_charged"
_VALUES = _PRIVACY + "test_values_have_the_noise_that_is_charged"
_NEVER = _PRIVACY + "test_a_value_that_no_record_has_is_never_released"
_RESUMED = "flows/test_schema_discover.py::test_a_discovery_that_was_ended_repeats_its_draws_and_is_charged_once"
_PERSON = "flows/test_schema_discover.py::test_of_each_person_one_record_counts"

MUTANTS = (
    *faults(
        "deniable/discovery/answering.py",
        (
            "if each[1] >= plan.threshold))",
            "if each[1] >= plan.threshold - 1))",
            "a value is proposed below the threshold that was charged",
            _LAW,
        ),
        (
            "if each[1] >= plan.threshold))",
            "if counts[each[0]] >= plan.threshold))",
            "the exact count of a value decides whether it is proposed",
            _LAW,
        ),
        (
            "for value, count in counts.items() if count > 0)",
            "for value, count in counts.items())",
            "values that no record has get noise, too",
            _NEVER,
        ),
        (
            "law = DiscreteLaplace(1 / plan.epsilon_per_column)",
            "law = DiscreteLaplace(1 / (2 * plan.epsilon_per_column))",
            "values are proposed with half the noise",
            _VALUES,
        ),
        (
            "DiscreteLaplace(1 / plan.epsilon_range)",
            "DiscreteLaplace(1 / plan.epsilon_per_column)",
            "the grid of numbers has the noise of the whole share",
            _RANGE,
        ),
    ),
    *faults(
        "deniable/discovery/plan.py",
        (
            "return 1 + least_excess(",
            "return least_excess(",
            "the threshold of values is one too low",
            _COST,
        ),
        (
            "self.delta / self._categories)",
            "self.delta)",
            "each column of values spends the whole delta",
            _COST,
        ),
        (
            "return self.epsilon / len(self.questions)",
            "return self.epsilon / max(1, len(self.questions) - 1)",
            "epsilon is shared by a column less than there are",
            _COST,
        ),
        (
            'f"counts of {question.column} by decimals", self.epsilon_decimals),',
            'f"counts of {question.column} by decimals", self.epsilon_range),',
            "the decimals of numbers are charged with another epsilon than their own",
            _COST,
        ),
    ),
    *faults(
        "flows/discovery.py",
        (
            "None if begun is None or begun.finished else begun",
            "None",
            "a discovery that was ended is begun again and charged twice",
            _RESUMED,
        ),
    ),
    *faults(
        "tasks/discovery/copy_columns.py",
        (
            "        if begun is not None:\n",
            "        if begun is not None and begun.finished:\n",
            "a discovery that was ended copies its columns again, counts them, and is charged twice",
            _RESUMED,
        ),
    ),
    *faults(
        "tasks/discovery/answer_questions.py",
        (
            "chosen = batch if kept is None else batch.filter(pa.array(next(kept)))",
            "chosen = batch",
            "all records of a person count in a discovery",
            _PERSON,
        ),
    ),
    *faults(
        "stores/releases/discoveries.py",
        (
            ".digest != digest:",
            ".digest == b'':",
            "a discovery is resumed from another copy of the source",
            _RESUMED,
        ),
    ),
)
