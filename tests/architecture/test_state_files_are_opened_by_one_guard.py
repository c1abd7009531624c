"""Files of the state folder are opened by `stores.own_files`; what is opened otherwise is listed, with the reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
OPENED = {"open", "read_text", "read_bytes", "write_text", "write_bytes"}

GUARD = "the guard itself"
NEW = "a new file in a folder, or of a name, that this process has just made"
HELD = "a file whose digest was compared through the guard, or that this process has just written"
REPLACED = "a new file that takes its place by a rename"
FOLDER = "a folder, whose kind is known"
CHECKED = "the guard has looked at its place before"
OTHER = "not a file of the state folder"
NOT_A_FILE = "opens no file"

REASONS = {
    "flows/cli/release/compare.py::_write": OTHER,
    "flows/cli/release/again.py::write_further_spec": OTHER,
    "flows/cli/release/design.py::_draw": OTHER,
    "flows/cli/release/design.py::_json": CHECKED,
    "flows/cli/table/check.py::mend_table": OTHER,
    "flows/cli/table/discover.py::_write": OTHER,
    "flows/cli/table/drafts.py::write_and_load": OTHER,
    "infra/cluster/runner.py::_marker": NEW,
    "infra/cluster/worker_checks.py::_read": "a worker's own machine, and the marker that this run has just made",
    "infra/compiled_ahead.py::_drawn": NOT_A_FILE,
    "stores/statement/lab_findings.py::_read": "the findings that are installed beside the code",
    "infra/servers/mlflow_rights.py::named_routes": "the list of routes that is installed beside the code",
    "infra/servers/mlflow_server.py::prepare_front_page": OTHER,
    "infra/servers/prefect_database.py::_revision": "prepare_environment has looked at Prefect's folder",
    "infra/stack/backup.py::_copy_sqlite": CHECKED,
    "infra/stack/backup.py::_digest": "a file that is_file has found in a backup",
    "infra/stack/backup.py::back_up": NEW,
    "infra/stack/postgres.py::_be_some_user": OTHER,
    "stores/keys/prefect_encryption.py::_opened": CHECKED,
    "stores/keys/private_key_file.py::keep_waiting_key": NEW,
    "stores/keys/trust_file.py::with_keys_to_itself": FOLDER,
    "stores/ledger/recovery.py::recover": NOT_A_FILE,
    "stores/ledger/remembered_costs.py::_made_by": OTHER,
    "stores/ledger/state_ledger.py::_opened": NOT_A_FILE,
    "stores/own_files.py::own_descriptor": GUARD,
    "stores/publication/release_folder.py::check_tables": HELD,
    "stores/publication/release_folder.py::write_document": NEW,
    "stores/publication/release_folder.py::write_table": NEW,
    "stores/record/provenance.py::_table_schema": OTHER,
    "stores/record/record_reader.py::recorded_spec": NEW,
    "stores/releases/discoveries.py::publish_discovery_folder": NEW,
    "stores/surveys/survey_folder.py::publish_survey_folder": NEW,
    "stores/surveys/survey_folder.py::stage_survey": NEW,
    "stores/tables/sources/contract.py::require_readable": "the source, behind require_regular",
    "stores/tables/sources/databases.py::_read_sqlite": "the source, behind require_regular",
    "stores/tables/sources/reading.py::_extract": NEW,
    "stores/tables/sources/reading.py::_sha256": "a wheel that is_file has found, or that pip has just written",
    "stores/tables/sources/zip_files.py::_unpack": NEW,
    "stores/tracking/model_code.py::load_context": OTHER,
    "stores/tracking/model_record.py::_write_folder": NEW,
    "stores/tracking/release_page.py::complete_page": NEW,
    "stores/tracking/run_artifacts.py::_content": "a file that is_file has found, and no link",
    "stores/tracking/run_tree.py::_is_left_by_loading": "a file that is_file has found",
    "stores/tracking/step_run.py::_made": NEW,
    "stores/tracking/step_run.py::artifact": HELD,
    "stores/tracking/step_run.py::document": NEW,
    "stores/tracking/step_run.py::drawing": NEW,
    "stores/vault/disk.py::flush_to_disk": "a file or folder that this process has just written",
    "tasks/data/fit.py::write_examples": NEW,
    "tasks/data/public_rows.py::_sha256": OTHER,
    "tasks/learning/planned_step.py::_keep": REPLACED,
    "tasks/publication/publish.py::write_documents": NEW,
    "tasks/publication/publish.py::write_estimates": NEW,
    "tasks/running/counting.py::count": REPLACED,
    "tasks/synthesis/synthesize.py::_draw": NOT_A_FILE,
}


def opened(tree: ast.AST, function: str = "", *, renamed: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the functions that open files by their names, and how.

    Args:
        tree: the code.
        function: the function that the code is in.
        renamed: whether what is written takes its place by a rename (`with workspace.writing(...)`).
    """
    for node in ast.iter_child_nodes(tree):
        inside, whole = function, renamed
        if isinstance(node, ast.FunctionDef):
            inside, whole = node.name, False
        if isinstance(node, ast.With):
            whole = whole or any(".writing(" in ast.unparse(item.context_expr) for item in node.items)
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            word = called.rpartition(".")[2]
            if (word in OPENED or called == "sqlite3.connect") and not (whole and word.startswith("write_")):
                yield inside, ast.unparse(node)
        yield from opened(node, inside, renamed=whole)


def test_no_file_of_the_state_folder_is_opened_without_the_guard() -> None:
    found = {
        f"{path.relative_to(ROOT)}::{function}"
        for layer in ("stores", "infra", "flows", "tasks")
        for path in (ROOT / layer).rglob("*.py")
        for function, _ in opened(ast.parse(path.read_text()))
    }
    assert found == set(REASONS)


@pytest.mark.parametrize(
    "statement",
    [
        "(vault / 'held.json').read_text()",
        "place.read_bytes()",
        "open(place)",
        "os.open(place, os.O_RDONLY)",
        "place.write_text('noted')",
        "sqlite3.connect(place)",
    ],
)
def test_each_way_to_open_a_file_is_seen(statement: str) -> None:
    assert list(opened(ast.parse(f"def note():\n    {statement}"))) == [("note", statement)]


def test_what_takes_its_place_by_a_rename_may_be_written() -> None:
    assert not list(
        opened(ast.parse("with workspace.writing('held.json', audience) as path:\n    path.write_text('it')"))
    )
