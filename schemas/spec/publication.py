"""What a release says about itself that nobody can compute: who answers for it, what it is for, and on which terms.

All of it is public, is signed with the spec in the record, and is never made from data. Nothing here affects draws or
costs.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from deniable.foundation.spec_values import Strict
from schemas.plain_text import LONGEST_LINE, Line, Paragraph

_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]+")
_EMAIL = re.compile(r"[^\s@<>\"'`\\]+@[^\s@<>\"'`\\]+\.[^\s@<>\"'`\\]+")
_TIME = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
_MOST_KEYWORDS = 50


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError(f"must be an address that begins with https://, got {text!r}")
    return text


def _email(text: str) -> str:
    if not _EMAIL.fullmatch(text):
        raise ValueError(f"must be an e-mail address, got {text!r}")
    return text


def _licence(text: str) -> str:
    if _ADDRESS.fullmatch(text):
        return text
    # Its list of licences is long, and most specs name none.
    from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression  # noqa: PLC0415

    try:
        return str(canonicalize_license_expression(text))
    except InvalidLicenseExpression:
        raise ValueError(
            f"must be an SPDX identifier, such as CC-BY-4.0, or the address of its text, got {text!r}"
        ) from None


def _day(value: Any) -> Any:
    """A date of YAML as text; anything else as it is."""
    return value.isoformat() if type(value) is date else value


def _is_day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"must be a date, such as 2027-11-27, got {text!r}") from None


def _period(text: str) -> str:
    first, slash, last = text.partition("/")
    times = [first, last] if slash else [first]
    if not all(_TIME.fullmatch(each) for each in times) or times != sorted(times):
        raise ValueError(f"must be a time or two, the earlier first, such as 2018-07 or 2015/2018, got {text!r}")
    return text


def _year(value: Any) -> Any:
    """A year, or a day, that YAML reads as something else than text."""
    return str(value) if type(value) is int else _day(value)


Address: TypeAlias = Annotated[Line, AfterValidator(_address)]
"""An address of the web."""
Email: TypeAlias = Annotated[Line, AfterValidator(_email)]
Licence: TypeAlias = Annotated[Line, AfterValidator(_licence)]
"""An SPDX identifier or expression, in its usual spelling, or an address."""
Day: TypeAlias = Annotated[str, BeforeValidator(_day), Field(max_length=LONGEST_LINE), AfterValidator(_is_day)]
"""A date, `YYYY-MM-DD`."""
Time: TypeAlias = Annotated[str, BeforeValidator(_year), Field(max_length=LONGEST_LINE), AfterValidator(_period)]
"""A year, a month or a day, or two of them with a slash in between (ISO 8601)."""


class Publisher(Strict):
    """The organisation that publishes a release.

    Attributes:
        name: its name.
        url: its address on the web.
    """

    name: Line
    url: Address | None = None


class Curator(Strict):
    """The person, or the office, that answers questions about a release.

    Attributes:
        name: its name.
        email: its e-mail address.
    """

    name: Line
    email: Email | None = None


class Publication(Strict):
    """What a release says about itself for catalogues and readers; every entry may be left out.

    Attributes:
        description: what the table is about, for somebody who has never heard of it.
        keywords: words under which a catalogue lists it.
        language: the language of its texts, as a BCP 47 tag, such as `en`.
        publisher: the organisation that publishes it.
        curator: who answers questions about it.
        licence: the terms of use, as an SPDX identifier, such as `CC-BY-4.0`, or the address of their text.
        purpose: what it is meant for.
        not_for: what it must not be used for.
        conditions: what a user must do or accept, beyond the licence.
        legal_basis: the law or the decision on which it is published.
        population: the people whom the confidential table describes.
        region: where they live, such as an ISO 3166 or NUTS code.
        sector: the industry or domain that it describes, by the list of the registry of deployments.
        period: when they were described: a year, a month or a day, or two of them, such as `2015/2018`.
        review_by: the day by which somebody decides whether it is still right to publish it.
        supersedes: the release that it replaces.
        contact_on_error: where to report an error in it.
    """

    description: Paragraph | None = None
    keywords: tuple[Line, ...] = Field(default=(), max_length=_MOST_KEYWORDS)
    language: str | None = Field(default=None, pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=LONGEST_LINE)
    publisher: Publisher | None = None
    curator: Curator | None = None
    licence: Licence | None = None
    purpose: Paragraph | None = None
    not_for: Paragraph | None = None
    conditions: Paragraph | None = None
    legal_basis: Paragraph | None = None
    population: Paragraph | None = None
    region: Line | None = None
    sector: Literal["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"] | None = None
    period: Time | None = None
    review_by: Day | None = None
    supersedes: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9_-]*-\d{8}T\d{6}Z$", max_length=LONGEST_LINE)
    contact_on_error: Line | None = None

    def is_overdue(self, today: date) -> bool:
        """Whether the day of review is past."""
        return self.review_by is not None and date.fromisoformat(self.review_by) < today


ENTRIES = {
    "description": "Description",
    "keywords": "Keywords",
    "language": "Language",
    "publisher": "Published by",
    "curator": "Questions to",
    "licence": "Licence",
    "purpose": "Meant for",
    "not_for": "Not meant for",
    "conditions": "Conditions",
    "legal_basis": "Legal basis",
    "population": "Population",
    "region": "Region",
    "sector": "Sector",
    "period": "Period",
    "review_by": "To be reviewed by",
    "supersedes": "Replaces",
    "contact_on_error": "Errors to",
}
"""The entries in the order in which they are shown, with what readers see before each."""
OPTIONAL = frozenset({"sector", "conditions", "supersedes", "contact_on_error"})
"""Entries that many releases rightly leave out."""


def stated(publication: Publication | None) -> Iterator[tuple[str, str]]:
    """Yield each entry that is stated: its name and its text."""
    for name in ENTRIES:
        if text := _text(getattr(publication, name, None)):
            yield name, text


def missing(publication: Publication | None) -> tuple[str, ...]:
    """The entries that a catalogue would miss."""
    there = {name for name, _ in stated(publication)}
    return tuple(name for name in ENTRIES if name not in there | OPTIONAL)


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case Publisher():
            return f"{value.name}, {value.url}" if value.url else value.name
        case Curator():
            return f"{value.name}, {value.email}" if value.email else value.name
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return " ".join(str(value).split())
