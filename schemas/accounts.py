"""What a release costs, worked out from its spec and the public domain before any record is read.

The theorems are those of `deniable`; how the costs are stated to readers does not belong here.
"""

from dataclasses import dataclass
from math import inf

from deniable.composition import joint_split
from deniable.deniability import best_t, theorem_1
from deniable.errors import Refused
from deniable.loss import Guarantee, MechanismEvent, PrivacyTestEvent
from deniable.seed_accounting import compose_candidates
from schemas.recipes import is_seedless, parameter_recipe, structure_recipe
from schemas.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """The cost of a release.

    Attributes:
        structure: cost of learning which attributes depend on which; None where that is not learnt.
        parameters: cost of learning the probabilities.
        model: cost of the model that these two make.
        seeds: whether records are made from seeds, so that a privacy test stands between them and the release.
        record: Theorem 1 for one released record; None without seeds, and for privacy test 1, which has no theorem.
        record_t: the t that Theorem 1 was used with.
        candidates: cost of all candidates tested, released or not; None where `record` is.
        total: cost of the whole release; None for privacy test 1.
        events: what is done to the data.
    """

    structure: Guarantee | None
    parameters: Guarantee
    model: Guarantee
    seeds: bool
    record: Guarantee | None = None
    record_t: int | None = None
    candidates: Guarantee | None = None
    total: Guarantee | None = None
    events: tuple[MechanismEvent, ...] = ()


def accounts_of(spec: ReleaseSpec) -> Accounts:
    """Work out what a release will cost.

    A record is in one part of the split at most, drawn for itself and secretly: that is what `joint_split` asks for.

    Args:
        spec: the release spec.

    Returns:
        The accounts.

    Raises:
        Refused: Theorem 1 does not meet the epsilon per released record that the spec promises.
    """
    recipe = structure_recipe(spec)
    structure = recipe.calibrate(spec.domain) if recipe is not None else None
    parameters = parameter_recipe(spec).calibrate(spec.domain)
    learnt = [(float(spec.split.parameters), parameters.guarantee)]
    if structure is not None:
        learnt.append((float(spec.split.structure), structure.guarantee))
    model = joint_split(learnt)
    accounts = Accounts(
        structure=structure.guarantee if structure is not None else None,
        parameters=parameters.guarantee,
        model=model,
        seeds=not is_seedless(spec),
        total=model if is_seedless(spec) else None,
        events=(*(structure.events if structure is not None else ()), *parameters.events),
    )
    if not accounts.seeds or spec.synthesis.test == 1:
        return accounts
    event = _candidates(spec)
    delta = float(spec.synthesis.total_delta)
    candidates = min(
        # Where no theorem bounds so many candidates, that is what must be said.
        [*compose_candidates(event, delta).values(), Guarantee(inf, delta, "none")],
        key=lambda guarantee: guarantee.epsilon,
    )
    t = best_t(k=event.k, eps0=event.eps0, delta=float(spec.synthesis.delta))
    return Accounts(
        structure=accounts.structure,
        parameters=accounts.parameters,
        model=model,
        seeds=True,
        record=_promised(theorem_1(k=event.k, gamma=event.ratio, eps0=event.eps0, t=t), spec),
        record_t=t,
        candidates=candidates,
        total=joint_split([*learnt, (float(spec.split.seeds), candidates)]),
        events=(*accounts.events, event),
    )


def _candidates(spec: ReleaseSpec) -> PrivacyTestEvent:
    """All candidates of a release, as accountants see them."""
    synthesis = spec.synthesis
    return PrivacyTestEvent(
        query="candidates from seeds",
        part="seeds",
        outputs=synthesis.candidates,
        sampling_rate=spec.split.seeds,
        k=synthesis.k,
        gamma=synthesis.gamma,
        eps0=synthesis.eps0,
        public_rows=synthesis.public_rows,
        drop_probability=synthesis.drop_probability,
        equal_probabilities=len(synthesis.omega) == 1,
    )


def _promised(record: Guarantee, spec: ReleaseSpec) -> Guarantee:
    """Theorem 1, if it is what the spec promises."""
    promised = float(spec.synthesis.epsilon)
    if record.epsilon > promised:
        raise Refused(
            f"epsilon per released record must be at least {record.epsilon:.4g}, which is what Theorem 1 gives, got "
            f"{promised:g}; raise synthesis.epsilon, synthesis.delta or k, or lower eps0."
        )
    return record
