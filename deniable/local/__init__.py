"""Randomized response: local differential privacy, in which respondents randomize their own answers.

designs: the four designs and their exact distributions. survey: the public document of the questions. responding:
randomizes answers under the respondent's own key. responses: reads collected responses. estimates: shares of the
population from responses, with intervals. words: the statement of the guarantee.

Only the respondent ever holds confidential data. Files, prompts and signatures do not belong here.
"""
