"""Whole pages, each a single file that loads nothing else: the report, the public page, comparison, explorer.

report: internal. public_page: index.html. compare_page, comparison: two releases. explorer: the public table. drift:
comparison with the previous release. evaluation: what MLflow keeps of an evaluation. fitness, attack_rows,
headline_figures, report_links, signing: parts of the report. confidentiality_map: an R-U map. rehearsal: releases of
public records by epsilon. pages: what all pages share.
"""
