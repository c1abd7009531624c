"""How many rows can share a prefix, as far as spec and schema alone tell it, before a model is learnt.

A model predicts more, once it is public (plausible_deniability.predictions); its predictions do not belong here.
"""

from math import prod

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput


def public_total(domain: Domain) -> int | None:
    """The number of rows of the whole table, if the schema states it."""
    return max((sum(total.counts) for total in domain.totals), default=0) or None


def fewest_combinations(domain: Domain, length: int) -> int:
    """The number of combinations of the attributes with the fewest values, for a prefix of so many attributes."""
    return prod(sorted(domain.cardinalities)[:length])


def require_reachable(wanted: int, what: str, remedy: str, domain: Domain, *, rows: int | None = None) -> None:
    """Refuse a number of people with the same values that is larger than the table.

    Args:
        wanted: the number of rows that a prefix must have, for even odds at least.
        what: what requires it, such as "k".
        remedy: what to do about it, a clause.
        domain: the table's domain, whose public totals bound its rows.
        rows: another public upper bound on the number of rows; none by default.

    Raises:
        InvalidInput: no prefix can have as many rows.
    """
    bounds = {
        "the number of rows that the schema states": public_total(domain),
        "synthesis.max_rows": rows,
    }
    known = {name: bound for name, bound in bounds.items() if bound is not None}
    if not known:
        return
    name = min(known, key=lambda each: known[each])
    if wanted > known[name]:
        raise InvalidInput(
            f"{what} must be at most {known[name]:,}, {name}, because no more people can have the same values, got "
            f"{wanted:,}; {remedy}."
        )


def if_equally_common(domain: Domain, length: int, rows: int) -> str:
    """The rows that would share a prefix of the attributes with the fewest values, in words: a clause.

    Args:
        domain: the table's domain.
        length: the number of copied attributes, at least 1.
        rows: a public number of rows.
    """
    cells = fewest_combinations(domain, length)
    said = "the" if length == 1 else f"all {cells:,} combinations of the"
    values = f"{cells:,} values of the attribute" if length == 1 else f"{length} attributes"
    return (
        f"if {said} {values} with the fewest values were equally common, each would have {rows / cells:,.0f} of "
        f"{rows:,} rows"
    )
