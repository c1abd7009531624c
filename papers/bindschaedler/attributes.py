"""Tables 1 and 2: the attributes and the number of records."""

from math import prod
from typing import Final

from deniable.evaluation.utility import distinct_share
from deniable.foundation.domain import Domain
from papers.bindschaedler.people import People, the_people
from papers.bindschaedler.published import CLEAN, POSSIBLE, RAW, SIZES, UNIQUE
from papers.findings import Check, Part, Table, between

_ROWS: Final = 100_000
_DISTINCT: Final = 91_869
_BUCKETS: Final = {
    "age": (1, 11, 21, 31, 41, 51, 61, 71),
    "edu": (1, 16, 20, 21, 22, 23, 24),
    "hpw": (1, 16, 31, 46, 61, 76, 91),
}
"""The first code of each bucket of the authors' tool, of the attributes that it puts into buckets."""
_PRODUCT = ("schemas/datasets/acs13.py", "schemas/acs_codes.py", "deployments/specs/acs13.yaml")


def table_1() -> Part:
    """The attributes."""
    return attributes(the_people())


def table_2() -> Part:
    """The number of records."""
    return sizes(the_people())


def attributes(people: People) -> Part:
    """Table 1 on a table."""
    domain = people.domain
    of_domain = dict(zip(domain.names, domain.cardinalities, strict=True))
    possible = prod(domain.cardinalities)
    return Part(
        name="Table 1",
        title="attributes of ACS 2013",
        verdict="reproduced",
        why="The schema `acs13` has the paper's eleven attributes with its values; their product is the number of "
        "possible records that Table 2 states. Buckets, which the structure and the parents use, are those of the "
        "authors' tool: ten years of age, fifteen hours of work, and schooling below a diploma and below a degree.",
        product=_PRODUCT,
        checks=(
            Check("names and numbers of values are the paper's", of_domain == SIZES),
            Check(f"{possible:,} possible records, {POSSIBLE:,} in the paper", possible == POSSIBLE),
            *(
                Check(
                    f"buckets of {name} begin at {', '.join(map(str, _starts(domain, name)))}, as the tool's",
                    _starts(domain, name) == starts,
                )
                for name, starts in _BUCKETS.items()
            ),
        ),
        table=Table(
            ("attribute", "kind", "published values", "our values", "buckets"),
            tuple(
                (each.name, each.kind, str(SIZES[each.name]), str(each.cardinality), str(each.bucket_count))
                for each in domain.attributes
            ),
        ),
    )


def _starts(domain: Domain, name: str) -> tuple[int, ...]:
    """The number, from 1, of the first value of each bucket of an attribute."""
    buckets = domain.attributes[domain.index(name)].buckets
    return tuple(place + 1 for place, bucket in enumerate(buckets) if place == 0 or bucket != buckets[place - 1])


def sizes(people: People) -> Part:
    """Table 2 on a table."""
    domain, rows = people.domain, len(people.codes)
    distinct = round(distinct_share(people.codes, domain.cardinalities) * rows)
    checks = [
        between("records that are unique in the paper, as a share", 0.684, UNIQUE / CLEAN, 0.6842),
        Check("fewer records have more that are distinct", distinct / rows > UNIQUE / CLEAN or not people.are_real),
    ]
    if people.are_real:
        checks += [
            Check(f"{rows:,} records, {_ROWS:,} in the file", rows == _ROWS),
            Check(f"{distinct:,} are distinct, {_DISTINCT:,} counted by another program", distinct == _DISTINCT),
        ]
    return Part(
        name="Table 2",
        title="size of the data",
        verdict="close",
        why="The authors' tool comes with 100,000 of the paper's records, in the paper's coding; the others are not "
        "public in that form. Fewer records have a larger share of distinct ones, here of different records, in the "
        "paper of unique ones. Half of ours, 50,000, are seeds and the records to learn from, and the other half are "
        "compared with; in the paper, these numbers are about 735,000, 280,000 each for structure and parameters, and "
        "100,000.",
        product=_PRODUCT,
        checks=tuple(checks),
        table=Table(
            ("", "published", "ours"),
            (
                ("records before cleaning", f"{RAW:,}", ""),
                ("records", f"{CLEAN:,}", f"{rows:,}"),
                ("attributes", "11", str(len(domain))),
                ("possible records", f"{POSSIBLE:,}", f"{prod(domain.cardinalities):,}"),
                ("unique, or different", f"{UNIQUE:,} ({UNIQUE / CLEAN:.1%})", f"{distinct:,} ({distinct / rows:.1%})"),
            ),
        ),
    )
