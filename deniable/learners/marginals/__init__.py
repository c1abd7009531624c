"""Marginals: noisy one-way marginals, with independent attributes; the papers' baseline, and also a learner.

spec: its entry in a release spec. steps: its steps. verification: the requirements on its step. baseline: the same
model, as a comparison for any learner.
"""
