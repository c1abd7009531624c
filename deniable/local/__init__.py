"""Randomized response: local differential privacy, in which each respondent randomizes the answers before giving them.

designs: the four designs and their exact laws. survey: the public document that holds the questions. responding:
from answers to responses under the respondent's own key. responses: reading what was collected. estimates: shares of
the population from responses, with intervals. words: the statement of the guarantee.

No confidential data exist here but in the hands of the respondent. Files, prompts and signatures do not belong here.
"""
