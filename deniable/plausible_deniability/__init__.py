"""Plausible deniability (Bindschaedler, Shokri and Gunter 2017): privacy tests, seeds, and Mechanism 1.

privacy_tests: the tests and their parameters. plausible_seeds, seed_prefixes: the exact number of seeds that could
have produced a record. mechanism_one: many candidates, each from its own seed; mechanism_one_kernels is its compiled
code, which decides their privacy tests. resampling: a seed's first attributes are copied, the rest are drawn.
seed_accounting: the cost of all candidates. sampled_tests: their cost if plausible seeds are counted in a random sample
of the rows; scored_counts: drawing how many are in it. poisson_attempts: the Poisson form of Mechanism 1; pass_law: its
law of passing; poisson_numbers: its exact draws. predictions: how many attempts the public model lets pass;
prefix_choice: the prefix that follows from it.
"""
