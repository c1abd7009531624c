"""Shows on standard error that a command is working: a spinner on a terminal, or a line in a log if requested."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_work(said: str, *, logged: bool = False) -> Iterator[None]:
    """Show what is being done while the block runs, and remove the line afterwards.

    Args:
        said: what is being done, such as `Auditing acs_ma-20261120T104151Z`.
        logged: whether to print a line if standard error is not a terminal.
    """
    from rich.console import Console  # noqa: PLC0415 - quick commands do without it
    from rich.markup import escape  # noqa: PLC0415

    console = Console(stderr=True, highlight=False)
    if logged and not console.is_terminal:
        console.print(f"{escape(said)} ...", soft_wrap=True)
    with console.status(f"{escape(said)} ..."):
        yield
