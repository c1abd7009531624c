"""Candidates that start from seeds and pass the privacy test (Mechanism 1*); every candidate has a cost.

The mathematics is in deniable.plausible_deniability. spec: its entry in a release spec. sampler: how it indexes seeds,
the cost of candidates, how they are drawn and tested. verification: what its step must do. words: its texts outside
templates.
"""
