"""Perturbed multiple imputation: each attribute is drawn from a regression on the others, mixed with uniform draws.

The baseline of Park, Ghosh, Shankar 2013. Every draw is charged, whatever the regression; the coefficients are not
released. README.md states its guarantee, and why the Gibbs sampler of `pegs` is preferable.

spec: its entry in a release spec. plan: prior weights, and the cost of a record. regression: multinomial logistic
regression with an elastic net. steps: its public products. draws: the fits and the draws. verification: the
requirements on steps and draws.
"""
