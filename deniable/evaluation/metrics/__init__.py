"""Metrics of utility: each module declares the figures that it measures, as METRIC (`deniable.evaluation.contract`).

`deniable.evaluation.registry` lists the modules. Those in the room `places` are for tables with attributes that are
places. The measures that they use are in `deniable.evaluation.utility`.
"""
