"""References that tasks pass to each other: an object's place, identity and audience, never the object itself."""

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Audience(StrEnum):
    """Who may see an artifact or a figure.

    `restricted`: records, codes, splits, keys; in the vault only.
    `internal`: values that depend on real data without DP noise; in MLflow, for cleared auditors.
    `public`: DP outputs and their post-processing; in the release folder.
    """

    RESTRICTED = "restricted"
    INTERNAL = "internal"
    PUBLIC = "public"


class Reference(BaseModel):
    """A stored object.

    Attributes:
        name: its name in the record, such as `codes` or `seeds`.
        path: its path.
        digest: SHA-256 in hex of its bytes; keyed with the release key (HMAC) unless it is public.
        rows: number of rows if it is a table. An internal figure.
        audience: who may see it.
        whole: digest of the table of which it is a part, if it is one.
        charge: identity of the ledger's charge that pays for draws from it, if one is still open.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    path: Path
    digest: str
    rows: int | None = None
    audience: Audience
    whole: str = ""
    charge: str = ""
