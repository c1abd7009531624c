"""Perturbed multiple imputation: each attribute is drawn from a regression on the others, mixed with even draws.

The baseline of Park, Ghosh, Shankar 2013. Every draw is charged, whatever the regression has learnt; the coefficients
are not released. README.md states its guarantee, and why the Gibbs sampler of `pegs` is to be preferred.

spec: its entry in a release spec. plan: prior weights, and the cost of a record. regression: multinomial logistic
regression with an elastic net. steps: what is made public. draws: what is fitted, and the draws. verification: what its
steps and draws must do.
"""
