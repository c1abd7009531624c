"""American Community Survey 2013: workers, the eleven attributes and the coding of the plausible-deniability paper."""

from schemas.acs_codes import paper_columns
from schemas.table import table

schema = table(
    paper_columns(),
    description="American Community Survey 2013, persons who worked, as coded by Bindschaedler, Shokri and Gunter (2017).",
    target="incc",
)
