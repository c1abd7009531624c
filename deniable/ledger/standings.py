"""The public releases of a ledger, and what was decided about each: reviewed, superseded or withdrawn.

Whether entries form a chain does not belong here (state), nor what the public reads (deniable.record.standing).
"""

from deniable.ledger.entries import Entry, Publication, Standing, StandingWord

FOLLOWS: dict[StandingWord | None, tuple[StandingWord, ...]] = {
    None: ("reviewed", "superseded", "withdrawn"),
    "reviewed": ("reviewed", "superseded", "withdrawn"),
    "superseded": ("withdrawn",),
    "withdrawn": (),
}
"""The decisions that may follow on the last one about a release, or on its publication."""


class Standings:
    """The public releases and the decisions about them, in the order of their entries.

    Attributes:
        published: the public releases, by id.
    """

    def __init__(self) -> None:
        self.published: dict[str, Publication] = {}
        self._entries: dict[str, Entry] = {}
        self._decided: dict[str, list[tuple[Entry, Standing]]] = {}

    def publish(self, entry: Entry, publication: Publication) -> None:
        """Take the entry that published a release."""
        self.published[publication.release] = publication
        self._entries[publication.release] = entry

    def decide(self, entry: Entry, standing: Standing) -> None:
        """Take the entry of a decision about a release, in which `fault_of` finds no fault."""
        self._decided.setdefault(standing.release, []).append((entry, standing))

    def last(self, release: str) -> StandingWord | None:
        """The last decision about a release; None if there was none."""
        decided = self._decided.get(release)
        return decided[-1][1].standing if decided else None

    def listed(self) -> tuple[tuple[Entry, Publication, tuple[tuple[Entry, Standing], ...]], ...]:
        """For each release, in the order of publication: the entry of that, its fact, and the decisions in order."""
        return tuple(
            (self._entries[name], publication, tuple(self._decided.get(name, ())))
            for name, publication in self.published.items()
        )

    def fault_of(self, standing: Standing) -> str | None:
        """Why a decision cannot be made, as a sentence without its end; None if it can.

        Only a public release is decided upon. A withdrawn release stays so. One that was superseded can still be
        withdrawn. What replaces it is another public release of the same dataset, which still holds.
        """
        release, before = standing.release, self.last(standing.release)
        if not self._is_public(release, standing.dataset):
            return f"release {release} of dataset {standing.dataset} is not public"
        if standing.standing not in FOLLOWS[before]:
            return f"release {release} was {before} before, and cannot be {standing.standing} now"
        return self._fault_of_successor(standing) if standing.successor else None

    def _fault_of_successor(self, standing: Standing) -> str | None:
        successor = standing.successor
        if successor == standing.release:
            return f"release {successor} cannot replace itself"
        if not self._is_public(successor, standing.dataset):
            return f"release {successor} of dataset {standing.dataset} is not public, and cannot replace another"
        if (last := self.last(successor)) in {"superseded", "withdrawn"}:
            return f"release {successor} was {last} before, and cannot replace another"
        return None

    def _is_public(self, release: str, dataset: str) -> bool:
        public = self.published.get(release)
        return public is not None and public.dataset == dataset
