"""Audits of epsilon: lower bounds, from the outputs of the real mechanisms, beside what they claim.

tracing: traces noise and choices of a run, and forces its output on another table. bounds: lower bounds on epsilon.
auditing: one audit, from the choice of tables to its result. learned: steps that release noisy integers and choices.
releases: the audited steps of all learners, certificates and persons. drawn: records, prefixes, discoveries, responses.
registry: all audits. twins: broken mechanisms, which must exceed their claims.
"""
