"""Marginals: noisy one-way marginals, with independent attributes; the papers' baseline, and a learner of its own.

spec: its entry in a release spec. steps: its steps. verification: what its step must do. baseline: the same model, as a
comparison for any learner.
"""
