"""How Stata, SPSS and SAS count time: the formats that mean a day or a moment, and what is counted from which day.

Times of day, durations, and counts of months or quarters stay numbers, as the programs store them.
"""

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_DAY_S: Final = 86_400
_MOST_DAYS: Final = 3_000_000


@dataclass(frozen=True)
class Clock:
    """What a program counts.

    Attributes:
        per_day: how many of them a day has: 1 for days, 86,400 for seconds.
        origin: the day from which they are counted.
    """

    per_day: int
    origin: str

    def written(self, counted: NDArray[np.float64]) -> list[str | None]:
        """Times as ISO 8601 writes them, to the second; midnight is left out.

        Args:
            counted: shape (rows,), what the program counted; not a number if it is missing.

        Returns:
            Texts; None for what is missing. What is too far away to be a time is written as the number that it is.
        """
        is_time = np.abs(counted) < _MOST_DAYS * self.per_day
        seconds = np.floor(np.where(is_time, counted, 0.0) * (_DAY_S / self.per_day)).astype(np.int64)
        moments = np.datetime64(self.origin, "s") + seconds.astype("timedelta64[s]")
        texts = np.char.replace(np.datetime_as_string(moments), "T00:00:00", "")
        return [
            str(text) if known else None if np.isnan(number) else repr(float(number))
            for text, known, number in zip(texts, is_time, counted, strict=True)
        ]


_SPSS: Final = Clock(_DAY_S, "1582-10-14")
_STATA_DAYS: Final = Clock(1, "1960-01-01")
# Stata's %tC counts leap seconds, too: 27 since 1972.
_STATA_MOMENTS: Final = Clock(1000 * _DAY_S, "1960-01-01")
_SAS_DAYS: Final = Clock(1, "1960-01-01")
_SAS_MOMENTS: Final = Clock(_DAY_S, "1960-01-01")

_SAS_DATES: Final = (
    r"(DATE|WEEKDAT[EX]|WORDDAT[EX]|JULIAN|(DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|(IS|E|B)8601DA|EURDFDD|EURDFDE)[\d.]*"
)
_CLOCKS: Final = {
    "spss": ((r"([AEJS]?DATE|DATETIME|YMDHMS|MOYR|QYR|WKYR)[\d.]*", _SPSS),),
    "stata": (
        (r"%-?\d*t?d.*", _STATA_DAYS),
        # A format that shows hours and minutes alone is of a time of day.
        (r"%-?\d*t[cC](?!_?[Hh]{2}(:MM(:SS(\.s+)?)?)?(_?[aApP].*)?$).*", _STATA_MOMENTS),
    ),
    "sas": (
        (_SAS_DATES, _SAS_DAYS),
        (r"(DATETIME|DATEAMPM|MDYAMPM|DTDATE|(IS|E|B)8601D[TN]|EURDFDT)[\d.]*", _SAS_MOMENTS),
    ),
}


def clock_of(program: str, form: str) -> Clock | None:
    """What the numbers of a column count, by its format.

    Args:
        program: `stata`, `spss` or `sas`.
        form: its format, such as `%td`, `DATE11` or `YYMMDD10.`; empty if it has none.

    Returns:
        What they count; None if they are no days or moments.
    """
    return next((clock for pattern, clock in _CLOCKS[program] if re.fullmatch(pattern, form)), None)
