"""The refresh: releases new data of a dataset, unless they were released before, or exceed the refresh's share."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import Flow, flow, runtime
from prefect.client.schemas.objects import FlowRun, State

from deniable.evaluation.drift import Drift
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.ledger.budget import BudgetExceeded
from flows.interruption import is_of_a_signal
from flows.prefect_runs.held_runs import end_as_held
from flows.prefect_runs.run_page import RunPage, completed, on_its_page
from flows.release import make_release
from flows.released import Released
from infra.environment import state_folder
from reports.pages.drift import drift_of, note_drift
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.keys.dataset_key import DatasetInUse, dataset_to_itself
from stores.ledger.charging import is_charged
from stores.ledger.refresh_share import ShareExceeded, require_share
from stores.ledger.state_ledger import state_ledger
from stores.releases.resumable_releases import note_reported, unfinished_release
from stores.releases.snapshots import Snapshots, published_releases
from stores.servers.webhook import Message, tell
from stores.vault.lease import leased
from stores.vault.pending_approval import Held, NotPublished
from stores.vault.private_files import keep_error
from stores.vault.workspace import discard_folders

_TOLD = "__told_of__"


class RefreshFailed(DeniableError):
    """A refresh met an error whose own message might quote a record; this error's message does not."""


@dataclass(frozen=True)
class Refreshed:
    """The result of a refresh.

    Attributes:
        dataset: the dataset's name.
        current: name of the release of the data that arrived, just published or earlier.
        released: what was published; None if nothing changed.
        before: name of the previous release, if any.
        drift: how far the public table has moved from the previous one; None if there is none to compare.
    """

    dataset: str
    current: str
    released: Released | None = None
    before: str | None = None
    drift: Drift | None = None

    def note_told(self) -> None:
        """Note that the release was reported to the user who started it."""
        if self.released is not None:
            note_reported(self.released.workspace.state, self.current)

    @property
    def in_words(self) -> str:
        """The outcome, in a sentence."""
        if self.released is None:
            return f"the data of {self.dataset} are unchanged since {self.current}: nothing was charged or published."
        if self.drift is None:
            return f"published {self.current}; there is no release before it to compare it with."
        figures = self.drift.figures
        return (
            f"published {self.current}; against {self.before} its attributes moved by up to "
            f"{figures['drift_1way_max']:.4f}, {figures['drift_1way_mean']:.4f} on average."
        )


def note_told(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - as hooks are called
    """Note that the release of a refresh was reported to the user who started it; a flow hook."""
    done = state.result(raise_on_failure=False)
    if isinstance(done, Refreshed):
        done.note_told()


@flow(name="refresh", persist_result=False, on_failure=[end_as_held], on_completion=[note_told])
def refresh(spec: Path, state: Path | None = None, source: Path | str | None = None) -> Refreshed:
    """Release new data; see `refresh_dataset`."""
    done = refresh_dataset(spec, state, source)
    return completed(done.in_words, done)


def refresh_dataset(
    spec: Path,
    state: Path | None = None,
    source: Path | str | None = None,
    *,
    silent_on: tuple[type[Exception], ...] = (),
) -> Refreshed:
    """Release new data, unless a release of exactly these data is published.

    A release that an earlier refresh paid for but did not finish is finished first.

    Args:
        spec: the release spec, YAML, with an entry `refresh`.
        state: the state folder; by default DENIABLE_STATE or `var`.
        source: the file with the new data; by default the source in the spec.
        silent_on: errors that cause no notification, because the refresh is resumed automatically.

    Returns:
        What was done.

    Raises:
        DatasetInUse: another refresh of the dataset is under way.
        ShareExceeded: the release would cost more than this refresh may spend; nothing was charged.
        Held: a person must decide; running the same refresh again then resumes it.
        DeniableError: the data do not fit, or the release failed; what was published before is untouched.
    """
    asked, state = load_spec(spec).reading(source), state or state_folder()
    if asked.refresh is None:
        raise InvalidInput(
            f"a spec must have an entry refresh to be refreshed, got {spec}; state in it what each refresh may spend, "
            "as in refresh: {budget: {kind: equal_share, refreshes: 12}}."
        )
    with (
        on_its_page(f"refresh of {asked.name}") as page,
        _telling(asked, page, silent_on),
        dataset_to_itself(state, asked.dataset_name) as key,
    ):
        page.about(asked.dataset_name)
        done = _refreshed(spec, asked, source, Snapshots(state, asked, key))
        page.say(done.in_words)
        if done.released is None:
            page.about(asked.dataset_name)
            page.ended(f"unchanged since {done.current}")
        return done


def _refreshed(path: Path, spec: ReleaseSpec, source: Path | str | None, arrivals: Snapshots) -> Refreshed:
    """Finish an unfinished release, then release the data that arrived."""
    state, finished, refused = arrivals.state, None, False
    # If the ledger cannot be charged, the data are not read.
    state_ledger(state)
    with _guarded(state):
        arrived = arrivals.arrived()
        _discard_unpaid(arrivals, arrived)
    left = unfinished_release(state, spec)
    if left is not None:
        try:
            finished = _released(path, spec, source, state)
        except NotPublished:
            # Data that arrived earlier were refused; that does not concern the data that arrive now.
            refused = True
            with _guarded(state):
                if arrivals.taken(left) == arrived:
                    raise
    with _guarded(state):
        known = arrivals.published()
    same = [name for name, commitment in known.items() if commitment == arrived]
    if same:
        return finished if finished is not None and finished.current in same else Refreshed(spec.dataset_name, same[-1])
    require_share(spec, state)
    if finished is not None:
        # The next report concerns the data that arrived.
        finished.note_told()
    return _released(path, spec, source, state, anew=refused)


def _released(
    path: Path, spec: ReleaseSpec, source: Path | str | None, state: Path, *, anew: bool = False
) -> Refreshed:
    """Make or resume the release, and measure how far its table has moved."""
    released = make_release(path, state, anew=anew, source=source)
    name = released.workspace.release_id
    others = [begun.release_id for begun in published_releases(state, spec)]
    earlier = others[: others.index(name)]
    before = earlier[-1] if earlier else None
    found = drift_of(released.workspace, before) if before else None
    if before and found is not None:
        note_drift(released.workspace, before, found)
    return Refreshed(spec.dataset_name, name, released, before, found)


def _discard_unpaid(arrivals: Snapshots, arrived: str) -> None:
    """Discard an unfinished release of other data if nothing was charged for it yet."""
    state, spec = arrivals.state, arrivals.spec
    begun = unfinished_release(state, spec)
    if begun is None or is_charged(state, begun.dataset, begun.release_id):
        return
    with leased(state / "vault" / begun.release_id):
        if arrivals.taken(begun) not in {None, arrived}:
            discard_folders(state, begun.release_id)


@contextmanager
def _guarded(state: Path) -> Iterator[None]:
    """Write the details of an error, which may quote records, to the vault, as a step does."""
    try:
        yield
    except DeniableError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its message may quote a record
        details = state / "vault" / "refresh.errors" / "arrival.txt"
        with suppress(OSError):
            keep_error(error, details)
        failure = RefreshFailed(
            f"the data that arrived could not be identified; the error may quote confidential values, and is in "
            f"{details}."
        )
    else:
        return
    raise failure


@contextmanager
def _telling(spec: ReleaseSpec, page: RunPage, silent_on: tuple[type[Exception], ...]) -> Iterator[None]:
    """Notify the spec's webhook if the refresh fails; a second refresh at the same time is not a failure."""
    silent: tuple[type[Exception], ...] = (DatasetInUse, *silent_on)
    try:
        yield
    except silent:
        raise
    except Exception as error:
        if is_of_a_signal(error):
            raise
        notify = spec.refresh.notify if spec.refresh is not None else None
        if notify is not None:
            failure = tell(notify, _message(spec, error))
            if failure is None:
                setattr(error, _TOLD, notify.webhook)
            else:
                error.add_note(failure)
                page.say(failure, level=logging.ERROR)
        raise


def told_of(error: Exception) -> str | None:
    """Return the webhook that a refresh has notified of its failure, as named by the spec; None if none."""
    told: str | None = getattr(error, _TOLD, None)
    return told


def _message(spec: ReleaseSpec, error: Exception) -> Message:
    """Return the public message about a failure; if the failure depends on the data, it states no reason."""
    refused = isinstance(error, ShareExceeded | BudgetExceeded | NotPublished)
    if isinstance(error, ShareExceeded | BudgetExceeded):
        reason = str(error)
    elif isinstance(error, Held):
        return _said(spec, "refresh held", "a person must decide whether the release is published.")
    elif isinstance(error, NotPublished):
        reason = "the release was refused by its policy or by a person."
    elif isinstance(error, InvalidInput):
        reason = "the data that arrived cannot be read, or lack columns that the schema reads."
    elif isinstance(error, DeniableError):
        reason = "the release was not made or not finished; the page of its run shows why."
    else:
        reason = f"an unexpected error ended the refresh ({type(error).__name__})."
    return _said(spec, "refresh refused" if refused else "refresh failed", reason)


def _said(spec: ReleaseSpec, event: str, reason: str) -> Message:
    return Message(
        event=event,
        dataset=spec.dataset_name,
        spec=spec.name,
        reason=reason,
        run=runtime.flow_run.name or "",
        time=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )
