"""What a published release says about itself, as the formats of other systems need it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Document = Mapping[str, Any]

PROGRAM: Final = "Deniable"
_CERTAIN: Final = 1.0
"""A delta at which nothing is promised."""


@dataclass(frozen=True)
class Described:
    """A release, from its folder.

    Attributes:
        record: the signed record.
        digests: SHA-256 of each signed file, by name.
        record_digest: SHA-256 of the record's own file.
        statement: `privacy.json`.
        package: `datapackage.json`.
        address: where the folder is published, without a slash at the end; empty if it is not known.
    """

    record: Document
    digests: Mapping[str, str]
    record_digest: str
    statement: Document
    package: Document
    address: str = ""

    @property
    def name(self) -> str:
        """The release's name."""
        return str(self.record["release"]["id"])

    @property
    def dataset(self) -> str:
        """The name of the dataset in the ledger."""
        return str(self.record["release"]["dataset"])

    @property
    def title(self) -> str:
        """The title of the released table."""
        return str(self.package["title"])

    @property
    def text(self) -> str:
        """What it is about, and that its records are made up."""
        own = self.said.get("description") or f"{self.record['release']['title']}."
        how = "made up under differential privacy" if self.total else "made up, without differential privacy"
        return f"{own} The records are synthetic: they are {how}, and none describes a real person."

    @property
    def published(self) -> str:
        """The day of publication, `YYYY-MM-DD`."""
        return str(self.record["release"]["published"])

    @property
    def signed(self) -> str:
        """The time of the signature, `YYYY-MM-DDThh:mm:ssZ`."""
        return str(self.record["signed"]["time"])

    @property
    def records(self) -> int:
        """Number of records."""
        return int(self.record["release"]["records"])

    @property
    def version(self) -> str:
        """The version of the program that made it."""
        return str(self.record["code"]["version"])

    @property
    def said(self) -> Document:
        """The spec's block `publication`; empty if it has none."""
        return self.record["spec"]["document"].get("publication") or {}

    @property
    def keywords(self) -> Sequence[str]:
        """Words under which a catalogue lists it."""
        return [str(word) for word in self.package["keywords"]]

    @property
    def period(self) -> tuple[str, str] | None:
        """When the people were described: the first and the last time; None if it is not stated."""
        first, slash, last = str(self.said.get("period") or "").partition("/")
        return (first, last if slash else first) if first else None

    @property
    def licence(self) -> str | None:
        """The address of the licence; None if it is not stated."""
        stated = self.said.get("licence")
        if stated is None:
            return None
        return str(stated) if str(stated).startswith("http") else f"https://spdx.org/licenses/{stated}"

    @property
    def fields(self) -> Sequence[Document]:
        """The table's fields, as in its Table Schema."""
        fields: Sequence[Document] = self.package["resources"][0]["schema"]["fields"]
        return fields

    @property
    def tables(self) -> Sequence[Document]:
        """The files of the table: path, media type, bytes and digest of each."""
        return [
            {**each, "sha256": str(each["hash"]).removeprefix("sha256:")}
            for each in self.package["resources"]
            if "hash" in each
        ]

    @property
    def total(self) -> tuple[float, float] | None:
        """Epsilon and delta of the whole release; None if it has no such guarantee."""
        stated = self.record["cost"]["total"]
        if stated is None or float(stated["delta"]) >= _CERTAIN:
            return None
        return float(stated["epsilon"]), float(stated["delta"])

    @property
    def guarantee(self) -> str:
        """The guarantee in one sentence."""
        if self.total is None:
            return "The release has no guarantee of differential privacy."
        epsilon, delta = self.total
        return (
            f"The release is ({epsilon:.4g}, {delta:.3g})-differentially private, where two tables are neighbours if "
            f"{self.statement['neighbouring_relation']}."
        )

    def place(self, name: str) -> str:
        """The address of a file; its name if the folder's address is not known."""
        return f"{self.address}/{name}" if self.address else name

    @property
    def identifier(self) -> str:
        """An identifier of the release: its address, or else a URN."""
        return self.address or f"urn:deniable:release:{self.name}"

    def steps(self) -> Iterator[tuple[int, Document]]:
        """Yield the steps of the record with their numbers, from 1 on."""
        yield from enumerate(self.record["steps"], 1)


def type_of(field: Document, types: Mapping[str, str]) -> str:
    """The type of a field in the words of a format."""
    return types[str(field["type"])]


def codes_of(field: Document) -> Iterator[tuple[str, str]]:
    """Yield the codes that a field may have, with their labels, as far as they are listed."""
    for category in field.get("categories", ()):
        yield str(category["value"]), str(category.get("label", ""))
