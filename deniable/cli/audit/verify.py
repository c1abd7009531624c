"""Checks a release, a survey or a discovery, from its folder alone."""

import argparse

from deniable.cli.contract import Command
from deniable.cli.files import KEYS_HELP, RELEASE_HELP, Unreadable, lines_of, of_unreadable, say, trusted
from deniable.folder_on_disk import FolderOnDisk
from deniable.ledger.verification import records_of


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE_DIR", help=RELEASE_HELP)
    parser.add_argument("--keys", metavar="FILE", help=KEYS_HELP)
    parser.add_argument("--ledger", metavar="EXPORT", help="the whole exported privacy ledger")


def _verify(asked: argparse.Namespace) -> int:
    # Slow to import, and no other command needs it.
    from deniable.verification import discovery, survey  # noqa: PLC0415
    from deniable.verification.release import kind_of, verify_release  # noqa: PLC0415

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
            report = verify_release(folder, trust, ledger)
    except OSError as error:
        raise Unreadable(of_unreadable(asked.release, error)) from None
    return say(report.lines, holds=report.holds)


COMMAND = Command(
    arguments=_add_arguments,
    run=_verify,
    description="Check the signature of a release's record, every file against its digest, the table against its "
    "public domain, the stated costs against the events, and the ledger's entries against each other. Exits with 0 "
    "if everything holds, with 1 if something does not, with 2 if something cannot be read.",
)
