"""The folders of one release, and what is noted in them while it is made.

workspace: vault, shelf, staging and release folder. custody: who keeps its key. journal: steps that are done. lease:
one process at a time. step_log: what each step read, made and spent. pending_approval, decisions, actors: what persons
decide. models: models, and what records are drawn from beside them. scratch: a release that is run once more.
private_files, disk, kept_files, runtime_environment: files, and what code ran.
"""
