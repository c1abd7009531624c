"""The papers that the project implements, run again with its own parts: `make papers`.

registry: the papers by number. findings: published and our figures of a part, a verdict, and expectations. running:
runs the parts of a paper with progress. writing: tables, pictures and pages. chance: numbers under a public key.
learning: models and synthetic tables by the project's learners. bindschaedler: document 000, plausible deniability.
park: document 001, perturbed Gibbs samplers. onthemap: document 002, commuting flows. charest: document 003, several
synthetic sets. lecture: document 004, attacks, noise and synthetic data.

To add a paper, write a room with a `Paper`, and add a line to the registry. Figures are computed by the project's
mathematics, from public or made-up data only. Nothing imports these rooms.
"""
