"""The lines that would mend what does not fit: proposals for each misfit of a check whose kind is known.

A proposal is a public decision of the person who accepts it. It has no count and no value of a record: only what
programs usually write, and what the schema states itself. That it is made depends on the records, so it is internal.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from typing import Final

from ruamel.yaml import YAML

from deniable.foundation.domain import FALSE, TRUE, TRUTH_VALUES
from schemas.amending import as_literal, with_argument, with_description
from schemas.kinds.dates import Period, periods_of, times_of
from schemas.kinds.description import Description, described
from schemas.spec.release_spec import FileSource, ReleaseSpec
from schemas.spec.source_kinds import TEXT, is_of
from schemas.table import numbers_read
from schemas.written_forms import folded, plain_number, truth_of, with_separators, with_zeros
from tasks.data.fit import Fit

_USUAL_MISSING: Final = ("NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None", "?", ".", "-", "n/a", "na")
_USUAL_CODES: Final = ("-1", "-7", "-8", "-9", "-99", "-999", "-9999", "99", "999", "9999")
_FORMS: Final = (
    "1,234.50", "1.234,50", "1 234,50", "1'234.50", "12%", "12,5%", "12,5", "$1,234.50", "1.234,50 \N{EURO SIGN}",
    "\N{EURO SIGN}1,234.50", "\N{POUND SIGN}1,234.50", "1,234.50 USD", "1.234,50 EUR", "CHF 1'234.50", "14:30",
)  # fmt: skip
_DATES: Final = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d", "%d%b%Y", "%d-%b-%Y", "%d.%m.%y", "%d/%m/%y",
    "%m/%d/%y", "%d %B %Y", "%B %d, %Y", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%m/%d/%Y %I:%M %p",
)  # fmt: skip
_DAY_COUNTS: Final = ("excel days", "epoch days", "epoch seconds", "stata days", "sas days")
_TRUTHS: Final = (
    dict.fromkeys(("ja", "oui", "si", "s\u00ed", "sim", "tak", "wahr", "vrai", "on", "x"), TRUE)
    | dict.fromkeys(("nein", "nee", "nej", "non", "n\u00e3o", "nie", "falsch", "faux", "off", "2"), FALSE)
)  # fmt: skip
_LIKE_THOUSANDS: Final = re.compile(r"-?\d{1,3}(\.\d{3})+", re.ASCII)
_MOSTLY: Final = 0.9
_GROUP: Final = 3
Values = Mapping[str, int]
Reading = Callable[[str], object]


@dataclass(frozen=True)
class Proposal:
    """A line that would mend a misfit.

    Attributes:
        column: the column; None if it concerns the whole table.
        reason: what was seen, without counts or values of records.
        line: the line, as it would be written.
        is_of_spec: whether it belongs in the spec; otherwise it belongs in the schema.
        write: makes the change in the text of that file.
        is_certain: whether it is the only reading; otherwise a person must choose.
    """

    column: str | None
    reason: str
    line: str
    write: Callable[[str], str]
    is_of_spec: bool = False
    is_certain: bool = True


def of_another_form(source: FileSource, reason: str, entries: Mapping[str, str | int]) -> Proposal:
    """What would let a source be read that is written in another form than the spec states.

    Args:
        source: the source.
        reason: what its first lines show.
        entries: the entries that declare it.
    """
    stated = ", ".join(f"{name}: {_in_yaml(value)}" for name, value in entries.items())
    return Proposal(
        None, reason, f"source: {{..., {stated}}}", partial(_with_entries, source, dict(entries)), is_of_spec=True
    )


def proposals_of(spec: ReleaseSpec, fit: Fit) -> tuple[Proposal, ...]:
    """What would mend the misfits of a check.

    Args:
        spec: the spec, with the schema.
        fit: how the table fits it.
    """
    found = list(_missing(fit))
    with_commas = _with_decimal_commas(spec, fit)
    found += _separators(spec, with_commas)
    columns: dict[str, dict[str, Values]] = {}
    for (column, finding), values in fit.examples.items():
        if column in spec.schema.columns and values and column not in with_commas:
            columns.setdefault(column, {})[finding] = values
    for name, findings in columns.items():
        found += _Misfit(name, described(spec.schema.columns[name], name), findings).proposals()
    return tuple({(each.column, each.line): each for each in found}.values())


def _missing(fit: Fit) -> Iterator[Proposal]:
    """Empty fields of columns that have no value for them."""
    if any(fit.missing_by_column.values()):
        yield Proposal(
            None,
            "fields are empty, and their rows are left out; a value of its own for a missing one keeps them",
            'table(..., missing_as="missing")',
            lambda text: with_argument(text, None, "missing_as", '"missing"'),
        )


def _with_decimal_commas(spec: ReleaseSpec, fit: Fit) -> Mapping[str, list[str]]:
    """The columns of numbers with a decimal comma in a table of text; none if a column has another comma.

    Returns:
        The texts of each that are not numbers.
    """
    source = spec.source
    if not isinstance(source, FileSource) or source.decimal or not is_of(TEXT, source.path or ""):
        return {}
    numbers, grouped = set(numbers_read(spec.schema)), with_separators(".", ",")
    unread = {
        column: [text for text in values if text not in _USUAL_MISSING]
        for (column, finding), values in fit.examples.items()
        if finding == "not a number" and column in numbers
    }
    found = {column: texts for column, texts in unread.items() if any("," in text for text in texts)}
    every = [text for texts in found.values() for text in texts]
    # Of commas before three digits alone, each may separate thousands as well.
    are_decimal = any("," in text and len(text.rpartition(",")[2]) != _GROUP for text in every)
    return found if are_decimal and all(_is_number(grouped(text)) for text in every) else {}


def _separators(spec: ReleaseSpec, with_commas: Mapping[str, list[str]]) -> Iterator[Proposal]:
    """The decimal comma, and the point that separates thousands beside it."""
    if with_commas and isinstance(spec.source, FileSource):
        plain = with_separators("", ",")
        entries: dict[str, str | int] = {"decimal": ","}
        if not all(_is_number(plain(text)) for texts in with_commas.values() for text in texts):
            entries["thousands"] = "."
        yield of_another_form(spec.source, "numbers have a decimal comma", entries)


def _with_entries(source: FileSource, entries: Mapping[str, str | int], text: str) -> str:
    """The text of a spec whose source has further entries; comments stay."""
    yaml = YAML()
    yaml.preserve_quotes = True
    document = yaml.load(text)
    stated = document["source"]
    if isinstance(stated, str):
        own = {name: getattr(source, name) for name in TEXT.entries if getattr(source, name) is not None}
        document["source"] = {"kind": "file", "path": stated, **own, **entries}
    else:
        stated.update(entries)
    written = StringIO()
    yaml.dump(document, written)
    return written.getvalue()


@dataclass
class _Misfit:
    """What does not fit in one column.

    Attributes:
        column: its name.
        known: its description in the schema.
        findings: the values that do not fit, by finding.
    """

    column: str
    known: Description
    findings: Mapping[str, Values]
    _found: list[Proposal] = field(default_factory=list)

    def proposals(self) -> list[Proposal]:
        """What would mend it: codes for missing values, and the first kind that explains the other values."""
        every: Counter[str] = Counter()
        for values in self.findings.values():
            every |= Counter(values)
        labels = {_plain(text) for text in self.known.labels.values()}
        absent = [code for code in _USUAL_MISSING if code in every and _plain(code) not in labels]
        if absent:
            reason = "codes that usually mean missing are not stated as such"
            self._propose(reason, "missing", [*self.known.missing, *absent])
        left = {text: count for text, count in every.items() if text not in absent}
        if self.known.kind == "numeric":
            self._numbers(left, absent)
        elif self.known.is_of_dates:
            self._dates(left)
        elif self.known.is_boolean:
            self._truths(left)
        elif left:
            self._names(left)
        return self._found

    def _propose(self, reason: str, name: str, value: object, *, is_certain: bool = True) -> None:
        """Propose an argument of the column."""
        written = value if isinstance(value, _Typed) else as_literal(value)
        line = f'"{self.column}": {self._function}(..., {name}={written})'

        def write(text: str) -> str:
            return with_argument(text, self.column, name, str(written))

        self._found.append(Proposal(self.column, reason, line, write, is_certain=is_certain))

    @property
    def _function(self) -> str:
        if self.known.is_of_dates:
            return "dates"
        return "boolean" if self.known.is_boolean else str(self.known.kind)

    def _numbers(self, left: Values, absent: list[str]) -> None:
        texts = {text: count for text, count in left.items() if not _is_number(text)}
        if texts:
            forms = [form for form in _FORMS if _explains(texts, self._holding(plain_number(form)))]
            if forms:
                reason = (
                    "times of day are written with hours" if ":" in forms[0] else "numbers have separators or signs"
                )
                self._propose(reason, "written", forms[0])
        numbers = {text: count for text, count in left.items() if text not in texts}
        if not numbers:
            return
        if _explains(numbers, _LIKE_THOUSANDS.fullmatch) and _explains(
            numbers, self._holding(plain_number("1.234,50"))
        ):
            self._propose("points may separate thousands", "written", "1.234,50", is_certain=False)
        codes = [code for code in _USUAL_CODES if code in numbers or f"{code}.0" in numbers]
        codes = [code for code in codes if not self._holds(float(code))]
        if codes:
            stated = [*self.known.missing, *absent, *map(int, codes)]
            self._propose("codes beyond the range usually mean missing", "missing", stated, is_certain=False)
        beyond = {text for text in self.findings.get("out of range", {}) if text in numbers}
        if {folded(text) for text in beyond} - {*codes}:
            reason = "numbers lie beyond the range: widen it if the codebook says so, or let them become its ends"
            self._propose(reason, "clip", value=True, is_certain=False)
        if set(self.findings.get("off grid", {})) & set(numbers) - beyond:
            self._propose("numbers lie between the steps; they are rounded if the schema says so", "round", value=True)

    def _holding(self, plain: Callable[[str], str]) -> Reading:
        """Whether a text is a number of the column, if it is read in a way."""

        def is_held(text: str) -> bool:
            number = plain(text)
            return _is_number(number) and self._holds(float(number))

        return is_held

    def _holds(self, number: float) -> bool:
        values, bins = [float(value) for value in self.known.values], self.known.bins
        if bins is not None or self.known.becomes is not None:
            last = max(values) if bins is None else max(map(float, bins.last))
            return min(values) <= number <= last
        return number in values

    def _dates(self, left: Values) -> None:
        """Dates in another form."""
        if not left:
            return
        numbers_alone = _explains(left, _is_number)
        forms = [form for form in _DATES if _explains(left, self._in_period(form, left))]
        if not forms and numbers_alone:
            forms = [form for form in _DAY_COUNTS if _explains(left, self._in_period(form, left))]
        for form in forms:
            is_certain = len(forms) == 1
            reason = "dates are written in another form" if is_certain else "dates may be written in this form"
            self._propose(reason, "written", form, is_certain=is_certain)

    def _in_period(self, form: str, values: Values) -> Reading:
        """Whether a text is a date of the column in a form."""
        times = times_of(values, form)
        listed = {str(value) for value in self.known.values}
        known = next(str(value) for value in self.known.values if value != self.known.missing_as)
        by: Period = "quarter" if "Q" in known else {10: "day", 7: "month", 4: "year"}[len(known)]  # type: ignore[assignment]
        periods = periods_of(times, by)
        held = {
            text for text, period, time in zip(values, periods, times.notna(), strict=True) if time and period in listed
        }
        return held.__contains__

    def _truths(self, left: Values) -> None:
        """Words for truth values in other languages, and 2 for false."""
        words = {folded(text): text for text in left}
        if not left or not set(words) <= set(_TRUTHS):
            return
        for name, meant in (("true", TRUE), ("false", FALSE)):
            own = [word for word in _TRUTHS if word in words and _TRUTHS[word] == meant]
            if own:
                is_certain = not {"2", "x"} & {*own}
                self._propose("truth values are written in other words", name, own, is_certain=is_certain)

    def _names(self, left: Values) -> None:
        """Codes that the codebook writes otherwise."""
        known = self.known
        listed = [str(value) for value in known.values if value != known.missing_as]
        widths = {len(value) for value in listed if value.isascii() and value.isdigit()}
        labels = {_plain(text): value for value, text in known.labels.items()}
        folds = {_plain(value) for value in listed}
        truths = {truth_of(value) for value in listed}
        if truths == {*TRUTH_VALUES} and len(listed) == len(truths) and _explains(left, truth_of):
            self._become_boolean()
        elif len(widths) == 1 and _explains(left, lambda text: with_zeros(text, max(widths)) in listed):
            self._propose("codes have lost the zeros that the codebook has", "digits", max(widths))
        elif _explains(left, lambda text: _plain(text) in folds) and len(folds) == len(listed):
            reason = "codes differ from the codebook's by case or blanks alone"
            self._propose(reason, "any_case", value=True)
        elif labels and not known.by_code and _explains(left, lambda text: _plain(text) in labels or text in listed):
            by = {str(text): value for value, text in known.labels.items()}
            by |= {str(value): value for value in known.values if value != known.missing_as}
            typed = "{" + ", ".join(f"{as_literal(text)}: {as_literal(value)}" for text, value in by.items()) + "}"
            # The argument is read as it is written, and a further one may follow it.
            case = "" if {*left} <= {*by} else ", any_case=True"
            self._propose("the table has the labels in the place of the codes", "by", _Typed(typed + case))
        elif known.kind == "nominal" and known.value_type is str:
            reason = "codes are not in the codebook: add those that a newer one has, or let all others become one value"
            self._propose(reason, "other", "other", is_certain=False)

    def _become_boolean(self) -> None:
        """Propose that two names are truth values."""
        known = self.known
        labels = {truth_of(value): text for value, text in known.labels.items() if truth_of(value) is not None}
        parts = (
            ["{" + ", ".join(f'"{value}": {as_literal(text)}' for value, text in labels.items()) + "}"]
            if labels
            else []
        )
        parts += [f"missing={as_literal([*known.missing])}"] if known.missing else []
        parts += [f"missing_as={as_literal(str(known.missing_as))}"] if known.missing_as is not None else []
        text = f"boolean({', '.join(parts)})"
        self._found.append(
            Proposal(
                self.column,
                "truth values are written in other words",
                f'"{self.column}": {text}',
                lambda schema: with_description(schema, self.column, text),
            )
        )


class _Typed(str):
    """Python that is written as it is."""

    __slots__ = ()


def _explains(values: Values, reads: Reading) -> bool:
    """Whether a reading explains nearly all of some cells."""
    explained = sum(count for text, count in values.items() if reads(text))
    return bool(values) and explained >= _MOSTLY * sum(values.values())


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False


def _plain(text: object) -> str:
    return " ".join(str(text).casefold().split())


def _in_yaml(value: str | int) -> str:
    return str(value) if isinstance(value, int) or value.replace("-", "").isalnum() else as_literal(value)


def in_words(proposals: Iterable[Proposal]) -> Iterator[str]:
    """Proposals as lines of text, without counts."""
    for proposal in proposals:
        where = "in the spec" if proposal.is_of_spec else "in the schema"
        yield f"{'' if proposal.column is None else f'{proposal.column}: '}{proposal.reason}"
        yield f"  {where}: {proposal.line}"
