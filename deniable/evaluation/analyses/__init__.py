"""Analyses that people do with a table, on real and on released records: regressions, means by group and quantiles.

declared: what an analysis is, how it is written, whether a table has what it needs, and those made for a table whose
spec declares none. estimates: its estimates from records, with standard errors. Their comparison is the metric
`analyses`. What a data user estimates from noisy counts does not belong here (deniable.inference).
"""
