"""Evidence about the ledger in a state folder besides its own copy: signed records of releases, and the vault.

A state folder without a copy of its ledger's entries, from an earlier version, accepts a ledger only if nothing in the
folder contradicts it. Signatures of records are not checked here: a forged record can only block, never permit.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deniable.foundation.errors import DeniableError
from deniable.ledger.entries import Charge, Entry, Policy, entry_of
from deniable.record.attestation import Envelope, Statement
from schemas.provenance import RECORD
from stores.keys.signed_record import read_signed
from stores.own_files import read_own

_CHARGED = "steps/learn_parameters-*.json"
"""Files that are in the vault once a release was charged: every release is charged before it learns parameters."""


@dataclass(frozen=True)
class Evidence:
    """The evidence in a state folder about its ledger.

    Attributes:
        places: digests of entries by their numbers, and the release whose record names them.
        policies: policies in records, by dataset.
        charges: charges in records.
        commitments: commitments to the keys under which releases in the vault were charged, and those releases.
    """

    places: Mapping[int, tuple[str, str]]
    policies: Mapping[str, Policy]
    charges: Sequence[Charge]
    commitments: Mapping[str, str]

    def missing_of_records(self, lines: Sequence[str]) -> list[str]:
        """The releases whose records name entries that a ledger lacks."""
        digests = {record["number"]: record["digest"] for record in map(json.loads, lines)}
        lacking = {release for number, (digest, release) in self.places.items() if digests.get(number) != digest}
        return sorted(lacking)

    def missing_of_vault(self, commitments: set[str]) -> list[str]:
        """The charged releases in the vault whose keys are not among these."""
        return sorted(release for commitment, release in self.commitments.items() if commitment not in commitments)


def evidence_in(state: Path) -> Evidence:
    """Collect the evidence in a state folder about its ledger."""
    places: dict[int, tuple[str, str]] = {}
    policies: dict[str, Policy] = {}
    charges: dict[str, Charge] = {}
    for release, entries in _recorded(state):
        for entry in entries:
            places[entry["number"]] = (entry["digest"], release)
            with suppress(DeniableError):
                shown = entry_of(entry)
                fact = shown.fact() if isinstance(shown, Entry) else None
                if isinstance(fact, Charge):
                    charges.setdefault(fact.identity, fact)
                elif isinstance(fact, Policy):
                    policies[fact.dataset] = fact
    return Evidence(places, policies, list(charges.values()), dict(_charged(state)))


def charged_keys(lines: Sequence[str]) -> set[str]:
    """Commitments to the keys of all charges in a ledger."""
    contents = (json.loads(line)["content"] for line in lines)
    return {content["commitment"] for content in contents if "commitment" in content}


def _recorded(state: Path) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The entries that records of releases and discoveries contain or name, the oldest release first."""
    for place in sorted((*state.glob(f"releases/*/{RECORD}"), *state.glob(f"shelf/*/{RECORD}"))):
        with suppress(DeniableError, OSError):
            segment = read_signed(place).record.ledger
            before = [] if segment.before is None else [segment.before.model_dump()]
            yield place.parent.name, [*before, *segment.entries]
    for place in sorted(state.glob(f"discoveries/*/{RECORD}")):
        with suppress(DeniableError, OSError, KeyError, TypeError):
            said = Statement.from_payload(Envelope.from_text(read_own(place)).payload)
            entry: Any = said.predicate["entry"]
            entry_of(entry)  # the file has the form of a record, or is refused
            yield place.parent.name, [entry]


def _charged(state: Path) -> Iterator[tuple[str, str]]:
    """Commitments to the keys of charged releases in the vault."""
    for place in sorted(state.glob("vault/*/release.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            if any(place.parent.glob(_CHARGED)):
                yield json.loads(read_own(place))["commitment"], place.parent.name
