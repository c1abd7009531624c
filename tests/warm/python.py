"""A `python` and a `deniable` that fork commands and scripts like those of other tests; all else runs as usual.

It is for shells and make, which start commands by that name, and for commands that start others.
"""

import atexit
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from tempfile import TemporaryDirectory
from threading import Thread

from tests import warm

_OF_GUIDES = ("flows", "deniable")
_OF_PREFECT = ("prefect", "prefect.engine", "prefect.runner._workspace_supervisor")
_SHIM = """#!{python} -IS
import json, os, socket, sys
asked = sys.argv[1:]
if asked[:1] == ["-m"] and asked[1] in {forked!r}:
    del asked[0]
elif not asked or not asked[0].endswith(".py"):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as forks:
    forks.connect({address!r})
    forks.sendall(json.dumps([os.getpid(), asked, dict(os.environ), os.getcwd()]).encode())
    forks.shutdown(socket.SHUT_WR)
    sys.exit(int(forks.recv(8)))
"""


class _Answer(StreamRequestHandler):
    def handle(self) -> None:
        process, (module, *arguments), environment, folder = json.loads(self.rfile.read())
        told = self.server.told  # type: ignore[attr-defined]
        status = warm.run_for(process, module, arguments, env=told | environment, cwd=Path(folder))
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
        told = {"DENIABLE_STATE": str(state)}
        python = environment / "bin" / "python"
        server = _serve(python, str(copied / "bin" / "python"), _OF_GUIDES, Path(folder), told)
        script = environment / "bin" / "deniable"
        script.unlink(missing_ok=True)
        script.write_text(f'#!/bin/sh\nexec {python} -m deniable "$@"\n')
        script.chmod(0o700)
        with server:
            yield
            server.shutdown()


@cache
def python_of_commands() -> str:
    """Return the `python` by which the commands of this process start Prefect's; they are forked too."""
    folder = TemporaryDirectory(prefix="deniable-warm-")
    python = Path(folder.name, "python")
    server = _serve(python, sys.executable, _OF_PREFECT, Path(folder.name), {})
    atexit.register(folder.cleanup)
    atexit.register(server.server_close)
    return str(python)


def _serve(
    python: Path, original: str, forked: Sequence[str], folder: Path, told: Mapping[str, str]
) -> ThreadingUnixStreamServer:
    """Make a `python`, and serve it.

    Args:
        python: the file.
        original: what runs everything else.
        forked: the modules that are forked.
        folder: for a socket.
        told: variables of the modules, unless their environment has others.
    """
    address = str(folder / "asked")
    python.write_text(_SHIM.format(python=original, address=address, forked=forked))
    python.chmod(0o700)
    server = ThreadingUnixStreamServer(address, _Answer)
    server.daemon_threads = True
    server.told = told  # type: ignore[attr-defined]
    Thread(target=server.serve_forever, daemon=True).start()
    return server
