"""Pictures: drawn with matplotlib, in the colours of the page that they stand in.

plots: distances, classifiers, marginals, attacks. method_diagram, record_flow_diagram: how a release is made, and what
becomes of records. graph_plot, layered_layout: dependency graphs. products: pictures
of what a learner made. measured, pairs, ratio_pictures: what was measured,
and errors of pairs. budget_line: spending over time. theme, shapes: what all have in common.
"""
