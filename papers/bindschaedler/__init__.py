"""Document 000: Bindschaedler, Shokri, Gunter 2017, plausible deniability, on their own public records.

published: the printed numbers, the authors' graph. people: the records, or made-up ones. releases: models and synthetic
tables, by the project's learners and samplers. comparing: the tables that are compared. attributes, accuracy,
distances, speed, passing, trained, private_training: the parts, with their pictures in pictures. controls: all figures
of the evaluation, of a copy and of shuffled records. erm: private training of linear classifiers (DP-ERM). paper: the
paper.
"""
