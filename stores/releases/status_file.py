"""Writes the status file: which public releases still hold, as the ledger says, signed beside their folders."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.entries import Entry, Publication, Standing, StandingWord
from deniable.record.attestation import Envelope
from deniable.record.standing import STATUS_FILE, ReleaseStanding, Status
from stores.keys.signed_record import signed_now
from stores.keys.signing_keys import signing_key
from stores.ledger.ledger import StandingsInLedger, ledger_place
from stores.ledger.state_ledger import state_ledger
from stores.own_files import read_own
from stores.vault.actors import operator
from stores.vault.disk import replace_whole

FRESH_DAYS = 90
"""How long a status file should be relied on, unless the command says otherwise."""
MOST_FRESH_DAYS = 3660
_DAY = len("2026-11-20")


def status_file_place(state: Path) -> Path:
    """Where the status file is, next to the folders of the releases."""
    return state / "releases" / STATUS_FILE


def standings_of(state: Path) -> tuple[ReleaseStanding, ...]:
    """Whether each public release of a ledger still holds, in the order of publication.

    Raises:
        Refused: there is no ledger, or it does not hold.
    """
    return _standings(_read(state))


def write_status_file(state: Path, fresh_days: int | None = None) -> Path:
    """Sign the status file, and put it in the place of the one before.

    Args:
        state: the state folder.
        fresh_days: for how many days the file should be relied on; by default, for as many as the one before.

    Returns:
        Its path.

    Raises:
        InvalidInput: the number of days is out of range.
        Refused: nothing is public yet, or there is no ledger.
    """
    if fresh_days is None:
        fresh_days = _days_of(status_file_place(state))
    if not 1 <= fresh_days <= MOST_FRESH_DAYS:
        raise InvalidInput(f"a status file is relied on for 1 to {MOST_FRESH_DAYS} days, got {fresh_days}.")
    read, key = _read(state), signing_key(state)
    if not read.releases or read.head is None:
        raise Refused("a status file is about public releases, and the ledger knows of none; publish one first.")
    signed = signed_now(key)
    status = Status(
        ledger=read.ledger,
        entries=read.head.number + 1,
        head=read.head.digest,
        fresh_until=f"{datetime.now(UTC) + timedelta(days=fresh_days):%Y-%m-%d}",
        releases=_standings(read),
        signed={"time": signed.time, "keyid": signed.keyid},
    )
    place = status_file_place(state)
    place.parent.mkdir(parents=True, exist_ok=True)
    replace_whole(place, key.sign(status.to_payload()).to_text())
    place.chmod(0o644)  # it is public, like the folders beside it
    return place


def renew_status_file(state: Path) -> Path | None:
    """Write the status file again if there is one, so that it lists what was published since."""
    return write_status_file(state) if status_file_place(state).is_file() else None


def decide_standing(state: Path, release: str, standing: StandingWord, reason: str, successor: str = "") -> Standing:
    """Note in the ledger whether a public release still holds, and write the status file.

    Args:
        state: the state folder.
        release: the release's name.
        standing: the decision.
        reason: the reason, for the public.
        successor: the release that replaces it, if it is superseded.

    Raises:
        InvalidInput: there is no reason.
        Refused: no such release is public, or the decision does not follow from the one before.
    """
    said = " ".join(reason.split())
    if not said:
        raise InvalidInput("a decision on a release has a reason, which is published; say why with --reason.")
    _read(state)
    decided = state_ledger(state).decide_standing(release, standing, by=operator(), reason=said, successor=successor)
    write_status_file(state)
    return decided


def _days_of(place: Path) -> int:
    """For how many days a status file was to be relied on when it was signed; the usual number if there is none."""
    try:
        status = Status.from_envelope(Envelope.from_text(read_own(place)))
        days = (date.fromisoformat(status.fresh_until) - date.fromisoformat(status.signed["time"][:_DAY])).days
    except (OSError, ValueError, InvalidInput):
        return FRESH_DAYS
    return days if 1 <= days <= MOST_FRESH_DAYS else FRESH_DAYS


def _read(state: Path) -> StandingsInLedger:
    place = ledger_place(state)
    if isinstance(place, Path) and not place.exists():
        raise Refused("the ledger of public releases must be in the state folder, and there is none; name another.")
    return state_ledger(state).standings()


def _standings(read: StandingsInLedger) -> tuple[ReleaseStanding, ...]:
    return tuple(_standing(*each) for each in read.releases)


def _standing(published: Entry, publication: Publication, decided: Sequence[tuple[Entry, Standing]]) -> ReleaseStanding:
    ended = [(entry, fact) for entry, fact in decided if fact.standing != "reviewed"]
    reviewed = [entry.time for entry, fact in decided if fact.standing == "reviewed"]
    last = ended[-1][1] if ended else None
    return ReleaseStanding(
        dataset=publication.dataset,
        release=publication.release,
        table=publication.output,
        published=published.time,
        standing="in force" if last is None or last.standing == "reviewed" else last.standing,
        since=ended[-1][0].time if ended else published.time,
        reason=last.reason if last else "",
        successor=last.successor if last else "",
        reviewed=reviewed[-1] if reviewed else "",
    )
