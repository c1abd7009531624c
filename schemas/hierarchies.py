"""Public hierarchies of codes: chapters of diagnoses, beginnings of codes, ranges of numbers.

They are for `by` and `buckets` of `schemas.kinds.nominal`. A hierarchy is a table or a function of one code; codes
that are not in it have no group, and are invalid in a column of groups. All are public documents, never learnt from
data.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import TypeVar

from deniable.foundation.errors import InvalidInput

Group = TypeVar("Group")

ICD9_CHAPTERS: Mapping[str, str] = {
    "001-139": "infectious and parasitic diseases",
    "140-239": "neoplasms",
    "240-279": "endocrine, nutritional and metabolic diseases, and immunity disorders",
    "280-289": "diseases of the blood and blood-forming organs",
    "290-319": "mental disorders",
    "320-389": "diseases of the nervous system and sense organs",
    "390-459": "diseases of the circulatory system",
    "460-519": "diseases of the respiratory system",
    "520-579": "diseases of the digestive system",
    "580-629": "diseases of the genitourinary system",
    "630-679": "complications of pregnancy, childbirth and the puerperium",
    "680-709": "diseases of the skin and subcutaneous tissue",
    "710-739": "diseases of the musculoskeletal system and connective tissue",
    "740-759": "congenital anomalies",
    "760-779": "conditions originating in the perinatal period",
    "780-799": "symptoms, signs and ill-defined conditions",
    "800-999": "injury and poisoning",
    "E000-E999": "external causes of injury and poisoning",
    "V01-V91": "factors influencing health status and contact with health services",
}
"""The chapters of ICD-9-CM, by their codes. Source: CDC, ICD-9-CM official guidelines, tabular list."""

ICD10_CHAPTERS: Mapping[str, str] = {
    "A00-B99": "certain infectious and parasitic diseases",
    "C00-D49": "neoplasms",
    "D50-D89": "diseases of the blood and blood-forming organs, and disorders of the immune mechanism",
    "E00-E89": "endocrine, nutritional and metabolic diseases",
    "F00-F99": "mental and behavioural disorders",
    "G00-G99": "diseases of the nervous system",
    "H00-H59": "diseases of the eye and adnexa",
    "H60-H95": "diseases of the ear and mastoid process",
    "I00-I99": "diseases of the circulatory system",
    "J00-J99": "diseases of the respiratory system",
    "K00-K95": "diseases of the digestive system",
    "L00-L99": "diseases of the skin and subcutaneous tissue",
    "M00-M99": "diseases of the musculoskeletal system and connective tissue",
    "N00-N99": "diseases of the genitourinary system",
    "O00-O9A": "pregnancy, childbirth and the puerperium",
    "P00-P96": "certain conditions originating in the perinatal period",
    "Q00-Q99": "congenital malformations, deformations and chromosomal abnormalities",
    "R00-R99": "symptoms, signs and abnormal clinical and laboratory findings",
    "S00-T98": "injury, poisoning and certain other consequences of external causes",
    "U00-U99": "codes for special purposes",
    "V00-Y99": "external causes of morbidity",
    "Z00-Z99": "factors influencing health status and contact with health services",
}
"""The chapters of ICD-10 and ICD-10-CM, by their codes. Source: WHO, ICD-10 version 2019; CDC, ICD-10-CM 2024."""

_ICD9 = re.compile(r"(E|V|)(\d{1,9})(?:\.\d*)?", re.IGNORECASE)
_ICD10 = re.compile(r"([A-Z])(\d)([0-9A-Z]).*", re.IGNORECASE)
_ICD9_STARTS = [(int(chapter[:3]), chapter) for chapter in ICD9_CHAPTERS if chapter[0].isdigit()]


def icd9_chapter(code: str) -> str | None:
    """The chapter of an ICD-9-CM code with its point, such as 250.83, V45 or E878; leading zeros may be missing.

    Args:
        code: the code as text.

    Returns:
        A key of `ICD9_CHAPTERS`; None if there is no such chapter.
    """
    found = _ICD9.fullmatch(code.strip())
    if found is None:
        return None
    letter, number = found[1].upper(), int(found[2])
    if letter == "E":
        return "E000-E999" if number <= 999 else None
    if letter == "V":
        return "V01-V91" if 1 <= number <= 91 else None
    if not 1 <= number <= 999:
        return None
    place = bisect_right(_ICD9_STARTS, number, key=lambda start: start[0])
    return _ICD9_STARTS[place - 1][1]


def icd10_chapter(code: str) -> str | None:
    """The chapter of an ICD-10 or ICD-10-CM code, such as E11.9, with or without its point.

    Args:
        code: the code as text.

    Returns:
        A key of `ICD10_CHAPTERS`; None if there is no such chapter.
    """
    found = _ICD10.fullmatch(code.strip())
    if found is None:
        return None
    category = "".join(found.groups()).upper()
    for chapter in ICD10_CHAPTERS:
        first, last = chapter.split("-")
        if first <= category <= last:
            return chapter
    return None


def prefix(length: int, *, digits: int | None = None) -> Callable[[str], str | None]:
    """Groups of codes by prefix, such as the first three digits of a ZIP code, or the first two of an industry code.

    Args:
        length: number of characters of the prefix.
        digits: number of digits of a complete code, if files drop leading zeros, which are then restored.

    Returns:
        A function that returns the prefix of a code; None if the code is shorter.

    Raises:
        InvalidInput: the length is below 1.
    """
    if length < 1:
        raise InvalidInput(f"the beginning of a code must have at least 1 character, got {length}.")

    def beginning(code: str) -> str | None:
        whole = code.strip() if digits is None else code.strip().zfill(digits)
        return whole[:length] if len(whole) >= length else None

    return beginning


def starting_at(groups: Mapping[int, Group], *, last: int | None = None) -> Callable[[str], Group | None]:
    """Groups of numeric codes, each from its first code to the next group's, such as groups of occupations.

    Args:
        groups: the group that begins at each code.
        last: the largest code; by default the last group has no end.

    Returns:
        A function that returns the group of a code; None if the code is below the first or is not an integer.

    Raises:
        InvalidInput: there is no group.
    """
    if not groups:
        raise InvalidInput("groups of codes must be given by the first code of each, got none.")
    starts = sorted(groups)

    def group(code: str) -> Group | None:
        try:
            number = int(code)
        except ValueError:
            return None
        if number < starts[0] or (last is not None and number > last):
            return None
        return groups[starts[bisect_right(starts, number) - 1]]

    return group
