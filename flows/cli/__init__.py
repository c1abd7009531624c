"""The commands of `python -m flows`, a module each.

Those that start and stop servers are in `servers`, those that describe tables in `tables`, those on files that anyone
may read in `public`, those of surveys in `surveys`.
"""
