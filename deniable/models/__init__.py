"""Models of a table, from any learner: they can be drawn from, and they give densities.

sequential_model: attributes drawn one after the other, with one random word each; sequential_kernels: the interface of
compiled code to such a model. bayes_net: integer conditional probabilities on a graph. loglinear: a log-linear network.
constrained_net, constrained_kernels: any of them under the rules of a table. graphical: tables on the cliques of a
junction tree, fitted to noisy marginals. complement_sampler: records that begin with none of some prefixes.
model_formats: reads a model's document, by its format. noisy_marginals: released tables. urns: exact draws from counts
that are not released. contrasts: differences of two buckets.

How models are learnt belongs in `learners`.
"""
