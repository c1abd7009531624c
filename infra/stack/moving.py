"""Moves the ledger and history of a state folder into its stack, and back: a release has one ledger and one history.

Everything is copied first. Then the commands of the state folder are switched to the new place in one step, and only
then is the old place set aside. After an interruption at any moment, exactly one of the two places is in use, and the
same command completes the move.
"""

from rich.console import Console

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput
from infra.stack.servers import let_engineer_write, make_tables
from infra.stack.settings import Stack
from stores.ledger.moving import ledger_file, move_ledger, move_ledger_back
from stores.tracking.history_moving import (
    HistoriesCollide,
    History,
    Moved,
    has_history,
    history_in,
    history_moved,
    history_served,
    set_aside,
)
from stores.vault.lease import all_leased, under_way


def move_into_stack(stack: Stack, console: Console) -> None:
    """Make the commands of a state folder use its stack, with all earlier releases; its servers must be up.

    Raises:
        Refused: a release is under way that does not use the stack, or ledger or history cannot be moved; nothing was
            changed.
        DeniableError: a database does not answer.
    """
    state = stack.state
    if not (has_history(state) or ledger_file(state).exists()):
        stack.keep_environment()
        return
    if stack.is_set_up and (at_work := next(under_way(state), None)):
        # It may be waiting for the servers that are being started.
        console.print(f"The ledger and history in {state} stay there while {at_work} is in progress.")
        return
    with all_leased(state, "ledger and history are brought into the stack"):
        if has_history(state):
            _bring_history(stack, console)
        else:
            _switch(stack)


def leave(stack: Stack, console: Console) -> None:
    """Make the commands of a state folder use its own files, with everything that was released in the stack.

    Args:
        stack: the stack; its PostgreSQL must be up, and its MLflow must not.
        console: where to print what was moved.

    Raises:
        InvalidInput: the state folder does not use its stack.
        Refused: a release is under way, or ledger or history cannot be moved; nothing was changed.
        DeniableError: a database does not answer.
    """
    require_in_use(stack)
    state = stack.state
    with (
        all_leased(state, "ledger and history are brought back"),
        history_moved(_served(stack), history_in(state), in_use=False) as moved,
    ):
        move_ledger_back(state, stack.database("ledger"))
        stack.forget_environment()
    console.print(f"{_said(moved)} was moved back into {state}, and the ledger too.")


def require_in_use(stack: Stack) -> None:
    """Require that the state folder uses its stack.

    Raises:
        InvalidInput: the state folder does not use it.
    """
    if not stack.is_set_up:
        raise InvalidInput(f"{stack.state} must use a stack to leave it, and uses none; there is nothing to do.")


def _bring_history(stack: Stack, console: Console) -> None:
    """Move history and ledger, or only the ledger if the stack's history has other objects of the same names."""
    state = stack.state
    make_tables(stack)
    try:
        with history_moved(history_in(state), _served(stack), in_use=stack.is_set_up) as moved:
            let_engineer_write(stack, moved.experiments, moved.models)
            _switch(stack)
            aside = set_aside(state)
    except HistoriesCollide as collision:
        place = history_in(state)
        console.print(
            f"The history before the stack stays in {place.place}, for {collision}. To audit a release in it: "
            f"DENIABLE_MLFLOW_TRACKING_URI={place.database} {command_line('audit release')} RELEASE"
        )
        _switch(stack)
        return
    console.print(f"{_said(moved)} was moved from {state / 'mlflow'}, which is kept as {aside}.")


def _switch(stack: Stack) -> None:
    move_ledger(stack.state, stack.database("ledger"))
    stack.keep_environment()


def _served(stack: Stack) -> History:
    return history_served(
        stack.state,
        place="the stack's MLflow",
        database=stack.database("mlflow", "+psycopg"),
        files=stack.part("artifacts"),
    )


def _said(moved: Moved) -> str:
    """Return what was moved, in words."""
    counted = [(moved.releases, "release"), (moved.runs, "run"), (moved.files, "file")]
    releases, *rest = [f"{number:,} {thing}{'' if number == 1 else 's'}" for number, thing in counted]
    return f"The history of {releases} ({', '.join(rest)})"
