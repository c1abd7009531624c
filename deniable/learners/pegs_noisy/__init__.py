"""The tables of `pegs` with noise, published once: a Bayesian network that can be drawn from without end.

The form in which to use the tables of Park, Ghosh, Shankar 2013: each attribute is counted given a key of attributes
that are drawn before it, and noise is added to the counts instead of charging draws. README.md has its guarantee.

spec: its entry in a release spec. plan: keys, and the noise of their tables. steps: its step. verification: what its
step must do.
"""
