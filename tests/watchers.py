"""Watchers that fail."""


class Faulty:
    """A watcher that fails the first time that a step begins.

    Args:
        step: name of the step.
    """

    def __init__(self, step: str) -> None:
        self._step = step
        self._failed = False

    def started(self, step: str) -> None:
        if step == self._step and not self._failed:
            self._failed = True
            raise OSError("a passing fault")

    def advanced(self, step: str, amount: int) -> None:
        pass

    def ended(self, step: str, *, well: bool) -> None:
        pass
