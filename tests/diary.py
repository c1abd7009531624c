"""A watcher of steps that records its notifications."""


class Diary:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def started(self, step: str) -> None:
        self.lines.append(f"{step} started")

    def advanced(self, step: str, amount: int) -> None:
        self.lines.append(f"{step} advanced {amount}")

    def ended(self, step: str, *, well: bool) -> None:
        self.lines.append(f"{step} ended {'well' if well else 'badly'}")
