"""The privacy core, by mechanism: the sources, and the functions in which generic faults are tried too.

A fault of privacy (`operators.PRIVATE`) is tried wherever it fits. A generic one is tried only in functions between
confidential data and what is published, and in those that say what it costs: elsewhere it changes utility or words.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A source file of a mechanism.

    Attributes:
        file: path from the checkout's root.
        functions: functions and methods, by name, in which generic faults are tried; the name of a class stands for all
            its methods, and `*` for everything.
    """

    file: str
    functions: tuple[str, ...]


def _parts(folder: str, **files: str) -> tuple[Part, ...]:
    return tuple(Part(f"{folder}/{name}.py", tuple(functions.split())) for name, functions in files.items())


_LEARNERS, _PRIVACY = "deniable/learners", "deniable/privacy"

MECHANISMS: dict[str, tuple[Part, ...]] = {
    "keys": _parts("deniable/foundation", keys="*"),
    "noise": _parts("deniable/foundation", noise="*", exact_probabilities="*", uniform="*"),
    "accounting": _parts(
        _PRIVACY,
        accounting="calibrate_discrete_laplace calibrate_discrete_gaussian Scaled least_noise _basic _advanced _zcdp "
        "_merged best compose",
        common_events="*",
        composition="*",
        dominating_pair="composed_epsilon epsilon_of_runs _first_within connect_the_dots DominatingPair",
        loss="*",
        loss_laws="grid_step _on_grid _discrete_laplace _discrete_gaussian _bounded_range",
        remembered="*",
        rounding="*",
        step_costs="*",
        planned="faults_of_amount faults_of_use tightest_cost beyond_budget",
    ),
    "people": (
        *_parts(_PRIVACY, one_person="*", group_privacy="*"),
        *_parts("tasks/data", clean="_kept _kept_records", split=""),
    ),
    "ledger": _parts(
        "deniable/ledger",
        budget="Balance counted _one_attempt Tally cost_of cost_of_split _split _joint_epsilon",
        state="require_room _balances _tally _take _reserve _commit _Span",
    ),
    "independent": _parts(f"{_LEARNERS}/independent", histograms="laplace_scale scale events run", steps=""),
    "marginals": _parts(f"{_LEARNERS}/marginals", steps="*", baseline="*"),
    "cfs": _parts(
        f"{_LEARNERS}/cfs",
        entropies="EntropyMechanism StructureRecipe EntropyRecipe grid_sensitivity _noise_to_sensitivity run events",
        parameters="ParameterRecipe ParameterMechanism run events",
        structure="run",
        steps="",
    ),
    "privbayes": _parts(
        f"{_LEARNERS}/privbayes",
        structure="run _candidates _of_first_table _families _sets",
        conditionals="learn_tables",
        plan="*",
        scores="*",
        counting="*",
        steps="",
    ),
    "pegs": (
        *_parts(f"{_LEARNERS}/pegs", draws="draws require_mass _open with_public_records", orders="noisy_pairs"),
        *_parts(f"{_LEARNERS}/pegs", plan="DrawsPlan pair_scale bucketed_pairs events plan", steps=""),
        *_parts(_PRIVACY, urn_costs="*"),
    ),
    "pegs_noisy": _parts(f"{_LEARNERS}/pegs_noisy", steps="noisy_counts _learn", plan="*"),
    "origin_destination": _parts(
        f"{_LEARNERS}/origin_destination",
        draws="draws _open draw_origins _opened Flows draw",
        plan="FlowsPlan draws_of events",
        bounds="*",
        steps="_measure",
    ),
    "multinomial_sets": _parts(f"{_LEARNERS}/multinomial_sets", draws="draws _open draw", plan="*", steps=""),
    "diverse": _parts(f"{_LEARNERS}/diverse", diversity="*", draws="draws _open", plan="*", steps=""),
    "imputed": _parts(f"{_LEARNERS}/imputed", draws="draws _open", plan="*", steps=""),
    "loglinear": _parts(
        f"{_LEARNERS}/loglinear",
        measurements="*",
        exponential_mechanism="*",
        plan="LoglinearPlan law releases events _event amounts",
        learning="_choose",
        mechanism="*",
        quantization="",
        steps="",
    ),
    "aim": _parts(
        f"{_LEARNERS}/aim",
        queries="*",
        plan="*",
        rounds="*",
        scores="*",
        candidates="*",
        workload="",
        steps="_learn",
    ),
    "mst": _parts(f"{_LEARNERS}/mst", measuring="*", learning="*", selection="*", plan="*", pooling="", steps="_learn"),
    "nist_mst": _parts(f"{_LEARNERS}/nist_mst", public_selection="", steps="_learn _plan"),
    "certificate": (
        *_parts(_LEARNERS, certified="_run noisy_error _population", certificate_costs="*"),
        *_parts("deniable/measurements", certificate="largest_error margin scaled records_of workload_of bound"),
    ),
    "histogram_seeds": _parts(
        "deniable/samplers/histogram_seeds",
        noisy_histogram="HistogramRecipe HistogramMechanism least_excess",
        sampler="",
    ),
    "tested_seeds": (
        *_parts(
            "deniable/plausible_deniability",
            privacy_tests="*",
            mechanism_one="MechanismOne _make_attempt synthesize synthesize_by_scan",
            sampled_tests="*",
            seed_accounting="*",
            mechanism_one_kernels="_keep draw_seed",
            resampling="SeedResampler",
            plausible_seeds="",
            seed_prefixes="",
        ),
        *_parts("deniable/samplers/tested_seeds", sampler="attempt _open _candidates"),
    ),
    "poisson_seeds": (
        *_parts("deniable/samplers/poisson_seeds", sampler="*"),
        *_parts(
            "deniable/plausible_deniability",
            poisson_attempts="*",
            pass_law="*",  # noqa: S106 - a module
            poisson_numbers="*",
        ),
        *_parts("deniable/privacy", poisson_pairs="*"),
    ),
    "seedless": (
        *_parts("deniable/samplers/seedless", sampler="_open"),
        *_parts("deniable/samplers", within_bins="_stream"),
    ),
    "per_draw": _parts("deniable/samplers/per_draw", sampler="*"),
    "discovery": (
        *_parts("deniable/discovery", answering="*", plan="DiscoveryPlan", number_grid="thresholds decimals_threshold"),
        *_parts("tasks/discovery", answer_questions="*"),
    ),
    "survey": _parts("deniable/local", designs="*", responding="*", survey="ratio epsilon _ratio", responses=""),
    "rules": _parts(_LEARNERS, under_rules="*"),
}
"""The mechanisms and what all of them stand on."""
