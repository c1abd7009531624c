"""Learners fit a model to noisy counts and are charged for each count. A learner never sees rows. One folder for each.

registry: the learners by name; a new learner is a folder and a line there. entry: the common part of their entries in a
release spec. under_rules: any of them on a table with rules. certified, certificate_costs: any that measures, with a
certificate of its model's error, and what that costs. In each folder, `__init__` describes the learner and cites
its source, `spec` is the entry, `steps` runs the learner, `verification` states what a record must say about it, and
`words.md.jinja` is its text for statements.
"""
