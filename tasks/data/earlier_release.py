"""Reads public documents of an earlier release, and refuses any that its record does not state.

The release is found by its name, in the spec's folder or among the releases of the state folder. Its record is the file
whose digest the spec states; the digests of all other files are in the record. Whether the record's signature is
trusted is checked when the spec is written, and again by everyone who verifies the release that uses it.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput, Refused
from deniable.mechanisms import EarlierRelease, Product
from deniable.record.attestation import Envelope, Statement
from schemas.provenance import RECORD
from schemas.regular_files import read_regular
from stores.vault.scratch import state_of
from stores.vault.workspace import Workspace

_LARGEST = 1 << 26


@dataclass(frozen=True)
class EarlierDocuments:
    """The documents of an earlier release; see `deniable.mechanisms.ReleasedDocuments`.

    Attributes:
        workspace: the release that reads them.
        earlier: the earlier release, as the spec names it.
    """

    workspace: Workspace
    earlier: EarlierRelease

    def document(self, product: Product) -> Any:
        """Read a document.

        Raises:
            InvalidInput: the release or its file is missing.
            Refused: the file is not the one that the record states, or the release is of another table.
        """
        name = product.file
        stated = self.statement.subjects.get(name)
        if stated is None or self.earlier.files.get(name, stated) != stated:
            raise Refused(
                f"{self.earlier.release} must have the {name} that learner.model states, and its record states "
                f"{'none' if stated is None else 'another'}; {self._write_anew}."
            )
        content = self._read(name)
        if sha256(content).hexdigest() != stated:
            raise Refused(
                f"{self._folder / name} must be as it was signed, and is not; restore the release's folder from a copy."
            )
        document, again = json.loads(content), BytesIO()
        product.write(document, again)
        if again.getvalue() != content:
            raise Refused(
                f"{self._folder / name} must be as this version of the program writes it, and is not; release with the "
                "version that made it."
            )
        return document

    def count(self, *_: object) -> Any:
        """Refuse to count."""
        raise Refused("a step that reads an earlier release must count no rows, and requested counts.")

    def advance(self, _: int) -> None:
        """Report nothing: such a step takes hardly any time."""

    @property
    def _write_anew(self) -> str:
        return f"write another spec with {command_line('release again')} {self.earlier.release}"

    @cached_property
    def _folder(self) -> Path:
        name, spec = self.earlier.release, self.workspace.spec
        places = (spec.folder / name, state_of(self.workspace.state) / "releases" / name)
        for place in places:
            if (place / RECORD).is_file():
                return place
        raise InvalidInput(
            f"the release {name}, whose model the spec names, must be in {places[1].parent} or beside the spec, and is "
            "not; put its public folder there."
        )

    def _read(self, name: str) -> bytes:
        try:
            return read_regular(self._folder / name, f"{name} of {self.earlier.release}", _LARGEST)
        except OSError:
            raise InvalidInput(
                f"{self._folder / name} must be readable, and is not; restore the release's folder from a copy."
            ) from None

    @cached_property
    def statement(self) -> Statement:
        """The statement of its record.

        Raises:
            InvalidInput: the release is missing, or cannot be read.
            Refused: it is not the one that the spec names, or of another table.
        """
        content, spec = self._read(RECORD), self.workspace.spec
        if sha256(content).hexdigest() != self.earlier.record:
            raise Refused(
                f"the record of {self.earlier.release} must be the one that learner.record names, and is another; "
                f"{self._write_anew}."
            )
        statement = Statement.from_payload(Envelope.from_text(content).payload)
        said: Any = statement.predicate
        if (said["release"]["dataset"], said["schema"]["domain"]) != (spec.dataset_name, spec.domain.digest):
            raise Refused(
                f"{self.earlier.release} must be a release of the same dataset with the same schema, and is not; a "
                "model serves releases of the table that it was learnt from."
            )
        cost = said["cost"]["model"]
        if (cost["epsilon"], cost["delta"]) != (self.earlier.epsilon, self.earlier.delta):
            raise Refused(
                f"learner.epsilon and learner.delta must be those of the model of {self.earlier.release}, "
                f"{cost['epsilon']} and {cost['delta']}, got {self.earlier.epsilon} and {self.earlier.delta}; "
                f"{self._write_anew}."
            )
        return statement
