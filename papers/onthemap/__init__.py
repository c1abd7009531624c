"""Document 002: Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber 2008, commuting flows (OnTheMap).

published: the printed numbers. states: the workers of a state, or a made-up one. methods: ways to draw origins.
data: the workers. commuting: the figures, with their pictures in pictures. sampling: domain sampling with the weights
of Theorem 4.4. attributes: workers' attributes as further tables. paper: the paper.
"""
