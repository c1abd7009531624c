"""Broken twins: known faults of other programs, each in its own module, that an attack must find.

Each reimplements what another program was found to do; none contains that program's code. The attacks are in
`tests/privacy/test_broken_twins_are_named_and_honest_ones_are_not.py`, where this project's mechanism for the same
purpose undergoes the same attack.
"""
