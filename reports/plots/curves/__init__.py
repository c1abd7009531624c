"""Pictures of curves that are computed before a release.

design_curves: what a total buys by each account, and Theorem 1 for one record.
"""
