"""Metrics of tables with attributes that are places.

commutes: commutes, flows and totals of a table of commuters. The distances are in `deniable.evaluation.commutes`.
"""
