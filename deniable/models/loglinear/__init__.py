"""The log-linear network: conditional probabilities as products of factors, in integers.

net: the model, its sampler and its density. factors: the factors. kernels: compiled code. vectors: eight numbers at a
time, in compiled code. stratified_sampling: stratified records. matching: records brought nearer to the tables that the
model was made of. flat_tables: tables of several attributes as flat arrays.
"""
