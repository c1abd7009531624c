"""Records drawn from exact counts that are never released: the draws provide the privacy, and each is charged.

The number of records is fixed before data are read, and all draws are charged before the first is made. The counts,
the draws and their cost are defined by the learner (its module `draws`). Decision 26 gives the reasons.

spec: its entry in a release spec. sampler: counts, charges all draws, and makes them. verification: the requirements
on its step. words: its texts outside templates.
"""
