"""Faults in what is learnt of the data: entropies, counts, histograms of prefixes."""

from tests.mutants.mutant import faults

_LEARNING = "privacy/test_learning_adds_the_noise_it_is_charged_for.py::"
_ENTROPY_LAW = _LEARNING + "test_entropies_have_the_noise_that_is_charged_at_the_lower_bound_on_the_rows"
_ENTROPY_ACCOUNT = _LEARNING + "test_each_noisy_answer_of_structure_learning_is_in_an_event"
_BOUND = _LEARNING + "test_the_bound_on_the_rows_is_wrong_no_more_often_than_its_event_says"
_ADDS_UP = _LEARNING + "test_the_events_of_structure_learning_add_up_to_its_guarantee_within_its_budget"
_LEAVES = _LEARNING + "test_entropies_leave_of_epsilon_and_delta_what_the_number_of_rows_and_beta_have"
_COUNTS = _LEARNING + "test_counts_have_the_noise_that_is_charged"
_PERSON = _LEARNING + "test_one_person_changes_as_many_counts_by_one_as_are_charged"
_PREFIXES = _LEARNING + "test_prefixes_and_their_number_have_the_noise_that_is_charged"
_THRESHOLD = "unit/test_noisy_histogram.py::test_thresholds_are_those_worked_out_by_hand"
_FLOOR = "unit/test_noisy_histogram.py::test_floors_are_those_worked_out_by_hand"

MUTANTS = (
    *faults(
        "deniable/learners/cfs/entropies.py",
        (
            'in units of their sensitivity", len(self.queries)\n',
            'in units of their sensitivity", len(self.queries) - 1\n',
            "an entropy is not charged",
            _ENTROPY_ACCOUNT,
        ),
        (
            "_noise_to_sensitivity(self.noise, len(queries), epsilon, delta)",
            "_noise_to_sensitivity(self.noise, len(queries) - 1, epsilon, delta)",
            "noise is scaled for an entropy less than there are",
            _ADDS_UP,
        ),
        (
            "return rows, bound, noisy_integers(",
            "return rows, noisy_integers(",
            "beta, with which the bound on the rows is wrong, is not charged",
            _BOUND,
        ),
        (
            "delta_per_output=self.recipe.delta * BETA_SHARE",
            "delta_per_output=self.recipe.delta * BETA_SHARE**2",
            "a tenth of beta is charged",
            _BOUND,
        ),
        (
            "return rows, bound, noisy_integers(",
            "return bound, noisy_integers(",
            "the number of rows is not charged",
            _ENTROPY_ACCOUNT,
        ),
        (
            "delta = self.delta * (1 - BETA_SHARE)",
            "delta = self.delta",
            "delta is spent on noise that beta was to have a part of",
            _LEAVES,
        ),
        (
            "epsilon = self.epsilon - self.epsilon_rows",
            "epsilon = self.epsilon",
            "epsilon is spent on entropies that the number of rows was to have a part of",
            _LEAVES,
        ),
        (
            "math.ceil(math.log(1 / beta) / float(self.recipe.epsilon_rows))",
            "math.ceil(math.log(1 / beta) / float(2 * self.recipe.epsilon_rows))",
            "the bound on the rows is lowered by half of what it must be",
            _BOUND,
        ),
        (
            "unit = grid_sensitivity(rows_low)",
            "unit = grid_sensitivity(noisy_rows)",
            "noise for the noisy number of rows, which is too large half of the time",
            _ENTROPY_LAW,
        ),
        (
            "unit = grid_sensitivity(rows_low)",
            "unit = grid_sensitivity(counts.rows)",
            "the scale of the noise tells the exact number of rows",
            _ENTROPY_LAW,
        ),
        (
            "if rows_low < MIN_ROWS:",
            "if counts.rows < MIN_ROWS:",
            "a refusal is decided by the exact number of rows",
            _LEARNING + "test_too_few_rows_are_refused_by_their_noisy_number_alone",
        ),
        (
            "int((counts.rows + DiscreteLaplace(1 / epsilon_rows).sample(stream, 1))[0])",
            "counts.rows",
            "the number of rows has no noise",
            _LEARNING + "test_the_number_of_rows_has_the_noise_that_is_charged",
        ),
        (
            "int((counts.rows + DiscreteLaplace(1 / epsilon_rows).sample(",
            "int((counts.rows + DiscreteLaplace(1 / (epsilon_rows * Fraction(11, 10))).sample(",
            "the number of rows has 91 % of the noise that is charged",
            _LEARNING + "test_the_number_of_rows_has_the_noise_that_is_charged",
        ),
        (
            "law = DiscreteLaplace(unit * self.ratio)",
            "law = DiscreteLaplace(unit * self.ratio / 100)",
            "Laplace noise of entropies shrunk to 1 %",
            _ENTROPY_LAW,
        ),
        (
            "DiscreteGaussian(unit**2 * self.ratio)",
            "DiscreteGaussian(unit**2 * self.ratio / 2)",
            "Gaussian noise of entropies with half the variance",
            _ENTROPY_LAW,
        ),
        (
            "DiscreteGaussian(unit**2 * self.ratio)",
            "DiscreteGaussian(unit * self.ratio)",
            "a variance grows with the sensitivity, and not with its square",
            _ENTROPY_LAW,
        ),
        (
            "parameters=parameters), len(self.queries))\n",
            "parameters=parameters), 1).repeat(len(self.queries))\n",
            "all entropies have the same noise",
            _LEARNING + "test_every_entropy_has_noise_of_its_own",
        ),
        (
            'open_stream(mechanism="entropies", parameters=parameters)',
            'open_stream(mechanism="row_count", parameters={"epsilon": epsilon_rows})',
            "entropies are noised by the stream of the number of rows",
            _LEARNING + "test_every_entropy_has_noise_of_its_own",
        ),
        (
            "share = 1 / (rows + 1)",
            "share = 1 / (rows + 2)",
            "sensitivity of an entropy at a row more",
            "unit/test_structure.py::test_sensitivity_is_the_largest_change_over_all_small_tables",
        ),
        (
            "entropy_sensitivity(rows) * GRID) + 2",
            "entropy_sensitivity(rows) * GRID)",
            "roundings of entropies are not in their sensitivity",
            _ENTROPY_LAW,
        ),
    ),
    *faults(
        "deniable/privacy/common_events.py",
        (
            "sum(size > 1 for size in domain.cardinalities)",
            "sum(size > 2 for size in domain.cardinalities)",
            "tables of two values are not charged",
            _PERSON,
        ),
        (
            'part="parameters", outputs=tables)',
            'part="parameters", outputs=1)',
            "all tables of counts are charged as one",
            _PERSON,
        ),
    ),
    *faults(
        "deniable/privacy/loss.py",
        (
            "DiscreteLaplaceEvent(query=query, part=part, outputs=outputs, sensitivity=1, scale=amount)",
            "DiscreteLaplaceEvent(query=query, part=part, outputs=1, sensitivity=1, scale=amount)",
            "all integers with Laplace noise are charged as one",
            _PERSON,
        ),
        (
            "DiscreteGaussianEvent(query=query, part=part, outputs=outputs, sensitivity=1, variance=amount)",
            "DiscreteGaussianEvent(query=query, part=part, outputs=1, sensitivity=1, variance=amount)",
            "all integers with Gaussian noise are charged as one",
            _PERSON,
        ),
    ),
    *faults(
        "deniable/learners/cfs/parameters.py",
        (
            "law = DiscreteLaplace(self.amount) if",
            "law = DiscreteLaplace(self.amount / 100) if",
            "Laplace noise of counts shrunk to 1 %",
            _COUNTS,
        ),
        (
            "DiscreteGaussian(self.amount)",
            "DiscreteGaussian(self.amount / 2)",
            "Gaussian noise of counts with half the variance",
            _COUNTS,
        ),
        (
            "table + noise.reshape(table.shape)",
            "table + noise.reshape(table.shape) * (table > 0)",
            "cells of nobody have no noise",
            _LEARNING + "test_counts_of_nobody_have_noise_as_well",
        ),
        (
            'open_stream(mechanism="counts", parameters=parameters)',
            'open_stream(mechanism="counts", parameters={})',
            "all tables are noised by one stream",
            _LEARNING + "test_every_count_has_noise_of_its_own",
        ),
        (
            "probabilities = posterior_mean(noisy, prior)",
            "probabilities = posterior_mean(table, prior)",
            "probabilities are made of exact counts",
            _COUNTS,
        ),
    ),
    *faults(
        "deniable/privacy/common_events.py",
        (
            "return sum(size > 1 for size in domain.cardinalities)",
            "return sum(size > 2 for size in domain.cardinalities)",
            "tables of two values are not charged",
            _PERSON,
        ),
        (
            'part="parameters", outputs=tables),)',
            'part="parameters", outputs=1),)',
            "all tables are charged as one",
            _PERSON,
        ),
    ),
    *faults(
        "deniable/privacy/loss.py",
        (
            "outputs=outputs, sensitivity=1, scale=amount)",
            "outputs=outputs, sensitivity=1, scale=amount * 2)",
            "more Laplace noise is recorded than is drawn",
            _COUNTS,
        ),
        (
            "outputs=outputs, sensitivity=1, variance=amount)",
            "outputs=outputs, sensitivity=1, variance=amount * 2)",
            "more Gaussian noise is recorded than is drawn",
            _COUNTS,
        ),
    ),
    *faults(
        "deniable/samplers/histogram_seeds/noisy_histogram.py",
        (
            "kept = noisy >= self.threshold",
            "kept = counts.counts >= self.threshold",
            "exact counts decide which prefixes are kept",
            _LEARNING + "test_the_threshold_is_reached_by_noisy_counts",
        ),
        (
            "kept = noisy >= self.threshold",
            "kept = noisy >= self.threshold - 1",
            "prefixes one below the threshold are kept",
            _LEARNING + "test_the_threshold_is_reached_by_noisy_counts",
        ),
        (
            "threshold = 1 + least_excess(",
            "threshold = least_excess(",
            "the threshold is one too low for delta",
            _THRESHOLD,
        ),
        ("floor = self.k - 1 + least_excess(", "floor = self.k - 2 + least_excess(", "off by one in k", _FLOOR),
        ("self.beta / self.max_rows)", "self.beta)", "beta holds of one prefix, and not of all together", _FLOOR),
        (
            "return self.epsilon - (self.epsilon_rows or 0)",
            "return self.epsilon",
            "the number of records is paid for by nothing",
            _PREFIXES,
        ),
        (
            "counts.cells[kept], noisy[kept], rows)",
            "counts.cells[kept], counts.counts[kept], rows)",
            "exact counts of prefixes are released",
            _PREFIXES,
        ),
        (
            "law = DiscreteLaplace(1 / recipe.epsilon_cells)",
            "law = DiscreteLaplace(Fraction(9, 10) / recipe.epsilon_cells)",
            "counts of prefixes have 90 % of the noise that is charged",
            _PREFIXES,
        ),
        (
            "scale=1 / self.recipe.epsilon_cells",
            "scale=2 / self.recipe.epsilon_cells",
            "more noise is recorded than prefixes have",
            _PREFIXES,
        ),
        (
            "rows = int((counts.rows + DiscreteLaplace(1 / recipe.epsilon_rows).sample(stream, 1))[0])",
            "rows = counts.rows",
            "the exact number of records is released",
            _PREFIXES,
        ),
        (
            "return self._cells_event, rows",
            "return (self._cells_event,)",
            "the number of records is not charged",
            _PREFIXES,
        ),
        (
            'open_stream(mechanism="row_count", parameters={"epsilon": recipe.epsilon_rows})',
            'open_stream(mechanism="prefix_histogram", parameters=parameters)',
            "the number of records has the noise of the first prefix",
            _PREFIXES,
        ),
    ),
    *faults(
        "deniable/foundation/tables.py",
        (
            "ones[one_starts[i] + x] += 1",
            "ones[one_starts[i] + x] += 2",
            "a row counts twice in tables of one attribute",
            "unit/test_tables.py::test_one_way_and_two_way_counts_are_those_of_the_rows",
        ),
        (
            "+ codes[r, j]] += 1",
            "+ codes[r, j]] += 2",
            "a row counts twice in tables of two attributes",
            "unit/test_tables.py::test_one_way_and_two_way_counts_are_those_of_the_rows",
        ),
        (
            "self.rows += len(codes)",
            "self.rows += 2 * len(codes)",
            "the number of rows has sensitivity 2",
            "unit/test_tables.py::test_counts_of_chunks_add_up_to_the_counts_of_the_whole",
        ),
    ),
)
