"""Roles of the steps that a release is charged for: the names by which plan, ledger, record and pages know them.

What a step does in its role, and what it costs, belongs to the mechanisms. Steps without a cost have no role; their
names are in deniable.verification.lineage.
"""

from enum import StrEnum


class Role(StrEnum):
    """The role of a step; its value is the name of the step in ledger and record, which never changes."""

    STRUCTURE = "learn_structure"
    """Learns which attributes depend on which, or lists the urns to draw from."""
    PARAMETERS = "learn_parameters"
    """Learns the probabilities of the model."""
    HISTOGRAM = "noise_seeds"
    """Counts the prefixes of the seeds, with noise."""
    ATTEMPTS = "attempt_seeds"
    """Makes a random number of attempts for each seed."""
    CANDIDATES = "synthesize"
    """Draws candidates, whose privacy test is charged; in a release without a test, records, at no cost."""
    DRAWS = "draw_records"
    """Draws records from exact counts, each of them charged."""
