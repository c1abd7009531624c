"""Discovery: values of open categories and ranges of numbers, proposed by a differentially private mechanism.

A schema must not be learnt from data free of charge. If no codebook lists the values of a column or bounds its
numbers, they can be queried once, at a separate cost that is charged to the dataset's ledger.

plan: the questions, their cost and their mechanisms. number_grid: a data-independent grid of numbers, and the range
implied by noisy counts on it. answering: the mechanism, with its theorem. answers: the released document, and what
follows from it. Reading tables and writing schemas do not belong here.
"""
