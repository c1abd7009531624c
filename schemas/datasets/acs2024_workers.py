"""American Community Survey 2024: workers, already coded as in the plausible-deniability paper."""

from schemas.acs_codes import worker_columns
from schemas.table import table

schema = table(
    worker_columns(),
    description="American Community Survey 2024, persons aged 17 to 95 who worked in the last twelve months, coded.",
    target="incc",
)
