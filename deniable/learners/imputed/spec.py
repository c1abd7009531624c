"""The entry of this learner in a release spec."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from deniable.foundation.spec_values import Count
from deniable.learners.pegs.spec import EpsilonOfRecord, SeededEntry
from deniable.roles import Role

MOST_FIT_ROWS = 200_000


class Entry(SeededEntry):
    """Perturbed multiple imputation.

    Attributes:
        epsilon: budget of one record.
        fit_rows: largest number of records used to fit the regressions; the first ones are used.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Mapping[str, str]] = {
        Role.STRUCTURE: "States the seeds, which are public; no record is read.",
    }

    kind: Literal["imputed"]
    epsilon: EpsilonOfRecord
    fit_rows: Annotated[Count, Field(le=MOST_FIT_ROWS)] = 20_000
