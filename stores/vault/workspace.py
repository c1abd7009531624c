"""The folders of one release: a vault for restricted files, a shelf for internal ones, a stage for public ones.

Everything is under one state folder, mode 0700:

    cache/                  downloads that anyone may read, and costs that follow from specs and schemas
    vault/RELEASE/          restricted: key, snapshot, codes, parts, candidates, error details
    shelf/RELEASE/          internal: the report and the codes that await publication; its folder public/ contains
                            learnt files that may be published
    staging/RELEASE/        files that publication is about to move
    scratch/                replays, and tables that are unpacked or sorted while they are read; swept
    releases/RELEASE/       public, complete or absent
    mlflow/  prefect/       the embedded services' state
    deployments.json        what form, runs, worker and watch of the deployments share
"""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from schemas.references import Audience, Reference
from schemas.regular_files import opened_regular
from schemas.spec.release_spec import ReleaseSpec
from stores.own_files import opened_own
from stores.vault.private_files import PRIVATE_FILE, PRIVATE_FOLDER

if TYPE_CHECKING:
    from deniable.foundation.keys import ReleaseKey
    from schemas.spec.plan import ReleasePlan

COUNTS_FILE = "counts-{}.npz"
"""Name of a worker's counts, until they are added up."""
_BYTES_A_READ = 1 << 20


@dataclass(frozen=True)
class Workspace:
    """One release's folders and identity; small, and safe to hand to a task.

    Attributes:
        state: the state folder.
        release_id: the release's name, unique in the state folder.
        spec: the specification of the release.
        mlflow_run_id: the MLflow run of the release, parent of the steps' runs.
    """

    state: Path
    release_id: str
    spec: ReleaseSpec
    mlflow_run_id: str

    @cached_property
    def plan(self) -> "ReleasePlan":
        """What the release does and costs; made once in each process."""
        from schemas.spec.plan import plan_release  # noqa: PLC0415 - imports learners

        return plan_release(self.spec)

    def __getstate__(self) -> dict[str, object]:
        """Leave the plan out, which is made again where it is needed: it holds functions."""
        return {name: value for name, value in self.__dict__.items() if name != "plan"}

    @property
    def vault(self) -> Path:
        """Folder of restricted files."""
        return self.state / "vault" / self.release_id

    @property
    def shelf(self) -> Path:
        """Folder of internal files."""
        return self.state / "shelf" / self.release_id

    @property
    def staging(self) -> Path:
        """Folder in which the release is assembled."""
        return self.state / "staging" / self.release_id

    @property
    def release_folder(self) -> Path:
        """Folder of the published release."""
        return self.state / "releases" / self.release_id

    def key(self) -> "ReleaseKey":
        """The release key, from its custodian."""
        from stores.vault.custody import fetch_key  # noqa: PLC0415 - imports Prefect

        return fetch_key(self)

    def folder(self, audience: Audience) -> Path:
        """The folder for files of an audience."""
        return {Audience.RESTRICTED: self.vault, Audience.INTERNAL: self.shelf, Audience.PUBLIC: self.shelf / "public"}[
            audience
        ]

    @contextmanager
    def writing(self, file_name: str, audience: Audience) -> Iterator[Path]:
        """Yield a temporary path that becomes `file_name` if the block succeeds and is removed otherwise."""
        folder = self.folder(audience)
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        target = folder / file_name
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as handle:
            temporary = Path(handle.name)
        try:
            yield temporary
            temporary.chmod(PRIVATE_FILE)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    def refer(self, name: str, file_name: str, audience: Audience, rows: int | None = None) -> Reference:
        """Describe a written file: digest, rows and audience."""
        return self.describe(name, self.folder(audience) / file_name, audience, rows)

    def describe(self, name: str, path: Path, audience: Audience, rows: int | None = None) -> Reference:
        """Describe a file at any location."""
        return Reference(name=name, path=path, digest=self._digest(path, audience), rows=rows, audience=audience)

    def holds(self, reference: Reference) -> bool:
        """Whether a stored file still exists with the same bytes."""
        return reference.path.is_file() and self._digest(reference.path, reference.audience) == reference.digest

    def _digest(self, path: Path, audience: Audience) -> str:
        """Digest of a file: plain if it is public, otherwise keyed (a plain digest confirms a guess)."""
        hasher = sha256() if audience is Audience.PUBLIC else self.key().hasher("artifact")
        with opened_own(path) as handle:
            while block := handle.read(_BYTES_A_READ):
                hasher.update(block)
        return hasher.hexdigest()

    def sweep(self) -> None:
        """Remove files that a killed process was writing, and counts that were not added up.

        No other process may be working on the release.
        """
        for folder in (self.vault, self.shelf):
            for path in (*folder.rglob(".*"), *folder.glob(COUNTS_FILE.format("*"))):
                path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the vault, shelf and staging folders of an unfinished release."""
        discard_folders(self.state, self.release_id)


def file_digest(path: Path) -> str:
    """SHA-256 of a public file, in hex.

    Raises:
        InvalidInput: it is not a regular file.
        OSError: it cannot be read.
    """
    with opened_regular(path, "a file of a release") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def discard_folders(state: Path, release_id: str) -> None:
    """Remove all folders of a release except the published one."""
    for shelf in ("vault", "shelf", "staging"):
        shutil.rmtree(state / shelf / release_id, ignore_errors=True)
