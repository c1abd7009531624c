"""PrivBayes: attributes join a Bayesian network one by one, with the parents that the exponential mechanism chooses.

DataSynthesizer's correlated attribute mode, restored (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017; Ping,
Stoyanovich, Howe 2017, section 3.2.3). README.md states its guarantee here, and the differences from the tool.

spec: its entry in a release spec. plan: degree, choices, tables, their cost. scores: the utility of a choice. counting:
tables of candidates. structure: the choices. conditionals: noisy tables, and the network estimated from them.
published: what is made public of both. steps: its steps. verification: what its steps must do.
"""
