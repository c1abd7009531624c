"""Verifies a release folder, and answers questions about it; needs NumPy and cryptography alone."""

import io
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, TypeAlias

from deniable.data_user import ReadRelease, read_release
from deniable.folder_on_disk import FolderOnDisk, open_regular
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.strict_json import parsed
from deniable.inference.answers import Answer, Asked, TableAnswer
from deniable.inference.estimation import Inference
from deniable.inference.quantiles import quantile
from deniable.inference.tables import table
from deniable.library.schema import Schema
from deniable.record.trust import TrustedKeys
from deniable.verification import discovery, survey
from deniable.verification.release import (
    DOMAIN,
    FILE,
    RECORD,
    Folder,
    ReleaseReport,
    Trust,
    content_of,
    kind_of,
    verify_release,
)
from deniable.verification.unsigned import UNSIGNED, verify_unsigned

Place: TypeAlias = str | os.PathLike[str]
Condition: TypeAlias = str | Mapping[str, object]
"""A condition as on the command line, such as `sex=Female & age>=18`, or a mapping from columns to their values."""

_LARGEST_KEYS = 1 << 20
_NO_KEYS = "name a trust file, as an agency's keys export writes it, with keys="


class Questions:
    """Answers questions about a release, each with an interval that covers noise and sampling.

    Options of every question: `level`, `estimand` (`finite` or `population`), `grade`, `design_effect` and `sampling`,
    as `deniable infer` has them.

    Attributes:
        notes: sentences that state what was not checked.
    """

    def __init__(self, read: ReadRelease) -> None:
        self._inference = read.inference
        self.notes = read.notes

    def count(self, condition: Condition = "", **options: Any) -> Answer:
        """The number of records that satisfy a condition."""
        return self._inference.count(_text(condition), _asked(options))

    def share(self, condition: Condition, given: Condition = "", **options: Any) -> Answer:
        """The share of records that satisfy a condition, among those that satisfy another."""
        return self._inference.share(_text(condition), _text(given), _asked(options))

    def mean(self, attribute: str, given: Condition = "", **options: Any) -> Answer:
        """The mean of a numeric column."""
        return self._measured("means").mean(attribute, _text(given), _asked(options))

    def ratio(self, numerator: str, denominator: str, **options: Any) -> Answer:
        """The ratio of two counts, or of two totals."""
        return self._measured("ratios").ratio(numerator, denominator, _asked(options))

    def quantile(self, attribute: str, at: float = 0.5, given: Condition = "", **options: Any) -> Answer:
        """A quantile of a numeric column; the median by default."""
        return quantile(self._measured("quantiles"), attribute, at, _text(given), _asked(options))

    def table(self, *attributes: str, of: str = "count", simultaneous: bool = False, **options: Any) -> TableAnswer:
        """All cells of a table of counts or shares."""
        return table(self._measured("tables"), attributes, of, _asked(options), simultaneous=simultaneous)

    def _measured(self, what: str) -> Inference:
        if not isinstance(self._inference, Inference):
            raise self._inference.refusal(what)
        return self._inference


class OpenedRelease:
    """A release folder, opened for reading; see `open_release`.

    Attributes:
        schema: the public description of its table.
        infer: answers questions about it.
    """

    def __init__(self, folder: Folder) -> None:
        names = folder.members()
        self.infer = Questions(read_release(folder))
        self.schema = Schema.from_document(parsed(content_of(folder, names, DOMAIN), DOMAIN))


def open_release(folder: Place) -> OpenedRelease:
    """Open a release folder of the flow or of the library. It is not verified: use `verify`.

    Args:
        folder: the folder.

    Raises:
        InvalidInput: it cannot be read, or is no release.
        Refused: a file differs from its stated digest, or it published nothing from which questions can be answered.
    """
    try:
        return OpenedRelease(FolderOnDisk(os.fspath(folder)))
    except OSError as error:
        raise _unreadable(folder, error) from None


def verify(folder: Place, keys: Place | None = None) -> ReleaseReport:
    """Check what the folder of a release, a survey or a discovery claims, as far as it can be checked.

    Args:
        folder: the folder.
        keys: the trusted keys, a file; a signed folder holds only by these. The library's folders have no signature.

    Returns:
        The report; `holds` says whether every check passed, and `lines` has one line for each.

    Raises:
        InvalidInput: the folder or the keys cannot be read.
        Refused: the folder is not signed, and keys were given.
    """
    place = FolderOnDisk(os.fspath(folder))
    try:
        names = place.members()
        if UNSIGNED in names and RECORD not in names:
            if keys is not None:
                raise Refused(
                    f"a release must be signed to be checked by keys, and {folder} has no {RECORD}; leave keys out to "
                    "check the rest."
                )
            return verify_unsigned(place)
        checks = {"survey": survey.verify_survey, "discovery": discovery.verify_discovery}
        return checks.get(kind_of(place), verify_release)(place, _trust(keys))
    except OSError as error:
        raise _unreadable(folder, error) from None


def questions_about(contents: Mapping[str, bytes]) -> Questions:
    """Answers questions about the files of a folder that are in memory.

    Args:
        contents: content of each file, by its name.
    """
    return Questions(read_release(_InMemory(contents)))


class _InMemory:
    """A folder that is only in memory."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents

    def members(self) -> Mapping[str, str]:
        """All members."""
        return dict.fromkeys(self._contents, FILE)

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file."""
        return io.BytesIO(self._contents[name])


def _asked(options: Mapping[str, Any]) -> Asked:
    try:
        return Asked(**options)
    except TypeError:
        known = ", ".join(Asked.__dataclass_fields__)
        raise InvalidInput(f"the options of a question are {known}, and another was given; leave it out.") from None


def _text(condition: Condition) -> str:
    """A condition in the language of questions."""
    if isinstance(condition, str):
        return condition
    return " & ".join(f'"{name}"="{_value(value)}"' for name, value in condition.items())


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _trust(keys: Place | None) -> Trust:
    if keys is None:
        return Trust(None, _NO_KEYS)
    try:
        with open_regular(os.fspath(keys)) as file:
            text = file.read(_LARGEST_KEYS).decode()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"the trusted keys must be a readable file, got {keys}; name another.") from None
    return Trust(TrustedKeys.from_text(text), f"as given, {keys}")


def _unreadable(folder: Place, error: OSError) -> InvalidInput:
    return InvalidInput(f"a release must be a readable folder, got {folder} ({error.strerror}); name another.")
