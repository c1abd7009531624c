"""AIM: tables are chosen one by one, where the model is worst for the workload, and a graphical model is fitted.

McKenna, Mullins, Sheldon, Miklau 2022, restored; README.md states its guarantee and what is different here.

spec: its entry in a release spec. workload: the wanted tables. plan: the budget of all rounds, fixed in advance.
candidates: those of a round. scores: how bad the model is at one, in integers. queries: the two private queries, and
their account. rounds: the adaptive loop. engine: the own engine, and the bound on its work. mbi_engine: the library
mbi. dependences: the model as a graph. steps: its step. measured: what its measurements must be. verification: what its
step must do.
"""
