"""American Community Survey 2024: workers, already coded as in the plausible deniability paper."""

from schemas.acs_codes import worker_columns
from schemas.table import table

schema = table(
    worker_columns(),
    description="American Community Survey 2024, public-use microdata sample: persons who worked.",
    target="incc",
)
