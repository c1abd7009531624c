"""Document 003: Charest 2010, several synthetic sets of a binary attribute under differential privacy.

published: the printed numbers. surveys: the law of a survey and its sets, exact or drawn. rules, posteriors: the parts,
with their pictures in pictures. paper: the paper.
"""
