"""What a release has done already, so that the next run of the same release does not do it again.

The journal lies in the vault. What a step gave is noted when it is stored, with all that it was given; a step that is
given the same again gives the noted result, provided that every file it names is still there, byte by byte. Whether a
draw costs anything is for the ledger to say, not for the journal.
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
        """What a step gave before when it was given the same, if that is still there.

        Args:
            step: name of the step.
            given: the step's arguments.
            result: the type of what it gives.
        """
        path = self._path(step, given)
        try:
            noted = result.validate_json(path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return noted if all(self.workspace.holds(made) for made in _references(noted)) else None

    def note(self, step: str, given: object, result: TypeAdapter[T], made: T) -> None:
        """Note what a step gave; it is stored already."""
        path = self._path(step, given)
        make_private_folder(path.parent)
        with self.workspace.writing(f"steps/{path.name}", Audience.RESTRICTED) as temporary:
            temporary.write_bytes(result.dump_json(made))

    def _path(self, step: str, given: object) -> Path:
        """Where a step has its note: under a digest of the spec, the schema, the code and all that it is given."""
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
    """The stored things that a result names."""
    if isinstance(made, Reference):
        yield made
    elif isinstance(made, Mapping):
        for inner in made.values():
            yield from _references(inner)
    elif isinstance(made, (list, tuple)):
        for inner in made:
            yield from _references(inner)
