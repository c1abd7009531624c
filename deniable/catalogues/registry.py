"""The formats in which a release can be described for other systems. A new one is a module and a line."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from deniable.catalogues.described import Described
from deniable.foundation.errors import InvalidInput


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        file: the usual name of its file.
        title: what it is and for whom, a clause.
        place: module and function, which takes a `Described` and returns a document, lines of documents, or a text.
    """

    file: str
    title: str
    place: str

    def text(self, release: Described) -> str:
        """The description of a release, as the text of a file.

        Args:
            release: the release.
        """
        module, _, name = self.place.partition(":")
        write: Callable[[Described], Any] = getattr(import_module(f"deniable.catalogues.{module}"), name)
        match write(release):
            case str() as text:
                return text
            case list() as lines:
                return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
            case document:
                return f"{json.dumps(document, ensure_ascii=False, indent=2)}\n"


FORMATS: Final[Mapping[str, Format]] = {
    "schema-org": Format("dataset.jsonld", "schema.org Dataset, for search engines", "schema_org:schema_org"),
    "croissant": Format("croissant.json", "Croissant 1.0 with RAI, for machine learning", "croissant:croissant"),
    "dcat": Format("dcat.jsonld", "DCAT-AP 3, for data portals", "dcat:dcat"),
    "ro-crate": Format("ro-crate-metadata.json", "RO-Crate 1.2, for archives", "ro_crate:ro_crate"),
    "prov": Format("prov.json", "W3C PROV, for lineage in archives", "prov:prov"),
    "openlineage": Format("openlineage.jsonl", "OpenLineage events, for lineage servers", "openlineage:openlineage"),
    "ddi": Format("ddi.xml", "DDI Codebook 2.6, for statistical offices", "ddi:ddi"),
    "slsa": Format("provenance.slsa.json", "SLSA provenance 1.0, for security offices", "slsa:slsa"),
    "cyclonedx": Format(
        "sbom.cdx.json", "CycloneDX 1.6 bill of materials, for security offices", "cyclonedx:cyclonedx"
    ),
    "registry": Format("deployment.yaml", "an entry for the registry of DP deployments", "deployments:deployment"),
}
"""The formats by the names that the command takes."""


def format_of(name: str) -> Format:
    """The format of a name.

    Raises:
        InvalidInput: there is none.
    """
    if name not in FORMATS:
        raise InvalidInput(f"a format must be one of {', '.join(FORMATS)}, got {name}; name one of these.")
    return FORMATS[name]
