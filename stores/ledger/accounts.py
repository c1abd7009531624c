"""Accounts: which people a budget is for, and which sources are theirs.

A cap is a promise to people, and a ledger knows only names. So a dataset is bound to its sources by keyed commitments:
to their place, and to their content where they are files. A source that is known for one account is charged to no other
one, unless the custodian has declared so, and a second account is opened by the custodian's declaration alone. What
cannot be recognised, such as the same people in another file, is the custodian's signed word. A source of a new place
or content may be charged to an existing account freely: that spends its budget, and opens none.

The commitments are HMAC-SHA256 under a key of the installation, so that nobody else can confirm a guess. Signatures
belong to `deniable.ledger.signatures`, sums to `deniable.ledger.budget`.
"""

import hmac
import json
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import new_secret
from deniable.ledger.entries import Policy, canonical
from deniable.ledger.state import account_name
from schemas.regular_files import opened_regular
from schemas.spec.release_spec import DatabaseSource, FileSource, ReleaseSpec
from stores.keys.secret_file import make_once
from stores.keys.trust_file import keys_folder, make_keys_folder
from stores.ledger.evidence import NOTES
from stores.ledger.ledger import Ledger
from stores.own_files import read_own
from stores.vault.disk import replace_whole
from stores.vault.private_files import make_private_folder

if TYPE_CHECKING:
    from stores.tables.sources.databases import Place

FIRST = "the people of this ledger's first account"
"""What is declared of the first account, which cannot repeat another one."""

_KEY = "sources.key"
_SOURCES = f"{NOTES}/sources.json"
_PURPOSE = b"deniable/v1/source"
_READ = 1 << 20


def source_marks(state: Path, spec: ReleaseSpec, *, opened: bool = True) -> tuple[str, ...]:
    """Keyed commitments by which a source is recognised: to its place, and to the content of local files.

    Args:
        state: the state folder, for the installation's key.
        spec: the spec, for the source.
        opened: whether the source may be opened; if not, there is no commitment to its content.

    Raises:
        InvalidInput: the key cannot be read or made, or an environment variable must name the source and does not.
    """
    key = _key(state)
    said = [_place_of(spec)]
    content = _content_of(spec) if opened else None
    if content is not None:
        said.append(content)
    return tuple(hmac.new(key, _PURPOSE + b"\0" + canonical(each).encode(), sha256).hexdigest() for each in said)


def admit(state: Path, spec: ReleaseSpec, ledger: Ledger, opening: Policy | None) -> None:
    """Require that a dataset has an account of its own for its source, and open the first account of a ledger.

    Args:
        state: the state folder.
        spec: what is to be charged.
        ledger: the state folder's ledger.
        opening: the policy with which the account is opened if there is none yet; None to open none.

    Raises:
        Refused: as `require_account`.
    """
    marks = require_account(state, spec, ledger)
    if opening is not None and spec.dataset_name not in ledger.policies():
        ledger.set_policy(_with(opening, FIRST, marks), unless_set=True)
    _remember(state, spec.dataset_name, marks)


def require_account(state: Path, spec: ReleaseSpec, ledger: Ledger, *, opened: bool = True) -> tuple[str, ...]:
    """Refuse what may not be charged to its dataset's account, whatever is left of it; nothing is written.

    Args:
        state: the state folder.
        spec: what is to be charged.
        ledger: the state folder's ledger.
        opened: whether the source may be opened; if not, it is recognised by its place alone.

    Returns:
        The commitments to the source.

    Raises:
        Refused: the source is known for another account, or a second account was not declared by the custodian.
    """
    dataset, marks = spec.dataset_name, source_marks(state, spec, opened=opened)
    policies = ledger.policies()
    known = _known(state, policies)
    policy = policies.get(dataset)
    declared = policy is not None and not set(marks).isdisjoint(policy.sources)
    others = sorted({other for mark in marks for other in known.get(mark, ())} - {dataset})
    if others and not declared:
        raise Refused(
            f"a source must be charged to its own account, and the one of {spec.name} is that of dataset {others[0]}, "
            f"not of {dataset}; state `budget: {{dataset: {others[0]}}}` in the spec, or have the custodian declare "
            f"whose records these are: {_command(dataset)}."
        )
    if policy is None and spec.budget is not None:
        ledger.require_new_name(dataset)
        if policies:
            raise Refused(
                f"a second account must be declared by the custodian of the data, and {dataset} has none yet, while "
                f"the ledger has one for {', '.join(sorted(policies))}; if these are the same people, state "
                f"`budget: {{dataset: {min(policies)}}}` in the spec; if they are others: {_command(dataset)}."
            )
    return marks


def require_unknown(state: Path, spec: ReleaseSpec, ledger: Ledger) -> None:
    """Refuse a dataset or a source that the ledger has an account for: it is confidential, whatever a spec states.

    A source is recognised by its place or its content (`source_marks`). The same people in another file cannot be
    recognised; that they are public is the word of those who release them. Nothing is written.

    Args:
        state: the state folder.
        spec: what is to be released without noise.
        ledger: the state folder's ledger.

    Raises:
        Refused: the ledger knows it as confidential.
    """
    name = account_name(Path(spec.dataset).stem)
    # Accounts of people, and of guarantees of another kind, are named after the dataset.
    by_name = {dataset for dataset in ledger.policies() if name in _beginnings(dataset)}
    found = accounts_of_source(state, spec, ledger) | by_name
    if found:
        raise Refused(
            f"a release with noise: none must be of a table that the ledger does not know as confidential, and "
            f"{spec.name} is of dataset {min(found)}, which has an account; state noise and a budget, or name a public "
            "table."
        )


def accounts_of_source(state: Path, spec: ReleaseSpec, ledger: Ledger) -> set[str]:
    """The datasets with an account for a source, which is recognised by its place or its content; nothing is written.

    Args:
        state: the state folder.
        spec: a spec with that source.
        ledger: the state folder's ledger.
    """
    known = _known(state, ledger.policies())
    return {dataset for mark in source_marks(state, spec) for dataset in known.get(mark, ())}


def _beginnings(dataset: str) -> set[str]:
    """The names of accounts with which that of a dataset begins, each up to a hyphen, and the whole of it."""
    parts = dataset.split("-")
    return {account_name("-".join(parts[:number])) for number in range(1, len(parts) + 1)}


def declared(policy: Policy, ledger: Ledger, people: str | None, sources: tuple[str, ...]) -> Policy:
    """A policy with the custodian's declaration; without a new one, that of the policy before is kept.

    Args:
        policy: the policy to be set.
        ledger: the ledger.
        people: whose records these are, in words.
        sources: commitments to the sources that are declared to be theirs.

    Raises:
        Refused: it opens a second account without a declaration, or one whose name differs from another's in its
            writing alone.
    """
    policies = ledger.policies()
    before = policies.get(policy.dataset)
    if before is None:
        ledger.require_new_name(policy.dataset)
        if policies and not people:
            raise Refused(
                f"a second account must be declared by the custodian of the data, got none for {policy.dataset}; say "
                "with --people whose records these are, and that they are in no other account "
                f"({', '.join(sorted(policies))})."
            )
        return _with(policy, people or FIRST, sources)
    return _with(policy, people or before.people, tuple(dict.fromkeys((*before.sources, *sources))))


def _with(policy: Policy, people: str, sources: tuple[str, ...]) -> Policy:
    return Policy(
        dataset=policy.dataset,
        limit=policy.limit,
        period=policy.period,
        seed_cost=policy.seed_cost,
        set_by=policy.set_by,
        people=people,
        sources=sources,
    )


def _command(dataset: str) -> str:
    return (
        f"{command_line('budget set')} {dataset} --epsilon E --delta D --people 'whose records these are' --spec SPEC"
    )


def _known(state: Path, policies: Mapping[str, Policy]) -> dict[str, set[str]]:
    """The accounts that each known source belongs to, from the ledger and from the state folder's notes."""
    known: dict[str, set[str]] = {}
    for dataset, policy in policies.items():
        for mark in policy.sources:
            known.setdefault(mark, set()).add(dataset)
    for dataset, marks in _noted(state).items():
        for mark in marks:
            known.setdefault(mark, set()).add(dataset)
    return known


def _noted(state: Path) -> dict[str, list[str]]:
    with suppress(OSError, ValueError):
        said: Any = json.loads(read_own(state / _SOURCES))
        if isinstance(said, dict):
            return {
                dataset: [mark for mark in marks if isinstance(mark, str)]
                for dataset, marks in said.items()
                if isinstance(marks, list)
            }
    return {}


def _remember(state: Path, dataset: str, marks: tuple[str, ...]) -> None:
    """Note the marks of a source that is charged to an account."""
    noted = _noted(state)
    fresh = [mark for mark in marks if mark not in noted.get(dataset, ())]
    if not fresh:
        return
    noted[dataset] = [*noted.get(dataset, ()), *fresh]
    try:
        make_private_folder((state / _SOURCES).parent)
        replace_whole(state / _SOURCES, json.dumps(noted, indent=1))
    except OSError as error:
        raise InvalidInput(
            f"the state folder must keep which sources are whose, and {state / _SOURCES} cannot be written: "
            f"{error.strerror}; nothing was drawn."
        ) from None


def _key(state: Path) -> bytes:
    place = keys_folder(state) / _KEY
    try:
        if not place.exists():
            make_keys_folder(place.parent)
            make_once(place, new_secret())
        return read_own(place)
    except OSError as error:
        raise InvalidInput(
            f"the key by which sources are recognised must be readable, got {place}: {error.strerror}."
        ) from None


def _place_of(spec: ReleaseSpec) -> list[Any]:
    """The place of a source: the real path of a file, or its address; a database or a package with its tables."""
    if isinstance(spec.source, DatabaseSource):
        return ["database", *_database(spec.source, spec.folder).document()]
    if not isinstance(spec.source, FileSource):
        return ["source", spec.source.model_dump(mode="json")]
    place = _located(spec.source, spec.folder)
    return ["place", place if isinstance(place, str) else str(place.resolve())]


def _database(source: DatabaseSource, folder: Path) -> "Place":
    from stores.tables.sources.databases import place_of  # noqa: PLC0415 - imports Arrow and SQLAlchemy

    return place_of(source, folder)


def _located(source: FileSource, folder: Path) -> Path | str:
    from stores.tables.sources.reading import locate  # noqa: PLC0415 - imports Arrow and pandas

    return locate(source, folder)


def _content_of(spec: ReleaseSpec) -> list[Any] | None:
    """Sizes of the local files of a source, and digests of their beginnings, middles and ends; None without files.

    Reading three parts suffices to recognise a copy, and costs the same for a table of any size.
    """
    if isinstance(spec.source, DatabaseSource):
        # One file may hold the tables of several groups of people.
        database = _database(spec.source, spec.folder)
        part = None if database.file is None else _parts_of(database.file)
        return None if part is None else ["content", [part], database.table, database.query]
    if not isinstance(spec.source, FileSource):
        return None
    place = _located(spec.source, spec.folder)
    if isinstance(place, str):
        return None
    found = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    parts = [part for part in map(_parts_of, found) if part is not None]
    return ["content", parts] if parts else None


def _parts_of(path: Path) -> list[Any] | None:
    """Size of a file, and a digest of three parts of it; None if it is no regular file that can be read."""
    with suppress(OSError):
        if path.is_file():
            size, digest = path.stat().st_size, sha256()
            with opened_regular(path, "the source") as file:
                for start in sorted({0, max(0, size // 2 - _READ // 2), max(0, size - _READ)}):
                    file.seek(start)
                    digest.update(file.read(_READ))
            return [size, digest.hexdigest()]
    return None
