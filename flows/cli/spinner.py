"""Shows on standard error that a command is at work: a spinner on a terminal, and a line where a log is asked for."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_work(said: str, *, logged: bool = False) -> Iterator[None]:
    """Show what takes long until the block ends, and take it away again.

    Args:
        said: what is being done, such as `Auditing acs_ma-20261120T104151Z`.
        logged: whether to say so in a line where nobody sits at a terminal.
    """
    from rich.console import Console  # noqa: PLC0415 - what answers at once does without
    from rich.markup import escape  # noqa: PLC0415

    console = Console(stderr=True, highlight=False)
    if logged and not console.is_terminal:
        console.print(f"{escape(said)} ...", soft_wrap=True)
    with console.status(f"{escape(said)} ..."):
        yield
