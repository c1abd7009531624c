"""What was changed, added or deleted in MLflow's runs of a release since the list of them was signed, named one by one.

The signed list has digests alone, so what stood there before cannot be said. What stands there now is said where it is
a short text or number that is not internal. Making the list does not belong here (run_tree).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from deniable.foundation.checks import printable
from schemas.references import Audience
from stores.tracking.run_tree import Listing

_LIFECYCLE, _DELETED = "lifecycle stage", "deleted"
_ENTRY = re.compile(r"entry \d+ of (metric .*)", re.DOTALL)
_SHOWN = re.compile(r"(parameter|tag|metric) .*|name|status|user|stage|source|run|(start|end|creation) time", re.DOTALL)
_LONGEST = 60

Digests = Mapping[str, str]


def changes(signed: Digests, now: Listing, titles: Mapping[str, str]) -> list[str]:
    """Name each difference between the signed list and what there is now.

    Args:
        signed: digest of each thing as it was signed, by its place.
        now: what there is now.
        titles: what owners are called in sentences, in the order in which they come.

    Returns:
        The differences, a sentence each without its full stop.
    """
    return [printable(difference) for difference in _Comparison(signed, now, titles).differences()]


@dataclass(frozen=True)
class _Comparison:
    """The signed list and the one of now."""

    signed: Digests
    now: Listing
    titles: Mapping[str, str]

    def differences(self) -> Iterator[str]:
        before, after = _by_owner(self.signed), _by_owner(self.now.items)
        order = list(self.titles)
        experiment_deleted = False
        for owner in sorted(before, key=lambda owner: _position(owner, order)):
            here = self._title(owner)
            if owner not in after:
                yield f"{here} is gone: it was deleted for good, or no longer lies below the release"
                continue
            deleted = self._is_deleted(owner)
            if deleted and before[owner].get(_LIFECYCLE) != after[owner].get(_LIFECYCLE):
                if owner.startswith("experiment "):
                    experiment_deleted = True
                    yield f"{here} was deleted, and all its runs with it; MLflow hides them"
                elif not experiment_deleted:
                    yield f"{here} was deleted; MLflow hides it"
            yield from self._in_owner(owner, before[owner], after[owner], but=_LIFECYCLE if deleted else "")
        for owner in sorted(after.keys() - before.keys()):
            yield f"{self._title(owner)} was added"

    def _in_owner(self, owner: str, before: Digests, after: Digests, but: str) -> Iterator[str]:
        """The differences within a run, a model or a version."""
        metrics = {found[1] for what in {**before, **after} if (found := _ENTRY.fullmatch(what))}
        for what in sorted(before.keys() | after.keys() | metrics):
            place = f"{what} of {self._title(owner)}"
            if what in metrics:
                yield from self._in_metric(f"{owner}/{what}", place, what, before, after)
            elif what == but or _ENTRY.fullmatch(what) or before.get(what) == after.get(what):
                continue
            elif what not in after:
                yield f"{place} was deleted"
            else:
                deed = "changed" if what in before else "added"
                yield f"{place} was {deed}{self._shown(f'{owner}/{what}', what)}"

    def _in_metric(self, key: str, place: str, what: str, before: Digests, after: Digests) -> Iterator[str]:
        """The differences in a metric: what is shown of it, and its history."""
        then, today = _entries(before, what), _entries(after, what)
        more, less = (today - then).total(), (then - today).total()
        altered = min(more, less)
        shown = self._shown(key, what) if before.get(what) != after.get(what) else ""
        if not today:
            yield f"{place} was deleted"
        elif what in before and what not in after:
            yield f"{place} is hidden: its entries are there, and MLflow shows no value"
        elif not then:
            yield f"{place} was added{shown}"
        elif more or less or shown:
            found = [
                f"has {_counted(more - altered)} more" if more > altered else "",
                f"has {_counted(less - altered)} less" if less > altered else "",
                f"has {_counted(altered)} that {'was' if altered == 1 else 'were'} changed" if altered else "",
                "does not show what it did" if not (more or less) else "",
            ]
            yield f"{place} {' and '.join(filter(None, found))}{shown}"

    def _title(self, owner: str) -> str:
        """What a run, a model, a version of a model or an experiment is called in a sentence."""
        if owner in self.titles:
            return self.titles[owner]
        kind, _, name = owner.partition(" ")
        if kind == "run":
            return f"run {self.now.names.get(owner, '')} ({name})"
        if kind == "version":
            return "version {1} of the registered model {0}".format(*name.rsplit(" ", 1))
        return "the experiment" if kind == "experiment" else owner

    def _is_deleted(self, owner: str) -> bool:
        return self.now.shown.get(f"{owner}/{_LIFECYCLE}") == _DELETED

    def _shown(self, key: str, what: str) -> str:
        """What stands in a place now, where everybody who reads an audit may know it."""
        value = self.now.shown.get(key)
        internal = f" {Audience.INTERNAL}/" in what
        if value is None or internal or len(value) > _LONGEST or "\n" in value or not _SHOWN.fullmatch(what):
            return ""
        return f"; it is now {_time(value) if what.endswith(' time') else value or '(empty)'}"


def _by_owner(items: Digests) -> dict[str, dict[str, str]]:
    owners: dict[str, dict[str, str]] = {}
    for place, digest in items.items():
        owner, _, what = place.partition("/")
        owners.setdefault(owner, {})[what] = digest
    return owners


def _position(owner: str, order: Sequence[str]) -> tuple[bool, int, str]:
    """Where an owner comes: experiments first, runs in their order, then all others by their names."""
    at = order.index(owner) if owner in order else len(order)
    return not owner.startswith("experiment "), at, owner


def _entries(digests: Digests, metric: str) -> Counter[str]:
    """The history of a metric, whatever its order."""
    return Counter(
        digest for what, digest in digests.items() if (found := _ENTRY.fullmatch(what)) and found[1] == metric
    )


def _counted(entries: int) -> str:
    return "an entry" if entries == 1 else f"{entries} entries"


def _time(milliseconds: str) -> str:
    """A time as MLflow counts it, by Coordinated Universal Time."""
    try:
        return f"{datetime.fromtimestamp(int(milliseconds) / 1000, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    except (ValueError, OverflowError, OSError):
        return milliseconds
