"""From noisy tables to a fitted model; post-processing of published values, which costs nothing.

counting: counts of small tables. buckets: values that are counted together. empirical_bayes: denoising;
compiled_mixtures: its steps. sparse_counts: denoising of an attribute with many values. tailed_counts: denoising of a
number with growing bins. fitting, rows, orders,
maximum_entropy: one model for all tables. structural_zeros: zeros implied by rules. detected_zeros: zeros inferred
from noisy tables. within_bucket_tables: the value within a bucket.
"""
