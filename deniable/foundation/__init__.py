"""The foundation of all other packages: errors, public domains, keys, exact noise, exact numbers, counts.

domain: attributes, values and buckets. rules: the permitted combinations of values; rule_components: all rules
combined. tables: contingency counts. keys: the release key and its streams of random words. noise: discrete Laplace
and Gaussian, exact. exact_probabilities: leading digits of irrational probabilities. uniform: uniform integers of any
size. record_keys: numbers that are equal for equal records. checks: results of a verification. strict_json,
exact_numbers, csv_text: unambiguous reading and writing. spec_values: types of values in the entries of a release
spec.

The cost of a mechanism belongs in `privacy`.
"""
