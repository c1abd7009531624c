"""The mathematics of Deniable: pure functions from arrays and frozen values to arrays and values.

The subpackages, in order of dependence: foundation, privacy, local, evaluation, measurements, inference, models,
plausible_deniability, learners, samplers, ledger, discovery, record, verification. mechanisms: the contract of
learners and samplers. folder_on_disk: the folder that an auditor's command reads. respondent: the files of a person
who responds to a survey. data_user: answers questions about a release; other_releases: releases that publish no noisy
tables. from_measurements: a model and records from noisy tables published by others. console: prints the output of
these commands; cli: the command `deniable`; command_names: how messages name it. kernels: how functions are compiled.

No orchestrator, tracker, dataframe, clock, environment or file belongs here, except for these commands.
"""
