"""Checks a release, a survey or a discovery, from its folder alone."""

import argparse
import os
from dataclasses import replace
from typing import Any

from deniable.cli.contract import Command
from deniable.cli.files import (
    KEYS_HELP,
    RELEASE_HELP,
    Unreadable,
    content,
    lines_of,
    of_unreadable,
    say,
    today,
    trusted,
)
from deniable.folder_on_disk import FolderOnDisk, record_beside
from deniable.foundation.checks import Check
from deniable.ledger.verification import records_of
from deniable.record.standing import STATUS_FILE


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE_DIR", help=RELEASE_HELP)
    parser.add_argument("--keys", metavar="FILE", help=KEYS_HELP)
    parser.add_argument("--ledger", metavar="EXPORT", help="the whole exported privacy ledger")
    parser.add_argument(
        "--status",
        metavar="FILE",
        help="the agency's status file, which says if the release was withdrawn (default: that beside its folder)",
    )


def _verify(asked: argparse.Namespace) -> int:
    # Slow to import, and no other command needs it.
    from deniable.verification import discovery, survey  # noqa: PLC0415
    from deniable.verification.release import RECORD, kind_of, verify_release  # noqa: PLC0415

    ledger = None if asked.ledger is None else records_of(lines_of(asked.ledger, "the ledger"))
    trust = trusted(asked)
    try:
        folder = FolderOnDisk(asked.release)
        kind = kind_of(folder)
        if kind == survey.KIND:
            report = survey.verify_survey(folder, trust)
        elif kind == discovery.KIND:
            report = discovery.verify_discovery(folder, trust, ledger)
        else:
            beside = record_beside(asked.release, RECORD)
            report = verify_release(folder, trust, ledger, record_of_other=beside)
            place = asked.status or _beside(asked.release)
            if place and report.release:
                report = replace(report, checks=(*report.checks, _standing(folder, trust, report.release, place)))
    except OSError as error:
        raise Unreadable(of_unreadable(asked.release, error)) from None
    return say(report.lines, holds=report.holds)


def _beside(release: str) -> str:
    """The path of the status file beside a release's folder; empty if there is none."""
    place = os.path.join(os.path.dirname(os.path.abspath(release)), STATUS_FILE)  # noqa: PTH100, PTH118, PTH120
    return place if os.path.isfile(place) else ""  # noqa: PTH113


def _standing(folder: FolderOnDisk, trust: Any, release: str, place: str) -> Check:
    from deniable.verification.release import record_in  # noqa: PLC0415 - as above
    from deniable.verification.standing import check_standing  # noqa: PLC0415

    stated = record_in(folder, folder.members())[1].subjects
    return check_standing(content(place, "the status file"), trust, release, frozenset(stated.values()), today())


COMMAND = Command(
    arguments=_add_arguments,
    run=_verify,
    description="Check the signature of a release's record, every file against its digest, the table against its "
    "public domain, the stated costs against the events, and the ledger's entries against each other. Exits with 0 "
    "if everything holds, with 1 if something does not, with 2 if something cannot be read.",
)
