"""Correlation-based feature selection (Bindschaedler et al. 2017, section 3): a graph, then its probabilities.

spec: its entry in a release spec. steps: its steps. entropies: noisy entropies, the only input of structure learning.
structure: symmetrical uncertainty, merit, an acyclic graph. parameters: noisy counts, a Dirichlet posterior, integer
probabilities. given_graph: a graph that the spec states. noise_of_rows: what to know about the noise before anything is
charged. verification: the requirements on its steps.
"""
