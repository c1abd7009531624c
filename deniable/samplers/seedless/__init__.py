"""Records from the model alone, at no cost beyond that of the model.

spec: its entry in a release spec. sampler: its draws. verification: it has no step with a cost. words: its texts
outside templates.
"""
