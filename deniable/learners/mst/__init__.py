"""MST: noisy counts of each attribute and of the pairs of a tree, joined by a graphical model.

Restored from McKenna, Miklau, Sheldon 2021, "Winning the NIST contest"; NIST-MST, which chooses its tables from a
public file, is the same learner with another selection. README.md states the guarantee, and the differences.

spec: its entry in a release spec. plan: tables, choices, and their cost. pooling: which values are pooled. selection:
the tree of pairs, chosen privately. measuring: the private queries. learning: what is counted, and in which order.
network: from the fitted tables to a Bayesian network. steps: its steps. verification: what its steps must do.
published: verification of what it measured.
"""
