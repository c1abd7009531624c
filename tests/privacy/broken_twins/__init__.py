"""Broken twins: known faults of other programs, each in a module of its own, that an attack must find.

Each does in its own words what another program was found to do; none is the code of one. The attacks are in
`tests/privacy/test_broken_twins_are_named_and_honest_ones_are_not.py`, where the mechanism of this project that does
the same work goes through the same attack.
"""
