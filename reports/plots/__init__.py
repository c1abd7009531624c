"""Pictures: drawn with matplotlib, in the colours of the page that contains them, or written as SVG.

plots: distances, classifiers, attacks. marginal_pictures: marginals. method_diagram, record_flow_diagram: how a release
is made, and how many records remain at each stage. graph_plot, layered_layout: dependency graphs. products: pictures of
a learner's output. measured, pairs, ratio_pictures: the measurements, and errors of pairs. budget_line: spending over
time. confidentiality_map: an R-U map. commutes: flows on a map. theme, shapes: elements that all pictures share.
curves: pictures of curves that are computed before a release.
"""
