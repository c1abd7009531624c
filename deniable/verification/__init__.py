"""Verification by anyone, from a release folder and a trust file; needs neither numba nor scipy.

release: a published folder. record: consistency of its parts. planned_events: the events against the spec. cost, sum:
costs, recomputed. lineage: the steps. segment: the ledger entries in the record. approval: who approved it.
earlier_release: a model that another release was charged for. survey: a published survey. discovery: values and ranges
proposed at a cost. unsigned: the library's folder. standing: whether a release was withdrawn since, by a status file.
"""
