"""The completed steps of a release, so that the next run of the same release does not repeat them.

The journal is in the vault. The result of a step is noted when it is stored, together with its arguments. A step with
the same arguments returns the noted result, provided that every file in it still exists with the same bytes. Whether a
draw costs anything is decided by the ledger, not by the journal.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from schemas.catalog import code_digest, schema_code
from schemas.references import Audience, Reference
from stores.own_files import read_own
from stores.vault.private_files import make_private_folder
from stores.vault.workspace import Workspace

T = TypeVar("T")


@dataclass(frozen=True)
class Journal:
    """The journal of one release.

    Attributes:
        workspace: the release.
    """

    workspace: Workspace

    def recall(self, step: str, given: object, result: TypeAdapter[T]) -> T | None:
        """The earlier result of a step with the same arguments, if its files still exist.

        Args:
            step: name of the step.
            given: the step's arguments.
            result: the type of its result.
        """
        path = self._path(step, given)
        try:
            noted = result.validate_json(read_own(path))
        except (FileNotFoundError, ValidationError):
            return None
        return noted if all(self.workspace.holds(made) for made in _references(noted)) else None

    def note(self, step: str, given: object, result: TypeAdapter[T], made: T) -> None:
        """Note the result of a step, which is already stored."""
        path = self._path(step, given)
        make_private_folder(path.parent)
        with self.workspace.writing(f"steps/{path.name}", Audience.RESTRICTED) as temporary:
            temporary.write_bytes(result.dump_json(made))

    def _path(self, step: str, given: object) -> Path:
        """The path of a step's note: a digest of the spec, the schema, the code and the arguments."""
        spec = self.workspace.spec
        said = [
            step,
            spec.model_dump(mode="json", fallback=str),
            schema_code(spec.dataset, spec.folder),
            code_digest(),
            to_jsonable_python(given, fallback=str, inf_nan_mode="strings"),
        ]
        return (
            self.workspace.vault
            / "steps"
            / f"{step}-{sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:24]}.json"
        )


def _references(made: object) -> Iterator[Reference]:
    """The stored files that a result refers to."""
    if isinstance(made, Reference):
        yield made
    elif isinstance(made, Mapping):
        for inner in made.values():
            yield from _references(inner)
    elif isinstance(made, (list, tuple)):
        for inner in made:
            yield from _references(inner)
