"""Seeds from a noisy histogram of prefixes: any number of records, for a cost that is paid once.

spec: its entry in a release spec. sampler: its computation from the seeds, and its draws. noisy_histogram: the
histogram, its threshold and its cost. sampling: draws a prefix by its noisy count, and the rest from the model.
verification: the requirements on its step. words: its texts outside templates.
"""
