"""Records from the model alone: they cost nothing that the model did not cost.

spec: its entry of a release spec. sampler: how it draws. verification: it takes no step that costs. words: what it says
of itself.
"""
