"""Entropy l-diversity: the Gibbs sampler of `pegs` with just enough prior mass that each row is diverse. Not private.

Park, Ghosh, Shankar 2013, section 5. How random a draw is depends on the counts, so that there is no differential
privacy; a spec must accept that. README.md says what the method does, and what it does not protect.

spec: its entry in a release spec. plan: the charge, delta 1. diversity: the prior mass of a row. steps: what is made
public. draws: what is counted, and the draws. verification: what its steps and draws must do.
"""
