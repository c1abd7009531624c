"""Faults in commuting flows and synthetic sets: prior weights, bounds, draws, costs."""

from tests.mutants.mutant import faults

_LAWS = "privacy/test_urns_of_flows_and_sets_spend_no_more_than_they_claim.py::"
_ORIGINS = _LAWS + "test_drawn_origins_have_the_enumerated_law"
_VECTORS = _LAWS + "test_priors_are_those_of_the_vectors"
_FLOWS = "unit/test_origin_destination.py::"
_SETS = "unit/test_synthetic_sets.py::"

MUTANTS = (
    *faults(
        "deniable/learners/origin_destination/bounds.py",
        (
            "return empty + people * worst",
            "return empty + worst",
            "theorem O counts one occupied origin",
            _VECTORS,
        ),
        (
            "empty = (origins - 1) * _tail",
            "empty = 1 * _tail",
            "theorem O counts one empty origin",
            _VECTORS,
        ),
        (
            "return floor(growth * (alpha + max(x - 1, 0)) * _LOWER) + 1",
            "return floor(growth * (alpha + x) * _LOWER) + 1",
            "the worker who moves is not taken away first",
            _VECTORS,
        ),
        (
            "own = alpha if most is None else most",
            "own = alpha",
            "a range of prior weights is bounded by its smallest one",
            _FLOWS + "test_a_range_of_weights_holds_only_if_its_worst_combination_does",
        ),
        (
            "return alone + empty + occupied",
            "return empty + occupied",
            "domain sampling forgets that a single origin may be left",
            _LAWS + "test_a_single_origin_that_is_left_is_bounded_too",
        ),
        (
            "_tail(people, draws, x, alpha, alpha, growth) / x",
            "_tail(people, draws, x, alpha, (origins - 1) * alpha, growth) / x",
            "domain sampling is bounded for all origins, though fewer are left",
            _LAWS + "test_domain_sampling_holds_for_every_number_of_origins_that_may_be_left",
        ),
    ),
    *faults(
        "deniable/learners/origin_destination/domain_sampling.py",
        (
            "_CONTEXT.fma(rest, alone, share)",
            "_CONTEXT.fma(rest, share, share)",
            "that without an origin others are drawn more often is not charged",
            _LAWS + "test_a_charge_of_fourteen_is_two_where_two_are_found",
        ),
        (
            "others if origins == 2 else [*others, both]",
            "others",
            "that an origin is emptied and another one filled at once is not charged",
            _LAWS + "test_theorem_d_bounds_every_ratio_and_cannot_be_less",
        ),
    ),
    *faults(
        "deniable/learners/origin_destination/plan.py",
        (
            "            epsilon += self._added_by_sampling(self.kept)\n",
            "            pass\n",
            "that an origin without workers may be left out is not charged",
            _LAWS + "test_domain_sampling_spends_no_more_than_it_claims_and_is_not_free",
        ),
        (
            'sampling_bound=asked.get("sampling_bound") or "theorem_5_2"',
            'sampling_bound=asked.get("sampling_bound") or "theorem_D"',
            "records of earlier versions are verified by a later theorem",
            _FLOWS + "test_a_record_of_an_earlier_version_is_charged_by_the_theorem_of_that_version",
        ),
        (
            "epsilon = before_sampling(epsilon, self.read)",
            "epsilon = epsilon",
            "a split is credited where neighbours differ in an origin alone",
            _FLOWS + "test_a_split_does_not_lower_epsilon_where_origins_alone_are_protected",
        ),
        (
            "delta += delta**TRIES",
            "delta += 0",
            "the tries that may all be rejected are not charged",
            _FLOWS + "test_domain_sampling_and_accept_reject_are_charged",
        ),
        (
            'return people == draws or (self.bound == "theorem_O" and self.kept is None)',
            "return True",
            "a bound for as many draws as workers is used for others",
            _LAWS + "test_a_bound_for_as_many_draws_as_workers_is_used_for_no_others",
        ),
        (
            "return Fraction(int(asked * KEPT_UNIT), KEPT_UNIT)",
            "return Fraction(int(asked * KEPT_UNIT) + 1, KEPT_UNIT)",
            "the probability of staying in the domain is rounded up, and charged for less than it costs",
            _FLOWS + "test_domain_sampling_and_accept_reject_are_charged",
        ),
    ),
    *faults(
        "deniable/learners/origin_destination/draws.py",
        (
            "plan.require_mass(records, sum(entry.prior_workers.values()))",
            "plan.require_mass(records)",
            "weights of public workers wrap around 64 bits",
            _FLOWS + "test_public_workers_are_drawn_like_confidential_ones_and_are_published",
        ),
        (
            '            parameters["public_workers"] = public.tolist()\n',
            "",
            "urns with other public workers share random words",
            _FLOWS + "test_urns_of_other_weights_have_streams_of_their_own",
        ),
        (
            '            parameters["staying"] = stays.tolist()\n',
            "            pass\n",
            "urns with other probabilities of staying share random words",
            _FLOWS + "test_urns_of_other_weights_have_streams_of_their_own",
        ),
        (
            "if stays is None else stays[empty]",
            "if stays is None else stays[: len(empty)]",
            "origins stay with each other's probabilities",
            _LAWS + "test_origins_stay_with_their_own_probabilities",
        ),
        (
            "            is_made[place] = True\n",
            "",
            "each chunk draws the urns of all its destinations again",
            _FLOWS + "test_the_urn_of_a_destination_is_drawn_once_for_all_chunks",
        ),
        (
            "prior = plan.prior(people, draws)",
            "prior = plan.prior(people, draws) // 2",
            "half the prior weight that was charged for",
            _ORIGINS,
        ),
        (
            'np.searchsorted(occupied - np.arange(len(occupied)), empty, side="right")',
            'np.searchsorted(occupied, empty, side="right")',
            "origins without workers are confused with others",
            _ORIGINS,
        ),
        (
            "if len(beyond) > 1 or sampled[beyond[0]] > most(workers.get(beyond[0], 0) + 1):",
            "if True:",
            "draws are tested by the counts alone: one worker makes draws impossible",
            _LAWS + "test_accept_reject_spends_no_more_than_it_claims_and_testing_the_counts_alone_does",
        ),
        (
            "<= most(count - 1) for origin",
            "<= most(count) for origin",
            "the worker who moves is still counted where they were",
            _LAWS + "test_acceptable_draws_are_those_of_the_vectors",
        ),
        (
            '"destination": place,',
            '"destination": 0,',
            "destinations share their chance",
            _FLOWS + "test_every_destination_has_a_stream_of_its_own",
        ),
    ),
    *faults(
        "deniable/learners/multinomial_sets/plan.py",
        (
            "return prior_for(self.epsilon / self.urns, self.draws)",
            "return prior_for(self.epsilon, self.draws)",
            "every set has the whole budget",
            _LAWS + "test_sets_together_cost_no_more_than_epsilon",
        ),
        (
            "return self.sets * self.size if self.shared else self.size",
            "return self.size",
            "a shared urn is charged for one set",
            _LAWS + "test_sets_together_cost_no_more_than_epsilon",
        ),
    ),
    *faults(
        "deniable/learners/multinomial_sets/draws.py",
        (
            'parameters: dict[str, Parameter] = {"urn": number, "prior"',
            'parameters: dict[str, Parameter] = {"prior"',
            "sets are copies of each other, and charged as if they were not",
            _SETS + "test_every_set_has_a_stream_of_its_own",
        ),
    ),
    *faults(
        "deniable/learners/multinomial_sets/posterior.py",
        (
            "for count, trials in drawn:",
            "for count, trials in drawn[:1]:",
            "only the first set is used",
            _SETS + "test_the_posterior_is_that_of_the_vectors",
        ),
        (
            "drawn = [(sum(sets), size * len(sets))] if shared else",
            "drawn = [(count, size) for count in sets] if shared else",
            "shared sets are taken for sets of their own",
            _SETS + "test_the_posterior_of_shared_sets_is_that_of_one_set_of_all_records",
        ),
        (
            "    within = (share * (1 - share) - between) / (total + 1)",
            "    within = share * (1 - share) / (total + 1)",
            "the spread of a share given the counts forgets that the counts are uncertain",
            _SETS + "test_the_posterior_of_several_categories_is_that_of_an_enumeration",
        ),
    ),
    *faults(
        "deniable/learners/multinomial_sets/given_sum.py",
        (
            "        own = transforms[factor] ** (several[factor] - 1)",
            "        own = transforms[factor] ** several[factor]",
            "a cell is counted twice beside others with the same records",
            _SETS + "test_the_posterior_of_several_categories_is_that_of_an_enumeration",
        ),
        (
            "_NEGLIGIBLE = 60.0",
            "_NEGLIGIBLE = 6.0",
            "probabilities, sums and frequencies that matter are left out",
            _SETS + "test_a_chain_that_has_not_converged_is_off_by_more_than_a_deviation_and_the_sums_are_not",
        ),
        (
            "    low = _in_order([block.low for block in blocks], blocks)",
            "    low = np.zeros(len(several), np.int64)",
            "windows of counts that do not begin at 0 are taken to begin there",
            _SETS + "test_two_categories_are_a_case_of_several",
        ),
    ),
)
