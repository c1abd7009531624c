"""Describes what the library made, without a signature, and writes it to a new folder."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import isfinite
from typing import Any

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.ledger.entries import digest_of
from deniable.privacy.loss import Guarantee
from deniable.privacy.rounding import rounded_up
from deniable.privacy.step_costs import SHARED, StepCost
from deniable.verification.unsigned import FORMAT

WORDS = "PRIVACY.md"
_NAME = "made by the library"


def unsigned_record(
    domain: Domain,
    *,
    learner: Mapping[str, Any],
    synthesis: Mapping[str, Any],
    steps: Sequence[StepCost],
    total: Guarantee,
) -> dict[str, Any]:
    """What is known of a release that the library made, in the shape of a record's predicate.

    Args:
        domain: the public domain.
        learner: the learner's entry in a spec.
        synthesis: the sampler's entry in a spec.
        steps: the costs of the steps.
        total: their cost together.
    """
    split = {SHARED: "1"}
    document = {"learner": dict(learner), "synthesis": dict(synthesis), "split": {**split, "holdout": "0"}}
    return {
        "format": FORMAT,
        "release": {"id": _NAME, "title": "Synthetic records", "records": synthesis["records"]},
        "schema": {"domain": domain.digest, "person": None},
        "spec": {"digest": digest_of(document), "document": document},
        "cost": {
            "kind": synthesis["guarantee"],
            "split": split,
            "model": _spent(total),
            "total": _spent(total),
            "steps": [
                {
                    "step": step.step,
                    "part": step.part,
                    "probability": str(step.probability),
                    "events": [event.to_record() for event in step.events],
                    "guarantee": _spent(step.guarantee),
                    "record": None,
                }
                for step in steps
            ],
        },
    }


def with_digests(record: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    """The text of `release.json`, with the digests of all other files."""
    files = {name: sha256(text.encode()).hexdigest() for name, text in sorted(texts.items())}
    return json.dumps({**record, "files": files}, indent=1, allow_nan=False) + "\n"


def statement_in_words(stated: Mapping[str, Any]) -> str:
    """The statement of privacy for people: `PRIVACY.md`.

    Args:
        stated: the statement, as in `privacy.json`.
    """
    total = stated["total"]
    vacuous = " This is vacuous: it promises next to nothing." if total["vacuous"] else ""
    guarantee = (
        f"The records are made up. The release is differentially private with epsilon = {rounded_up(total['epsilon'])} "
        f"and delta = {rounded_up(total['delta'])}; the privacy unit is {stated['privacy_unit']}, and two "
        f"tables are neighbouring if {stated['neighbouring_relation']}.{vacuous}"
    )
    origin = (
        "It was made by the library `deniable`: no ledger was charged, nothing is signed, and nothing records who made "
        "it. `privacy.json` has each step's cost, and `deniable.verify` recomputes it."
    )
    listed = "\n".join(f"- {each}" for each in stated["not_covered"])
    lines = ["# What this release guarantees", guarantee, origin, "## Not covered", listed]
    return "\n\n".join(lines) + "\n"


def write_folder(folder: str, texts: Mapping[str, str]) -> None:
    """Write files to a new folder, which appears by one rename.

    Args:
        folder: the folder.
        texts: the text of each file, by its name.

    Raises:
        InvalidInput: there is one already, or it cannot be written.
    """
    place = os.path.abspath(folder)  # noqa: PTH100
    if os.path.lexists(place):
        raise InvalidInput(f"a release is saved to a new folder, and {folder} exists already; name another.")
    try:
        staged = tempfile.mkdtemp(prefix=".deniable-", dir=os.path.dirname(place))  # noqa: PTH120
    except OSError as error:
        raise InvalidInput(f"the folder of a release must be writable, got {folder}: {error.strerror}.") from None
    try:
        for name, text in texts.items():
            with open(os.path.join(staged, name), "w", encoding="utf-8", newline="") as file:  # noqa: PTH118, PTH123
                file.write(text)
        os.chmod(staged, 0o755)  # noqa: PTH101, S103 - everything in it is public
        os.rename(staged, place)  # noqa: PTH104
    except OSError as error:
        raise InvalidInput(f"the release must fit into {folder}, and could not be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _spent(guarantee: Guarantee | None) -> dict[str, Any] | None:
    """A guarantee as records have it: JSON has no infinity."""
    if guarantee is None:
        return None
    epsilon = guarantee.epsilon if isfinite(guarantee.epsilon) else None
    return {"epsilon": epsilon, "delta": guarantee.delta, "accountant": guarantee.accountant}
