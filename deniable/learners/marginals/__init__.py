"""Marginals: each attribute by itself, from noisy counts; the papers' baseline, and a learner of its own.

spec: its entry of a release spec. steps: what it does. verification: what its step must do. baseline: the same for
comparison, beside any learner.
"""
