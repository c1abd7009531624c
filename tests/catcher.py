"""A webhook on this machine's loopback that keeps everything posted to it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_ENOUGH_S = 300


@dataclass
class Catcher:
    """The requests received, and the answers to give.

    Attributes:
        address: the address at which it listens.
        answers: status of each answer in turn; the last one is repeated.
        caught: bodies of the requests.
        headers: headers of the requests.
    """

    address: str = ""
    answers: list[int] = field(default_factory=lambda: [200])
    caught: list[bytes] = field(default_factory=list)
    headers: list[Message] = field(default_factory=list)

    def once(self, number: int) -> list[bytes]:
        """Return the requests once there are that many."""
        give_up = time.monotonic() + _ENOUGH_S
        while len(self.caught) < number:
            assert time.monotonic() < give_up, self.caught
            time.sleep(0.1)
        return self.caught


@contextmanager
def catching() -> Iterator[Catcher]:
    """Listen until the block ends."""
    catcher = Catcher()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            catcher.headers.append(self.headers)
            catcher.caught.append(self.rfile.read(int(self.headers["Content-Length"])))
            status = catcher.answers.pop(0) if len(catcher.answers) > 1 else catcher.answers[0]
            self.send_response(status)
            if status == 302:
                self.send_header("Location", catcher.address)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    catcher.address = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield catcher
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
