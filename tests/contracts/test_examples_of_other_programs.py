"""The example of other programs' files leads, by the documented commands, to tables of which every row fits."""

import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli.table.drafting import described_in_database, places_in_lines
from schemas.codebooks.codebook import Codebook
from schemas.codebooks.drafting import draft_of, schema_text, spec_text
from schemas.codebooks.reading import read_codebooks
from schemas.spec.release_spec import load_spec
from tasks.data.fit import fit_of

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "other_programs"
KINDS = ["survey.sav", "survey.dat", "survey.db"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("survey")
    subprocess.run([sys.executable, str(EXAMPLE / "make_files.py"), str(folder)], check=True)
    return folder


def drafted(folder: Path, source: str) -> Path:
    """Draft a schema and a spec of one of the files, and return the spec."""
    book, entries = Codebook(), None
    if source.endswith(".db"):
        book, entries = described_in_database(f"sqlite:///{folder / source}", "survey", folder)
    else:
        book = read_codebooks([folder / source.replace(".dat", ".sps")])
    book.complete(read_codebooks([EXAMPLE / "ranges.csv"]).variables.values())
    draft = draft_of(book, "the example")
    name = source.replace(".", "_")
    (folder / f"{name}.py").write_text(schema_text(draft, sources=["the example"], missing_as="missing"))
    places = places_in_lines(book, draft, source)
    spec = folder / f"{name}.yaml"
    spec.write_text(spec_text(name, schema=f"{name}.py", source=source, epsilon="1", places=places, database=entries))
    return spec


@pytest.mark.parametrize("source", KINDS)
def test_every_row_of_each_fits_its_draft(written: Path, source: str) -> None:
    spec = load_spec(drafted(written, source))
    fit = fit_of(spec, written / "state")
    assert (fit.rows, fit.valid, dict(fit.examples)) == (2000, 2000, {})
    assert set(spec.domain.names) == {"region", "age", "health", "wage", "begun", "seen"}
