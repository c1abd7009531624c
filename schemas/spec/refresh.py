"""How the releases of a dataset are refreshed: what each refresh may spend, and whom to tell where one fails.

What a refresh costs, and what is left to spend, is for the ledger.
"""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from deniable.foundation.spec_values import Count, Strict
from schemas.plain_text import LONGEST_NAME

_BELONGS_TO = {"refreshes": "equal_share", "n": "share_of_rest"}


class RefreshBudget(Strict):
    """What one refresh may spend of the dataset's budget; more than that is refused.

    Attributes:
        kind: `equal_share`, the lifetime budget over a planned number of refreshes; `share_of_rest`, what is left of it
            over a number.
        refreshes: the planned number, for `equal_share`.
        n: the number, for `share_of_rest`.
    """

    kind: Literal["equal_share", "share_of_rest"]
    refreshes: Count | None = Field(default=None, validate_default=True)
    n: Count | None = Field(default=None, validate_default=True)

    @field_validator("refreshes", "n")
    @classmethod
    def _belongs_to_the_kind(cls, number: int | None, info: ValidationInfo) -> int | None:
        kind, own = info.data.get("kind"), _BELONGS_TO[info.field_name or ""]
        if kind is not None and (kind == own) != (number is not None):
            raise ValueError(f"must be given for the kind {own}, and for no other")
        return number

    @property
    def parts(self) -> int:
        """Into how many parts it is divided."""
        return self.refreshes or self.n or 1


class Notify(Strict):
    """Who is told where a refresh fails or is refused.

    Attributes:
        webhook: where a message is posted: the name of an environment variable that holds the address, in capital
            letters, or that of a Webhook block of Prefect's, in small ones.
    """

    webhook: str = Field(pattern=r"^([A-Z][A-Z0-9_]*|[a-z0-9][a-z0-9-]*)$", max_length=LONGEST_NAME)


class Refresh(Strict):
    """How the releases of a dataset are refreshed.

    Attributes:
        budget: what each refresh may spend.
        notify: who is told where one fails; nobody by default.
    """

    budget: RefreshBudget
    notify: Notify | None = None
