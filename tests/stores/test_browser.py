"""What the tests' browser records: every request of a page, in whatever way it is made."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import browser

POLICY = "default-src 'self' 'unsafe-inline'; connect-src 'self'; worker-src blob:; frame-src 'none'"
WAYS = {
    "script": "<script src='https://script.invalid/x'></script>",
    "picture": "<img src='https://picture.invalid/x'>",
    "style": "<style>p { background: url(https://style.invalid/x) }</style><p>shown</p>",
    "frame": "<iframe src='https://frame.invalid/'></iframe>",
    "fetch": "<script>fetch('https://fetch.invalid/').catch(() => 0)</script>",
    "beacon": "<script>navigator.sendBeacon('https://beacon.invalid/', 'x')</script>",
    "socket": "<script>new WebSocket('wss://socket.invalid/')</script>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob([\"fetch('https://worker.invalid/')\"])))</script>",
    "preconnect": "<link rel=preconnect href='https://preconnect.invalid'>",
    "dns-prefetch": "<link rel=dns-prefetch href='//dns-prefetch.invalid'>",
    "prefetch": "<link rel=prefetch href='https://prefetch.invalid/x'>",
    "port": "<img src='http://127.0.0.1:9/'>",
    "later": "<script>setTimeout(() => { new Image().src = 'https://later.invalid/' }, 300)</script>",
}
QUIET = "<link rel=icon href=data:,><p>shown</p><img src='/own'><script>fetch('/own')</script>"


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if self.path == "/guarded":
            self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write((QUIET + ("" if self.path == "/quiet" else "".join(WAYS.values()))).encode())

    def log_message(self, *_said: object) -> None:
        pass


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("page", "unseen"), [("open", []), ("guarded", ["worker"])])
def test_whatever_a_page_asks_of_others_is_known_but_what_a_policy_stops_in_a_worker(
    served: str, page: str, unseen: list[str], tmp_path: Path
) -> None:
    with browser(tmp_path) as chromium:
        shown = chromium.page(served)
        shown.goto(f"{served}/{page}")
        shown.wait_for_timeout(1000)
    told = " ".join(chromium.asked_elsewhere)
    addresses = {way: "127.0.0.1:9" if way == "port" else f"{way}.invalid" for way in WAYS}
    assert [way for way, address in addresses.items() if address not in told] == unseen


def test_a_page_that_asks_its_own_server_alone_is_not_blamed(served: str, tmp_path: Path) -> None:
    with browser(tmp_path) as chromium:
        page = chromium.page(served)
        page.goto(f"{served}/quiet")
        assert page.inner_text("p") == "shown"
    assert chromium.asked_elsewhere == []


def test_a_file_may_show_what_lies_beside_it_and_nothing_else(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "page.html").write_text("<p>shown</p><img src=picture.png><img src=../elsewhere.png>")
    with browser(tmp_path) as chromium:
        chromium.page(beside.as_uri()).goto((beside / "page.html").as_uri())
    assert chromium.asked_elsewhere == [(tmp_path / "elsewhere.png").as_uri()]
