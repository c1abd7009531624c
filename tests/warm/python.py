"""A `.venv/bin/python` whose `-m flows` is forked like the commands of other tests; everything else runs as usual.

It is for shells and make, which start commands by that name.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from tempfile import TemporaryDirectory
from threading import Thread

from tests.warm import run_for

_SHIM = """#!{python} -IS
import json, os, socket, sys
if sys.argv[1:3] != ["-m", "flows"]:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    asked.sendall(json.dumps([os.getpid(), sys.argv[3:], dict(os.environ), os.getcwd()]).encode())
    asked.shutdown(socket.SHUT_WR)
    sys.exit(int(asked.recv(8)))
"""


class _Answer(StreamRequestHandler):
    def handle(self) -> None:
        process, arguments, environment, folder = json.loads(self.rfile.read())
        state = {"DENIABLE_STATE": str(self.server.state)}  # type: ignore[attr-defined]
        status = run_for(process, "flows", arguments, env=state | environment, cwd=Path(folder))
        self.wfile.write(str(status).encode())


@contextmanager
def warm_python(environment: Path, copied: Path, state: Path) -> Iterator[None]:
    """Make such a virtual environment.

    Args:
        environment: its folder.
        copied: the folder of the original environment.
        state: the default state folder of commands, instead of `var` in the checkout.
    """
    (environment / "bin").mkdir(parents=True)
    for path in (path for folder in (copied, copied / "bin") for path in folder.iterdir()):
        if path.name not in {"bin", "python"}:
            (environment / path.relative_to(copied)).symlink_to(path)
    with TemporaryDirectory(prefix="deniable-warm-") as folder:
        address = f"{folder}/python"
        python = environment / "bin" / "python"
        python.write_text(_SHIM.format(python=str(copied / "bin" / "python"), address=address))
        python.chmod(0o700)
        with ThreadingUnixStreamServer(address, _Answer) as server:
            server.state = state  # type: ignore[attr-defined]
            Thread(target=server.serve_forever, daemon=True).start()
            yield
            server.shutdown()
