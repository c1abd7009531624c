"""The folders of one release, and the notes in them while it is made.

workspace: vault, shelf, staging and release folder. custody: custody of its key. journal: completed steps. lease: one
process at a time. step_log: inputs, outputs and costs of each step. pending_approval, decisions, actors: decisions of
persons. models: models and the other inputs of sampling. exact_counts: refusals with counts that no message quotes.
scratch: replays. private_files, disk, kept_files, runtime_environment: files, and the code that ran.
"""
