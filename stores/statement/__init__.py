"""The privacy statement in words: what is guaranteed, for whom, and what is not.

statement: privacy.json and PRIVACY.md, and the templates of all Markdown that releases are described with. readers: who
may read what of a release. words: what learners and samplers say about themselves.
"""
