"""The refresh of a dataset's releases: the budget of each refresh, and who is notified if one fails.

The cost of a refresh, and the remaining budget, are computed by the ledger.
"""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from deniable.foundation.spec_values import Count, Strict
from schemas.plain_text import LONGEST_NAME

_BELONGS_TO = {"refreshes": "equal_share", "n": "share_of_rest"}


class RefreshBudget(Strict):
    """The share of the dataset's budget that one refresh may spend; a refresh that costs more is refused.

    Attributes:
        kind: `equal_share`, the lifetime budget divided by a planned number of refreshes; `share_of_rest`, the
            remaining budget divided by a number.
        refreshes: the planned number, for `equal_share`.
        n: the divisor, for `share_of_rest`.
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
        """The number of parts into which it is divided."""
        return self.refreshes or self.n or 1


class Notify(Strict):
    """Who is notified if a refresh fails or is refused.

    Attributes:
        webhook: the destination of a message: the name of an environment variable that holds the address, in upper
            case, or of a Prefect Webhook block, in lower case.
    """

    webhook: str = Field(pattern=r"^([A-Z][A-Z0-9_]*|[a-z0-9][a-z0-9-]*)$", max_length=LONGEST_NAME)


class Refresh(Strict):
    """The refresh of a dataset's releases.

    Attributes:
        budget: the budget of each refresh.
        notify: who is notified if one fails; no one by default.
    """

    budget: RefreshBudget
    notify: Notify | None = None
