"""American Community Survey 2013: workers, with attributes and coding of the plausible deniability paper."""

from schemas.acs_codes import paper_columns
from schemas.table import table

schema = table(
    paper_columns(),
    description="American Community Survey 2013: persons who worked, coded as in Bindschaedler, Shokri, Gunter 2017.",
    target="incc",
)
