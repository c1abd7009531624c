"""A headless browser that records all requests of its pages to others: Chromium, driven by Playwright.

    with browser(tmp_path) as chromium:
        page = chromium.page("http://127.0.0.1:5000", width=400, dark=True)
        page.goto("http://127.0.0.1:5000/#/experiments")
        page.screenshot(path="experiments.png")
    assert chromium.asked_elsewhere == []

Nothing leaves the machine: every host name except the loopback's is reported as unknown. A page's requests are
collected from three sources, because none of them is complete: DevTools, which shows what a Content-Security-Policy
blocked before it was sent; Chromium's network log, which shows requests of workers, sockets and the browser itself, and
every name to be resolved; and the page's own hints (`preconnect`, `dns-prefetch`), which a headless browser does not
follow. None of them shows what a policy blocked in a worker.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import matplotlib as mpl
from playwright.sync_api import Browser as Driver
from playwright.sync_api import CDPSession, HttpCredentials, Page, sync_playwright

from tests.conftest import ROOT

CHROMIUM_VARIABLE = "CHROMIUM"
_OWN = ROOT / ".venv" / "browser"
_PATIENCE_MS = 300_000
_NOT_SENT = ("about", "blob", "chrome", "data", "devtools")
_SAME_ORIGIN = {"ws": "http", "wss": "https"}
_HINTS = "links => links.filter(l => /preconnect|dns-prefetch/.test(l.rel)).map(l => l.href)"
# The entries of Chromium's log that contain addresses.
_ADDRESSES = ("url", "host", "destination", "location")
_FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
{folders}<cachedir>{cache}</cachedir>{families}
</fontconfig>"""
_FAMILIES = {
    "sans-serif": "Open Sans",
    "system-ui": "Open Sans",
    "serif": "DejaVu Serif",
    "monospace": "DejaVu Sans Mono",
    "ui-monospace": "DejaVu Sans Mono",
}


class Browser:
    """A browser, and the requests of its pages to addresses other than their own.

    Attributes:
        asked_elsewhere: addresses that a page requested, or tried to request, outside all pages' own addresses;
            complete once the browser has ended.
    """

    def __init__(self, driver: Driver) -> None:
        self.asked_elsewhere: list[str] = []
        self._driver = driver
        self._own: set[str] = set()
        self._opened: dict[Page, CDPSession] = {}

    def page(
        self,
        *own: str,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        scripts: bool = True,
        credentials: str | None = None,
    ) -> Page:
        """Open a new page, isolated from the others: without cookies or stored data.

        Args:
            own: the addresses that the page may request: origins (http://127.0.0.1:5000), or folders of files
                (file:///...).
            width: width of the viewport in CSS pixels.
            height: height of the viewport in CSS pixels.
            dark: whether the reader prefers dark pages.
            scripts: whether pages may run scripts.
            credentials: USER:PASSWORD for the browser's own dialogue, which is answered only for `own`.
        """
        self._own |= {address.rstrip("/") for address in own}
        user, _, password = (credentials or "").partition(":")
        known = HttpCredentials(username=user, password=password, origin=own[0].rstrip("/")) if credentials else None
        context = self._driver.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            http_credentials=known,
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(_PATIENCE_MS)
        context.on("request", lambda request: self._note(request.url))
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.on("Network.requestWillBeSent", lambda said: self._note(said["request"]["url"]))
        session.on("Network.webSocketCreated", lambda said: self._note(said["url"]))
        session.on("Audits.issueAdded", self._note_what_a_policy_stopped)
        session.send("Network.enable")
        session.send("Audits.enable")
        self._opened[page] = session
        return page

    def close(self, page: Page) -> None:
        """Close a page."""
        for address in page.eval_on_selector_all("link[rel][href]", _HINTS):
            self._note(address)
        page.context.close()
        del self._opened[page]

    def end(self, network_log: Path) -> None:
        """End the browser, and read its network log."""
        for page in list(self._opened):
            self.close(page)
        self._driver.close()
        for event in json.loads(network_log.read_text(encoding="utf-8"))["events"]:
            said = event.get("params") or {}
            for address in (said.get(name) for name in _ADDRESSES):
                if isinstance(address, str):
                    self._note(address)

    def _note(self, address: str) -> None:
        """Record an address that belongs to none of the pages."""
        parts = urlsplit(address if "//" in address or address.startswith(_NOT_SENT) else f"//{address}")
        if parts.scheme in _NOT_SENT or address in self.asked_elsewhere:
            return
        scheme = _SAME_ORIGIN.get(parts.scheme, parts.scheme)
        whole = f"{scheme}://{parts.netloc}{parts.path}"
        own = [mine for mine in self._own if whole == mine or whole.startswith(f"{mine}/")]
        named = not parts.scheme and parts.netloc in {urlsplit(mine).hostname for mine in self._own}
        if not own and not named:
            self.asked_elsewhere.append(address)

    def _note_what_a_policy_stopped(self, said: dict[str, Any]) -> None:
        details = said["issue"]["details"].get("contentSecurityPolicyIssueDetails") or {}
        if address := details.get("blockedURL"):
            self._note(address)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser, and end it when the block ends.

    Args:
        folder: folder for its data.
    """
    network_log = folder / "network.json"
    with sync_playwright() as playwright:
        driver = playwright.chromium.launch(
            executable_path=executable(),
            env={**os.environ, **_libraries(), "FONTCONFIG_FILE": str(_fonts(folder)), "HOME": str(folder)},
            args=[
                f"--log-net-log={network_log}",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
                "--font-render-hinting=none",
                "--hide-scrollbars",
            ],
            timeout=_PATIENCE_MS,
        )
        started = Browser(driver)
        yield started
        started.end(network_log)


def executable() -> Path:
    """Return the browser: the one that CHROMIUM names, otherwise the one that `make test` installs."""
    named = os.environ.get(CHROMIUM_VARIABLE)
    found = Path(named) if named else _OWN / "chromium"
    assert found.is_file(), (
        f"{found} must be a Chromium and is not there; run make {_OWN.relative_to(ROOT)}/chromium, "
        f"or name one by {CHROMIUM_VARIABLE}."
    )
    return found


def _libraries() -> dict[str, str]:
    """Return the folder of libraries that our own browser needs and a minimal machine lacks."""
    return {} if os.environ.get(CHROMIUM_VARIABLE) else {"LD_LIBRARY_PATH": str(_OWN / "al2023" / "lib")}


def _fonts(folder: Path) -> Path:
    """Set up the fonts, the same on every machine: those of Chromium's package and of Matplotlib."""
    folders = (_OWN / "fonts", Path(mpl.get_data_path()) / "fonts" / "ttf")
    written = folder / "fonts.conf"
    text = _FONTS.format(
        folders="".join(f"<dir>{one}</dir>" for one in folders),
        cache=folder / "fonts-cache",
        families="".join(
            f"<alias><family>{name}</family><prefer><family>{font}</family></prefer></alias>"
            for name, font in _FAMILIES.items()
        ),
    )
    written.write_text(text, encoding="utf-8")
    return written
