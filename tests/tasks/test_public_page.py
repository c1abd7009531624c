"""The public page shows a release to everybody: what is public and nothing else, whole in itself, always the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from deniable.errors import Refused
from schemas.provenance import RECORD, Provenance
from stores.public_page import PUBLIC_PAGE, PublicContent, public_content, render_public_page
from stores.signed_record import read_signed
from stores.statement import NOT_COVERED
from tests.html_page import Page
from tests.whole_release import GUARANTEES, Drawn, drawn_release


@pytest.fixture(scope="module", params=GUARANTEES)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    changes = {**GUARANTEES[request.param], "title": "Made-up <people>"}
    made = drawn_release(tmp_path_factory.mktemp("shown"), "people-2026", **changes)
    made.publish()
    return made


@pytest.fixture(scope="module")
def folder(drawn: Drawn) -> Path:
    return drawn.workspace.release_folder


@pytest.fixture(scope="module")
def content(drawn: Drawn, folder: Path) -> PublicContent:
    record = read_signed(folder / RECORD).record
    return public_content(folder, record=record, spec=drawn.workspace.spec, accounts=drawn.accounts)


@pytest.fixture(scope="module")
def page(content: PublicContent) -> Page:
    return Page(render_public_page(content))


def test_the_page_is_sound_and_leads_to_nothing_but_the_files_beside_it(page: Page, folder: Path) -> None:
    page.require_sound(tuple(path.name for path in folder.iterdir()))


def test_the_same_release_gives_the_same_page(drawn: Drawn, folder: Path, page: Page, content: PublicContent) -> None:
    again = public_content(folder, record=content.record, spec=drawn.workspace.spec, accounts=drawn.accounts)
    assert render_public_page(again) == page.html


def test_the_page_says_what_this_is_and_what_is_guaranteed(page: Page, content: PublicContent) -> None:
    assert "Made-up <people>" in page.text["h1"]
    assert "These 400 records are made up." in page.words
    assert content.record.signed.keyid in page.words
    assert content.record.ledger.head.digest in page.words
    assert set(NOT_COVERED) <= set(page.text["li"])
    for file in content.files:
        assert file.sha256 in page.words


def test_a_page_is_never_made_of_the_internal_record(content: PublicContent) -> None:
    internal = Provenance.model_construct(**{**vars(content.record), "rendering": "internal"})
    with pytest.raises(Refused, match="public record"):
        render_public_page(replace(content, record=internal))


def test_the_digests_of_the_page_and_of_the_record_are_not_in_it(content: PublicContent) -> None:
    assert not {PUBLIC_PAGE, RECORD} & {file.name for file in content.files}
