"""Records drawn from exact counts that are never released: the privacy is in the draw, and every draw is charged.

The number of records is fixed before data are read, and all draws are charged before the first is made. What is
counted, how records are drawn, and what a draw costs are the learner's (its module `draws`). Decision 26 gives the
reasons.

spec: its entry in a release spec. sampler: it counts, charges all draws, and makes them. verification: what its step
must do. words: its texts outside templates.
"""
