"""The command `survey`.

survey: the plan of a survey, and its publication.
"""
