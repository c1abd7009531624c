"""Mutants that are made from the sources: every operator is tried at every place of the privacy core that it fits.

core: the sources of each mechanism. operators: the kinds of faults, as replacements of one expression. generating: all
mutants, each with a name that outlives changes elsewhere. reach: which tests run which functions. choosing: the tests
of a mutant, the fastest first. trying: runs them. equivalents: mutants that change no distribution, with proofs.
scores: figures for each mechanism, and their section of the page.
"""
