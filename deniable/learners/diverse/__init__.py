"""Entropy l-diversity: the Gibbs sampler of `pegs` with just enough prior mass to make each row diverse. Not private.

Park, Ghosh, Shankar 2013, section 3.3. The randomness of a draw depends on the counts, so there is no differential
privacy; a spec must accept this. README.md describes the method and its limits.

spec: its entry in a release spec. plan: the charge, delta 1. diversity: the prior mass of a row. steps: its public
products. draws: the counts and the draws. verification: the requirements on steps and draws.
"""
