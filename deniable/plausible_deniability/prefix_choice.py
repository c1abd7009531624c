"""The length of the prefix that attempts copy, chosen by how many of them the public model predicts to pass.

The choice is post-processing of the model: it reads no row, and costs nothing. That the prefix then depends on noisy
answers is covered by the envelope over all counts (poisson_attempts). The law of passing does not belong here
(pass_law), nor the predictions (predictions).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from deniable.foundation.errors import InvalidInput, RefusedForGood

FILE: Final = "prefix.json"
"""The name of the public file that states the choice."""
FORMAT: Final = "deniable/prefix/3"
STRICTER: Final = "deniable/prefix/2"
"""The format before, of a choice that required a larger share."""
EARLIER: Final = "deniable/prefix/1"
"""The earliest format, whose shares were predicted by compiled code, and are not computed again."""

ENOUGH: Final[Mapping[str, float]] = MappingProxyType({FORMAT: 0.5, STRICTER: 0.6, EARLIER: 0.6})
"""The longest prefix is chosen of which so large a share of the attempts is predicted to pass, by format."""
_DIGITS = 6
"""The digits of a share that are stated; the choice is made by these, so that everyone can repeat it."""


def choose_length(shares: Sequence[float], form: str = FORMAT) -> int:
    """The length of the prefix.

    A longer prefix keeps more of a person's combination of attributes, and fewer people share it. The longest is taken
    of which enough attempts pass; if none is, that with the most copied attributes in all attempts that pass.

    Args:
        shares: the share of attempts that pass for each length from 1 on.
        form: the format in which the choice is stated.

    Returns:
        The length; 0 if nothing passes, whatever the length.
    """
    stated = _stated(shares)
    enough = [length for length, share in enumerate(stated, 1) if share >= ENOUGH[form]]
    if enough:
        return enough[-1]
    gains = [length * share for length, share in enumerate(stated, 1)]
    best = max(gains, default=0.0)
    return gains.index(best) + 1 if best > 0 else 0


def chosen_prefix(names: Sequence[str], shares: Sequence[float], *, attempts: float, omega: int | None = None) -> int:
    """The length of the prefix, given that of the spec if it has one.

    Args:
        names: all attributes, in the model's order.
        shares: the predicted share of attempts that pass for each length from 1 on.
        attempts: number of attempts for the public number of rows.
        omega: number of attributes to resample, if the spec states it.

    Raises:
        RefusedForGood: not one attempt is predicted to pass.
    """
    length = choose_length(shares) if omega is None else len(names) - omega
    passing = attempts * (shares[length - 1] if length else 0.0)
    if passing >= 1:
        return length
    best = choose_length(shares)
    if omega is not None and best and attempts * shares[best - 1] >= 1:
        remedy = f"set synthesis.omega to {len(names) - best}, or leave it out"
    else:
        remedy = "lower synthesis.plausible, give the seeds more budget, or use the guarantee seedless"
    raise RefusedForGood(
        "the attempts of the seeds must be predicted to pass, but by the public model none of "
        f"{attempts:,.0f} would, with {length or 1} of {len(names)} attributes copied; nothing was charged for them: "
        f"{remedy}."
    )


def document_of(
    names: Sequence[str], shares: Sequence[float], length: int, *, public_rows: int, form: str = FORMAT
) -> dict[str, Any]:
    """The choice as a public document.

    Args:
        names: all attributes, in the model's order.
        shares: the predicted shares.
        length: the length chosen.
        public_rows: the public number of rows of the prediction.
        form: the format.
    """
    return {
        "format": form,
        "copied_attributes": list(names[:length]),
        "resampled_attributes": len(names) - length,
        "predicted_to_pass": _stated(shares),
        "enough": ENOUGH[form],
        "public_rows": public_rows,
        "reason": _reason(shares, length, ENOUGH[form]),
    }


def _stated(shares: Sequence[float]) -> list[float]:
    return [round(share, _DIGITS) for share in shares]


def _reason(shares: Sequence[float], length: int, enough: float) -> str:
    share = _stated(shares)[length - 1]
    if share >= enough:
        return f"the longest prefix of which at least {enough:.0%} of the attempts pass by the model: {share:.1%}"
    return (
        f"at no length do {enough:.0%} of the attempts pass by the model; with {length} attributes copied {share:.1%} "
        "pass, and the most are copied in all"
    )


def faults_of_document(
    document: Mapping[str, Any],
    names: Sequence[str],
    shares: Sequence[float],
    public_rows: int,
    form: str = FORMAT,
) -> list[str]:
    """What is wrong with a stated choice.

    Args:
        document: what a release states.
        names: all attributes, in the model's order.
        shares: the shares that its model predicts.
        public_rows: the number of rows that the spec states.
        form: the format in which the draw's version states a choice.
    """
    length = choose_length(shares, form)
    right = document_of(names, shares, length, public_rows=public_rows, form=form) if length else {}
    faults = [
        f"{FILE}: {name} is {document.get(name)}, but {right[name]} follows from the model"
        for name in right
        if document.get(name) != right[name]
    ]
    if not length:
        faults.append(f"{FILE} states a choice, but the model predicts that nothing passes")
    if len(document) > len(right):
        faults.append(f"{FILE} has entries beyond those of its format")
    return faults


def faults_of_earlier(document: Mapping[str, Any], names: Sequence[str], public_rows: int) -> list[str]:
    """What is wrong with a choice in the earlier format, as far as it can be recomputed without the model.

    Args:
        document: what a release states.
        names: the attributes of the table.
        public_rows: the number of rows that the spec states.
    """
    try:
        shares = [float(share) for share in document["predicted_to_pass"]]
        copied = list(document["copied_attributes"])
        found = choose_length(shares, EARLIER)
        right = {}
        if copied and shares:
            right = document_of(copied, shares, len(copied), public_rows=public_rows, form=EARLIER)
    except (InvalidInput, IndexError, KeyError, TypeError, ValueError):
        return [f"{FILE} must state the copied attributes and the predicted shares"]
    faults = []
    if len(shares) != len(names) - 1 or any(not 0 <= share <= 1 for share in shares):
        faults.append(f"{FILE}: predicted_to_pass must be a share for each length from 1 to {len(names) - 1}")
    elif found != len(copied):
        faults.append(f"{FILE}: {len(copied)} attributes are copied, but the predicted shares choose {found}")
    if len(set(copied)) != len(copied) or not set(copied) <= set(names):
        faults.append(f"{FILE}: copied_attributes must be different attributes of the table")
    right = {**right, "resampled_attributes": len(names) - len(copied)}
    faults += [f"{FILE}: {name} differs from what follows" for name in right if document.get(name) != right[name]]
    return faults
