"""Samplers: they make records from a model, and may pay for that. One folder each.

seedless: from the model alone. tested_seeds: from people, each candidate tested for plausible deniability.
histogram_seeds: from a noisy histogram of prefixes. registry: the samplers by the guarantee; a new one is a folder and
a line there. entry: what their entries of a release spec have in common. words: what each says of itself where no
template can. In each folder, `spec` is the entry, `sampler` how it draws, `verification` what a record must say of it.
"""
