"""Recovers a ledger that was lost or replaced: rebuilt from copies and signed records, or accepted by a person.

Every recovery is recorded in the ledger itself, with the person and the reason. Proved charges are entered in any case:
a charge in a record is charged again if its entry is missing.
"""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from deniable.foundation.errors import InvalidInput, Refused
from deniable.ledger.budget import cost_of
from deniable.ledger.entries import Approver, Policy, Recovery
from deniable.ledger.verification import records_of, verify
from schemas.regular_files import opened_regular
from stores.keys.custodian_key import custodian_key
from stores.ledger.anchor import Anchor, difference
from stores.ledger.database import LedgerDatabase, entry_rows, insert_lines
from stores.ledger.evidence import Proof, Shown, Witnesses
from stores.ledger.gate import books_of, missing_in
from stores.ledger.ledger import Ledger, kept_lines, ledger_place
from stores.vault.lease import leased, turn

_SQLITE = b"SQLite format 3"
_ACCEPT = "--accept takes the ledger as it is, and records that in it"


def recover(state: Path, copies: Sequence[Path], *, by: str, reason: str, accept: bool) -> list[str]:
    """Make a state folder and its ledger consistent again.

    Args:
        state: the state folder; none of its releases may be in progress.
        copies: exports of the ledger, or ledgers from backups.
        by: the person who does it.
        reason: the reason, in their words.
        accept: whether to accept the loss of entries that no copy has, or a different ledger.

    Returns:
        What was done, in words.

    Raises:
        Refused: it cannot be rebuilt from the available material, and is not to be accepted; nothing was changed.
        InvalidInput: a copy cannot be read.
    """
    if not reason.strip():
        raise InvalidInput("the recovery of a ledger must have a reason, got none; give it with --reason.")
    place, anchor = ledger_place(state), Anchor(state)
    with ExitStack() as kept:
        kept.enter_context(turn(state, "recovery"))
        for vault in sorted((state / "vault").glob("*/")):
            kept.enter_context(leased(vault))
        known, there = anchor.lines(), kept_lines(place)
        sources = (
            {}
            if accept and not copies
            else {str(anchor.place): known} | {str(copy): _read(copy, state) for copy in copies}
        )
        whole = _rebuilt(there, sources, str(place))
        witnesses = Witnesses(state)
        shown = witnesses.shown()
        missing = [proof for proof, _ in missing_in(books_of(whole), witnesses.proofs())]
        lost = _lost(missing, shown)
        _require_covered(known, whole, lost, accept=accept)
        if difference(known, there) is None and not missing and anchor.exists and len(whole) == len(there):
            return [f"The ledger holds the {len(known)} entries that {state} knows of; there is nothing to recover."]
        _bring_back(place, there, whole)
        ledger = Ledger.open(place, custodian=partial(custodian_key, state))
        ledger.recover(
            Recovery(
                set_by=by,
                reason=reason,
                known=len(known),
                known_head=_head(known),
                found=len(there),
                found_head=_head(there),
                restored=len(whole) - len(there),
                accepted=accept,
                given_up=tuple(sorted({proof.lost_as for proof in lost})),
            )
        )
        again = _charge_again(ledger, shown if missing else Shown(), by)
        _admit_again(ledger, shown.approvers if missing else ())
        anchor.replace(kept_lines(place))
    said = (
        f"{len(whole) - len(there)} entries were restored from copies, and {again} charges from signed records and "
        f"notes; the ledger at {ledger.place} records who recovered it and why."
    )
    return [said, *([f"Accepted: entries that {state} knows of, or proves, may be lost."] if accept else [])]


def _read(copy: Path, state: Path) -> list[str]:
    """The entries of a copy: an export, or a ledger's file from a backup, which is left unchanged."""
    try:
        with opened_regular(copy, "a copy of the ledger") as file:
            start = file.read(len(_SQLITE))
            if start != _SQLITE:
                return [line for line in (start + file.read()).decode().split("\n") if line]
        with TemporaryDirectory(dir=state) as folder:
            return kept_lines(shutil.copyfile(copy, Path(folder) / "ledger.db"))
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(
            f"a copy of the ledger must be an export or a ledger's file, got {copy}, which cannot be read as one."
        ) from None


def _rebuilt(there: list[str], sources: Mapping[str, list[str]], place: str) -> list[str]:
    """The longest sequence of entries in the ledger and its copies.

    Raises:
        Refused: a copy fails verification, or they contradict each other.
    """
    whole, of = there, place
    for name, lines in sources.items():
        report = verify(records_of(lines)) if lines else None
        if report is not None and not report.holds:
            raise Refused(f"a ledger must be rebuilt from copies that hold, and {name} does not: {report.verdict}")
        if len(lines) > len(whole):
            whole, of = lines, name
    for name, lines in {place: there, **sources}.items():
        if difference(lines, whole) is not None:
            raise Refused(
                f"a ledger must be rebuilt from copies of one ledger, and {name} and {of} contradict each other; move "
                f"the invalid one away, or name another place in DENIABLE_LEDGER. Without --from, {_ACCEPT}."
            )
    return whole


def _lost(missing: Sequence[Proof], shown: Shown) -> list[Proof]:
    """The proofs of charges that nothing shows, so that they cannot be entered again."""
    known = {charge.commitment for charge in shown.charges} | {charge.release for charge in shown.charges}
    return [proof for proof in missing if proof.lost_as and proof.lost_as not in known]


def _require_covered(known: list[str], whole: list[str], lost: Sequence[Proof], *, accept: bool) -> None:
    """Refuse to continue if a charge is known to be lost and the loss is not accepted."""
    fault = difference(known, whole) if known else None
    if accept or (fault is None and not lost):
        return
    if fault is not None:
        raise Refused(
            f"the ledger must be rebuilt with all {len(known)} entries that are known, got {fault}; {_ACCEPT}."
        )
    raise Refused(
        f"the ledger must be rebuilt with all charges, and the charges of {lost[0].release} are in no copy and in no "
        f"record; give an export with --from FILE, or {_ACCEPT}."
    )


def _bring_back(place: str | Path, there: list[str], whole: list[str]) -> None:
    """Append the missing entries to the database."""
    database = LedgerDatabase.at(place)
    with database.writing() as connection:
        if entry_rows(connection, 0) != there:
            raise Refused("no process may use a ledger during its recovery, and one has; try again.")
        insert_lines(connection, whole[len(there) :])


def _charge_again(ledger: Ledger, shown: Shown, by: str) -> int:
    """Make the charges that witnesses show but that are not in the ledger; return their number."""
    made = {charged.charge.identity for charged in ledger.charges()}
    fresh = [charge for charge in shown.charges if charge.identity not in made]
    for dataset in sorted({charge.dataset for charge in fresh}):
        own = [charge for charge in fresh if charge.dataset == dataset]
        if dataset not in ledger.datasets():
            # If the budget is unknown, there is room for the amount already spent.
            spent = cost_of(own, "total")
            limit = type(spent)(epsilon=max(spent.epsilon, Fraction(1, 10**60)), delta=min(spent.delta, Fraction(1)))
            known = shown.policies.get(dataset)
            # The custodian signs it anew: a signature holds in one place of one ledger.
            unknown = Policy(dataset=dataset, limit=limit, set_by=f"{by}, recovering")
            ledger.set_policy(replace(known, signature="") if known else unknown)
        for charge in own:
            ledger.restore(charge)
    return len(fresh)


def _admit_again(ledger: Ledger, shown: Sequence[Approver]) -> None:
    """Admit and revoke the approvers' keys that witnesses show and the ledger lacks, signed again."""
    for approver in shown:
        before = ledger.proven_books().approvers.get(approver.public)
        if before is None and approver.revoked_as:
            ledger.enter_signed(replace(approver, revoked_at="", revoked_as="", signature=""))
            before = ledger.proven_books().approvers[approver.public]
        if before is None or before.may_become(approver):
            ledger.enter_signed(replace(approver, signature=""))


def _head(lines: Sequence[str]) -> str:
    """Digest of the last entry; empty if there is none."""
    return verify(records_of(lines[-1:])).head if lines else ""
