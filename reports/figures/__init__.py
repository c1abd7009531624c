"""Values prepared to be shown: rounded to what their noise allows, grouped, and scaled.

numbers: how numbers and digests are written. decimal_places: in how many places. marginals: distributions.
value_groups: names of groups of values. spending: a dataset's budget. line_scale: the scale of a line.
"""
