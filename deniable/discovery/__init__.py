"""Discovery: values of open categories and ranges of numbers, proposed by a differentially private mechanism.

A schema must not be learnt from data free of charge. Where no codebook lists the values of a column or bounds its
numbers, they can be requested of the data once, at a cost of their own, which is charged to the ledger of the dataset.

plan: what is requested, what it costs, and which mechanisms answer. number_grid: a grid of numbers that depends on no
data, and the range that noisy counts on it show. answering: the mechanism, with its theorem. answers: what it releases,
as a document, and what follows from it. The reading of tables and the wording of schemas do not belong here.
"""
