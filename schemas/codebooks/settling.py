"""Decides how a schema describes each variable of a codebook, or why it cannot.

Only the codebook decides. Anything that it does not state, such as the range of a number, is left to a person.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import ROUND_CEILING, Decimal
from itertools import pairwise
from typing import Literal, TypeAlias

from deniable.foundation.domain import MAX_CARDINALITY, TRUTH_VALUES
from deniable.foundation.errors import InvalidInput
from schemas.codebooks.codebook import Entry, Variable
from schemas.codebooks.value_lists import number
from schemas.plain_text import LONGEST_LINE, fault_of_cell, fault_of_line, fault_of_name
from schemas.written_forms import minutes_of_time, plain_number, truth_of

Form: TypeAlias = Literal["nominal", "ordered", "boolean", "numeric", "dates", "identifier"]
Number: TypeAlias = int | float

_LARGEST = 2**53
_MOST_STEPS = 10_000
_BINS = 100
_MEASURED_STEPS, _FINEST = 1000, Decimal("1e-9")
# The released period of dates, by the number of days that they span.
_PERIODS = (("day", 100), ("month", 20 * 366))
_NICE = (1, 2, 5)
MISSING = "missing"
_USUAL_TIME = "14:30"
_MISSING_NUMBERS = (-1, -9, -99, -999, -9_999, -99_999, -999_999, -9_999_999)


@dataclass(frozen=True, kw_only=True)
class Described:
    """A column of a schema.

    Attributes:
        name: its name.
        form: the function that describes it.
        label: its description.
        values: values with their labels, for names and codes.
        low: the smallest number, or the first day.
        high: the largest number, or the last day.
        step: the distance between numbers.
        bins: the beginnings of public bins, or their width; None if each number is a value.
        rounds: whether numbers between the steps are rounded.
        clips: whether numbers beyond the range become its ends.
        other: the value of unlisted codes; None if they are invalid.
        also: special codes besides numbers, with their labels.
        digits: the length of codes that consist of digits, some of which begin with a zero; None for others.
        missing: codes for missing values.
        missing_as: the value that a missing one becomes; None if the codebook states no codes for missing values.
        written: the form of dates, in the notation of `strptime`.
        period: the released period of dates.
        is_person: whether it identifies people who may have several records.
        groups: the system of codes whose chapters are the values.
        remark: a point for the reader of the schema to check.
    """

    name: str
    form: Form
    label: str = ""
    values: tuple[tuple[str | int, str], ...] = ()
    low: Number | str = 0
    high: Number | str = 0
    step: Number = 1
    bins: Number | tuple[Number, ...] | None = None
    rounds: bool = False
    clips: bool = False
    other: str | None = None
    also: tuple[tuple[Number, str], ...] = ()
    digits: int | None = None
    missing: tuple[str | Number, ...] = ()
    missing_as: str | Number | None = None
    written: str | None = None
    period: str = "day"
    is_person: bool = False
    groups: Literal["icd9", "icd10"] | None = None
    remark: str = ""


@dataclass(frozen=True)
class LeftOut:
    """A variable that a schema cannot yet describe.

    Attributes:
        name: its name.
        reason: the reason and the remedy.
        lacks: what a person may add: a range, values, or nothing.
        missing: codes for missing values that the codebook states.
    """

    name: str
    reason: str
    lacks: Literal["range", "values", "days", "nothing"] = "nothing"
    missing: tuple[str, ...] = ()


def settle(variable: Variable) -> Described | LeftOut:
    """Decide how a schema describes a variable.

    Args:
        variable: the variable.

    Raises:
        ValueError: the codebook contradicts itself; the message is a sentence about it.
    """
    if fault := fault_of_name(variable.name):
        raise ValueError(f"the name of {variable.name!r} {fault}.")
    for code in variable.missing:
        if fault := fault_of_line(code):
            raise ValueError(f"the codes for missing values of {variable.name} {fault}.")
    found = _settled(_without_missing(variable), _shortened(variable.label))
    return replace(found, missing=tuple(filter(None, variable.missing))) if isinstance(found, LeftOut) else found


def _settled(variable: Variable, label: str) -> Described | LeftOut:
    ranges = [entry for entry in variable.entries if entry.high is not None]
    if variable.kind in {"identifier", "person"}:
        found: Described | LeftOut = Described(
            name=variable.name,
            form="identifier",
            label=label,
            missing=variable.missing,
            is_person=variable.kind == "person",
        )
    elif variable.kind == "text" and not variable.entries:
        found = LeftOut(variable.name, "free text can say anything about a person and is never released")
    elif variable.kind == "date":
        found = _dates(variable, label)
    elif variable.kind == "time":
        found = _times(variable, label)
    elif variable.kind in {"icd9", "icd10"}:
        found = _chapters(variable, label)
    elif variable.kind == "boolean":
        found = _truths(variable, label)
    elif ranges:
        found = _numbers(variable, ranges, label)
    elif variable.kind == "numeric" or _has_special_codes_alone(variable):
        found = _numbers_without_range(variable, label)
    elif not variable.entries:
        found = LeftOut(variable.name, "the codebook states neither values nor a range", "values")
    else:
        found = _names(variable, variable.entries, label, "ordered" if variable.kind == "ordered" else "nominal")
    return found


def _without_missing(variable: Variable) -> Variable:
    """The variable without the entries that are codes for missing values."""
    codes = set(variable.missing)
    kept = tuple(entry for entry in variable.entries if entry.high is not None or entry.value not in codes)
    also = tuple(entry for entry in variable.also if entry.value not in codes)
    return replace(variable, entries=kept, also=also, missing=tuple(dict.fromkeys(filter(None, variable.missing))))


def _has_special_codes_alone(variable: Variable) -> bool:
    """Whether only codes below zero have labels, as for amounts."""
    found = [number(entry.value) for entry in variable.entries]
    return bool(found) and all(each is not None and each < 0 for each in found)


def _truths(variable: Variable, label: str) -> Described:
    """A column of truth values; of two names, if the codebook has names that do not say which of them is true."""
    meant = {entry.value: truth_of(entry.value) for entry in variable.entries}
    if variable.entries and (sorted(filter(None, meant.values())) != [*TRUTH_VALUES] or None in meant.values()):
        return _names(variable, variable.entries, label, "nominal")
    labels = {meant[entry.value]: _shortened(entry.label) for entry in variable.entries}
    texts = labels if any(labels.values()) else {}
    return Described(
        name=variable.name,
        form="boolean",
        label=label,
        values=tuple((value, texts[value]) for value in TRUTH_VALUES if texts),
        missing=_codes(variable.missing, numbers=False),
        missing_as=MISSING if variable.missing else None,
    )


def _digits_of(values: Sequence[str | int]) -> int | None:
    """The common length of codes of digits, if some begin with a zero, which a spreadsheet would have removed."""
    texts = [value for value in values if isinstance(value, str) and value.isascii() and value.isdigit()]
    lengths = set(map(len, texts))
    is_code = len(texts) == len(values) and len(lengths) == 1 and any(text.startswith("0") for text in texts)
    return lengths.pop() if is_code else None


def _names(variable: Variable, entries: Sequence[Entry], label: str, form: Form) -> Described:
    """A column of names or codes."""
    values = [entry.value for entry in entries] + [entry.value for entry in variable.also]
    texts = [entry.label for entry in entries] + [entry.label for entry in variable.also]
    twice = next((value for value, times in Counter(values).items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"{variable.name} must have each value once, got {twice!r} twice; remove one.")
    if len(values) > MAX_CARDINALITY:
        raise ValueError(
            f"{variable.name} must have at most {MAX_CARDINALITY:,} values, got {len(values):,}; group them."
        )
    whole = variable.kind != "text" and all(_is_plain_whole(value) for value in values)
    for value in values:
        if not whole and (fault := fault_of_cell(value)):
            raise ValueError(f"the values of {variable.name} {fault}.")
    typed: list[str | int] = [int(value) for value in values] if whole else list(values)
    missing_as: str | Number | None = None
    if variable.missing:
        missing_as = _free_number(variable.missing, typed) if whole else _free_word(typed)
    return Described(
        name=variable.name,
        form=form,
        label=label,
        values=tuple(zip(typed, map(_shortened, texts), strict=True)),
        digits=_digits_of(typed),
        missing=_codes(variable.missing, numbers=whole),
        missing_as=missing_as,
    )


def _numbers(variable: Variable, ranges: Sequence[Entry], label: str) -> Described | LeftOut:
    """A column of numbers with a range; single values in or next to it belong to it, others are special codes."""
    bounds = sorted(_bounds(variable, entry) for entry in ranges)
    low, high = bounds[0][0], max(upper for _, upper in bounds)
    step = variable.step or _step_of([each for pair in bounds for each in pair], whole=variable.whole)
    special: list[Entry] = list(variable.also)
    for entry in sorted(_singles(variable), key=lambda each: abs(Decimal(each.value) - low)):
        value = Decimal(entry.value)
        # `0 WORST` and `10 BEST` belong to `1 - 9`; `-1 INAPPLICABLE` does not belong to `0 - 4`.
        adjoins = value in {low - step, high + step} and (value >= 0 or low < 0)
        if low <= value <= high or not _means_more(entry) or adjoins:
            low, high = min(low, value), max(high, value)
        else:
            special.append(entry)
    _require_exact(variable, low, high)
    if variable.whole is False and variable.step is None:
        return _measured(variable, low, high, special, label)
    if step < _FINEST:
        raise ValueError(f"the step of {variable.name} must be at least {_FINEST:f}, got {step}; round its numbers.")
    if (high - low) % step:
        raise ValueError(
            f"{variable.name} must go from its lowest to its highest number in whole steps, got {low} to {high} in "
            f"steps of {step}; correct the range or the step."
        )
    return _numeric(variable, low, high, step, special, label)


def _measured(variable: Variable, low: Decimal, high: Decimal, special: Sequence[Entry], label: str) -> Described:
    """A column of numbers with any decimals, rounded to about a thousand steps."""
    step = _nice((high - low) / _MEASURED_STEPS, _FINEST)
    remark = f"rounded to steps of {step.normalize():f}, because the codebook states none"
    high = _reached(low, high, step)
    return replace(_numeric(variable, low, high, step, special, label), rounds=True, remark=remark)


def _numeric(
    variable: Variable,
    low: Decimal,
    high: Decimal,
    step: Decimal,
    special: Iterable[Entry],
    label: str,
) -> Described:
    """A column of numbers from low to high in steps."""
    _require_exact(variable, low, high)
    bins: Number | tuple[Number, ...] | None = None
    remark = ""
    if (high - low) / step >= _MOST_STEPS:
        if low <= 0 < high and low % step == 0:
            below = [-start for start in _growing(-low, step) if -start > low]
            starts = [*reversed(below), *([Decimal(0)] if low else []), *_growing(high, step)]
            bins = tuple(map(_python, starts))
        else:
            bins = _python(_nice((high - low) / _BINS, step))
        form = "bins that grow" if isinstance(bins, tuple) else f"bins of {bins:,}"
        remark = f"learnt in {form}, because {(high - low) / step + 1:,.0f} numbers are many"
    codes = tuple(
        (_python(Decimal(entry.value)), _shortened(entry.label)) for entry in special if _is_number(entry, variable)
    )
    outside = [code for code, _ in codes if low <= code <= high]
    if outside:
        raise ValueError(
            f"the special codes of {variable.name} must lie outside {low} to {high}, got {outside[0]}; list it once."
        )
    whole = _is_whole(low) and _is_whole(step)
    missing_as = None
    if variable.missing:
        missing_as = _free_number(variable.missing, [code for code, _ in codes], low=low, high=high)
    return Described(
        name=variable.name,
        form="numeric",
        label=label,
        low=_python(low) if whole else float(low),
        high=_python(high) if whole else float(high),
        step=_python(step),
        bins=bins,
        also=codes,
        missing=_codes(variable.missing, numbers=True),
        missing_as=missing_as,
        remark=remark,
    )


def _require_exact(variable: Variable, low: Decimal, high: Decimal) -> None:
    """Refuse numbers that files cannot represent exactly."""
    if max(abs(low), abs(high)) > _LARGEST:
        raise ValueError(
            f"{variable.name} must be within {-_LARGEST:,} to {_LARGEST:,}, where numbers are read exactly, got a "
            f"larger bound; describe it as an identifier, or by codes."
        )


def _numbers_without_range(variable: Variable, label: str) -> Described | LeftOut:
    """Numbers whose values the codebook lists: codes if they have labels, otherwise plain numbers."""
    entries = variable.entries
    found = [number(entry.value) for entry in entries]
    if _has_special_codes_alone(variable) or not entries:
        return LeftOut(variable.name, "the codebook states no range of its numbers", "range")
    if any(entry.label for entry in entries) or any(each is None for each in found):
        return _names(variable, entries, label, "nominal")
    values = sorted(each for each in found if each is not None)
    steps = {after - before for before, after in pairwise(values)}
    if len(steps) == 1:
        step = steps.pop()
        if not step:
            raise ValueError(f"{variable.name} must have each value once, got {values[0]} twice; remove one.")
        return _numeric(variable, values[0], values[-1], step, variable.also, label)
    return _names(variable, entries, label, "ordered")


def _chapters(variable: Variable, label: str) -> Described:
    """A column of diagnoses, by the chapters of their codes."""
    return Described(
        name=variable.name,
        form="nominal",
        label=label,
        groups="icd9" if variable.kind == "icd9" else "icd10",
        missing=variable.missing,
        missing_as=MISSING if variable.missing else None,
        remark="each code becomes its chapter",
    )


def _dates(variable: Variable, label: str) -> Described | LeftOut:
    span = next((entry for entry in variable.entries if entry.high is not None), None)
    if span is None:
        return LeftOut(variable.name, "the codebook states no first and last day of its dates", "days")
    if variable.pattern is not None:
        fault = fault_of_line(variable.pattern)
        if fault is None and "%" not in variable.pattern:
            fault = f"must be stated as in %d.%m.%Y, got {variable.pattern!r}; correct it"
        if fault is not None:
            raise ValueError(f"the form of the dates of {variable.name} {fault}.")
    days = [_day(text, variable) for text in (span.value, span.high or "")]
    if days[0] > days[1]:
        raise ValueError(
            f"the first day of {variable.name} must not be after the last, got {span.value} to {span.high}; correct it."
        )
    by = next((period for period, most in _PERIODS if (days[1] - days[0]).days <= most), "year")
    return Described(
        name=variable.name,
        form="dates",
        period=by,
        remark="" if by == "day" else f"released by {by}",
        label=label,
        low=days[0].isoformat(),
        high=days[1].isoformat(),
        written=variable.pattern,
        missing=variable.missing,
        missing_as=MISSING if variable.missing else None,
    )


def _times(variable: Variable, label: str) -> Described | LeftOut:
    """Times of day as minutes since midnight, of the whole day unless a first and a last time are stated."""
    pattern = variable.pattern or _USUAL_TIME
    try:
        plain_number(pattern)
    except InvalidInput:
        raise ValueError(
            f"the form of the times of {variable.name} must be an example, such as 14:30 or 2:30 PM, or hhmm, got "
            f"{pattern!r}; correct it."
        ) from None
    span = variable.entries or (Entry(value="00:00", high="23:59"),)
    if len(span) != 1 or span[0].high is None or ":" not in span[0].value:
        raise ValueError(
            f"the times of {variable.name} must be a first and a last one, such as 06:00 to 22:30, got others; correct "
            "them, and state codes that are no times as missing or as `also`."
        )
    ends = replace(span[0], value=minutes_of_time(span[0].value), high=minutes_of_time(span[0].high))
    found = _numbers(replace(variable, whole=True, entries=(ends,)), [ends], label)
    if isinstance(found, LeftOut):
        return found
    remark = "minutes since midnight" if variable.entries else "minutes since midnight, of the whole day"
    return replace(found, written=pattern, rounds=True, remark=remark)


def _day(text: str, variable: Variable) -> date:
    for pattern in filter(None, ("%Y-%m-%d", variable.pattern)):
        try:
            return datetime.strptime(text, pattern).date()  # noqa: DTZ007 - days have no time zone
        except ValueError:
            continue
    raise ValueError(
        f"the first and last day of {variable.name} must be days such as 2019-01-31, got {text!r}; correct them."
    )


def _bounds(variable: Variable, entry: Entry) -> tuple[Decimal, Decimal]:
    low, high = number(entry.value), number(entry.high or "")
    if low is None or high is None:
        raise ValueError(
            f"the range of {variable.name} must be two numbers, got {entry.value!r} and {entry.high!r}; correct it."
        )
    if low > high:
        raise ValueError(f"the range of {variable.name} must go up, got {low} to {high}; swap its ends.")
    return low, high


def _singles(variable: Variable) -> list[Entry]:
    """The single values besides ranges, which must be numbers."""
    singles = [entry for entry in variable.entries if entry.high is None]
    return [
        Entry(value=str(number(entry.value)), label=entry.label) for entry in singles if _is_number(entry, variable)
    ]


def _is_number(entry: Entry, variable: Variable) -> bool:
    if number(entry.value) is None:
        raise ValueError(
            f"{variable.name} has a range, so that its other values must be numbers, got {entry.value!r}; state it as "
            f"a code for missing, or leave out the range."
        )
    return True


def _means_more(entry: Entry) -> bool:
    """Whether a label adds to the number."""
    return bool(entry.label) and number(entry.label) is None


def _step_of(numbers: Sequence[Decimal], *, whole: bool | None) -> Decimal:
    """The step implied by the decimals of a range."""
    decimals = 0 if whole else max(-int(each.normalize().as_tuple().exponent) for each in numbers)
    return Decimal(1).scaleb(-max(decimals, 0))


def _nice(least: Decimal, step: Decimal) -> Decimal:
    """The smallest 1, 2 or 5 times a power of ten, as a multiple of the step, that is at least as large."""
    factor = Decimal(1)
    while True:
        for nice in _NICE:
            if step * factor * nice >= least:
                return step * factor * nice
        factor *= 10


def _reached(low: Decimal, high: Decimal, step: Decimal) -> Decimal:
    """The first number in steps from low that is not below high."""
    return low + step * ((high - low) / step).to_integral_value(ROUND_CEILING)


def _growing(high: Decimal, step: Decimal) -> Iterator[Decimal]:
    """1 to 9 times the powers of ten, from the step to the highest number: amounts have long tails."""
    start = step
    while start <= high:
        yield from (start * digit for digit in range(1, 10) if start * digit <= high)
        start *= 10


def _free_number(
    codes: Sequence[str], taken: Sequence[object], *, low: Decimal | None = None, high: Decimal | None = None
) -> Number:
    """The number for missing values: a numeric code for them if there is one, otherwise a common unused number."""
    own = [each for code in codes if (each := number(code)) is not None]
    for each in [*own, *map(Decimal, _MISSING_NUMBERS)]:
        inside = low is not None and high is not None and low <= each <= high
        below = low is None or each < low or each in own
        if not inside and below and _python(each) not in taken:
            return _python(each)
    return _python(Decimal(min([*(low for low in [low] if low is not None), Decimal(0)])) - 1)


def _free_word(taken: Sequence[object]) -> str:
    word = MISSING
    while word in taken:
        word = f"not stated ({word})"
    return word


def _codes(codes: Sequence[str], *, numbers: bool) -> tuple[str | Number, ...]:
    """Codes for missing values, as numbers if the column has numbers."""
    found: list[str | Number] = []
    for code in codes:
        each = number(code) if numbers else None
        found.append(code if each is None else _python(each))
    return tuple(found)


def _shortened(label: str) -> str:
    """A label in a form that pages can show."""
    label = label if len(label) <= LONGEST_LINE else f"{label[: LONGEST_LINE - 3]}..."
    return "" if fault_of_line(label) else label


def _is_plain_whole(value: str) -> bool:
    """Whether a text is an integer as Python writes it; `01` is a code, not a number."""
    try:
        return str(int(value)) == value and abs(int(value)) <= _LARGEST
    except ValueError:
        return False


def _is_whole(each: Decimal) -> bool:
    return each == each.to_integral_value()


def _python(each: Decimal) -> Number:
    """A number as Python writes it, as an integer if it is one."""
    return int(each) if _is_whole(each) else float(each)
