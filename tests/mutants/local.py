"""Faults in randomized response: draws, ratios, the memory of a respondent."""

from tests.mutants.mutant import faults

_UNIT = "unit/test_local.py::"
_LAW = _UNIT + "test_a_response_has_the_stated_law_and_its_largest_ratio_is_e_to_the_epsilon"

MUTANTS = (
    *faults(
        "deniable/local/designs.py",
        (
            "uniform_integer(stream, a + b) < a else",
            "uniform_integer(stream, a + b) <= a else",
            "Warner's true answer has a ticket too many",
            _LAW,
        ),
        ("answer if ticket >= 2 * b else", "answer if ticket >= b else", "half as many answers are forced", _LAW),
        ("int(ticket < b)", "int(ticket < 2 * b)", "a forced answer is always the second", _LAW),
        (
            "other + (other >= answer) if ticket",
            "other if ticket",
            "another answer may be the true one, and the last is never given",
            _LAW,
        ),
        ("if value == answer else 2 * b)", "if value == answer else b)", "other bits are set half as often", _LAW),
        (
            "above = exp_probability(epsilon, bits) + 1",
            "above = exp_probability(epsilon, bits) - (1 << bits - 20)",
            "the ratio is rounded up",
            _UNIT + "test_the_ratio_is_rounded_down",
        ),
        (
            "if not 1 < self.ratio",
            "if not 1 <= self.ratio",
            "a design that says nothing is let through, and its estimates divide by zero",
            _UNIT + "test_a_design_that_says_nothing_is_refused",
        ),
    ),
    *faults(
        "deniable/local/responding.py",
        (
            "inputs=survey.digest,",
            'inputs="",',
            "two surveys share their chance, and averages of their responses tell the answer",
            _UNIT + "test_the_same_answer_under_the_same_key_gets_the_same_response",
        ),
        (
            'key.digest("respondent", survey.digest.encode())',
            'key.digest("respondent", b"")',
            "a pseudonym links the surveys of a respondent",
            _UNIT + "test_the_same_answer_under_the_same_key_gets_the_same_response",
        ),
    ),
    *faults(
        "deniable/local/responses.py",
        (
            "        if respondent in seen:",
            "        if False:",
            "a respondent counts as often as there are lines",
            _UNIT + "test_responses_of_many_respondents_estimate_the_shares_they_were_drawn_from",
        ),
        (
            "tuple(sorted(rows))",
            "tuple(rows)",
            "the order of arrival is published",
            _UNIT + "test_responses_of_many_respondents_estimate_the_shares_they_were_drawn_from",
        ),
    ),
    *faults(
        "deniable/local/estimates.py",
        (
            "stats.beta.ppf(1 - alpha / 2, successes + 1,",
            "stats.beta.ppf(1 - alpha / 2, successes,",
            "an interval that is not exact",
            _UNIT + "test_an_interval_covers_with_its_level_at_least",
        ),
    ),
    *faults(
        "deniable/respondent.py",
        (
            "    if line:\n",
            '    if line == "never":\n',
            "a respondent who answers anew spends epsilon again",
            "unit/test_respond_command.py::test_who_has_responded_gives_the_same_responses_again_and_is_not_asked",
        ),
        (
            "st_mode & 0o077",
            "st_mode & 0o000",
            "a key that others can read is used",
            "unit/test_respond_command.py::test_a_key_that_others_can_read_is_refused",
        ),
    ),
)
