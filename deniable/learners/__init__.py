"""Learners fit models to noisy counts, each of which is charged; they never see rows. Each has its own folder.

registry: the learners by name; a new learner is a folder and a line there. entry: the common part of their entries in
a release spec. under_rules: any of them on a table with rules. certified, certificate_costs: learners that measure,
with a certificate of the model's error, and its cost. In each folder, `__init__` describes the learner and cites its
source, `spec` is the entry, `steps` runs the learner, `verification` states what a record must contain, and
`words.md.jinja` is its text for statements.
"""
