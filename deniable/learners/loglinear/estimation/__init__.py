"""From noisy tables to a fitted model; a function of what is published, so it costs nothing.

counting: counts of small tables. buckets: values that are counted together. empirical_bayes: denoising. fitting,
orders, maximum_entropy: one model that all tables fit. within_bucket_tables: the value inside a bucket.
"""
