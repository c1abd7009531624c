"""Versions of the drawing code, raised whenever it queries the data differently or draws differently.

A draw depends on the release key, the input, the parameters and the code: the queries of a learner, their order, and
how noise is computed from a stream's words. A repeated draw costs nothing, because it gives the same answers to the
same queries; under different code it might not. Hence the version of the code is part of the name under which a draw
is charged and, from version 2 on, of its stream: under another version it is a different draw, with its own noise and
charge.

`tests/unit/test_versions_of_draws.py` pins, for each version, the streams that are opened, the words taken from them
and the results, for small tables and a fixed key. The cost of a release does not belong here.
"""

from collections.abc import Mapping
from types import MappingProxyType

from deniable.command_names import command_line
from deniable.foundation.errors import Refused
from deniable.ledger.entries import Charge
from deniable.roles import Role

VERSIONS: Mapping[str, int] = MappingProxyType(
    {
        # Learners without their own line: noisy entropies, and the graph learnt from them.
        Role.STRUCTURE: 1,
        # Choices of parents by the exponential mechanism.
        "structure_privbayes": 1,
        # Noisy tables of pairs, by which the other attributes of a key are ordered.
        "structure_pegs": 1,
        # Learners without their own line: noisy counts of each attribute by its parents, if any. Version 2 makes noisy
        # counts non-negative by a projection that keeps their total; version 1 set negative ones to 0.
        Role.PARAMETERS: 2,
        # Chosen noisy tables. The queries changed several times within version 1; version 3 releases single attributes
        # once, with shares that grow with their values, and chooses in six batches; version 4 chooses more tables, and
        # none by values, where there are more than 50 attributes; version 5 finds zeros in noisy pairs of more than 30
        # attributes, which later choices follow; version 6 tries fewer orders of the attributes before each choice;
        # version 7 fits to fewer simulated records before each choice, and the last model from the factors of the one
        # before; version 8 counts numbers by growing bins, too.
        "learn_loglinear": 8,
        # Noisy histograms of bins.
        "learn_independent": 1,
        # Noisy tables of the chosen families. Version 2 makes noisy counts non-negative by a projection that keeps the
        # table's total; version 1 set negative ones to 0.
        "learn_privbayes": 2,
        # Noisy attributes, a tree of chosen pairs, and their noisy tables.
        "learn_mst": 1,
        # Noisy attributes, and noisy tables that follow from a public file.
        "learn_nist_mst": 1,
        # Rounds of choices and noisy tables. The answers depend on the models fitted in between, so the version covers
        # these.
        "learn_aim": 1,
        # Noisy tables of attributes given their keys. Version 2 makes noisy counts non-negative as `learn_privbayes`.
        "learn_pegs_noisy": 2,
        # Noisy numbers of workers of each destination.
        "learn_origin_destination": 1,
        # Values of open categories and ranges of numbers, proposed for a schema; no release has this step.
        "discover": 1,
        # The noisy histogram of prefixes.
        Role.HISTOGRAM: 1,
        # Attempts of seeds, the records of the model beside them, and the choice among both. Version 2 matches those of
        # the model, and rakes to the tables of pairs that it was made of; version 1 raked to those of its records.
        # Version 3 chooses the prefix by predictions with NumPy, which everyone can repeat. Version 4 takes the
        # longest of which half of the attempts pass, and lets records change places after raking.
        Role.ATTEMPTS: 4,
        # Records of the model alone. Version 2 chooses those of a smaller release from more by raking, and matches them
        # before and after; in version 1 they had no line of their own, and were only matched. Version 3 rakes to
        # models without tables too, and lets records change places after raking, in place of the second matching.
        "synthesize_seedless": 3,
        # Candidates drawn from seeds and tested; the streams of all other records.
        Role.CANDIDATES: 1,
        # Candidates whose plausible seeds are counted among some that are scored. Version 2 draws the number of scored
        # ones from the number of all; version 1 scored seeds one by one.
        "synthesize_scored": 2,
        # Draws from exact counts, each of which is charged; learners without their own line.
        Role.DRAWS: 1,
        # Draws from urns whose prior weights follow from the counts; there is no differential privacy.
        "draw_diverse": 1,
        # Draws from regressions that were fitted to the records.
        "draw_imputed": 1,
        # Draws of origins, their areas, and the order of the records.
        "draw_origin_destination": 1,
        # Draws of whole sets from one urn each, or from one for all.
        "draw_multinomial_sets": 1,
    }
)

_OWN: Mapping[str, str] = {Role.STRUCTURE: "structure", Role.PARAMETERS: "learn", Role.DRAWS: "draw"}
"""For each step whose code differs between learners, the first word of a learner's own line."""


def mechanism_name(drawing: str, step: str) -> str:
    """The name under which a draw is charged.

    Args:
        drawing: one of VERSIONS.
        step: the step that draws.
    """
    return f"{step}/{VERSIONS[drawing]}"


def drawing_of(learner: str, step: str, synthesis: Mapping[str, object] | None = None) -> str:
    """The drawing code of a step, by its name in VERSIONS.

    Args:
        learner: the kind of the spec's learner.
        step: the step.
        synthesis: the spec's sampler, if it may decide how the step draws.
    """
    if step == Role.CANDIDATES and synthesis is not None and synthesis.get("max_check_plausible") is not None:
        return "synthesize_scored"
    if step == Role.CANDIDATES and synthesis is not None and synthesis.get("guarantee") == "seedless":
        return "synthesize_seedless"
    own = f"{_OWN[step]}_{learner}" if step in _OWN else step
    return own if own in VERSIONS else step


def mechanism_fault(charge: Charge, learner: str, synthesis: Mapping[str, object]) -> str | None:
    """The fault of the drawing version that a charge names; None if it is known.

    Args:
        charge: the charge.
        learner: the kind of the spec's learner.
        synthesis: the spec's sampler.
    """
    drawing = drawing_of(learner, charge.step, synthesis)
    known = [f"{charge.step}/{version}" for version in range(1, VERSIONS.get(drawing, 0) + 1)]
    if charge.mechanism in known:
        return None
    return (
        f"step {charge.step} must be drawn by {' or '.join(known) or 'nothing'}, got {charge.mechanism}; if a later "
        "version of this program made the release, verify it with that"
    )


def stream_name(drawing: str, step: str) -> str:
    """The step in the name of a draw's streams; those of version 1 carry no version."""
    return step if VERSIONS[drawing] == 1 else mechanism_name(drawing, step)


def require_same_version(made: Charge, mechanism: str) -> None:
    """Refuse a draw for a step that another version has already drawn under the same key.

    Args:
        made: a charge of the same step under the same key.
        mechanism: the name under which this code would be charged.

    Raises:
        Refused: another version made the charge; nothing was drawn.
    """
    if made.mechanism != mechanism:
        raise Refused(
            f"a step must be drawn once under a key, got {made.step} of {made.release}, which was charged as "
            f"{made.mechanism}, but which this code would draw as {mechanism}, with other noise; resume it with the "
            f"version of the program that began it, or discard it with {command_line('release discard')} "
            f"{made.release}: its "
            "charges remain."
        )
