"""Faults in draws from exact counts: their prior weights, their charge, and the urns themselves."""

from tests.mutants.mutant import faults

_COSTS = "unit/test_urn_costs.py::"
_BUDGET = _COSTS + "test_the_cost_never_exceeds_the_budget_and_the_next_smaller_weight_would"
_ABOVE = _COSTS + "test_a_cost_is_above_the_logarithm_by_less_than_1e_19"
_BLOCKS = _COSTS + "test_a_block_costs_the_same_however_many_records_it_has_and_blocks_add_up"
_URNS = "privacy/test_urns_spend_no_more_than_they_are_charged.py::"
_KERNEL = _URNS + "test_the_kernel_draws_blocks_by_their_law"
_POLYA = _URNS + "test_a_polya_urn_draws_by_the_dirichlet_multinomial_law"
_PEGS = "mechanisms/test_pegs.py::"
_DIVERSE = "mechanisms/test_diverse.py::"
_IMPUTED = "mechanisms/test_imputed.py::"

MUTANTS = (
    *faults(
        "deniable/privacy/urn_costs.py",
        (
            "if prior * values + UNIT",
            "if prior + UNIT",
            "weights of an urn wrap around 64 bits",
            _URNS + "test_prior_weights_that_wrap_around_are_refused",
        ),
        (
            "while urn_epsilon(prior, draws) > epsilon:",
            "while urn_epsilon(prior + 1, draws) > epsilon:",
            "prior weights are rounded down",
            _BUDGET,
        ),
        (
            "rounding=ROUND_CEILING",
            "rounding=ROUND_FLOOR",
            "costs of draws are rounded down",
            _ABOVE,
        ),
        (
            "_CONTEXT.divide(Decimal(draws * UNIT), Decimal(prior))",
            "_CONTEXT.divide(Decimal(UNIT), Decimal(prior))",
            "an urn of several draws is charged as one of a single draw",
            _ABOVE,
        ),
    ),
    *faults(
        "deniable/learners/pegs/plan.py",
        (
            "return -(-self.records // self.block)",
            "return self.records // self.block",
            "blocks are charged one fewer than there are",
            _BLOCKS,
        ),
        (
            "for prior in self.priors if prior)",
            "for prior in self.priors[1:] if prior)",
            "an attribute is not charged",
            _BLOCKS,
        ),
        (
            "whole = sum(part for part, size in zip(parts, sizes, strict=True) if size > 1)",
            "whole = sum(part for part, size in zip(parts, sizes, strict=True) if size > 2)",
            "the budget of a block is divided among fewer attributes than are drawn",
            _BLOCKS,
        ),
        (
            "if combinations > most:",
            "if combinations > 2 * most:",
            "a key has more combinations than the spec allows",
            _PEGS + "test_a_key_ends_at_the_first_attribute_that_does_not_fit",
        ),
        (
            "return max(len(bucketed_pairs(domain)), 1) / epsilon",
            "return 1 / epsilon",
            "tables of pairs have the noise of one table",
            _PEGS + "test_measured_orders_have_the_noise_that_is_charged",
        ),
    ),
    *faults(
        "deniable/learners/pegs/draws.py",
        (
            "entry.draws_per_row + max(shape, default=0)",
            "entry.draws_per_row",
            "weights of public records wrap around 64 bits",
            _PEGS + "test_public_records_shape_the_prior_weights_at_no_cost",
        ),
        (
            "passes[sweeps - 1 :: sweeps]",
            "passes[::sweeps]",
            "the first of several sweeps is kept",
            _PEGS + "test_the_last_of_several_sweeps_is_kept_and_has_its_law",
        ),
        (
            "block=plan.block * sweeps",
            "block=plan.block",
            "the sweeps of a record are blocks of their own, of which only one is charged",
            _PEGS + "test_the_last_of_several_sweeps_is_kept_and_has_its_law",
        ),
    ),
    *faults(
        "deniable/learners/pegs/orders.py",
        (
            "found.append(counts + noise.reshape(counts.shape))",
            "found.append(counts + noise.reshape(counts.shape) // 2)",
            "tables of pairs get half the noise",
            _PEGS + "test_measured_orders_have_the_noise_that_is_charged",
        ),
    ),
    *faults(
        "deniable/models/urns.py",
        (
            "if seen >= most or prior < 0:",
            "if prior < 0:",
            "a row of a block is never even again",
            _KERNEL,
        ),
        (
            "                        if rows[earlier, i] == row:\n                            seen += 1",
            "                        if rows[earlier, i] == row and earlier:\n                            seen += 1",
            "a row serves a draw more than it is charged for",
            _KERNEL,
        ),
        (
            "                    even = prior * values",
            "                    even = prior",
            "the prior weight of a row counts for one value only",
            _KERNEL,
        ),
        (
            "mass = even + counted + UNIT * seen",
            "mass = even + counted",
            "draws of an urn are not added to it",
            _KERNEL,
        ),
        (
            "uniform_below(words, position, even + counted + UNIT * done)",
            "uniform_below(words, position, even + counted + UNIT * first)",
            "a Polya urn does not grow",
            _POLYA,
        ),
    ),
    *faults(
        "deniable/learners/pegs_noisy/plan.py",
        (
            "return max(noised_tables(domain), 1) / epsilon",
            "return max(noised_tables(domain) - 1, 1) / epsilon",
            "noise is scaled for a table of keys less than there are",
            "mechanisms/test_pegs_noisy.py::test_tables_have_the_noise_that_is_charged",
        ),
        (
            "[other for other in order if other < attribute]",
            "[other for other in order if other != attribute]",
            "a key has attributes that are drawn later",
            "mechanisms/test_pegs_noisy.py::test_keys_are_of_attributes_before",
        ),
    ),
    *faults(
        "deniable/learners/diverse/diversity.py",
        (
            "return np.where(never, EVEN, high)",
            "return np.where(never, 0, high)",
            "a row that cannot be diverse is drawn as it is",
            _DIVERSE + "test_the_prior_mass_of_a_row_is_the_smallest_that_makes_it_diverse",
        ),
    ),
    *faults(
        "deniable/learners/diverse/plan.py",
        (
            "delta_per_output=Fraction(1)",
            "delta_per_output=Fraction(0)",
            "l-diversity is charged nothing",
            _DIVERSE + "test_no_cost_is_stated_and_the_ledger_is_charged_delta_1",
        ),
    ),
    *faults(
        "deniable/learners/diverse/draws.py",
        (
            "is_private=False,",
            "is_private=True,",
            "l-diversity is taken for differential privacy",
            _DIVERSE + "test_no_cost_is_stated_and_the_ledger_is_charged_delta_1",
        ),
    ),
    *faults(
        "deniable/learners/imputed/plan.py",
        (
            "return prior * (ONE // UNIT)",
            "return prior * (ONE // UNIT) // 2",
            "imputed values are mixed with half as many even draws",
            _IMPUTED + "test_no_two_tables_differ_by_more_than_the_charge",
        ),
    ),
    *faults(
        "deniable/learners/imputed/draws.py",
        (
            "codes[:, attribute] = draw_weighted(stream, shares, prior_weight(prior))",
            "codes[:, attribute] = draw_weighted(stream, shares, prior_weight(prior) * 2 // 3)",
            "imputed values are drawn with less prior weight than is charged",
            _IMPUTED + "test_records_are_drawn_by_their_law",
        ),
    ),
)
