"""Candidates that start from seeds and pass the privacy test (Mechanism 1*); every candidate has a cost.

The mathematics is in deniable.plausible_deniability. spec: its entry in a release spec. sampler: indexes seeds, and
charges, draws and tests candidates. verification: the requirements on its step. words: its texts outside templates.
"""
