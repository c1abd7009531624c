"""The data user's side of a release: reads and checks its folder, and answers questions about it.

Inference from the measurements (deniable.inference) and checks of a whole folder (deniable.verification) do not belong
here.
"""

import argparse
import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from math import floor, isfinite, isnan, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Domain
from deniable.foundation.errors import DeniableError, InvalidInput, Refused
from deniable.foundation.strict_json import parsed
from deniable.inference.answers import ESTIMANDS, GRADES, MEANING, SAMPLINGS, Answer, Asked, TableAnswer
from deniable.inference.comparisons import compare
from deniable.inference.estimation import Inference
from deniable.inference.others.asking import OtherRelease
from deniable.inference.quantiles import cumulative, quantile
from deniable.inference.queries import Query
from deniable.inference.regression import regress
from deniable.inference.tables import table
from deniable.local.survey import read_survey
from deniable.measurements.certificate import FILE as CERTIFICATE
from deniable.measurements.certificate import Certificate
from deniable.measurements.document import FILE as MEASURED
from deniable.measurements.document import Measurements
from deniable.measurements.estimates import probability_of
from deniable.other_releases import (
    NOTHING,
    SEEDS,
    URNS,
    drawn_release,
    histogram_release,
    survey_release,
)
from deniable.record.attestation import SURVEY
from deniable.verification.release import (
    CSV,
    DOMAIN,
    FILE,
    RECORD,
    RESPONSES,
    Folder,
    Trust,
    record_in,
    signature_check,
)
from deniable.verification.survey import DOCUMENT as SURVEY_DOCUMENT
from deniable.verification.unsigned import UNSIGNED, described_unsigned

_LARGEST = 1 << 28
_MOST_LINES = 60
"""Number of rows of a table that the text answer shows."""
_SMALLEST_P = 1e-12
_SHOWN_SHARE = 0.005
_POINTS = {"share", "difference of shares"}
"""Kinds of answers shown in percent, and in percentage points."""


@dataclass(frozen=True, eq=False)
class ReadRelease:
    """A release, ready for questions.

    Attributes:
        inference: answers questions.
        notes: sentences that state what was not checked. If there is a record, the digests of the files read are
            checked.
        name: the release's name; empty if it has no record.
    """

    inference: Inference | OtherRelease
    notes: tuple[str, ...]
    name: str = ""


def read_release(folder: Folder, trust: Trust | None = None, people: int | None = None) -> ReadRelease:
    """Read a release's measurements, or whatever else it publishes about the distribution of its records.

    Args:
        folder: the release folder, or the folder of a survey.
        trust: the keys whose signatures are accepted; without keys, the signature is not checked.
        people: number of people, if stated by the user and not by the release.

    Raises:
        InvalidInput: a file is missing or malformed.
        Refused: a file or the record was altered, or the release published no measurements.
    """
    names = folder.members()
    files = _Files(folder, names)
    notes: list[str] = []
    split: Mapping[str, Any] | None = None
    record: Mapping[str, Any] = {}
    name, effect = "", 1.0
    if RECORD in names:
        envelope, statement = record_in(folder, names)
        predicate: Any = statement.predicate
        record = predicate
        files.digests = statement.subjects
        try:
            if statement.version == SURVEY:
                name = record["survey"]["name"]
            else:
                spec = record["spec"]["document"]
                split, name = spec.get("split"), record["release"]["id"]
                effect = float(Fraction(str((spec.get("sampling") or {}).get("design_effect", 1))))
        except (KeyError, TypeError, AttributeError, ValueError):
            raise InvalidInput(f"{RECORD} must be the record of a release, and is not.") from None
        if trust is not None and trust.keys is not None:
            signed = signature_check(envelope, record, trust)
            if not signed.holds:
                raise Refused(f"the record must be signed by a trusted key: {signed.faults[0]}.")
        else:
            notes.append("The signature was not checked: give trusted keys with --keys.")
    elif UNSIGNED in names:
        unsigned = described_unsigned(files.content(UNSIGNED).decode(errors="replace"))
        split, name, files.digests = unsigned["spec"].get("document", {}).get("split"), "", unsigned["files"]
        notes.append("The release is not signed: nothing shows who made it, or that it is unaltered.")
    else:
        notes.append(f"The folder has no {RECORD}: nothing shows who made it.")
    if "survey" in record:
        return ReadRelease(_survey(files), tuple(notes), name)
    if MEASURED not in names:
        return ReadRelease(_other(files, names, record, people), tuple(notes), name)
    described = files.document(DOMAIN)
    domain = _formed(DOMAIN, lambda: Domain.from_document(described))
    written = files.document(MEASURED)
    measured = _formed(MEASURED, lambda: Measurements.from_document(domain.modelled, written))
    probability = None if not split else _formed(RECORD, lambda: probability_of(measured, split))
    computed = [each for each in domain.names if each not in measured.domain.names]
    inference = Inference(
        measured,
        probability=probability,
        labels=_labels(described),
        computed=computed,
        design_effect=effect,
        model=SyntheticRecords(files, domain, measured.domain.names) if CSV in names else None,
        certificate=_certificate(files, measured.domain) if CERTIFICATE in names else None,
    )
    return ReadRelease(inference, tuple(notes), name)


def _other(files: "_Files", names: Mapping[str, str], record: Mapping[str, Any], people: int | None) -> OtherRelease:
    """A release that publishes no noisy tables.

    Raises:
        Refused: the distribution of its records is unknown.
    """
    if not record or not {URNS, SEEDS} & set(names):
        raise Refused(
            f"a release must have {MEASURED} for estimates with intervals, and this one has none: its learner "
            f"published no counts; {NOTHING}."
        )
    described = files.document(DOMAIN)
    domain: Domain = _formed(DOMAIN, lambda: Domain.from_document(described))
    labels, spec = _labels(described), record["spec"]["document"]
    found: OtherRelease
    if SEEDS in names:
        seeds = files.document(SEEDS)
        found = _formed(SEEDS, lambda: histogram_release(record, domain, seeds, labels))
    else:
        urns, records = files.document(URNS), SyntheticRecords(files, domain, domain.names)
        found = _formed(URNS, lambda: drawn_release(spec, domain, urns, lambda: records.codes, people, labels))
    return found


def _survey(files: "_Files") -> OtherRelease:
    """The responses of a survey."""
    survey = _formed(SURVEY_DOCUMENT, lambda: read_survey(files.content(SURVEY_DOCUMENT).decode()))
    content = files.content(RESPONSES)
    found: OtherRelease = _formed(
        RESPONSES, lambda: survey_release(survey, list(csv.DictReader(io.StringIO(content.decode(), newline=""))))
    )
    return found


def _certificate(files: "_Files", domain: Domain) -> Certificate:
    document = files.document(CERTIFICATE)
    found: Certificate = _formed(CERTIFICATE, lambda: Certificate.from_document(domain, document))
    return found


class _Files:
    """Reads the files of a folder, each of which must match its signed digest."""

    def __init__(self, folder: Folder, names: Mapping[str, str]) -> None:
        self._folder, self._names = folder, names
        self.digests: Mapping[str, str] | None = None

    def content(self, name: str) -> bytes:
        """Content of a file.

        Raises:
            InvalidInput: it is missing or too large.
            Refused: it does not match its signed digest.
        """
        if self._names.get(name) != FILE:
            raise InvalidInput(f"{name} must be a file of the release folder, and is missing.")
        with self._folder.open(name) as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise InvalidInput(f"{name} must have at most {_LARGEST:,} bytes, got more.")
        if self.digests is not None and sha256(content).hexdigest() != self.digests.get(name):
            raise Refused(f"{name} must be what was signed, and was altered; get the release again, and verify it.")
        return content

    def document(self, name: str) -> Mapping[str, Any]:
        """A JSON document; see `content`."""
        try:
            found = parsed(self.content(name).decode(), name)
        except UnicodeDecodeError:
            raise InvalidInput(f"{name} must be JSON in UTF-8, and is not.") from None
        if not isinstance(found, dict):
            raise InvalidInput(f"{name} must be a JSON object, and is not.")
        return found


class SyntheticRecords:
    """The synthetic records as an approximation of the model; they are read when first needed."""

    def __init__(self, files: _Files, domain: Domain, names: Sequence[str]) -> None:
        self._files, self._domain, self._names = files, domain, names
        self._codes: NDArray[np.int64] | None = None

    def total(self, query: Query) -> float:
        """The sum of a function over the records."""
        found = 0.0
        for term in query.terms:
            own = np.full(len(self.codes), term.factor)
            for i, values in term.of.items():
                own *= values[self.codes[:, i]]
            found += float(own.sum())
        return found

    @property
    def codes(self) -> NDArray[np.int64]:
        """The codes of the records, shape (records, m)."""
        if self._codes is None:
            self._codes = self._read()
        return self._codes

    def _read(self) -> NDArray[np.int64]:
        content = self._files.content(CSV)
        try:
            rows = csv.reader(io.StringIO(content.decode(), newline=""))
            head = next(rows, [])
            places = [head.index(name) for name in self._names]
            codes = [
                {
                    str(value): code
                    for code, value in enumerate(self._domain.attributes[self._domain.index(name)].values)
                }
                for name in self._names
            ]
            found = [[own[row[place]] for own, place in zip(codes, places, strict=True)] for row in rows]
        except (ValueError, KeyError, IndexError, csv.Error):
            raise InvalidInput(f"{CSV} must have only values of the public domain; verify the release.") from None
        return np.asarray(found, np.int64).reshape(-1, len(self._names))


def _formed(name: str, read: Callable[[], Any]) -> Any:
    """Read a part of a document that may have any form."""
    try:
        return read()
    except DeniableError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, csv.Error):
        raise InvalidInput(
            f"{name} must have the form that a release gives it, and has not; verify the release."
        ) from None


def _labels(described: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        each["name"]: {str(value["value"]): value["label"] for value in each["values"] if value.get("label")}
        for each in described["attributes"]
    }


def add_infer_arguments(parser: argparse.ArgumentParser, keys: str) -> None:
    """Add a release and a question to the command line.

    Args:
        parser: the parser of the command.
        keys: help on the option for trusted keys.
    """
    parser.add_argument("release", metavar="RELEASE_DIR", help="the release folder")
    asked = parser.add_subparsers(dest="question", required=True, metavar="QUESTION")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--level", type=float, default=0.95, metavar="P", help="level of intervals (default: 0.95)")
    common.add_argument(
        "--estimand",
        choices=ESTIMANDS,
        default="finite",
        help="finite: the confidential table (default); population: the population of which its rows are a sample",
    )
    common.add_argument(
        "--grade", choices=GRADES, default="bounded", help="the lowest grade to accept (default: bounded)"
    )
    common.add_argument(
        "--sampling", choices=SAMPLINGS[:2], help="how the rows were sampled, if the release does not state it"
    )
    common.add_argument(
        "--people", type=int, metavar="N", help="number of people, for synthetic sets that do not state it"
    )
    common.add_argument(
        "--deff", type=float, metavar="D", help="design effect of the sample (default: as released, or 1)"
    )
    form = common.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", metavar="FILE", help="write the numbers to a CSV file instead")
    common.add_argument("--keys", metavar="FILE", help=keys)
    given: dict[str, Any] = {"default": "", "metavar": "CONDITION", "help": "only for records that satisfy it"}

    def question(name: str, told: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = asked.add_parser(name, parents=[common], help=told, description=told + ".")
        return added

    one = question("count", "the number of records that satisfy a condition, such as 'sex=f & age>=18'")
    one.add_argument("what", nargs="?", default="", metavar="CONDITION")
    one = question("share", "the share of records that satisfy a condition")
    one.add_argument("what", metavar="CONDITION")
    one.add_argument("--given", **given)
    one = question("mean", "the mean of a numeric attribute")
    one.add_argument("what", metavar="ATTRIBUTE")
    one.add_argument("--given", **given)
    one = question("ratio", "the ratio of two counts, or of two totals")
    one.add_argument("what", metavar="CONDITION_OR_ATTRIBUTE")
    one.add_argument("to", metavar="CONDITION_OR_ATTRIBUTE")
    one = question("quantile", "a quantile of a numeric attribute, or its cumulative shares")
    one.add_argument("what", metavar="ATTRIBUTE")
    one.add_argument(
        "--at", type=float, default=0.5, metavar="P", help="at which cumulative share (default: 0.5, the median)"
    )
    one.add_argument("--cumulative", action="store_true", help="all cumulative shares")
    one.add_argument("--given", **given)
    one = question("table", "all cells of a table, or the distribution of one attribute")
    one.add_argument("attributes", nargs="+", metavar="ATTRIBUTE")
    one.add_argument("--of", choices=("count", "share"), default="count", help="counts (default) or shares of all")
    one.add_argument("--simultaneous", action="store_true", help="intervals that cover simultaneously")
    one = question("compare", "a share or a mean in each group, and the differences from the first")
    one.add_argument("what", metavar="CONDITION_OR_ATTRIBUTE")
    one.add_argument("--by", required=True, metavar="ATTRIBUTE", help="the groups")
    one.add_argument("--given", **given)
    one.add_argument("--test", action="store_true", help="p-values of the differences")
    one = question("regress", "linear regression, with a constant")
    one.add_argument("what", metavar="OUTCOME", help="a numeric attribute, or a condition")
    one.add_argument("attributes", nargs="+", metavar="ATTRIBUTE", help="the regressors")
    one.add_argument("--test", action="store_true", help="p-values of the coefficients")


def answer_to(inference: Inference | OtherRelease, asked: argparse.Namespace) -> Answer | TableAnswer:
    """The answer to a question of the command line.

    Raises:
        InvalidInput, Refused: it cannot be answered; the message is one sentence.
    """
    how = Asked(asked.level, asked.estimand, asked.grade, asked.deff, asked.sampling)
    if isinstance(inference, OtherRelease):
        if asked.question == "count":
            return inference.count(asked.what, how)
        if asked.question == "share":
            return inference.share(asked.what, asked.given, how)
        raise inference.refusal(f"questions of the kind {asked.question}")
    questions: dict[str, Callable[[], Answer | TableAnswer]] = {
        "count": lambda: inference.count(asked.what, how),
        "share": lambda: inference.share(asked.what, asked.given, how),
        "mean": lambda: inference.mean(asked.what, asked.given, how),
        "ratio": lambda: inference.ratio(asked.what, asked.to, how),
        "quantile": lambda: (
            cumulative(inference, asked.what, asked.given, how)
            if asked.cumulative
            else quantile(inference, asked.what, asked.at, asked.given, how)
        ),
        "table": lambda: table(inference, asked.attributes, asked.of, how, simultaneous=asked.simultaneous),
        "compare": lambda: compare(inference, asked.what, asked.by, asked.given, how, test=asked.test),
        "regress": lambda: regress(inference, asked.what, asked.attributes, how, test=asked.test),
    }
    return questions[asked.question]()


def document_of(read: ReadRelease, answer: Answer | TableAnswer) -> dict[str, Any]:
    """An answer with the name of its release, ready for JSON."""
    return {"release": read.name, "unchecked": list(read.notes), **answer.document()}


def csv_of(answer: Answer | TableAnswer) -> str:
    """An answer as CSV."""
    if isinstance(answer, Answer):
        answer = TableAnswer(
            question=answer.question, columns=("question",), cells=((answer.question,),), answers=(answer,)
        )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(answer.rows())
    return text.getvalue()


def lines_of(answer: Answer | TableAnswer) -> Iterator[str]:
    """An answer as text."""
    if isinstance(answer, TableAnswer):
        yield from _lines_of_table(answer)
        return
    yield f"{answer.question[:1].upper()}{answer.question[1:]}"
    yield ""
    if isnan(answer.estimate):
        yield f"  {'estimate':<10}none: counts only bound the answer; --grade model adds the model's estimate"
    else:
        yield f"  {'estimate':<10}{number(answer.estimate, answer)}"
    if answer.interval is None:
        yield f"  {'interval':<10}none: no interval with known coverage exists"
    else:
        ends = f"{number(answer.interval.low, answer)} to {number(answer.interval.high, answer)}"
        yield f"  {'bounds' if answer.has_bounds else 'interval':<10}{ends}, level {answer.level:g}"
    yield f"  {'of':<10}{answer.of_what} ({answer.estimand})"
    yield f"  {'grade':<10}{answer.grade}: {MEANING[answer.grade]}"
    if answer.deviation > 0:
        noise = f"noise {_spread(answer.noise_deviation, answer)}"
        sampling = f", sampling {_spread(answer.sampling_deviation, answer)}" if answer.sampling_deviation else ""
        yield f"  {'sd':<10}{noise}{sampling}"
    if answer.sources:
        yield f"  {'from':<10}{_sources(answer)}"
    yield ""
    yield answer.condition


def _lines_of_table(answer: TableAnswer) -> Iterator[str]:
    first = answer.answers[0]
    yield f"{answer.question[:1].upper()}{answer.question[1:]}, of {first.of_what} ({first.estimand})"
    yield ""
    tested = any(each.p_value is not None for each in answer.answers)
    head = [*answer.columns, "estimate", "low", "high", "grade", *(["p"] if tested else [])]
    rows = [head]
    for cell, each in zip(answer.cells, answer.answers, strict=True):
        ends = (
            ["-", "-"] if each.interval is None else [number(each.interval.low, each), number(each.interval.high, each)]
        )
        told = [*cell, number(each.estimate, each), *ends, each.grade]
        rows.append([*told, *([_p_value(each.p_value)] if tested else [])])
    shown = rows[: _MOST_LINES + 1]
    widths = [max(len(row[column]) for row in shown) for column in range(len(head))]
    words = len(answer.columns)
    for row in shown:
        cells = [
            each.ljust(width) if column < words or head[column] == "grade" else each.rjust(width)
            for column, (each, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
    if len(rows) > len(shown):
        yield f"  ... and {len(rows) - len(shown):,} more; --csv FILE has all"
    yield ""
    bounded = {each.has_bounds for each in answer.answers if each.interval is not None}
    what = "Intervals and bounds" if len(bounded) > 1 else "Bounds" if True in bounded else "Intervals"
    together = f"{what} of level {first.level:g}"
    yield f"{together}, all together." if answer.simultaneous else f"{together}, each by itself."
    if first.sources:
        yield f"From {_sources(first)}."
    yield from dict.fromkeys(each.condition for each in answer.answers)


def number(value: float, answer: Answer) -> str:
    """A number, rounded to two significant digits of the interval's half-width."""
    if isnan(value):
        return "-"
    if not isfinite(value):
        return "unbounded"
    if answer.kind == "count":
        return f"{round(value):,}"
    half = 0.0 if answer.interval is None else (answer.interval.high - answer.interval.low) / 2
    if answer.kind == "quantile":
        return f"{value:g}"
    if answer.kind in _POINTS:
        places = _places(100 * half, most=4, otherwise=1)
        return f"{100 * value:.{places}f} {'%' if answer.kind == 'share' else 'points'}"
    return f"{value:.{_places(half, most=8, otherwise=3)}f}"


def _spread(value: float, answer: Answer) -> str:
    if answer.kind in _POINTS:
        return f"{100 * value:.2g} points"
    return f"{value:,.0f}" if answer.kind == "count" and value >= 10 else f"{value:.2g}"


def _places(half: float, *, most: int, otherwise: int) -> int:
    if half <= 0:
        return otherwise
    return min(max(1 - floor(log10(half)), 0), most)


def _p_value(value: float | None) -> str:
    if value is None:
        return ""
    return f"<{_SMALLEST_P:.0e}" if value < _SMALLEST_P else f"{value:.2g}"


def _sources(answer: Answer) -> str:
    parts = [(" x ".join(names), share) for names, share in answer.sources.items()]
    told = [f"{names} ({100 * share:.0f} %)" for names, share in parts[:3] if share >= _SHOWN_SHARE]
    rest = len(parts) - len(told)
    more = f" and {rest} more" if rest else ""
    return ", ".join(told) + more
