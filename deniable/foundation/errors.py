"""What goes wrong, in sentences that are safe to show to anyone who runs a release.

A message says what must hold, what was got and what to do. It never quotes a confidential value.
"""


class DeniableError(Exception):
    """Base of every failure whose message may be shown as it is."""


class InvalidInput(DeniableError, ValueError):
    """An argument, a spec, a schema or a source that cannot be used."""


class Refused(DeniableError):
    """A request that is understood and must not be carried out."""
