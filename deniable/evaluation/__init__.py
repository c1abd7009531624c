"""How useful a table is, and what it gives away: measured, not guaranteed.

utility: distances of marginals, classifiers, a distinguisher. disclosure: attacks on records. drift: how far a table
has moved from the one before. subgroup_error: how far off the count of a small group may be.
"""
