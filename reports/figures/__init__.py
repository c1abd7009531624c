"""Values prepared for display: rounded to the precision that their noise allows, grouped, and scaled.

numbers: format of numbers and digests. decimal_places: number of decimal places. marginals: distributions.
value_groups: names of groups of values. spending: a dataset's budget. line_scale: the scale of a line.
confidentiality_map: the points of an R-U map. certificate: the statement on the error of a model.
measured_intervals: tables with intervals. analyses: estimates from real and from released records.
undeclared_logic: patterns that records break.
"""
