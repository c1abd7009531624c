"""Generated mutants that no test can find, each with a proof.

All outputs keep their distributions, and no charge shrinks.
"""

from dataclasses import dataclass

from tests.mutants.generated.generating import Generated


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Why mutants change nothing.

    Attributes:
        mutants: their names, with what is replaced by what, so that a reader need not look them up.
        proof: the reason.
    """

    mutants: dict[str, str]
    proof: str


PROOFS: tuple[Proof, ...] = ()

_BY_NAME = {name: proof.proof for proof in PROOFS for name in proof.mutants}


def equivalent(mutant: Generated) -> str | None:
    """The proof that a mutant changes nothing, if there is one."""
    return _BY_NAME.get(mutant.name)
