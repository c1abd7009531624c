"""Versions of what draws: raised whenever code asks other questions of the data than before, or draws otherwise.

What is drawn depends on the release key, on the input, on the parameters and on code: which questions a learner asks,
in which order, and how noise is made of a stream's words. A draw that is repeated costs nothing, because it gives the
same answers to the same questions; under other code it would not. So the version of the code is in what a draw is
charged as and, from version 2 on, in the stream that it is made from: under another version it is another draw, with
noise of its own and a charge of its own.

`tests/unit/test_versions_of_draws.py` pins, for each version, the streams that are opened, the words that are taken
from them and what comes of them, for small tables and a fixed key. What a release costs does not belong here.
"""

from collections.abc import Mapping
from types import MappingProxyType

from deniable.foundation.errors import Refused
from deniable.ledger.entries import Charge

VERSIONS: Mapping[str, int] = MappingProxyType(
    {
        # Noisy entropies, and the graph found from them.
        "learn_structure": 1,
        # What a learner without a line of its own draws: noisy counts of each attribute by its parents, or of none.
        "learn_parameters": 1,
        # Chosen noisy tables. Version 1 asked other questions from time to time, under one name.
        "learn_loglinear": 2,
        # The noisy histogram of prefixes.
        "noise_seeds": 1,
        # Candidates drawn from seeds and tested.
        "synthesize": 1,
    }
)


def mechanism_name(drawing: str, step: str) -> str:
    """What a draw is charged as.

    Args:
        drawing: one of VERSIONS.
        step: the step that draws.
    """
    return f"{step}/{VERSIONS[drawing]}"


def drawing_of(learner: str, step: str) -> str:
    """What draws in a step, as VERSIONS names it.

    Args:
        learner: the kind of the spec's learner.
        step: the step.
    """
    own = f"learn_{learner}"
    return own if step == "learn_parameters" and own in VERSIONS else step


def mechanism_fault(charge: Charge, learner: str) -> str | None:
    """Say what is wrong with what a charge says that it draws by; None where it is a version that there was.

    Args:
        charge: the charge.
        learner: the kind of the spec's learner.
    """
    drawing = drawing_of(learner, charge.step)
    known = [f"{charge.step}/{version}" for version in range(1, VERSIONS.get(drawing, 0) + 1)]
    if charge.mechanism in known:
        return None
    return (
        f"step {charge.step} must be drawn by {' or '.join(known) or 'nothing'}, got {charge.mechanism}; if a later "
        "version of this program made the release, verify it with that"
    )


def stream_name(drawing: str, step: str) -> str:
    """The step, as the streams of a draw name it; those of version 1 were named before there were versions."""
    return step if VERSIONS[drawing] == 1 else mechanism_name(drawing, step)


def require_same_version(made: Charge, mechanism: str) -> None:
    """Refuse to draw for a step that another version drew for under the same key.

    Args:
        made: a charge of the same step under the same key.
        mechanism: what this code would be charged as.

    Raises:
        Refused: another version made the charge; nothing was drawn.
    """
    if made.mechanism != mechanism:
        raise Refused(
            f"a step must be drawn once under a key, got {made.step} of {made.release}, which was charged as "
            f"{made.mechanism}, and which this code would draw as {mechanism}, with other noise; go on with it by the "
            f"version of the program that began it, or give it up by python -m flows discard {made.release}: what was "
            "charged stays charged."
        )
