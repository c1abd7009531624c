"""The mathematics of Deniable: pure functions from arrays and frozen values to arrays and values.

The subpackages in the order of their dependences: foundation, privacy, local, evaluation, measurements, inference,
models, plausible_deniability, learners, samplers, ledger, discovery, record, verification. mechanisms: the contract of
learners and samplers. folder_on_disk: the folder that an auditor's command reads. respondent: the files of a person who
responds to a survey. data_user: questions to a release, other_releases: those that publish no noisy tables.
from_measurements: a model and records from noisy tables of others. console: lines that these commands print.

No orchestrator, tracker, dataframe, clock, environment or file belongs here, except for these commands.
"""
