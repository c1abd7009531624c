"""Samplers draw records from a model, some of them at a cost. Each has its own folder.

seedless: from the model alone. tested_seeds: from seeds, with each candidate tested for plausible deniability.
poisson_seeds: from seeds, each with a certain number of plausible seeds. histogram_seeds: from a noisy histogram of
prefixes. per_draw: from exact counts that are not released, charging every draw. registry: the samplers by guarantee; a
new sampler is a folder and a line there. entry: the common part of their entries in a release spec. words: their texts
outside templates. rows_of_prefixes: how many rows can share a prefix, as far as spec and schema tell it. mapped:
some of them on R-U maps. In each folder, `spec` is the entry, `sampler` draws, and `verification` states what a record
must contain.
"""
