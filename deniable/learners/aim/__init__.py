"""AIM: tables are chosen one by one, where the model is worst for the workload, and a graphical model is fitted.

McKenna, Mullins, Sheldon, Miklau 2022, restored: README.md states its guarantee here, and the differences from the
paper and from other programs.

spec: its entry in a release spec. workload: the tables that are to be good, and the candidates that follow. plan: the
budget of all rounds, fixed in advance. scores: how bad the model is at a candidate, in integers. queries: the two
private queries, and their account. rounds: the adaptive loop. engine: fitting by the own engine, and the bound on its
work; mbi_engine: fitting by the library mbi. steps: its step. verification: what its step must do; measured: what its
published measurements must be.
"""
