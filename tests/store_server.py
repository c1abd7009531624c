"""An object store on this machine: a real server with S3's interface, which requires a key."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from moto.server import ThreadedMotoServer
from pyarrow import fs

BUCKET = "confidential-bucket"
_OPEN_TO_ALL = b"1000000"


class ObjectStore:
    """The server, and its address and credentials."""

    def __init__(self) -> None:
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.address = f"http://{host}:{port}"
        self.variables = {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": "engineer",
            "AWS_SECRET_ACCESS_KEY": "engineer's secret",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self.files = fs.S3FileSystem(
            access_key="engineer",
            secret_key="engineer's secret",  # noqa: S106 - of a server that lives for a test
            region="us-east-1",
            endpoint_override=self.address,
            allow_bucket_creation=True,
        )
        self.files.create_dir(BUCKET)

    def put(self, folder: Path, prefix: str) -> str:
        """Copy a folder's files into the store, and return their address."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                with self.files.open_output_stream(f"{BUCKET}/{prefix}/{path.relative_to(folder)}") as file:
                    file.write(path.read_bytes())
        return f"s3://{BUCKET}/{prefix}"

    @contextmanager
    def asking_for_credentials(self) -> Iterator[None]:
        """Make the server admit only known users, of whom there are none."""
        self._let_in(b"0")
        try:
            yield
        finally:
            self._let_in(_OPEN_TO_ALL)

    def stop(self) -> None:
        self._server.stop()

    def _let_in(self, requests: bytes) -> None:
        asked = Request(f"{self.address}/moto-api/reset-auth", data=requests, method="POST")  # noqa: S310
        asked.add_header("Content-Type", "text/plain")
        with urlopen(asked):  # noqa: S310 - our own server
            pass


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start an object store, named in this process's environment until the block ends."""
    store = ObjectStore()
    before = {name: os.environ.get(name) for name in store.variables}
    os.environ.update(store.variables)
    try:
        yield store
    finally:
        store.stop()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
