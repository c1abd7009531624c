"""The mathematics of Deniable: arrays and frozen values in, arrays and values out.

The rooms stand on each other, from below: foundation, privacy, evaluation, models, plausible_deniability, learners,
samplers, ledger, record, verification. mechanisms: the contract of learners and samplers. folder_on_disk:
what an auditor's command reads.

No orchestrator, tracker, dataframe, clock, environment or file belongs here, but for that command.
"""
