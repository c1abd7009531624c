"""Inference from what a release measured: estimates with intervals that cover, from the release folder alone.

`Inference(measured, probability=...)` (estimation) answers count, share, mean and ratio; it is the first argument of
`compare` (comparisons), `table` (tables), `quantile` and `cumulative` (quantiles), and `regress` (regression). `Asked`
has level, estimand, grade and design effect; an `Answer` (answers) has estimate, interval, grade, sources, condition.
Below: queries, linear in counts; system, their least-squares estimates and variances; many_values, single values of an
attribute that has thousands; laws of the error; intervals; bounds for what was not counted together, and certified, the
same by a certificate of the model; conditions, as people word them; interval_table: `intervals.csv`, its check. Room
others: releases that publish no noisy tables. NumPy suffices. How a folder is read does not belong here
(deniable.data_user).
"""
