"""Changes, additions and deletions in MLflow's runs of a release since their list was signed, one by one.

Digests alone decide what differs. The signed list contains nothing else, so earlier values are unknown; the current
value is given if it is a short text or number that is not internal. Creating the list does not belong here (run_tree).
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
    """List the differences between the signed list and the current content.

    Args:
        signed: digest of each item when it was signed, by its place.
        now: the current content.
        titles: names of owners in sentences, in their order.

    Returns:
        The differences, one sentence each, without a full stop.
    """
    return [printable(difference) for difference in _Comparison(signed, now, titles).differences()]


def foreign(signed: Digests, now: Listing) -> list[str]:
    """List the runs, models and versions that claim to belong to a release although the signed list has none of them.

    Args:
        signed: digest of each item when it was signed, by its place.
        now: the current content.

    Returns:
        One sentence each, without a full stop.
    """
    comparison = _Comparison(signed, now, {})
    added = _by_owner(now.items).keys() - _by_owner(signed).keys()
    return [
        printable(f"{comparison.title(owner)} claims to be of the release, and is foreign to it")
        for owner in sorted(added)
        if not _is_shared(owner)
    ]


@dataclass(frozen=True)
class _Comparison:
    """The signed list and the current one."""

    signed: Digests
    now: Listing
    titles: Mapping[str, str]

    def differences(self) -> Iterator[str]:
        before, after = _by_owner(self.signed), _by_owner(self.now.items)
        order = list(self.titles)
        experiment_deleted = False
        for owner in sorted(before, key=lambda owner: _position(owner, order)):
            here = self.title(owner)
            if owner not in after:
                yield f"{here} is missing: it was deleted for good, or is no longer below the release"
                continue
            deleted = self._is_deleted(owner)
            if deleted and before[owner].get(_LIFECYCLE) != after[owner].get(_LIFECYCLE):
                if owner.startswith("experiment "):
                    experiment_deleted = True
                    yield f"{here} was deleted, and all its runs with it; MLflow hides them"
                elif not experiment_deleted:
                    yield f"{here} was deleted; MLflow hides it"
            yield from self._in_owner(owner, before[owner], after[owner], but=_LIFECYCLE if deleted else "")

    def _in_owner(self, owner: str, before: Digests, after: Digests, but: str) -> Iterator[str]:
        """The differences within a run, a model or a version."""
        said: set[str] = set()
        metrics = {found[1] for what in {**before, **after} if (found := _ENTRY.fullmatch(what))}
        for what in sorted(before.keys() | after.keys() | metrics):
            place = f"{what} of {self.title(owner)}"
            if what in metrics:
                differing = list(self._in_metric(f"{owner}/{what}", place, what, before, after))
                yield from differing
                # The time and step of the value that is shown are those of an entry.
                said |= {f"row of latest_metrics {what.removeprefix('metric ')}"} if differing else set()
            elif what in said or what == but or _ENTRY.fullmatch(what) or before.get(what) == after.get(what):
                continue
            elif what not in after:
                yield f"{place} was deleted"
            else:
                deed = "changed" if what in before else "added"
                yield f"{place} was {deed}{self._shown(f'{owner}/{what}', what)}"

    def _in_metric(self, key: str, place: str, what: str, before: Digests, after: Digests) -> Iterator[str]:
        """The differences in a metric: the value shown, and its history."""
        then, today = _entries(before, what), _entries(after, what)
        more, less = (today - then).total(), (then - today).total()
        altered = min(more, less)
        differs = before.get(what) != after.get(what)
        shown = self._shown(key, what) if differs else ""
        if not today:
            yield f"{place} was deleted"
        elif what in before and what not in after:
            yield f"{place} is hidden: its entries exist, but MLflow shows no value"
        elif not then:
            yield f"{place} was added{shown}"
        elif more or less or differs:
            found = [
                f"has {_counted(more - altered, 'additional ')}" if more > altered else "",
                f"lacks {_counted(less - altered)}" if less > altered else "",
                f"has {_counted(altered)} that {'was' if altered == 1 else 'were'} changed" if altered else "",
                "shows a different value" if not (more or less) else "",
            ]
            yield f"{place} {' and '.join(filter(None, found))}{shown}"

    def title(self, owner: str) -> str:
        """The name of a run, a model, a version of a model or an experiment in a sentence."""
        if owner in self.titles:
            return self.titles[owner]
        kind, _, name = owner.partition(" ")
        if kind == "run":
            return f"run {self.now.names.get(owner, '')} ({name})"
        if kind == "version":
            return "version {1} of the registered model {0}".format(*name.rsplit(" ", 1))
        if _is_shared(owner):
            return f"the {owner}"
        return "the experiment" if kind == "experiment" else owner

    def _is_deleted(self, owner: str) -> bool:
        return self.now.shown.get(f"{owner}/{_LIFECYCLE}") == _DELETED

    def _shown(self, key: str, what: str) -> str:
        """The current value at a place, if everyone who reads an audit may know it."""
        value = self.now.shown.get(key)
        internal = f" {Audience.INTERNAL}/" in what
        if value is None or internal or len(value) > _LONGEST or "\n" in value or not _SHOWN.fullmatch(what):
            return ""
        return f"; it is now {_time(value) if what.endswith(' time') else value or '(empty)'}"


def _is_shared(owner: str) -> bool:
    """Whether an owner is a registered model, which all releases of a dataset share."""
    return owner.startswith("registered model ")


def _by_owner(items: Digests) -> dict[str, dict[str, str]]:
    owners: dict[str, dict[str, str]] = {}
    for place, digest in items.items():
        owner, _, what = place.partition("/")
        owners.setdefault(owner, {})[what] = digest
    return owners


def _position(owner: str, order: Sequence[str]) -> tuple[bool, int, str]:
    """Sort key of an owner: experiments first, runs in their order, then all others by name."""
    at = order.index(owner) if owner in order else len(order)
    return not owner.startswith("experiment "), at, owner


def _entries(digests: Digests, metric: str) -> Counter[str]:
    """The history of a metric, regardless of order."""
    return Counter(
        digest for what, digest in digests.items() if (found := _ENTRY.fullmatch(what)) and found[1] == metric
    )


def _counted(entries: int, kind: str = "") -> str:
    return f"one {kind}entry" if entries == 1 else f"{entries} {kind}entries"


def _time(milliseconds: str) -> str:
    """A time in MLflow's milliseconds, written in Coordinated Universal Time."""
    try:
        return f"{datetime.fromtimestamp(int(milliseconds) / 1000, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    except (ValueError, OverflowError, OSError):
        return milliseconds
