"""Values as people and programs write them: truth values, codes that lost their zeros, numbers, times of day.

The form of a number is stated by an example, such as `$1,234.50` or `14:30`; a number of another form stays as it is.
"""

import re
from collections.abc import Callable

from deniable.foundation.domain import FALSE, TRUE
from deniable.foundation.errors import InvalidInput

USUAL_TRUTHS = dict.fromkeys(("true", "t", "yes", "y", "1"), TRUE) | dict.fromkeys(
    ("false", "f", "no", "n", "0"), FALSE
)
"""What a code usually means, if it is a truth value; codes are in lower case."""

_PLAIN_DIGITS = re.compile(r"(\d+)(?:\.0+)?", re.ASCII)

_EXAMPLE = re.compile(r"(?P<before>[^\d(-]*)[(-]?(?P<number>\d(?:[\d.,'\u2019\u00a0\u202f ]*\d)?)\)?(?P<after>[^\d)]*)")
_SEPARATORS = re.compile(r"[^\d]")
_TIME = re.compile(
    r"(?P<hours>\d{1,2}):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d(?:\.\d+)?))?\s*(?:(?P<half>[ap])\.?\s?m\.?)?",
    re.ASCII | re.IGNORECASE,
)
HHMM = "hhmm"
"""The form of times of day as numbers of hours and minutes, such as 517 for 5:17."""
_HOURS_OF_A_DAY, _HOURS_OF_A_HALF, _MINUTES = 24, 12, 60
_BLANKS = "\u00a0\u202f "
_QUOTES = "'\u2019"
_GROUP = 3


def truth_of(code: object) -> str | None:
    """The truth value that a code usually means, in any case of letters; None if it usually means none."""
    return USUAL_TRUTHS.get(folded(code))


def folded(code: object) -> str:
    """A code for a truth value without differences of case, and integers without a decimal point."""
    text = str(code).strip().casefold()
    found = _PLAIN_DIGITS.fullmatch(text)
    return text if found is None else found[1]


def with_zeros(code: str, digits: int) -> str:
    """A code of digits with the zeros that it lost where it was taken for a number; any other text as it is."""
    found = _PLAIN_DIGITS.fullmatch(code)
    return code if found is None else found[1].zfill(digits)


def plain_number(example: str, label: str = "") -> Callable[[str], str]:
    """What turns a number of a form into a plain number, such as -1234.50; other texts stay as they are.

    Args:
        example: a number of the form: `1,234.50`, `1.234,50`, `1 234`, `$12.00`, `12%`, `12,5 EUR`. Of one separator
            alone, three digits after it say that it separates thousands. Parentheses mean a negative number. An example
            of a time of day, such as `14:30` or `2:30 PM`, or `hhmm`, makes it the minutes since midnight.
        label: the column, for the message.

    Raises:
        InvalidInput: the example is not a number.
    """
    if example == HHMM:
        return minutes_of_hhmm
    if isinstance(example, str) and _TIME.fullmatch(example.strip()):
        return minutes_of_time
    found = _EXAMPLE.fullmatch(example.strip()) if isinstance(example, str) else None
    if found is None:
        raise InvalidInput(
            f"`written` must be an example of a number, such as '1,234.50', '$12.00', '12%' or '14:30', got "
            f"{example!r}: {label}."
        )
    thousands, decimal = _separators(found["number"])
    return with_separators(thousands, decimal, (found["before"].strip(), found["after"].strip()))


def minutes_of_time(text: str) -> str:
    """The minutes since midnight of a time of day, in 24 hours or in halves of a day; any other text as it is."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return text
    hours, seconds = int(found["hours"]), float(found["seconds"] or 0)
    if found["half"]:
        if not 1 <= hours <= _HOURS_OF_A_HALF:
            return text
        hours = hours % _HOURS_OF_A_HALF + (_HOURS_OF_A_HALF if found["half"].lower() == "p" else 0)
    minutes = _MINUTES * hours + int(found["minutes"])
    if minutes + bool(seconds) > _MINUTES * _HOURS_OF_A_DAY:
        return text
    return str(minutes + seconds / _MINUTES) if seconds else str(minutes)


def minutes_of_hhmm(text: str) -> str:
    """The minutes since midnight of a number of hours and minutes, such as 517; what is none is no number either."""
    found = _PLAIN_DIGITS.fullmatch(text.strip())
    if found is None:
        return text
    hours, minutes = divmod(int(found[1]), 100)
    return minutes_of_time(f"{hours}:{minutes:02}")


def with_separators(thousands: str, decimal: str, signs: tuple[str, ...] = ()) -> Callable[[str], str]:
    """What turns a number with given separators into a plain number; other texts stay as they are.

    Args:
        thousands: the separators of thousands, each of which may occur; empty if there are none.
        decimal: the separator of decimals.
        signs: signs before or after the number, such as `$` or `%`; each may be absent.
    """
    group = f"[{re.escape(thousands)}]" if thousands else ""
    whole = rf"\d{{1,{_GROUP}}}(?:{group}\d{{{_GROUP}}})+|\d+" if group else r"\d+"
    digits = rf"(?:{whole})(?:{re.escape(decimal)}\d*)?|{re.escape(decimal)}\d+"
    sign = "|".join(re.escape(each) for each in signs if each)
    around = rf"\s*(?:{sign})?\s*" if sign else r"\s*"
    form = re.compile(
        rf"(?P<open>\(?){around}(?P<minus>[-+\u2212]?){around}(?P<number>{digits}){around}(?P<close>\)?)", re.ASCII
    )

    def plain(text: str) -> str:
        found = form.fullmatch(text)
        if found is None or bool(found["open"]) != bool(found["close"]):
            return text
        number = found["number"]
        for each in thousands:
            number = number.replace(each, "")
        is_negative = bool(found["open"]) != (found["minus"] in ("-", "\u2212"))
        return ("-" if is_negative else "") + number.replace(decimal, ".")

    return plain


def _separators(number: str) -> tuple[str, str]:
    """The separators of thousands and the separator of decimals that an example shows."""
    shown = _SEPARATORS.findall(number)
    kinds = list(dict.fromkeys(shown))
    if not kinds:
        return "", "."
    last = kinds[-1]
    tail = len(number) - number.rindex(last) - 1
    is_decimal = last in ".," and shown.count(last) == 1 and (len(kinds) > 1 or tail != _GROUP)
    decimal = last if is_decimal else "," if last == "." else "."
    groups = [kind for kind in kinds if kind != decimal]
    alike = {each: same for same in (_BLANKS, _QUOTES) for each in same}
    return "".join(dict.fromkeys("".join(alike.get(each, each) for each in groups))), decimal
