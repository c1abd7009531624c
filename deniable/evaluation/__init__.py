"""Utility and disclosure risk of a table: measured, not guaranteed.

contract, registry: what metrics and attacks declare, and their lists. metrics, derived, attacks: a module for each.
analyses: what people do with a table. logic: what all real records satisfy. evidence: what they measure from. uses:
rules for what a release is good for. thresholds: bounds of figures. utility: distances of marginals, classifiers, a
distinguisher. classifiers: what a spec may name. linear: two of them. tree_kernels, table_kernels: compiled loops.
disclosure: attacks on records. drift: the distance of a table from its predecessor. confidentiality_map: the distances
on R-U maps. subgroup_error: the error of a small group's count. commutes: distances and flows of commuters. overlap:
whether one table was made from another.
"""
