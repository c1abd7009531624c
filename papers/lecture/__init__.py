"""Document 004: a lecture on the privacy of data, its attacks and its remedies; every example of its slides.

made_up, learning: words under a fixed key, and tables learnt with them. queries: sensitivities, differencing, auditing,
composition, consistency.
reconstruction: a table from its statistics. linkage: Weld, Netflix, membership. local: two coins, count-mean sketch.
synthesis: Private-PGM and DataSynthesizer's modes. report: the figures of a modern report. pictures: the drawings.
paper: the paper.
"""
