"""Verification by anyone, with a folder and a trust file alone; needs neither numba nor scipy.

release: a published folder. record: whether its parts agree. planned_events: the events against the spec. cost, sum:
costs, derived again. lineage: the steps. segment: the entries of the ledger that it shows. approval: who approved it.
"""
