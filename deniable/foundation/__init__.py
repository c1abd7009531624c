"""What everything else stands on: errors, the public domain of a table, keys, exact noise, exact numbers, counts.

domain: attributes, values and buckets. tables: contingency counts. keys: the release key and its streams of random
words. noise: discrete Laplace and Gaussian, exact. exact_probabilities: leading digits of irrational probabilities.
record_keys: equal records have equal numbers. checks: one line of a verification. strict_json, exact_numbers, csv_text:
reading and writing without surprises. spec_values: kinds of values that entries of a release spec are made of.

What a mechanism costs is for `privacy`.
"""
