"""The tables of `pegs` with noise, published once: a Bayesian network for any number of draws.

The recommended use of the tables of Park, Ghosh, Shankar 2013: each attribute is counted given a key of attributes
drawn before it, and noise is added to the counts instead of charging draws. README.md states its guarantee.

spec: its entry in a release spec. plan: keys, and the noise of their tables. steps: its step. verification: the
requirements on its step.
"""
