"""What `deniable mechanisms list` and `deniable data explore` print."""

from importlib import import_module
from pathlib import Path

import pytest

from deniable.cli.dispatch import main
from deniable.learners.registry import LEARNERS
from deniable.samplers.registry import SAMPLERS


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        status = main(list(arguments)) or 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_list_of_mechanisms_names_all_of_the_registries_with_what_they_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = printed(capsys, "mechanisms", "list")
    learners, samplers = out.split("\n\n")
    assert (status, err) == (0, "")
    for said, kind, names in ((learners, "learners", LEARNERS), (samplers, "samplers", SAMPLERS)):
        heading, *rows = said.strip().split("\n")
        assert heading == kind.capitalize()
        assert [row.split()[0] for row in rows] == [*names]
        for name, row in zip(names, rows, strict=True):
            assert row.split(maxsplit=1)[1] == str(import_module(f"deniable.{kind}.{name}").__doc__).split("\n")[0]


def test_explore_prints_the_path_of_the_page_and_refuses_a_folder_without_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, err = printed(capsys, "data", "explore", str(tmp_path))
    assert (status != 0, out) == (True, "")
    assert "a release must have the page explore.html" in err
    (tmp_path / "explore.html").write_text("<html></html>")
    status, out, err = printed(capsys, "data", "explore", str(tmp_path))
    assert (status, err) == (0, "")
    assert out.split("\n")[0] == str((tmp_path / "explore.html").resolve())
