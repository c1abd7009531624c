"""What can be drawn from and scored: models of a table, whichever learner made them.

sequential_model: attributes drawn one after the other, a random word each; sequential_kernels: what compiled code asks
of one. bayes_net: conditional probabilities in integers, on a graph. loglinear: a log-linear network.
complement_sampler: records that begin with none of some prefixes. model_formats: reads a model's document, by its
format. noisy_marginals: tables as they were released. contrasts: differences of two buckets.

How models are learnt is for `learners`.
"""
