"""Several synthetic sets of one cross-classification: beta-binomial and Dirichlet-multinomial synthesis.

Charest 2010. The cells of each set are drawn from a Polya urn of exact counts, and every set is charged. README.md
states its guarantee, and the differences from the paper.

spec: its entry in a release spec. plan: the urns and their cost. steps: its public products. draws: the counts and the
draws. verification: the requirements on step and draws. For users of the sets: posterior, given_sum (its exact sums),
release, combining, exact.
"""
