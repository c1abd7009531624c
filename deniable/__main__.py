"""`python -m deniable`: the command `deniable`, without its script."""

from deniable.cli.dispatch import run

if __name__ == "__main__":
    run()
