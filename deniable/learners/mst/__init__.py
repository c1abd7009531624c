"""MST: noisy counts of each attribute and of the pairs of a tree, joined by a graphical model.

McKenna, Miklau, Sheldon 2021, "Winning the NIST contest"; NIST-MST, which selects its tables from a public file, is
the same learner with another selection. README.md states the guarantee and the differences from the paper.

spec: its entry in a release spec. plan: tables, choices, and their cost. pooling: the pooled values. selection: the
tree of pairs, chosen privately. measuring: the private queries. learning: the counts and their order. network: from
the fitted tables to a Bayesian network. steps: its steps. verification: the requirements on its steps. published:
verification of its measurements.
"""
