"""Questions in a terminal, answered by a person or by lines that are piped in.

In a terminal, a question is repeated after an invalid answer. An invalid piped answer ends the command, because the
lines after it would answer other questions.
"""

import sys
from collections.abc import Callable
from typing import TextIO, TypeVar

from deniable.foundation.errors import InvalidInput

T = TypeVar("T")

_YES, _NO = {"y", "yes"}, {"n", "no"}


class Questions:
    """Asks questions, and reads the answers.

    Args:
        answers: the stream of answers; by default standard input.
        shown: the stream for questions; by default standard output.
    """

    def __init__(self, answers: TextIO | None = None, shown: TextIO | None = None) -> None:
        self._answers = answers or sys.stdin
        self._shown = shown or sys.stdout
        self._is_person = self._answers.isatty()

    def say(self, *lines: str) -> None:
        """Print lines."""
        print(*lines, sep="\n", file=self._shown, flush=True)

    def ask(self, question: str, read: Callable[[str], T], *, default: str | None = None) -> T:
        """Ask a question until the answer is valid.

        Args:
            question: the question.
            read: parses an answer; raises InvalidInput or ValueError with a sentence if the answer is invalid.
            default: the answer that an empty line stands for; None if an answer is required.

        Returns:
            The parsed answer.

        Raises:
            InvalidInput: there are no more answers, or a piped answer is invalid.
        """
        hint = f" [{default}]" if default else ""
        while True:
            print(f"{question}{hint}: ", end="", file=self._shown, flush=True)
            line = self._answers.readline()
            if not line:
                self.say("")
                raise InvalidInput(f"each question must be answered, and the answers end before: {question}.")
            answer = line.strip() or (default or "")
            if not self._is_person:
                # Piped answers are shown too, so that a log reads like a session.
                self.say(answer)
            try:
                return read(answer)
            except (InvalidInput, ValueError) as error:
                if not self._is_person:
                    raise InvalidInput(f"{question}: {error}") from None
                self.say(f"  {error}")

    def text(self, question: str, *, default: str | None = None) -> str:
        """Ask for a text, which may be empty only if the default is."""

        def read(answer: str) -> str:
            if not answer and default is None:
                raise InvalidInput("an answer must be given, got an empty line.")
            return answer

        return self.ask(question, read, default=default)

    def yes(self, question: str, *, default: bool) -> bool:
        """Ask a yes-or-no question."""

        def read(answer: str) -> bool:
            if answer.lower() not in _YES | _NO:
                raise InvalidInput(f"the answer must be yes or no, got {answer!r}.")
            return answer.lower() in _YES

        return self.ask(f"{question} (yes/no)", read, default="yes" if default else "no")
