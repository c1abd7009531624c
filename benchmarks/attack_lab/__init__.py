"""The attack lab: what attackers find in releases of public and made-up tables, beside what the releases claim.

shadows: who sees the records alone, and knows everyone else. canaries: one run with many people who may be in it.
faults: faults that were published about other programs, put into this one. lab: all of them, and the page.
"""
