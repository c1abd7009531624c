"""Whole pages, each in one file that loads nothing: the report, the public page, comparison, explorer.

report: internal. public_page: index.html. compare_page, comparison: two releases. explorer: the public table. drift:
against the release before. evaluation: what MLflow keeps of one. headline_figures, report_links: parts of the report.
pages: what all have in common.
"""
