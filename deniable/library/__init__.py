"""The library for people who have a data frame and no agency; its public names are in `deniable.__all__`.

schema: the public description of a table. frames: reads data frames into codes. synthesizer: plans and learns.
release: what was learnt, draws from it, and its documents. records: synthetic records. saving: writes a folder.
opened: verifies a folder and answers questions about it.

A ledger, signatures, people and approvals do not belong here: those are the release flow's.
"""
