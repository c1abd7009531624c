"""The second learner: small noisy tables, denoised by empirical Bayes and glued along an order of the attributes.

plan says what it costs, learning what is asked of the data and in which turn, net what comes out. What is common to all
learners does not belong here.
"""
