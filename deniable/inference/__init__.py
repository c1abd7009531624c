"""Inference from a release's measurements: estimates and confidence intervals, from the release folder alone.

`Inference(measured, probability=...)` (estimation) answers count, share, mean and ratio; it is the first argument of
`compare` (comparisons), `table` (tables), `quantile` and `cumulative` (quantiles), and `regress` (regression). `Asked`
has level, estimand, grade and design effect; an `Answer` (answers) has estimate, interval, grade, sources, condition.
Below these: queries, linear in counts; system, their least-squares estimates and variances; many_values, single values
of an attribute with thousands of values, and of a number with growing bins; laws, of the error; intervals; bounds, on
attributes not counted together, and certified, the same by a certificate of the model; conditions, as users write them;
interval_table, `intervals.csv` and its check. Room others: releases that publish no noisy tables. NumPy suffices.
Reading a folder does not belong here (deniable.data_user).
"""
