"""Commands that answer from a release, and those of surveys' respondents.

infer, explore, posterior, combine, from_measurements, respond. sets: opens synthetic sets.
"""
