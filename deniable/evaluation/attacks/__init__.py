"""Attacks, by which risk is measured: each module declares one, as ATTACK (`deniable.evaluation.contract`).

`deniable.evaluation.registry` lists the modules. The computations are in `deniable.evaluation.disclosure`; contrasts
names the figures of people used and of people not used.
"""
