"""The block `publication` of a spec: what a release says about its owner and its terms, and what is refused."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from deniable.cli.dispatch import main
from deniable.foundation.errors import InvalidInput
from schemas.spec.publication import ENTRIES, OPTIONAL, Publication, missing, stated
from schemas.spec.release_spec import load_spec
from stores.publication.data_package import _owners_and_terms
from stores.releases.resumable_releases import spec_digest
from tests.small_release import write_small_release

ROOT = Path(__file__).resolve().parents[2]
WHOLE: dict[str, Any] = {
    "description": "Made-up people,\nin two lines.",
    "keywords": ["people", "made up"],
    "language": "en",
    "publisher": {"name": "Office", "url": "https://office.example"},
    "curator": {"name": "Ada", "email": "ada@office.example"},
    "licence": "cc-by-4.0",
    "purpose": "Teaching.",
    "not_for": "Decisions about persons.",
    "conditions": "Cite the release.",
    "legal_basis": "Statistics act, section 7.",
    "population": "Adults.",
    "region": "US-MA",
    "sector": "Education",
    "period": "2015/2018",
    "review_by": date(2027, 11, 27),
    "supersedes": "small-20260101T000000Z",
    "contact_on_error": "https://office.example/errors",
}


@pytest.fixture
def said(tmp_path: Path) -> Any:
    return lambda **block: load_spec(write_small_release(tmp_path, people=[], publication=block))


def test_every_entry_is_kept_in_its_usual_form_and_shown(said: Any) -> None:
    block = said(**WHOLE).publication
    shown = dict(stated(block))
    assert [*shown] == [*ENTRIES]
    assert sorted(ENTRIES) == sorted(Publication.model_fields)
    assert shown["licence"] == "CC-BY-4.0"
    assert shown["description"] == "Made-up people, in two lines."
    assert shown["publisher"] == "Office, https://office.example"
    assert (block.review_by, missing(block)) == ("2027-11-27", ())
    assert not block.is_overdue(date(2027, 11, 27))
    assert block.is_overdue(date(2027, 11, 28))


def test_a_release_that_says_nothing_lacks_everything_but_what_many_leave_out(said: Any, tmp_path: Path) -> None:
    assert {*missing(None)} == {*ENTRIES} - OPTIONAL
    assert [*stated(None)] == []
    assert missing(said(licence="https://office.example/terms").publication) == tuple(
        name for name in missing(None) if name != "licence"
    )
    spec = load_spec(write_small_release(tmp_path, people=[]))
    assert "publication" not in spec.model_dump(mode="json", fallback=str)


def test_what_is_said_of_a_release_starts_no_other_one(said: Any, tmp_path: Path) -> None:
    assert spec_digest(said(**WHOLE)) == spec_digest(load_spec(write_small_release(tmp_path, people=[])))


@pytest.mark.parametrize(
    ("entry", "wrong", "says"),
    [
        ("licence", "free for all", "must be an SPDX identifier, such as CC-BY-4.0, or the address of its text"),
        ("licence", "ftp://office.example", "must be an SPDX identifier"),
        ("period", "2018/2015", "the earlier first"),
        ("period", "2018-13", "must be a time or two"),
        ("review_by", "soon", "must be a date, such as 2027-11-27"),
        ("publisher", {"name": "Office", "url": "office.example"}, "must be an address that begins with https://"),
        ("publisher", {"name": "Office", "url": 'https://a.example/"><script>'}, "must be an address"),
        ("curator", {"name": "Ada", "email": "ada at office"}, "must be an e-mail address"),
        ("language", "English language", "language"),
        ("supersedes", "the last one", "supersedes"),
        ("description", "with a \u202e in it", "visible text"),
        ("owner", "Ada", "owner"),
    ],
)
def test_what_no_catalogue_could_read_is_refused_by_its_name(said: Any, entry: str, wrong: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"publication[.]{entry}") as refused:
        said(**{entry: wrong})
    assert says in str(refused.value)


def test_the_data_package_has_the_owner_and_the_terms() -> None:
    whole = Publication.model_validate(WHOLE)
    assert _owners_and_terms(whole) == {
        "licenses": [{"name": "CC-BY-4.0"}],
        "contributors": [
            {"title": "Office", "path": "https://office.example", "roles": ["publisher"]},
            {"title": "Ada", "email": "ada@office.example", "roles": ["contact"]},
        ],
    }
    assert _owners_and_terms(Publication(licence="https://a.example/terms")) == {
        "licenses": [{"path": "https://a.example/terms"}]
    }
    assert _owners_and_terms(Publication()) == {}


@pytest.mark.parametrize(
    ("block", "status", "says"),
    [
        (WHOLE | {"review_by": "2999-01-01"}, 0, "licence           CC-BY-4.0"),
        (WHOLE | {"review_by": "2020-01-01"}, 1, "The review was due by 2020-01-01"),
        ({"purpose": "Teaching."}, 0, "A catalogue would miss: description, keywords, language, publisher, curator"),
    ],
)
def test_a_command_lists_what_is_said_and_what_is_not(
    block: dict[str, Any], status: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_small_release(tmp_path, people=[], publication=block)
    try:
        ended = main(["release", "publication", str(spec), "--state", str(tmp_path / "var")]) or 0
    except SystemExit as end:
        ended = int(end.code or 0)
    assert ended == status
    assert says in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted((ROOT / "deployments/specs").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_spec_of_the_project_says_all_about_its_release(path: Path) -> None:
    block = load_spec(path).publication
    assert missing(block) == ()
    assert block is not None
    assert block.sector is not None
