"""Seeds from a noisy histogram of prefixes: any number of records, for a cost that is paid once.

spec: its entry in a release spec. sampler: what it computes from the seeds, and how it draws. noisy_histogram: the
histogram, its threshold and its cost. sampling: draws a prefix by its noisy count, and the rest from the model.
verification: what its step must do. words: its texts outside templates.
"""
