"""AIM: chooses tables one by one where the model is worst for the workload, and fits a graphical model.

McKenna, Mullins, Sheldon, Miklau 2022; README.md states its guarantee and the differences from the paper.

spec: its entry in a release spec. workload: the target tables. plan: the budget of all rounds, fixed in advance.
candidates: the candidates of a round. scores: the model's error on a candidate, in integers. queries: the two private
queries, and their account. rounds: the adaptive loop. engine: our own engine, and the bound on its work. mbi_engine:
the library mbi. dependences: the model as a graph. steps: its step. measured: the requirements on its measurements.
verification: the requirements on its step.
"""
