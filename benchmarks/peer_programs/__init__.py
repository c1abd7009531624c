"""Programs that `make bench-peers` compares, each driven once in its own environment.

driver: the protocol, the same for all; of_deniable, of_dpmm, of_datasynthesizer, of_synthpop: how a program fits.
"""
