"""Faults in the queries, the account and the scores of AIM."""

from tests.mutants.mutant import faults

_LAWS = "privacy/test_aim_answers_have_the_noise_of_their_events.py::"
_LAW = _LAWS + "test_a_table_has_the_noise_that_is_charged"
_CHOICE = _LAWS + "test_a_choice_has_the_law_that_is_charged"
_OWN = _LAWS + "test_every_answer_has_noise_of_its_own"
_ACCOUNT = _LAWS + "test_what_is_spent_never_exceeds_what_is_charged_and_nothing_is_drawn_beyond_it"
_SCORE = _LAWS + "test_one_record_changes_no_score_by_more_than_its_sensitivity"
_ALONE = _LAWS + "test_learning_knows_the_rows_by_the_answers_alone"
_SCHEDULE = "unit/test_aim_plan.py::test_no_schedule_exceeds_rho_and_every_schedule_spends_it"
_VERIFIED = "unit/test_aim_verification.py::"
_HOLDS = _VERIFIED + "test_what_was_measured_holds"
_NAMED = _VERIFIED + "test_what_does_not_follow_is_named"
_FILTER = "unit/test_concentrated_event.py::"

MUTANTS = (
    *faults(
        "deniable/learners/aim/queries.py",
        ("DiscreteGaussian(variance)", "DiscreteGaussian(variance * 4 / 5)", "tables have a tenth less noise", _LAW),
        ("counts + DiscreteGaussian", "counts + 0 * DiscreteGaussian", "tables have no noise", _LAW),
        (
            ".sample(stream, counts.size).reshape(counts.shape)",
            ".sample(stream, 1)[0]",
            "the cells of a table have the same noise",
            _OWN,
        ),
        (
            '            "turn": self._turn,\n            "attributes"',
            '            "attributes"',
            "a table that is measured again has the same noise",
            _OWN,
        ),
        ("self._pay(rho_of_table(variance))", "self._turn += 1", "tables are not charged", _LAW),
        ("self._pay(rho_of_choice(epsilon))", "self._turn += 1", "choices are not charged", _CHOICE),
        ("if not 0 < rho <= self.left:", "if not 0 < rho:", "more is spent than there is", _ACCOUNT),
        (
            "sensitivity=sensitivity, epsilon=epsilon, stream",
            "sensitivity=sensitivity, epsilon=2 * epsilon, stream",
            "choices in the form for monotone scores",
            _CHOICE,
        ),
        (
            "sensitivity=sensitivity, epsilon=epsilon, stream",
            "sensitivity=1, epsilon=epsilon, stream",
            "choices as if a record moved scores by one",
            _CHOICE,
        ),
    ),
    *faults(
        "deniable/learners/aim/plan.py",
        ("return epsilon**2 / 8", "return epsilon**2 / 16", "choices are charged half", _CHOICE),
        ("return 1 / (2 * variance)", "return 1 / (4 * variance)", "tables are charged half", _LAW),
        (
            "return self.rho - len(self.counted) * rho_of_table(self.one_way_variance) if",
            "return self.rho if",
            "the rounds have all of rho, beside the one-way marginals",
            _ACCOUNT,
        ),
        ("if left >= 2 * wished.rho:", "if 2 * left >= wished.rho:", "a round has more than is left", _SCHEDULE),
    ),
    *faults(
        "deniable/learners/aim/scores.py",
        ("UNIT * max(weights.values())", "UNIT * min(weights.values())", "the least weight for the largest", _SCORE),
        ("UNIT * max(weights.values())", "max(weights.values())", "a record moves scores by a unit at most", _SCORE),
        ("np.abs(UNIT * counts -", "np.abs(2 * UNIT * counts -", "a record counts twice in a score", _SCORE),
    ),
    *faults(
        "deniable/learners/aim/rounds.py",
        (
            'amounts.variance, "chosen"',
            'amounts.variance * 9 / 10, "chosen"',
            "a round's table has less noise than the schedule says",
            _HOLDS,
        ),
        (
            "before = model.marginal(picked)",
            "before = counts[picked] + 0.0",
            "exact counts decide how much noise the next round has",
            _ALONE,
        ),
    ),
    *faults(
        "deniable/learners/aim/measured.py",
        (
            'each is not None and release.noise == NoiseLaw("gaussian", each.variance)',
            "each is not None",
            "less noise than a schedule may have is not named",
            _NAMED,
        ),
        ("left, before = left - amounts.rho, amounts", "before = amounts", "what was spent is not added up", _NAMED),
        (
            "release.noise != law or release.multiplier != 1",
            "release.multiplier != 1",
            "one-way marginals with less noise than their events are not named",
            _NAMED,
        ),
    ),
    *faults(
        "deniable/privacy/loss.py",
        (
            "        return self.rho_per_output",
            "        return self.rho_per_output / 2",
            "half of a whole rho is charged",
            _FILTER + "test_its_rho_is_the_whole",
        ),
    ),
    *faults(
        "deniable/privacy/loss_laws.py",
        (
            "        isinstance(event, ConcentratedEvent)\n        or (",
            "        (",
            "an adaptive schedule is composed as if its losses were known",
            _FILTER + "test_it_is_composed_by_zcdp_alone_with_all_that_has_a_rho",
        ),
    ),
)
