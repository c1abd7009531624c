"""The log-linear learner: small noisy tables, denoised by empirical Bayes and joined by maximum entropy.

spec: its entry of a release spec. steps: what it does. plan: what it costs. learning: which tables are asked for, in
which order (candidate_queries, exponential_mechanism, measurements). estimation: from
noisy tables to a fitted model. quantization: from that to a network in integers. dependency_graph: the graph that pages
show. mechanism: all of it. verification: what its step must do.
published_measurements: what it published.
"""
