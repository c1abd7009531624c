"""Surveys of randomized responses: what is kept and what is published.

survey_folder: the files, the record and the public folder. survey_run: its run in MLflow.
"""
