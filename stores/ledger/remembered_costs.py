"""Keeps results of the accountants in a state folder's cache, so that each plan is calibrated once.

All results follow from specs and public schemas. If the file is lost, unreadable or of another version, a new one is
started. A wrong answer is detected when it is used (deniable.privacy.accounting).
"""

import json
import os
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from math import isfinite
from pathlib import Path

import deniable.privacy
from deniable.privacy.remembered import REMEMBERED
from stores.own_files import read_own
from stores.vault.disk import replace_whole

_NAME = "costs.json"
_MOST = 4096
"""The largest number of answers in a file; beyond it, a new file is started."""


class CostsOnDisk(MutableMapping[str, float]):
    """A mapping from questions to answers, read from a file once, and written with each new answer.

    Args:
        place: the file.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._made_by = _made_by()
        self._answers = self._read()

    def __getitem__(self, question: str) -> float:
        """Return the answer to a question."""
        return self._answers[question]

    def __setitem__(self, question: str, answer: float) -> None:
        """Keep an answer; if it cannot be written, only this process has it."""
        # Answers that other processes have stored meanwhile are kept.
        self._answers = {**self._read(), **self._answers, question: answer}
        if len(self._answers) > _MOST:
            self._answers = {question: answer}
        with suppress(OSError):
            self._write()

    def __delitem__(self, question: str) -> None:
        """Forget an answer in this process."""
        del self._answers[question]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the questions."""
        return iter(self._answers)

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self._answers)

    def _read(self) -> dict[str, float]:
        try:
            kept = json.loads(read_own(self._place))
        except (OSError, ValueError):
            return {}
        if not isinstance(kept, dict) or kept.get("made by") != self._made_by:
            return {}
        costs = kept.get("costs")
        return (
            {asked: answer for asked, answer in costs.items() if _is_answer(answer)} if isinstance(costs, dict) else {}
        )

    def _write(self) -> None:
        self._place.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(self._place, json.dumps({"made by": self._made_by, "costs": self._answers}, indent=1))


def remember_costs(state: Path) -> None:
    """Make this process's accountants use the results in a state folder's cache, and add to them."""
    REMEMBERED.keep_in(_kept_in(state / "cache" / _NAME))


@cache
def _kept_in(place: Path) -> CostsOnDisk:
    return CostsOnDisk(place)


def _is_answer(answer: object) -> bool:
    return isinstance(answer, int | float) and isfinite(answer)


def _made_by() -> str:
    """Return a digest of the accountants' code and the library's version: other code computes its own answers."""
    room = Path(os.fspath(deniable.privacy.__path__[0]))
    sources = b"\n".join(module.read_bytes() for module in sorted(room.glob("*.py")))
    return sha256(sources + version("dp-accounting").encode()).hexdigest()
