"""Linear classifiers of codes: logistic regression and a support vector machine with Huber's loss.

losses: convex losses of the margin. records: a table as vectors of bounded norm. minimising: the minimiser of a
regularized loss. classifier: one against the others for several labels, as evaluations use them. size: how many numbers
a record has.
"""
