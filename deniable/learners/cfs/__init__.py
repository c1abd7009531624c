"""Correlation-based feature selection (Bindschaedler et al. 2017, section 3): a graph, then its probabilities.

spec: its entry in a release spec. steps: its steps. entropies: noisy entropies, the only input of structure learning.
structure: symmetrical uncertainty, merit, an acyclic graph. parameters: noisy counts, a Dirichlet posterior, integer
probabilities. verification: the requirements on its steps.
"""
