"""A deliberate fault: one exact replacement in one source file, and the test that fails because of it."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """One replacement in one source file.

    Attributes:
        file: path from the checkout's root.
        before: text that occurs exactly once in the file.
        after: its replacement.
    """

    file: str
    before: str
    after: str

    def fault(self, root: Path = ROOT) -> str | None:
        """Return why this replacement cannot be made; None if it can."""
        path = root / self.file
        if not path.is_file():
            return f"there is no file {self.file}"
        found = path.read_text(encoding="utf-8").count(self.before)
        if found != 1:
            return f"{self.file} must contain {self.before!r} once, found {found} times"
        return f"nothing changes in {self.file}: {self.before!r}" if self.before == self.after else None

    def mutated(self, source: str) -> str:
        """Return the source with the fault."""
        return source.replace(self.before, self.after)


@dataclass(frozen=True, kw_only=True)
class Mutant(Replacement):
    """A fault that a test must find.

    Attributes:
        breaks: the fault of the mutated code, in words.
        test: the test that fails, `tests/file.py::name`, with its parameters in brackets or for all of them.
    """

    breaks: str
    test: str

    @property
    def compiled(self) -> bool:
        """Whether compiled code may depend on the file; if so, no earlier compiled code may be used."""
        return "numba" in (ROOT / self.file).read_text(encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Equivalent(Replacement):
    """A change that no test can find, because it changes no distribution.

    Attributes:
        proof: the reason.
    """

    proof: str


def faults(file: str, *rows: tuple[str, str, str, str]) -> tuple[Mutant, ...]:
    """Return mutants of one file.

    Args:
        file: path from the checkout's root.
        rows: text that stands once in the file, what is put in its place, what that breaks, and the test that fails,
            named from `tests/`.
    """
    return tuple(
        Mutant(file=file, before=before, after=after, breaks=breaks, test=f"tests/{test}")
        for before, after, breaks, test in rows
    )
