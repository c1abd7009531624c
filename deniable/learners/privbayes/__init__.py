"""PrivBayes: attributes join a Bayesian network one by one, with the parents that the exponential mechanism chooses.

DataSynthesizer's correlated attribute mode, restored (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017; Ping,
Stoyanovich, Howe 2017, section 3.2.3); README.md says what of it holds here, and what the tool did otherwise.

spec: its entry of a release spec. plan: degree, choices, tables, what they cost. scores: how much a choice would tell.
counting: tables of candidates. structure: the choices. conditionals: noisy tables, and the network made of them. steps:
what it does. verification: what its steps must do.
"""
