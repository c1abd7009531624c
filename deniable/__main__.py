"""The command line of auditors and respondents, offline, without the rest of the project.

`python -m deniable verify FOLDER` checks a release, a survey or a discovery; `python -m deniable respond SURVEY`
answers a survey; `python -m deniable infer RELEASE_DIR QUESTION` answers with intervals; `python -m deniable posterior
RELEASE_DIR` computes the posterior of the population's shares from synthetic sets, and `python -m deniable combine` has
the combining rules for such sets. The checks, opening files
(folder_on_disk) and a respondent's own files (respondent) do not belong here.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from deniable.console import print_any_character, show
from deniable.folder_on_disk import FolderOnDisk, open_regular
from deniable.foundation.checks import printable
from deniable.foundation.errors import DeniableError, InvalidInput
from deniable.ledger.verification import records_of, verify

_LARGEST_FILE = 1 << 28

HOLDS, DOES_NOT_HOLD, UNREADABLE = 0, 1, 2

# Those of deniable.learners.multinomial_sets.combining, which is slow to import.
_RULES = ("T_m", "T_M", "T_M*", "partial", "T_s", "T_p")
_SYNTHESES = ("differentially_private", "posterior_predictive", "partially_synthetic", "fitted_model")

KEYS_VARIABLE = "DENIABLE_TRUSTED_KEYS"
CONFIGURATION_VARIABLE = "XDG_CONFIG_HOME"
_CONFIGURATION, _TRUST_FILE = "~/.config", ("deniable", "trusted.json")
_KEY_FILE = ("deniable", "respondent.key")
_GIVE_KEYS = f"give a trust file with --keys FILE, name one in {KEYS_VARIABLE}, or put one at {{own}}"


class _Unreadable(Exception):
    """A named file or folder cannot be read."""


def _of_unreadable(folder: str, error: OSError) -> str:
    """The sentence about a release folder, or a file in it, that cannot be read."""
    elsewhere = error.filename is not None and os.fspath(error.filename) != folder
    reason = f"{error.strerror or error}{f', {error.filename}' if elsewhere else ''}"
    return f"a release must be a readable folder, got {folder} ({reason}); name another."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        0 if every check passes, 1 if one fails, 2 if something cannot be read.
    """
    print_any_character()
    given = sys.argv[1:] if arguments is None else arguments
    asked = _parser(given[0] if given else "").parse_args(given)
    command: Callable[[argparse.Namespace], int] = asked.carry_out
    try:
        status = command(asked)
        sys.stdout.flush()
    except _Unreadable as error:
        show(str(error).split("\n"), sys.stderr)
        return UNREADABLE
    except BrokenPipeError:
        # The reader has closed the pipe: nothing can be reported, now or at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREADABLE
    return status


def _verify_release(asked: argparse.Namespace) -> int:
    # Slow to import, and no other command needs it.
    from deniable.verification import discovery, survey  # noqa: PLC0415
    from deniable.verification.release import kind_of, verify_release  # noqa: PLC0415

    ledger = None if asked.ledger is None else records_of(_lines(asked.ledger, "the ledger"))
    trust = _trust(asked)
    try:
        folder = FolderOnDisk(asked.release)
        kind = kind_of(folder)
        if kind == survey.KIND:
            report = survey.verify_survey(folder, trust)
        elif kind == discovery.KIND:
            report = discovery.verify_discovery(folder, trust, ledger)
        else:
            report = verify_release(folder, trust, ledger)
    except OSError as error:
        raise _Unreadable(_of_unreadable(asked.release, error)) from None
    return _say(report.lines, holds=report.holds)


def _verify_ledger(asked: argparse.Namespace) -> int:
    report = verify(records_of(_lines(asked.file, "the ledger")), head=asked.head, count=asked.count)
    return _say(report.lines, holds=report.holds)


def _show_record(asked: argparse.Namespace) -> int:
    from deniable.verification.release import RECORD, readable_record  # noqa: PLC0415 - as above

    path = os.path.join(asked.release, RECORD)  # noqa: PTH118
    try:
        readable = readable_record(_content(path, "the record"))
    except InvalidInput as error:
        raise _Unreadable(f"{path}: {error}") from None
    print("\n".join(printable(line, len(line)) for line in readable.split("\n")))  # noqa: T201
    print("Not verified; to verify it, run python -m deniable verify.", file=sys.stderr)  # noqa: T201
    return HOLDS


def _show_summary(asked: argparse.Namespace) -> int:
    from deniable.record.summary import step_lines, summary_lines  # noqa: PLC0415 - as above
    from deniable.verification.discovery import discovery_lines  # noqa: PLC0415
    from deniable.verification.release import RECORD, signed_predicate  # noqa: PLC0415
    from deniable.verification.survey import survey_lines  # noqa: PLC0415

    path = os.path.join(asked.release, RECORD)  # noqa: PTH118
    try:
        check, record = signed_predicate(_content(path, "the record"), _trust(asked))
        if not check.holds:
            told = []
        elif "survey" in record:
            told = list(survey_lines(record))
        elif "discovery" in record:
            told = list(discovery_lines(record))
        else:
            told = list(step_lines(record, asked.step) if asked.step else summary_lines(record))
    except InvalidInput as error:
        raise _Unreadable(f"{path}: {error}") from None
    return _say([*told, "", check.line] if told else [check.line], holds=check.holds)


def _released_sets(folder: str) -> Any:
    """The synthetic sets of a release folder.

    Raises:
        InvalidInput: it is not a release of synthetic sets.
    """
    from deniable.foundation.strict_json import parsed  # noqa: PLC0415 - as above
    from deniable.learners.multinomial_sets.release import released_sets  # noqa: PLC0415

    def document(name: str) -> Any:
        return parsed(_content(os.path.join(folder, name), name).decode(errors="replace"), name)  # noqa: PTH118

    table = _content(os.path.join(folder, "synthetic.csv"), "the table").decode(errors="replace")  # noqa: PTH118
    try:
        return released_sets(document("schema.json"), document("urns.json"), table)
    except InvalidInput:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):
        raise InvalidInput("it is not in the form of a release.") from None


def _show_posterior(asked: argparse.Namespace) -> int:
    from deniable.learners.multinomial_sets.release import posterior_lines  # noqa: PLC0415 - as above

    try:
        lines = list(posterior_lines(_released_sets(asked.release), asked.people, asked.level))
    except InvalidInput as error:
        raise _Unreadable(f"{asked.release}: {error}") from None
    show(map(printable, lines))
    print("Not verified; to verify the release, run python -m deniable verify.", file=sys.stderr)  # noqa: T201
    return HOLDS


def _combine(asked: argparse.Namespace) -> int:
    try:
        from deniable.learners.multinomial_sets.combining import (  # noqa: PLC0415 - SciPy
            RULES,
            combined_lines,
        )
    except ImportError as error:
        raise _Unreadable(f"combining needs {error.name}: install deniable[learn].") from None

    rules: Any = RULES if asked.rule is None else (asked.rule,)
    synthesis: Any = asked.synthesis or "differentially_private"
    try:
        (estimates, variances), size, people = _to_combine(asked)
        lines = list(
            combined_lines(
                estimates, variances, rules, size=size, people=people, synthesis=synthesis, level=asked.level
            )
        )
    except InvalidInput as error:
        raise _Unreadable(f"{asked.sets}: {error}") from None
    show(map(printable, lines))
    return HOLDS


def _to_combine(asked: argparse.Namespace) -> tuple[tuple[list[float], list[float]], int, int]:
    """The estimates of sets with their variances, and the numbers of records in a set and of people.

    Raises:
        InvalidInput: options do not fit a release, or a file.
    """
    from deniable.learners.multinomial_sets.combining import read_estimates  # noqa: PLC0415 - SciPy
    from deniable.learners.multinomial_sets.release import shares_of_sets  # noqa: PLC0415 - as above

    size, people = asked.size, asked.people
    if os.path.isdir(asked.sets):  # noqa: PTH112
        if not asked.condition or asked.synthesis is not None or size is not None:
            raise InvalidInput("a release needs a condition, whose share is combined, and no --synthesis or --size.")
        released = _released_sets(asked.sets)
        size, people = released.plan.size, people if people is not None else released.people
        estimates = shares_of_sets(released, asked.condition)
    else:
        if asked.condition or asked.synthesis is None or size is None:
            raise InvalidInput("a file of estimates needs --synthesis and --size, and no condition.")
        estimates = read_estimates(_content(asked.sets, "the file of estimates").decode(errors="replace"))
    if people is None:
        raise InvalidInput("the number of people must be known; give --people N.")
    return estimates, size, people


def _infer(asked: argparse.Namespace) -> int:
    from deniable.data_user import answer_to, csv_of, document_of, lines_of, read_release  # noqa: PLC0415 - as above

    try:
        read = read_release(FolderOnDisk(asked.release), _trust(asked), asked.people)
        answer = answer_to(read.inference, asked)
    except DeniableError as error:
        raise _Unreadable(printable(str(error))) from None
    except OSError as error:
        raise _Unreadable(_of_unreadable(asked.release, error)) from None
    if asked.csv is not None:
        _write(asked.csv, csv_of(answer))
    elif asked.json:
        print(json.dumps(document_of(read, answer), indent=2))  # noqa: T201
    else:
        show(map(printable, lines_of(answer)))
    if read.notes:
        show(map(printable, read.notes), sys.stderr)
    return HOLDS


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            file.write(text)
    except OSError as error:
        raise _Unreadable(f"the file must be writable, got {path}: {error.strerror}; name another.") from None


def _from_measurements(asked: argparse.Namespace) -> int:
    try:
        from deniable.from_measurements import made_of_others  # noqa: PLC0415 - compiled code
    except ImportError as error:
        raise _Unreadable(f"drawing records needs {error.name}: install deniable[learn].") from None

    try:
        made = made_of_others(_content(asked.file, "the file of noisy tables").decode(errors="replace"), asked.records)
    except DeniableError as error:
        raise _Unreadable(printable(str(error))) from None
    try:
        os.mkdir(asked.folder)  # noqa: PTH102
    except OSError as error:
        raise _Unreadable(
            f"the folder must be a new one, got {asked.folder}: {error.strerror}; name another."
        ) from None
    for name, text in made.files.items():
        _write(os.path.join(asked.folder, name), text)  # noqa: PTH118
    print(f"{made.tables} noisy tables of about {made.records:,.0f} records; a model of {made.cells:,} cells")  # noqa: T201
    print(f"{asked.records:,} synthetic records in {printable(asked.folder)}")  # noqa: T201
    return HOLDS


def _respond(asked: argparse.Namespace) -> int:
    from deniable.respondent import respond_to  # noqa: PLC0415 - as above

    key = asked.key or os.path.join(_configuration(), *_KEY_FILE)  # noqa: PTH118
    try:
        respond_to(asked.survey, key, asked.answers, asked.out)
    except InvalidInput as error:
        raise _Unreadable(str(error)) from None
    except OSError as error:
        raise _Unreadable(f"your key and the list of your responses must be writable, got {key}: {error}.") from None
    return HOLDS


def _trust(asked: argparse.Namespace) -> Any:
    """The trusted keys: those named, otherwise the user's own; never any found in the current folder."""
    from deniable.record.trust import TrustedKeys  # noqa: PLC0415
    from deniable.verification.release import Trust  # noqa: PLC0415 - as above

    own, named = _own_trust_file(), os.environ.get(KEYS_VARIABLE)
    if asked.keys is not None:
        path, found = asked.keys, f"as given, {asked.keys}"
    elif named:
        path = os.path.expanduser(named)  # noqa: PTH111
        found = f"named by {KEYS_VARIABLE}, {path}"
        if not os.path.isabs(path):  # noqa: PTH117
            raise _Unreadable(f"{KEYS_VARIABLE} must be an absolute path, got {named}; or give a file with --keys.")
    elif os.path.isfile(own):  # noqa: PTH113
        path, found = own, f"of your own configuration, {own}"
    else:
        return Trust(None, _GIVE_KEYS.format(own=own))
    try:
        # Clocks differ, but not by a day.
        latest = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
        return Trust(TrustedKeys.from_text(_content(path, "the trust file").decode()), found, latest)
    except UnicodeDecodeError:
        raise _Unreadable(f"the trust file must be one that keys export wrote, got {path}, not a text.") from None
    except InvalidInput as error:
        raise _Unreadable(f"the trust file must be one that keys export wrote, got {path}: {error}") from None


def _own_trust_file() -> str:
    """The path of the user's own trust file."""
    return os.path.join(_configuration(), *_TRUST_FILE)  # noqa: PTH118


def _configuration() -> str:
    """The folder of the user's configuration; a relative path is ignored, as the XDG specification requires."""
    folder = os.environ.get(CONFIGURATION_VARIABLE, "")
    return folder if os.path.isabs(folder) else os.path.expanduser(_CONFIGURATION)  # noqa: PTH111, PTH117


def _lines(path: str, what: str) -> list[str]:
    try:
        # Entries are separated by \n only: their text may contain other line terminators.
        lines = _content(path, what).decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise _Unreadable(f"{what} must be a readable file, got {path}: {error}; name another.") from None
    return lines if lines != [""] else []


def _content(path: str, what: str) -> bytes:
    try:
        with open_regular(path) as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise _Unreadable(f"{what} must be a readable file, got {path}: {error}; name another.") from None
    if len(content) > _LARGEST_FILE:
        raise _Unreadable(f"{what} must have at most {_LARGEST_FILE:,} bytes, got {path}, which has more.")
    return content


def _say(lines: Sequence[str], *, holds: bool) -> int:
    show(map(printable, lines))
    return HOLDS if holds else DOES_NOT_HOLD


def _parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of all commands; `infer`, which is slow to import, is added only if it may be needed."""
    parser = argparse.ArgumentParser(
        prog="python -m deniable", description="Check what a release claims, offline, or respond to a survey."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    release = commands.add_parser(
        "verify",
        help="check a published release",
        description="Check the signature of a release's record, every file against its digest, the table against its "
        "public domain, the stated costs against the events, and the ledger's entries against each other. Exits with 0 "
        "if everything holds, with 1 if something does not, with 2 if something cannot be read.",
    )
    release.add_argument("release", metavar="RELEASE_DIR", help="the release folder")
    release.add_argument(
        "--keys",
        metavar="FILE",
        help=f"the trusted keys (default: {KEYS_VARIABLE}, otherwise {_CONFIGURATION}/{'/'.join(_TRUST_FILE)})",
    )
    release.add_argument("--ledger", metavar="EXPORT", help="the whole exported privacy ledger")
    release.set_defaults(carry_out=_verify_release)
    record = commands.add_parser(
        "record",
        help="show a release's record",
        description="Show a record's statement as indented JSON. It is not verified.",
    )
    record.add_argument("release", metavar="RELEASE_DIR", help="the release folder")
    record.set_defaults(carry_out=_show_record)
    summary = commands.add_parser(
        "summary",
        help="summarise a release's record: people, times, code and cost, step by step",
        description="Summarise a record that a trusted key signed; with --step, show what one step read, did and made. "
        "To check that all of it holds, use verify.",
    )
    summary.add_argument("release", metavar="RELEASE_DIR", help="the release folder")
    summary.add_argument("--step", metavar="STEP", help="one step, by its number or its name")
    summary.add_argument("--keys", metavar="FILE", help="the trusted keys (default: as for verify)")
    summary.set_defaults(carry_out=_show_summary)
    ledger = commands.add_parser(
        "verify-ledger",
        help="check an exported privacy ledger",
        description="Recompute the chain and the sums of an exported privacy ledger, compare the sums with the caps "
        "entry by entry, and compose the events of every charge again.",
    )
    ledger.add_argument("file", metavar="FILE", help="the exported ledger, one entry per line")
    ledger.add_argument("--head", metavar="HASH", help="digest of the last entry, as recorded elsewhere")
    ledger.add_argument("--count", type=int, metavar="N", help="number of entries, as recorded elsewhere")
    ledger.set_defaults(carry_out=_verify_ledger)
    posterior = commands.add_parser(
        "posterior",
        help="what a release of synthetic sets says about the population",
        description="Compute the posterior of the population's shares from the sets of a release of the learner "
        "multinomial_sets, by a model of how they were made. The release is not verified.",
    )
    posterior.add_argument("release", metavar="RELEASE_DIR", help="the release folder")
    posterior.add_argument("--people", type=int, metavar="N", help="number of people, if the release does not state it")
    posterior.add_argument("--level", type=float, default=0.95, metavar="P", help="level of intervals (default: 0.95)")
    posterior.set_defaults(carry_out=_show_posterior)
    combine = commands.add_parser(
        "combine",
        help="estimates of several synthetic sets combined by the rules of the literature, and whether these are valid",
        description="Combine the estimates of several synthetic sets. No rule is valid for sets with differential "
        "privacy, as each says; use posterior or infer for these.",
    )
    combine.add_argument(
        "sets", metavar="FILE_OR_RELEASE_DIR", help="a CSV file with estimate and variance of each set, or a release"
    )
    combine.add_argument(
        "condition", nargs="?", default="", metavar="CONDITION", help="of a release: the share of what"
    )
    combine.add_argument("--rule", choices=_RULES, help="the rule (default: all)")
    combine.add_argument("--synthesis", choices=_SYNTHESES, help="how the sets of a file were made")
    combine.add_argument("--size", type=int, metavar="N", help="number of records in a set of a file")
    combine.add_argument("--people", type=int, metavar="N", help="number of people in the confidential table")
    combine.add_argument("--level", type=float, default=0.95, metavar="P", help="level of intervals (default: 0.95)")
    combine.set_defaults(carry_out=_combine)
    if command not in {*commands.choices, "respond"}:
        from deniable.data_user import add_infer_command  # noqa: PLC0415 - slow to import

        add_infer_command(commands, _infer, "as for verify")
    others = commands.add_parser(
        "from-measurements",
        help="a model and synthetic records from noisy tables that others published",
        description="Read noisy tables and the distribution of their noise. Write consistent estimates, intervals, "
        "a model and synthetic records to a new folder, about which infer answers questions.",
    )
    others.add_argument("file", metavar="FILE", help="the noisy tables, JSON in the documented format")
    others.add_argument("folder", metavar="FOLDER", help="the new folder")
    others.add_argument("--records", type=int, default=10_000, metavar="N", help="synthetic records (default: 10000)")
    others.set_defaults(carry_out=_from_measurements)
    respond = commands.add_parser(
        "respond",
        help="respond to a survey, with randomized responses",
        description="Ask the questions of a survey, randomize the answers on this machine under your own key, and "
        "write one line of responses. Only that line is for the collector; answers are not kept.",
    )
    respond.add_argument("survey", metavar="SURVEY", help="the survey's document, JSON")
    respond.add_argument(
        "--key",
        metavar="FILE",
        help=f"your key, made if there is none (default: {_CONFIGURATION}/{'/'.join(_KEY_FILE)})",
    )
    respond.add_argument("--answers", metavar="FILE", help="your answers, JSON, instead of typing them")
    respond.add_argument("--out", metavar="FILE", help="append the line to a file (default: standard output)")
    respond.set_defaults(carry_out=_respond)
    return parser


if __name__ == "__main__":
    sys.exit(main())
