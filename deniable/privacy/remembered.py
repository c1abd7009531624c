"""What accountants have worked out before, if the application keeps it: answers by their questions.

Nothing that is kept is believed: an accountant checks each answer before it uses it. Where the answers are kept does
not belong here.
"""

from collections.abc import MutableMapping, Sequence
from hashlib import sha256

from deniable.privacy.loss import MechanismEvent


class Remembered:
    """Answers by their questions, for this process alone until `keep_in` names where they are kept."""

    def __init__(self) -> None:
        self._answers: MutableMapping[str, float] | None = None

    def keep_in(self, answers: MutableMapping[str, float] | None) -> None:
        """Keep answers in a mapping from now on; with None, nothing is kept."""
        self._answers = answers

    def recall(self, question: str) -> float | None:
        """The answer to a question; None if it is not known."""
        return None if self._answers is None else self._answers.get(question)

    def note(self, question: str, answer: float) -> None:
        """Keep an answer."""
        if self._answers is not None:
            self._answers[question] = answer


REMEMBERED = Remembered()
"""The answers of this process's accountants."""


def question(asked: str, events: Sequence[MechanismEvent], *numbers: object) -> str:
    """The question what some events cost, or how much noise they need: a digest of all that the answer depends on."""
    said = [asked, *(str(sorted(event.to_record().items())) for event in events), *map(repr, numbers)]
    return sha256("\n".join(said).encode()).hexdigest()
