"""A cache of accountants' results: answers by question, stored if the application provides a store.

Cached answers are not trusted: an accountant checks each one before using it. The storage does not belong here.
"""

from collections.abc import MutableMapping, Sequence
from hashlib import sha256

from deniable.privacy.loss import MechanismEvent


class Remembered:
    """Answers by question, in this process alone until `keep_in` provides a store."""

    def __init__(self) -> None:
        self._answers: MutableMapping[str, float] | None = None

    def keep_in(self, answers: MutableMapping[str, float] | None) -> None:
        """Keep answers in a mapping from now on; None keeps nothing."""
        self._answers = answers

    def recall(self, question: str) -> float | None:
        """The answer to a question; None if unknown."""
        return None if self._answers is None else self._answers.get(question)

    def note(self, question: str, answer: float) -> None:
        """Keep an answer."""
        if self._answers is not None:
            self._answers[question] = answer


REMEMBERED = Remembered()
"""The cache of this process's accountants."""


def question(asked: str, events: Sequence[MechanismEvent], *numbers: object) -> str:
    """The key of a question about events (cost, or noise needed): a digest of all that determines the answer."""
    said = [asked, *(str(sorted(event.to_record().items())) for event in events), *map(repr, numbers)]
    return sha256("\n".join(said).encode()).hexdigest()
