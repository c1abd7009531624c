"""What tasks hand each other: where something lies, what it is, and who may see it. Never the thing itself."""

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Audience(StrEnum):
    """Who may see an artifact or a figure.

    `restricted`: records, codes, splits, keys; the vault only.
    `internal`: what depends on real data without DP noise; MLflow, for cleared auditors.
    `public`: DP outputs and what follows from them alone; the release folder.
    """

    RESTRICTED = "restricted"
    INTERNAL = "internal"
    PUBLIC = "public"


class Reference(BaseModel):
    """A stored thing.

    Attributes:
        name: what it is called in the record, such as `codes` or `seeds`.
        path: where it lies.
        digest: SHA-256 in hex of its bytes; keyed with the release key (HMAC) unless it is public.
        rows: number of rows where it is a table. An internal figure.
        audience: who may see it.
        whole: digest of the table that it is a part of, where it is one.
        charge: identity of the charge in the ledger that what is drawn from it is paid by, where one is still open.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    path: Path
    digest: str
    rows: int | None = None
    audience: Audience
    whole: str = ""
    charge: str = ""
