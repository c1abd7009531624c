"""Checks by a status file whether a release still holds."""

from dataclasses import replace

from deniable.foundation.checks import Check
from deniable.foundation.errors import DeniableError
from deniable.record.attestation import Envelope
from deniable.record.standing import STATUS_FILE, Status
from deniable.verification.release import Trust, signature_check

STANDS = "the release was not withdrawn"
_DAY = len("2026-11-20")


def check_standing(content: bytes, trust: Trust, release: str, tables: frozenset[str], today: str) -> Check:
    """Check by a status file that a release was not withdrawn.

    A file that is out of date, or that was written before the release, shows nothing: the check is then not made. A
    file that states that the release was withdrawn counts however old it is, because that is never taken back.

    Args:
        content: content of the status file.
        trust: the keys whose signatures are accepted.
        release: the release's name, from its record.
        tables: digests of the files that its record states.
        today: the current day, such as 2026-12-31.
    """
    try:
        envelope = Envelope.from_text(content)
        status = Status.from_envelope(envelope)
    except DeniableError as error:
        return Check(STANDS, (f"{STATUS_FILE}: {error}",))
    signature = signature_check(envelope, {"signed": status.signed}, trust, STATUS_FILE)
    return replace(signature, name=STANDS) if signature.faults else _found(status, release, tables, today)


def _found(status: Status, release: str, tables: frozenset[str], today: str) -> Check:
    """What a status file that was signed by a trusted key says."""
    file, standing = f"the status file of {status.signed['time'][:_DAY]}", status.of(release)
    if standing is None:
        return Check(STANDS, (), f"{file} does not list it; ask for a later one", made=False)
    if standing.table not in tables:
        return Check(STANDS, (f"{file} lists {release} with another table",))
    if standing.standing == "withdrawn":
        return Check(STANDS, (f"{release} was {standing.in_words}",))
    if status.fresh_until < today:
        late = f"{file} was to be relied on until {status.fresh_until}; ask for a later one"
        return Check(STANDS, (), late, made=False)
    return Check(STANDS, (), f"{standing.in_words}, by {file}")
