"""The public page shows a release to everybody: what is public and nothing else, whole in itself, always the same."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from frictionless import validate

from deniable.foundation.errors import Refused
from deniable.mechanisms import GRAPH
from deniable.record.statement import not_covered
from reports.pages.public_page import PUBLIC_PAGE, PublicContent, public_content, render_public_page
from schemas.provenance import RECORD, Provenance
from schemas.spec.flow_steps import flow_steps
from stores.keys.signed_record import read_signed
from stores.publication.data_package import DATA_PACKAGE
from stores.vault.step_log import noted_steps
from tests.html_page import Page
from tests.whole_release import GUARANTEES, Drawn, drawn_release

OWNED = {
    "publisher": {"name": "Office & sons", "url": "https://office.example"},
    "licence": "CC-BY-4.0",
    "not_for": "Decisions about <persons>.",
    "period": "2015/2018",
}


@pytest.fixture(scope="module", params=GUARANTEES)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    changes = {**GUARANTEES[request.param], "title": "Made-up <people>", "publication": OWNED}
    made = drawn_release(tmp_path_factory.mktemp("shown"), "people-2026", bytes(range(64, 96)), **changes)
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
    assert (folder / PUBLIC_PAGE).read_text(encoding="utf-8") == page.html
    again = public_content(folder, record=content.record, spec=drawn.workspace.spec, accounts=drawn.accounts)
    assert render_public_page(again) == page.html


def test_the_page_says_what_this_is_and_what_is_guaranteed(drawn: Drawn, page: Page, content: PublicContent) -> None:
    assert "Made-up <people>" in page.text["h1"]
    assert "These 400 records are made up." in page.words
    assert content.record.signed.keyid in page.words
    assert content.record.ledger.head.digest in page.words
    assert set(not_covered(drawn.accounts.relation)) <= set(page.text["li"])
    for file in content.files:
        assert file.sha256 in page.words


def test_the_page_says_who_answers_for_the_table_and_on_which_terms(page: Page, folder: Path) -> None:
    for text in ("Office & sons, https://office.example", "CC-BY-4.0", "Decisions about <persons>.", "2015/2018"):
        assert text in page.text["dd"]
    assert "Legal basis" not in page.words
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "- Not meant for: Decisions about \\<persons\\>." in readme
    assert read_signed(folder / RECORD).record.spec.document["publication"]["licence"] == "CC-BY-4.0"


def test_other_peoples_tools_find_the_published_table_valid(folder: Path) -> None:
    report = validate(str(folder / DATA_PACKAGE))
    assert report.valid
    assert [(task.name, task.stats.get("rows")) for task in report.tasks] == [
        ("synthetic", 400),
        ("synthetic-parquet", None),
    ]


def test_a_page_is_never_made_of_the_internal_record(content: PublicContent) -> None:
    internal = Provenance.model_construct(**{**vars(content.record), "rendering": "internal"})
    with pytest.raises(Refused, match="public record"):
        render_public_page(replace(content, record=internal))


def strengths(drawn: Drawn) -> set[str]:
    """What the page shows of the public graph, which may be like an internal figure by chance."""
    place = drawn.workspace.release_folder / GRAPH.file
    numbers = re.findall(r"\d\.\d+", place.read_text(encoding="utf-8")) if place.is_file() else []
    return {f"{float(number):.3f}" for number in numbers}


def test_no_internal_figure_is_in_the_page(drawn: Drawn, page: Page) -> None:
    """Numbers of rows, and all that was measured on real records, as any page would write them."""
    steps = noted_steps(drawn.workspace, tuple(flow_steps(drawn.workspace.spec)))
    measured = {
        name: value for step in steps for name, value in (step.figures or {}).items() if name.startswith("internal/")
    }
    assert {"internal/rows_clean", "internal/tvd_2way", "internal/exact_match_training"} <= measured.keys()
    written = {
        text
        for value in measured.values()
        for text in (
            [f"{value:,.0f}", f"{value:.0f}"] if value > 100 else [f"{value:.4f}", f"{value:.3f}", f"{value:.2%}"]
        )
        if len(re.sub(r"\D", "", text).lstrip("0")) >= 3
    }
    assert len(written) > 60
    shown = set(re.findall(r"(?<![\w.])[\d,.]*\d%?(?!\w)", page.words))
    # How many records were released is public, and candidates that passed may be as many.
    both = (written & shown) - {"400"} - strengths(drawn)
    assert not both, {name: value for name, value in measured.items() if {f"{value:.4f}", f"{value:.3f}"} & both}


def test_what_a_record_has_by_mistake_is_not_shown(content: PublicContent) -> None:
    """A public record has no place for these; were one made with them, the page would still not show them."""
    planted = {
        "started": "2026-01-02T03:04:05Z",
        "ended": "2026-01-02T03:09:59Z",
        "parameters": {"rows": "31337"},
        "figures": {"internal/tvd_2way": 0.271828182},
        "mlflow_run": "planted-run",
        "prefect_task_run": "planted-task",
    }
    steps = tuple(step.model_copy(update=planted) for step in content.record.steps)
    html = render_public_page(replace(content, record=content.record.model_copy(update={"steps": steps})))
    assert html == render_public_page(content)


def test_the_digests_of_the_page_and_of_the_record_are_not_in_it(content: PublicContent) -> None:
    assert not {PUBLIC_PAGE, RECORD} & {file.name for file in content.files}
