"""An auditor's morning: verifies a release, reads its record, and checks the ledger behind it.

    .venv/bin/python examples/an_auditors_morning.py FOLDER TRUSTED [LEDGER]

FOLDER is a published release. TRUSTED is the agency's trust file, from the agency and never from the folder. LEDGER is
an export of the ledger (`deniable budget export`); without it, the record's own part of the ledger is checked.
Nothing here needs a server, a network or the confidential data.
"""

import base64
import json
import sys
from pathlib import Path

from deniable.folder_on_disk import FolderOnDisk
from deniable.ledger.verification import records_of
from deniable.record.trust import TrustedKeys
from deniable.verification.release import Trust, verify_release


def main(folder: Path, trusted: Path, ledger: Path | None) -> int:
    # 1. Do files, signature, costs and ledger agree?
    keys = TrustedKeys.from_text(trusted.read_text())
    exported = None if ledger is None else records_of(ledger.read_text().splitlines())
    report = verify_release(FolderOnDisk(folder), Trust(keys, f"in {trusted}"), exported)
    for check in report.checks:
        if not check.holds:
            print(check.line)
    print(report.verdict)
    if not report.holds:
        return 1

    # 2. What does the record state? The signature covers these very bytes.
    envelope = json.loads((folder / "record.dsse.json").read_text())
    record = json.loads(base64.b64decode(envelope["payload"]))["predicate"]
    release, people = record["release"], record["people"]
    approval = people["approval"]
    print(f"\n{release['title']}: {release['records']:,} records, published {release['published']}.")
    print(f"Started by {people['started_by']}; approved by {approval['by'] if approval else 'nobody'}.")

    # 3. What did each step do to the data, and what did it cost the records that it read?
    for step in record["cost"]["steps"]:
        spent = step["guarantee"]
        print(f"{step['step']} read {step['part']}: {len(step['events'])} events, epsilon {spent['epsilon']:.4g}.")
    total = record["cost"]["total"]
    print(f"The whole release: epsilon {total['epsilon']:.4g}, delta {total['delta']:.4g}, by {total['accountant']}.")

    # 4. Was it charged before the noise was drawn, and what have all releases of the dataset come to?
    so_far = json.loads((folder / "privacy.json").read_text())["dataset_so_far"]
    entries = [entry["number"] for entry in record["ledger"]["entries"]]
    print(
        f"It was charged in the ledger's entries {entries}; all {so_far['releases']} releases of the dataset together "
        f"come to epsilon {so_far['epsilon']:.4g}."
    )
    return 0


if __name__ == "__main__":
    _, folder, trusted, *ledger = map(Path, sys.argv)
    sys.exit(main(folder, trusted, ledger[0] if ledger else None))
