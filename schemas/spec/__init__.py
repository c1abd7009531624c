"""The release spec: what is to be released, at what cost, who decides; checked in full before any data are read.

release_spec: the spec. evaluation, decision, refresh: its parts; those of learners and samplers are in their folders.
spec_values: kinds of values. loading: from YAML, to the last decimal. plan: the steps that learner and sampler plan.
flow_steps: all steps of a release, in order. accounts: what the release will cost.
"""
