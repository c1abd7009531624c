"""PrivBayes: attributes join a Bayesian network one by one, with parents chosen by the exponential mechanism.

DataSynthesizer's correlated attribute mode (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017; Ping, Stoyanovich, Howe
2017, section 3.2.3). README.md states its guarantee, and the differences from that tool.

spec: its entry in a release spec. plan: degree, choices, tables, their cost. scores: the utility of a choice. counting:
tables of candidates. structure: the choices. conditionals: noisy tables, and the network estimated from them.
published: the public products of both. steps: its steps. verification: the requirements on its steps.
"""
