"""The privacy statement in words: what is guaranteed, for whom, and what is not.

statement: privacy.json and PRIVACY.md, and the templates of all Markdown that describes releases. lab_findings: what
the attack lab found about mechanisms. readers: who may read which parts of a release. words: the texts of learners and
samplers about themselves.
"""
