"""Perturbed Gibbs sampler (PeGS): each attribute is drawn from its exact counts given a hashed key of the others.

Park, Ghosh, Shankar 2013, with feature hashing, resetting blocks, and Polya urns that serve several draws. Every draw
is charged, and no table is released. README.md states its guarantee, and the differences from the paper.

spec: its entry in a release spec. plan: keys, priors, blocks, their cost. orders: measured orders of the others.
steps: its public products. draws: the counts and the draws. verification: the requirements on steps and draws.
"""
