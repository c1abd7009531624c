"""Records that start from seeds with a certain number of plausible seeds, and records of the model beside them.

The mathematics is in deniable.plausible_deniability (poisson_attempts, pass_law). spec: its entry in a release spec.
sampler: indexes seeds, charges all attempts, makes them, fills up and rakes. verification: the requirements on its
step. words: its texts outside templates. designs: what a total buys, before any data.
"""
