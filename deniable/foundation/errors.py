"""Errors, with messages that are safe to show to anyone who runs a release.

A message states what must hold, what was received and what to do. It never quotes a confidential value.
"""


class DeniableError(Exception):
    """Base class of errors whose message may be shown unchanged."""


class InvalidInput(DeniableError, ValueError):
    """An argument, a spec, a schema or a source that cannot be used."""


class Refused(DeniableError):
    """A valid request that must not be carried out."""
