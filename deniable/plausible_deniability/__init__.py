"""Plausible deniability (Bindschaedler, Shokri and Gunter 2017): privacy tests, seeds, and Mechanism 1.

privacy_tests: the tests and their parameters. plausible_seeds, seed_prefixes: how many seeds could have given a record,
counted exactly. mechanism_one: many candidates, each from a seed of its own; mechanism_one_kernels is its compiled
code. resampling: a seed's first attributes are copied, the rest is drawn. seed_accounting: what all candidates cost.
"""
