"""Faults in keys, streams, exact noise and the random split."""

from tests.mutants.mutant import faults

_KEYS = "unit/test_keys.py::"
_NOISE = "unit/test_noise.py::"
_LAW = "privacy/test_noise_follows_its_law.py::test_noise_follows_its_law_and_neither_a_narrower_nor_a_wider_one"
_OTHER_STREAM = _KEYS + "test_any_other_argument_opens_an_unrelated_stream"
_PERSON = "privacy/test_one_record_of_each_person_protects_the_person.py::"
_PEOPLE = "tasks/test_a_person_with_several_records.py::"
_SEVERAL = "tasks/test_several_records_of_each_person.py::"
_GROUP = "privacy/test_group_privacy_covers_all_records_of_a_person.py::"
_SPLIT = "property/test_records_are_split_with_the_stated_probabilities.py::"

MUTANTS = (
    *faults(
        "deniable/foundation/keys.py",
        ('"chunk": _plain("chunk", chunk)', '"chunk": 0', "all chunks share one stream", _OTHER_STREAM),
        ('"mechanism": mechanism', '"mechanism": ""', "all mechanisms of a step share one stream", _OTHER_STREAM),
        ('"inputs": inputs', '"inputs": ""', "other data are noised with the same noise", _OTHER_STREAM),
        (
            '"parameters": _plain_items(parameters)',
            '"parameters": {}',
            "other questions are noised with the same noise",
            _OTHER_STREAM,
        ),
        (
            "hmac.digest(self._secret, _STREAM + message",
            "hmac.digest(bytes(32), _STREAM + message",
            "streams do not depend on the secret: anybody can take the noise away",
            _KEYS + "test_another_key_opens_an_unrelated_stream",
        ),
        (
            "return secrets.token_bytes(_KEY_BYTES)",
            "return bytes(_KEY_BYTES)",
            "every release key is the same",
            _KEYS + "test_a_new_key_is_new",
        ),
        (
            "        self._start += count",
            "        self._start += count - 1",
            "each draw begins with the last word of the one before",
            _KEYS + "test_looking_ahead_uses_nothing_up",
        ),
    ),
    *faults(
        "deniable/foundation/noise.py",
        (
            "scale, levels = law.scale, []",
            "scale, levels = law.scale * Fraction(19, 20), []",
            "Laplace noise of 95 % of the scale",
            _LAW,
        ),
        (
            "1 / (2 * law.sigma_squared), bits)",
            "1 / law.sigma_squared, bits)",
            "Gaussian noise of half the variance",
            _LAW,
        ),
        (
            "negative = (pair & _ONE_BIT) != 0",
            "negative = False",
            "noise is never below 0",
            _NOISE + "test_the_lowest_bit_is_the_sign_and_a_negative_zero_is_drawn_again",
        ),
        (
            "if digit == len(thresholds.guide) and negative and magnitude == 0:",
            "if False:",
            "a negative zero counts as zero: zero is drawn twice as often as it should be",
            _NOISE + "test_the_lowest_bit_is_the_sign_and_a_negative_zero_is_drawn_again",
        ),
        (
            "                position = TIE",
            "                position += 2",
            "63 digits decide where more are needed",
            _NOISE + "test_a_tie_is_broken_by_the_next_digits",
        ),
        (
            "drawn = rest >= bound or rest >= (_TWO_TO_32 - bound) % bound",
            "drawn = True",
            "uniform integers favour some values",
            _NOISE + "test_every_value_below_the_bound_is_drawn_from_equally_many_words",
        ),
        (
            "** 2 / (2 * sigma_squared)):",
            "** 2 / sigma_squared):",
            "wide Gaussian noise is accepted too rarely far from its centre",
            _LAW,
        ),
        (
            "threshold = exp_probability(exponent, bits)",
            "threshold = exp_probability(exponent, 32) << (bits - 32)",
            "a probability is cut off after 32 digits",
            _NOISE + "test_bernoulli_draws_compare_as_many_words_as_it_takes",
        ),
        (
            "        stream.skip(used)",
            "        stream.skip(used - 2)",
            "each block of noise begins with the words that the one before ended with",
            _NOISE + "test_draws_do_not_depend_on_how_many_are_made_at_a_time",
        ),
    ),
    *faults(
        "deniable/foundation/exact_probabilities.py",
        (
            "floors if cut_off else floors[: floors.index(0) + 1]",
            "floors if cut_off else floors[: floors.index(0)]",
            "a magnitude beyond 2^-63 is never drawn",
            _NOISE + "test_a_number_below_all_thresholds_is_decided_too",
        ),
    ),
    *faults(
        "tasks/data/split.py",
        (
            "parameters=split.probabilities, chunk=chunk",
            "parameters=split.probabilities, chunk=0",
            "all chunks of records are split by one stream: anyone who knows one record's part knows others'",
            "tasks/test_split.py::test_chunks_are_split_by_draws_of_their_own",
        ),
        (
            'mechanism="multinomial", inputs=split.inputs',
            'mechanism="multinomial", inputs=""',
            "other records are split by the same draws",
            "tasks/test_split.py::test_other_records_are_split_by_other_draws",
        ),
        (
            "words[unusable] = words_of_64_bits(stream, len(unusable))",
            "words[unusable] = 0",
            "words that would favour a part go to the first part",
            _SPLIT + "test_a_word_that_would_favour_a_part_is_drawn_anew",
        ),
        (
            'side="right")',
            'side="left")',
            "each part owns a word of the next one",
            _SPLIT + "test_each_part_owns_exactly_its_share_of_the_words",
        ),
    ),
    *faults(
        "deniable/foundation/uniform.py",
        (
            "np.flatnonzero(words >= each * bounds)",
            "np.flatnonzero(words < 0)",
            "words that would favour some numbers of a bin are used",
            "contracts/test_bins.py::test_every_number_below_a_bound_owns_equally_many_words",
        ),
    ),
    *faults(
        "deniable/privacy/one_person.py",
        (
            "kept[order[is_kept]] = True",
            "kept[order] = True",
            "all records of a person are used",
            _PERSON + "test_a_person_with_any_number_of_records_is_protected_as_one_record_is",
        ),
        (
            "(sorted_people[most:] != sorted_people[:-most]).any(axis=1)",
            "np.ones(len(people[most:]), bool)",
            "the bound on records of a person is not kept where several may be used",
            _GROUP + "test_a_person_with_any_number_of_records_is_protected_as_charged",
        ),
        (
            "np.ones(min(most, len(words)), bool)",
            "np.zeros(min(most, len(words)), bool)",
            "the records of the first person in order of keys are not used: others decide who that is",
            _GROUP + "test_the_smallest_words_of_each_person_are_kept",
        ),
        (
            "np.lexsort((words, people[:, 1], people[:, 0]))",
            "np.argsort(words)",
            "a record is used unless the next smaller word is of the same person: people displace each other's records",
            _PERSON + "test_which_record_of_a_person_is_kept_depends_on_that_person_alone",
        ),
        (
            "np.lexsort((words, people[:, 1], people[:, 0]))",
            "np.lexsort((people[:, 1], people[:, 0]))",
            "of each person the first record of the file is used",
            _PERSON + "test_each_record_of_a_person_is_as_likely_as_the_others",
        ),
        (
            "digest()[:_BYTES]",
            "digest()[:1] * 16",
            "many identifiers are one person",
            _PERSON + "test_different_identifiers_are_different_people",
        ),
        (
            "first[order] = order[begins][np.cumsum(begins) - 1]",
            "first[order] = order",
            "each record of a person has a part of its own",
            _GROUP + "test_every_record_of_a_person_has_the_place_of_the_first",
        ),
    ),
    *faults(
        "deniable/privacy/group_privacy.py",
        (
            "epsilon=float(Fraction(repr(guarantee.epsilon)) * most_records)",
            "epsilon=guarantee.epsilon",
            "the epsilon of one record is charged as that of a person",
            _GROUP + "test_gaussian_noise_calibrated_for_one_record_protects_a_person",
        ),
        (
            "guarantee.delta * _growth(guarantee.epsilon, most_records)",
            "guarantee.delta * most_records",
            "the deltas of a person's records are added, without the factors of the records before them",
            _GROUP + "test_the_delta_of_a_person_is_attained_and_no_smaller_one_holds",
        ),
        (
            "for added in range(most_records):",
            "for added in range(1):",
            "the delta of a person is the budget of each record",
            _GROUP + "test_the_budget_of_a_record_never_costs_a_person_more_than_the_persons",
        ),
        (
            "Decimal(epsilon.denominator * most_records)",
            "Decimal(epsilon.denominator)",
            "the epsilon of a person is the budget of each record",
            _GROUP + "test_the_budget_of_a_record_never_costs_a_person_more_than_the_persons",
        ),
    ),
    *faults(
        "deniable/privacy/step_costs.py",
        (
            "delta_of_record(largest, delta, most)",
            "delta",
            "steps on the same people are composed at their delta as that of one record",
            _GROUP + "test_steps_on_the_same_people_cost_no_more_than_their_sum_and_what_they_cost_is_true",
        ),
        (
            "replace(of_person(found, most), delta=delta)",
            "replace(found, delta=delta)",
            "steps on the same people are composed at the cost of one record of each",
            _GROUP + "test_steps_on_the_same_people_cost_no_more_than_their_sum_and_what_they_cost_is_true",
        ),
    ),
    *faults(
        "schemas/spec/plan.py",
        (
            "return spec.learner.of_record(spec.most_records)",
            "return spec.learner",
            "noise is scaled as if one record of each person were used",
            _SEVERAL + "test_the_noise_is_scaled_so_that_a_person_costs_what_the_spec_says",
        ),
    ),
    *faults(
        "schemas/spec/accounts.py",
        (
            "of_person(step.guarantee, spec.most_records)",
            "step.guarantee",
            "the cost of one record is charged as that of a person with several",
            _SEVERAL + "test_the_noise_is_scaled_so_that_a_person_costs_what_the_spec_says",
        ),
    ),
    *faults(
        "deniable/ledger/verification.py",
        (
            "fault_of_claim(charge.events, charge.claim.cost, charge.most_records)",
            "fault_of_claim(charge.events, charge.claim.cost)",
            "a ledger may charge a person the cost of one record",
            _SEVERAL + "test_a_ledger_that_charges_a_person_the_cost_of_one_record_is_found",
        ),
    ),
    *faults(
        "stores/tables/sources/reading.py",
        (
            "{name: pa.string() for name in columns if name in texts}",
            "{}",
            "people with large numbers are others, if a file of floats lies beside theirs",
            _PEOPLE + "test_a_number_is_one_person",
        ),
        (
            "column = _texts_of_floats(column) if is_text_of_floats else column.cast(wanted, safe=False)",
            "column = column.cast(wanted, safe=False)",
            "a person whose number is missing in a file of floats is a person all the same",
            _PEOPLE + "test_a_number_is_one_person",
        ),
    ),
    *faults(
        "tasks/data/clean.py",
        (
            "chunk=chunk,",
            "chunk=0,",
            "the words of all chunks of rows are the same: of a person in several chunks, the first record is used",
            _PEOPLE + "test_records_in_different_chunks_have_words_of_their_own",
        ),
        (
            "inputs=checked.digest,",
            'inputs="",',
            "other rows are chosen by the same words",
            _PEOPLE + "test_other_rows_are_chosen_by_other_words",
        ),
        (
            "kept_in_chunks(people, words, person.most_records)",
            "kept_in_chunks(people, words, 100)",
            "up to a hundred records of each person are used, whatever the schema allows",
            _SEVERAL + "test_at_most_so_many_records_of_each_person_are_kept_as_the_schema_allows",
        ),
    ),
    *faults(
        "tasks/data/split.py",
        (
            "yield parts if drawn is None else drawn.of_people(parts)",
            "yield parts",
            "the records of a person are in several parts: the holdout has people who are learnt from",
            _SEVERAL + "test_all_records_of_a_person_are_in_one_part",
        ),
        (
            "self._drawn[self._first_rows[rows]]",
            "self._drawn[self._first_rows[rows] * 0]",
            "all people are in the part of the first",
            _SEVERAL + "test_all_records_of_a_person_are_in_one_part",
        ),
    ),
)
