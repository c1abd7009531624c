"""Candidates that start from people and pass the privacy test (Mechanism 1*); every candidate costs.

The mathematics is that of deniable.plausible_deniability. spec: its entry of a release spec. sampler: how it indexes
seeds, what candidates cost, how they are drawn and tested. verification: what its step must do. words: what it says of
itself.
"""
