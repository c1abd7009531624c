"""Document 002: Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber 2008, commuting flows (OnTheMap).

published: the printed numbers. states: the workers of a state, or a made-up one. methods: ways to draw origins.
commuting: the parts, with their pictures in pictures. paper: the paper.
"""
