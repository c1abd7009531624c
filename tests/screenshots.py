"""Makes pictures of every page of two releases, on a separate stack: `python -m tests.screenshots SPEC FOLDER`.

The first release is that of SPEC; the second has half as many records, and a person decides on it. Our own pages are
pictured as a whole, in light and dark mode, and 400 pixels wide.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Page
from ruamel.yaml import YAML

from tests.agency import Agency, release_of
from tests.browser import Browser, browser
from tests.looking import look_at_file, look_at_mlflow, look_at_prefect

# Views of our own pages: name, width and mode.
_LOOKS = {"light": (1280, False), "dark": (1280, True), "narrow": (400, False)}

_COLOURS = 96
_FRONT = 1320


def _two_specs(spec: Path, folder: Path) -> tuple[str, str]:
    """Copy a spec with all files next to it, write a second one of the same dataset, and return the names of both."""
    yaml = YAML()
    shutil.copytree(spec.parent, folder)
    said = yaml.load(spec)
    again = f"{said['name']}_smaller"
    said |= {"name": again, "decision": {"always_ask": True, "approvers": ["ines"]}}
    said["synthesis"]["records"] //= 2
    yaml.dump(said, folder / f"{again}.yaml")
    return spec.stem, again


def _picture(folder: Path, kind: str) -> Callable[[str, Page], None]:
    def take(name: str, page: Page) -> None:
        place = folder / f"{kind}-{name}.png"
        page.screenshot(path=place)
        print(place)

    return take


def _look_at_servers(
    chromium: Browser, agency: Agency, released: dict[str, Any], held: str, folder: Path, dataset: str
) -> None:
    """Take pictures of the pages of Prefect and MLflow."""
    secrets = agency.said("secrets")
    look_at_prefect(
        chromium,
        agency.page("prefect"),
        f"deniable:{secrets['prefect_server']}",
        released["id"],
        held=held,
        artifact=agency.artifact_of(released["id"]),
        seen=_picture(folder, "prefect"),
    )
    number, run = agency.in_mlflow(dataset, release_of(released))
    look_at_mlflow(
        chromium,
        agency.page("mlflow"),
        f"auditor:{secrets['auditor']}",
        (number, dataset),
        run,
        seen=_picture(folder, "mlflow"),
    )


def _look_at_our_own(chromium: Browser, pages: dict[str, Path], folder: Path) -> None:
    """Take pictures of the pages that are files."""
    for name, file in pages.items():
        for look, (width, dark) in _LOOKS.items():
            place = folder / f"{name}-{look}.png"
            look_at_file(chromium, file, width=width, dark=dark, picture=place)
            print(place)


def _front(folder: Path) -> None:
    """Cut the picture for the README out of the public page."""
    with Image.open(folder / "index-light.png") as page:
        page.crop((0, 0, page.width, _FRONT)).save(folder / "front.png")


def _shrink(folder: Path) -> None:
    """Reduce the size of the pictures, which have few colours."""
    for place in folder.glob("*.png"):
        with Image.open(place) as picture:
            few = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(place, optimize=True)


def _list(folder: Path) -> None:
    """Write a page that shows all pictures."""
    lines = [f"## {place.stem.replace('-', ', ')}\n\n![{place.stem}]({place.name})\n" for place in folder.glob("*.png")]
    title = "# Every page of a release\n\nThese pictures are made by `make screenshots`.\n"
    (folder / "README.md").write_text("\n".join([title, *sorted(lines)]), encoding="utf-8")


def take(spec: Path, folder: Path) -> None:
    """Make the releases and the pictures.

    Args:
        spec: spec of the first release.
        folder: folder for the pictures; an existing one is replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with TemporaryDirectory(prefix="deniable-") as place:
        first, second = _two_specs(spec, Path(place, "specs"))
        agency = Agency(Path(place, "state"), Path(place, "home"), Path(place, "specs"), {"DENIABLE_OPERATOR": "ada"})
        try:
            agency.start()
            agency.command("servers", "deploy")
            released = agency.triggered("release/any", spec=first)
            assert released["state"]["type"] == "COMPLETED", released["state"]["message"]
            held = agency.begun("release/any", spec=second)
            agency.once(held, "PAUSED")
            dataset = str(YAML(typ="safe").load(spec)["dataset"]).removesuffix(".py")
            with browser(Path(place)) as chromium:
                _look_at_servers(chromium, agency, released, held, folder, dataset)
                ines = agency.approver("ines")
                agency.command("release", "approve", release_of(agency.run(held)), "--reason", "as agreed", **ines)
                name, other = release_of(released), release_of(agency.once(held, "COMPLETED"))
                agency.command("release", "compare", name, other)
                pages = {
                    "report": agency.state / "shelf" / name / "report.html",
                    "index": agency.state / "releases" / name / "index.html",
                    "explore": agency.state / "releases" / name / "explore.html",
                    "compare": next((agency.state / "comparisons").glob("*.html")),
                }
                _look_at_our_own(chromium, pages, folder)
            assert chromium.asked_elsewhere == []
        finally:
            agency.command("servers", "stack", "down")
    _front(folder)
    _shrink(folder)
    _list(folder)


if __name__ == "__main__":
    take(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
