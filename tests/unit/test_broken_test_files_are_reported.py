"""A file of tests that cannot be imported fails the run: processes forked after it was tried must not take it for done.

pytest keeps a module that it has half executed, and would find it again without a test and without an error.
"""

import subprocess
import sys
from pathlib import Path

import pytest

_FORKED = """
import sys
import pytest
from tests.workers.__main__ import _import_tests
_import_tests(["-p", "no:cacheprovider", "--import-mode=importlib", *sys.argv[1:]])
sys.exit(pytest.main(["-p", "no:cacheprovider", "--import-mode=importlib", "-qq", *sys.argv[1:]]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("first", "status"), [("import os", 0), ("from os import nothing_of_this_name", 2)])
def test_a_file_that_cannot_be_imported_is_an_error_of_every_process(first: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_other.py").write_text("def test_of_another_file():\n    pass\n")
    (tmp_path / "test_broken.py").write_text(f"{first}\n\n\ndef test_anything():\n    assert os\n")
    code = f"import os, sys; sys.path.insert(0, os.getcwd()); os.chdir({str(tmp_path)!r})\n{_FORKED}"
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=False, text=True, timeout=None
    )
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert ("nothing_of_this_name" in ended.stdout) == (status != 0)
