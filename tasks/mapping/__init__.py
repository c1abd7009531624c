"""R-U maps of a table, outside releases: tables by several ways to draw, what they cost, and how far off they are.

measures: what is measured of a synthetic table beside the real one. regressions: coefficients of regressions. points:
the points of a map, whose tables are drawn by `deniable.learners.mapped` and `deniable.samplers.mapped`. own_table: the
table of a spec, and what its map measures.
"""
