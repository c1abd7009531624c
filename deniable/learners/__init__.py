"""Learners: they make a model from noisy counts, and pay while they count. One folder each; a learner never sees rows.

registry: the learners by name; a new one is a folder and a line there. entry: what their entries of a release spec have
in common. In each folder, the first page says what the learner is and where it is from, `spec` is the entry, `steps`
what is done, `verification` what a record must say of it, and `words.md.jinja` what statements say of it.
"""
