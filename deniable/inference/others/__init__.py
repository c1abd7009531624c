"""Inference from releases that publish no noisy tables, by the law of their records or responses.

asking: their common interface, and refusals. draws: shares from draws of urns, by exact inversion. sets: synthetic
sets (multinomial_sets). flows: commuters (origin_destination). responses: randomized responses of a survey. prefixes:
the histogram of seeds. Reading them from a folder is in deniable.other_releases. NumPy suffices.
"""
