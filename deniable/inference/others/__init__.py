"""Inference from releases that publish no noisy tables: what the law of their records or responses says.

asking: what they have in common, and refusals. draws: shares from draws of urns, by exact inversion. sets:
synthetic sets (multinomial_sets). flows: commuters (origin_destination). responses: randomized responses of a survey.
prefixes: the histogram of seeds. How a folder becomes one of them is in deniable.other_releases. NumPy suffices.
"""
