"""Opens the servers' pages in a browser as people do, and waits until each shows its content."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from tests.browser import Browser

# Drawing is reported after the content is fetched; requests to other servers may follow a moment later.
_LATER_MS = 1_000
_MLFLOW_MS = 2_000
_LONGEST = 4_000  # CSS pixels of a picture; Chromium makes none that are twice as long

Seen = Callable[[str, Page], None]
"""What is done with a page that is open: its name, and the page."""


def nothing_more(_name: str, _page: Page) -> None:
    """Do nothing more with a page."""


def look_at_prefect(
    chromium: Browser,
    address: str,
    credentials: str,
    run: str,
    *,
    held: str | None = None,
    artifact: str | None = None,
    seen: Seen = nothing_more,
) -> None:
    """Open Prefect's pages: the login form, all runs, a run with its graph, artifacts, and the form of a held run.

    Args:
        chromium: the browser.
        address: of the server.
        credentials: the credentials for its form.
        run: a run, by its id.
        held: a run that waits for a person.
        artifact: key of an artifact.
        seen: what is done with each page.
    """
    page = chromium.page(address, width=1400, height=1000)
    page.goto(address)
    form = page.get_by_role("textbox")
    form.wait_for()
    _show("login", page, seen)
    form.fill(credentials)
    form.press("Enter")
    page.wait_for_url("**/dashboard*")
    _show("dashboard", page, seen)
    page.goto(f"{address}/runs")
    page.get_by_text("Flow runs", exact=False).first.wait_for()
    _show("runs", page, seen)
    page.goto(f"{address}/runs/flow-run/{run}")
    page.locator("canvas").first.wait_for()
    page.get_by_text("Task Runs").first.wait_for()
    _show("run", page, seen)
    page.goto(f"{address}/artifacts")
    page.get_by_placeholder("Search artifacts").wait_for()
    _show("artifacts", page, seen)
    page.goto(f"{address}/blocks/catalog")
    page.get_by_text("Webhook", exact=True).first.wait_for()
    _show("blocks", page, seen)
    page.goto(f"{address}/work-pools/create")
    page.get_by_text("Process", exact=True).first.wait_for()
    _show("work pools", page, seen)
    if artifact is not None:
        page.goto(f"{address}/artifacts/key/{artifact}")
        page.get_by_text(artifact).first.wait_for()
        _show("artifact", page, seen)
    if held is not None:
        page.goto(f"{address}/runs/flow-run/{held}")
        page.get_by_role("button", name="Resume").click()
        page.get_by_text("Your name.").wait_for()
        _show("form", page, seen)
    chromium.close(page)


def look_at_mlflow(
    chromium: Browser,
    address: str,
    credentials: str,
    dataset: tuple[str, str],
    run: str,
    *,
    file: str = "internal/report.html",
    only: Callable[[list[str]], list[str]] = list,
    seen: Seen = nothing_more,
) -> None:
    """Open MLflow's pages, each for the first time: experiments, runs, a run, one of its files, the registry, a model.

    Args:
        chromium: the browser.
        address: of the server.
        credentials: the credentials for the browser's dialogue.
        dataset: the experiment's id, and its name.
        run: the id of a release's run.
        file: one of its artifacts.
        only: chooses pages by their names.
        seen: what is done with each page.
    """
    number, name = dataset
    pages = {
        "experiments": ("", name),
        "runs": (f"#/experiments/{number}/runs", "Run Name"),
        "run": (f"#/experiments/{number}/runs/{run}", "About this run"),
        "file": (f"#/experiments/{number}/runs/{run}/artifacts/{file}", file),
        "registry": ("#/models", name),
        "model": (f"#/models/{name}", "Version 1"),
    }
    for what in only([*pages]):
        place, shown = pages[what]
        page = chromium.page(address, width=1400, height=1000, credentials=credentials)
        page.goto(f"{address}/{place}")
        page.get_by_text(shown).first.wait_for()
        page.wait_for_timeout(_MLFLOW_MS)
        # Auditors see neither the pages for language models nor an assistant that covers a third of the page.
        page.get_by_text("Model registry").first.wait_for()
        for unwanted in ("MLflow Assistant", "Prompts", "Information about UI telemetry"):
            assert page.get_by_text(unwanted, exact=True).locator("visible=true").count() == 0, unwanted
        seen(what, page)
        chromium.close(page)


def look_at_file(
    chromium: Browser, file: Path, *, width: int = 1280, dark: bool = False, picture: Path | None = None
) -> None:
    """Open one of our own pages, which may load files next to it.

    Args:
        chromium: the browser.
        file: the page.
        width: of what is seen, in CSS pixels.
        dark: whether the reader prefers dark pages.
        picture: file for a picture of the whole page, taken in parts if the page is too long for Chromium.
    """
    page = chromium.page(file.parent.as_uri(), width=width, dark=dark)
    page.goto(file.as_uri())
    page.get_by_role("heading").first.wait_for()
    # A page with a script that the reader must start is shown after the start.
    for button in page.get_by_role("button", name="Run the script").all():
        button.click()
        button.wait_for(state="hidden")
    if picture is not None:
        _picture_whole(page, picture, width)
    chromium.close(page)


def _picture_whole(page: Page, place: Path, width: int) -> None:
    left, number = int(page.evaluate("document.documentElement.scrollHeight")), 1
    while left > 0:
        page.set_viewport_size({"width": width, "height": min(left, _LONGEST)})
        page.evaluate("top => window.scrollTo(0, top)", (number - 1) * _LONGEST)
        page.screenshot(path=place if number == 1 else place.with_stem(f"{place.stem}-{number}"))
        left, number = left - _LONGEST, number + 1


def _show(name: str, page: Page, seen: Seen) -> None:
    page.wait_for_timeout(_LATER_MS)
    seen(name, page)
