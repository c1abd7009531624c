"""The life of a release: its stages, which may follow on which, and what shows the stage of a release.

The rules, all of them:

- A release *begins* when its vault notes it. Until its first charge it may be discarded without a trace.
- It is *charged* once the ledger has a charge for it: from then on nothing is refunded, and what was drawn is kept, so
  that the same command resumes it and pays nothing again.
- It is *held* if its policy or its figures require a person, who approves or refuses the candidate that was reviewed.
  A candidate that changes after its approval is held again. What a person refused is never published; what the policy
  refuses is held once the policy permits it.
- It is *published* as a whole, by one move of its folder. It cannot be discarded from then on.
- It is *sealed* once its report and the internal record are signed, and *in force* once the command has reported it.
- A public release may be *superseded* by another of the same dataset, and *withdrawn*, at once or later. Both are
  entries of the ledger, which nobody takes back, and the status file states them to the public.

Who may decide belongs to stores.vault.decisions, what a charge requires to stores.ledger.gate, and the decisions about
public releases to deniable.ledger.standings.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from deniable.foundation.errors import Refused
from stores.ledger.charging import is_known_to_be_charged
from stores.ledger.database import LedgerUnavailable
from stores.ledger.ledger import ledger_place
from stores.ledger.state_ledger import state_ledger
from stores.releases.deciding import valid_decision
from stores.releases.resumable_releases import ResumableRelease, begun_releases, find_release
from stores.vault.decisions import decision_on
from stores.vault.lease import is_leased
from stores.vault.pending_approval import held_note


class Stage(StrEnum):
    """A stage in the life of a release."""

    BEGUN = "begun"
    CHARGED = "charged"
    HELD = "held"
    APPROVED = "approved"
    REFUSED = "refused"
    DISCARDED = "discarded"
    PUBLISHED = "published"
    SEALED = "sealed"
    IN_FORCE = "in force"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Rule:
    """What holds for releases in a stage.

    Attributes:
        shown_by: what shows that a release is in this stage.
        words: what is left to do before a command begins another release of the spec; empty if nothing is.
        then: the stages that may follow.
    """

    shown_by: str
    words: str
    then: tuple[Stage, ...]


_ENDED = (Stage.SUPERSEDED, Stage.WITHDRAWN)

LIFE: Mapping[Stage, Rule] = MappingProxyType(
    {
        Stage.BEGUN: Rule(
            "its note in the vault",
            "not finished, and nothing charged yet",
            (Stage.CHARGED, Stage.HELD, Stage.REFUSED, Stage.PUBLISHED, Stage.DISCARDED),
        ),
        Stage.CHARGED: Rule(
            "a charge in the ledger",
            "not finished, and charged",
            (Stage.HELD, Stage.REFUSED, Stage.PUBLISHED, Stage.DISCARDED),
        ),
        Stage.HELD: Rule(
            "the note on its candidate in the vault",
            "held: a person must approve or refuse it",
            (Stage.APPROVED, Stage.REFUSED, Stage.DISCARDED),
        ),
        Stage.APPROVED: Rule(
            "an approval of this candidate that counts",
            "approved, and not yet published",
            (Stage.HELD, Stage.PUBLISHED, Stage.DISCARDED),
        ),
        Stage.REFUSED: Rule(
            "a refusal, by a person or by the policy of its spec",
            "refused, and never to be published: discard it",
            (Stage.HELD, Stage.DISCARDED),
        ),
        Stage.DISCARDED: Rule("charges in the ledger without a vault", "", ()),
        Stage.PUBLISHED: Rule(
            "its folder among the releases",
            "published: its report and its seal are left",
            (Stage.SEALED, *_ENDED),
        ),
        Stage.SEALED: Rule("the end that its vault notes", "finished, not reported", (Stage.IN_FORCE, *_ENDED)),
        Stage.IN_FORCE: Rule("that this end was reported", "", _ENDED),
        Stage.SUPERSEDED: Rule(
            "the last decision about it in the ledger", "superseded, and its end not reported", (Stage.WITHDRAWN,)
        ),
        Stage.WITHDRAWN: Rule("the last decision about it in the ledger", "withdrawn, and its end not reported", ()),
    }
)
"""Each stage of a release, with what shows it and what may follow."""


def stage_of(state: Path, release_id: str) -> Stage:
    """The stage of a release, as vault, ledger and folder show it.

    A ledger that cannot be read at the moment may have charged the release, and is taken to have.

    Args:
        state: the state folder.
        release_id: the release's name.

    Raises:
        InvalidInput: no release of that name was started.
        Refused: its note in the vault cannot be read.
    """
    begun = find_release(state, release_id)
    if begun.finished:
        return _last_decision(state, release_id) or (Stage.IN_FORCE if begun.reported else Stage.SEALED)
    if (state / "releases" / release_id).exists():
        return Stage.PUBLISHED
    return _under_review(state, release_id) or (Stage.CHARGED if _may_be_charged(state, begun) else Stage.BEGUN)


def require_may_become(state: Path, release_id: str, stage: Stage) -> None:
    """Refuse a stage that may not follow on that of a release.

    Args:
        state: the state folder.
        release_id: the release's name.
        stage: the stage that would follow.

    Raises:
        InvalidInput: no release of that name was started.
        Refused: the stage may not follow, or the release's note cannot be read.
    """
    now = stage_of(state, release_id)
    if stage not in LIFE[now].then:
        before = [str(each) for each, rule in LIFE.items() if stage in rule.then]
        raise Refused(
            f"a release must be {', '.join(before[:-1])} or {before[-1]} to be {stage}, and {release_id} is {now}; "
            "it stays so."
        )


def left_in_words(state: Path) -> list[str]:
    """Describe each release that a command would resume, one line each; the oldest of a spec first."""
    lines = []
    for begun in begun_releases(state):
        if not begun.ended:
            left = LIFE[stage_of(state, begun.release_id)].words
            at_work = ", a command is working on it now" if is_leased(state / "vault" / begun.release_id) else ""
            lines.append(f"{begun.release_id}  of the dataset {begun.dataset}: {left}{at_work}")
    return lines


def _under_review(state: Path, release_id: str) -> Stage | None:
    """The stage of a release that was held or refused; None if it never was."""
    note = held_note(state, release_id)
    if note is None:
        return None
    decided = decision_on(state, note)
    if note.action == "refuse" or (decided is not None and decided.decision == "refused"):
        return Stage.REFUSED
    with suppress(LedgerUnavailable):
        if decided is not None and valid_decision(state, note) is not None:
            return Stage.APPROVED
    return Stage.HELD


def _may_be_charged(state: Path, begun: ResumableRelease) -> bool:
    return _has_ledger(state) and is_known_to_be_charged(state, begun.dataset, begun.release_id) is not False


def _last_decision(state: Path, release_id: str) -> Stage | None:
    """What was decided about a public release; None if it is in force."""
    if not _has_ledger(state):
        return None
    for _, publication, decided in state_ledger(state).standings().releases:
        if publication.release == release_id:
            words = [fact.standing for _, fact in decided if fact.standing != "reviewed"]
            return Stage(words[-1]) if words else None
    return None


def _has_ledger(state: Path) -> bool:
    """Whether there is a ledger; asking for it would make one."""
    place = ledger_place(state)
    return not isinstance(place, Path) or place.exists()
