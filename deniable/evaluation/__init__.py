"""Utility and disclosure risk of a table: measured, not guaranteed.

utility: distances of marginals, classifiers, a distinguisher. classifiers: trees, forests and AdaBoost. tree_kernels:
how trees grow. disclosure: attacks on records. drift: the distance of a table from its predecessor.
confidentiality_map: the distances on R-U maps. subgroup_error: the error of a small group's count. commutes: distances
and flows of commuters. overlap: whether one table was made from another.
"""
