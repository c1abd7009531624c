"""The rehearsal of a release on public records, before epsilon is spent.

stand_ins: the public records that stand for the confidential ones. rehearsal: the flow, which draws and judges releases
of them at several epsilons.
"""
