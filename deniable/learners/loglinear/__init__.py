"""The log-linear learner: small noisy tables, denoised by empirical Bayes and joined by maximum entropy.

spec: its entry in a release spec. steps: its steps. plan: its cost. tails: what noise hides of each number's tail.
learning: the choice and order of measurements (candidate_queries, exponential_mechanism, measurements). estimation:
from noisy tables to a fitted model. quantization: from the fitted model to an integer network. dependency_graph: the
graph that pages show. mechanism: all of these together. verification: the requirements on its step.
published_measurements: verification of its published measurements.
"""
