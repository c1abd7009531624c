"""The release spec: the release, its cost, and the decision on it; validated in full before any data are read.

release_spec: the spec. evaluation, analyses, decision, refresh, publication: its parts; those of learners and samplers
are in their folders. spec_values: types of values. source_kinds: the kinds of files that a source may be. loading: from
YAML, with exact decimals. defaults: entries that short specs omit. plan: the steps that learner and sampler plan.
flow_steps: all steps of a release, in order. accounts: the cost of the release.
"""
