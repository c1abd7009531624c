"""The artificial population of `benchmarks.population` as a table."""

from benchmarks.population import DOMAIN
from schemas.table import numeric, table

schema = table(
    {
        attribute.name: numeric(0, attribute.cardinality - 1, width=attribute.buckets.count(0))
        for attribute in DOMAIN.attributes
    },
    target=DOMAIN.target,
)
