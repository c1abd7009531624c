"""Perturbed Gibbs sampler (PeGS): each attribute is drawn from its exact counts given a hashed key of the others.

Park, Ghosh, Shankar 2013, with feature hashing, resetting blocks, and Polya urns that serve several draws. Every draw
is charged, and no table is released. README.md states its guarantee here, and the differences from the paper.

spec: its entry in a release spec. plan: keys, priors, blocks, their cost. orders: measured orders of the others. steps:
what is made public. draws: what is counted, and the draws. verification: what its steps and draws must do.
"""
