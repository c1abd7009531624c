"""`python -m flows`: the command `deniable` with all its groups, without its script."""

from deniable.cli.dispatch import main, run
from flows.cli.running import FAILED, HELD, INTERRUPTED, OK, REFUSED

__all__ = ["FAILED", "HELD", "INTERRUPTED", "OK", "REFUSED", "main"]

if __name__ == "__main__":
    run()
