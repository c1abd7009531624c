"""The mathematics of Deniable: arrays and frozen values in, arrays and values out.

No orchestrator, tracker, dataframe, clock, environment or file belongs here.
"""
