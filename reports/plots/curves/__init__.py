"""Pictures of what is computed before a release.

design_curves: what a total buys by each account, and Theorem 1 for one record. rehearsal_ladder: what releases of
public records are good for, by epsilon.
"""
