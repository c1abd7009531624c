"""Models of a table, from any learner: samplers and densities.

sequential_model: attributes drawn in sequence, from one random word each; sequential_kernels: the interface of compiled
code to such a model; implementations: who implements it. bayes_net: integer conditional probabilities on a graph.
loglinear: a log-linear network. constrained_net, constrained_kernels: any of them under the rules of a table.
graphical: tables on the cliques of a junction tree, fitted to noisy marginals. complement_sampler: records that begin
with none of some prefixes. model_formats: reads a model's document by its format (document_formats).
conditionals: a model's distributions from its document, with NumPy alone. noisy_marginals: released tables.
urns: exact draws from unreleased counts. contrasts: differences of two buckets. raking: the choice of records whose
two-way tables are near a model's.

Learning belongs in `learners`.
"""
