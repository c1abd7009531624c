"""Origins of workers given their destination: Dirichlet-multinomial synthesis of commuting flows (OnTheMap).

Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber 2008. The origins of a destination's workers are drawn from a Polya urn
of exact counts, and every draw is charged. README.md states its guarantee, and the differences from the paper.

spec: its entry in a release spec. bounds: prior weights that give a guarantee. domain_sampling: what it adds to their
cost. plan: the urns of all destinations.
steps: its public products. draws: the counts and the draws. verification: the requirements on steps and draws.
"""
