"""The rehearsals of a dataset, which the record of the release that follows names.

A rehearsal is kept as `rehearsals/DATASET-TIME.json` in the state folder, beside its page.
"""

from pathlib import Path

from pydantic import ValidationError

from schemas.rehearsal import Rehearsal
from stores.own_files import read_own
from stores.vault.disk import replace_whole
from stores.vault.private_files import make_private_folder

_FOLDER = "rehearsals"


def keep_rehearsal(state: Path, rehearsal: Rehearsal, page: str) -> Path:
    """Keep a rehearsal and its page.

    Args:
        state: the state folder.
        rehearsal: the rehearsal.
        page: its page.

    Returns:
        Path of the page.
    """
    moment = rehearsal.ended.replace("-", "").replace(":", "").replace(".", "")
    place = make_private_folder(state / _FOLDER) / f"{rehearsal.dataset}-{moment}.html"
    replace_whole(place, page)
    replace_whole(place.with_suffix(".json"), rehearsal.model_dump_json(indent=2) + "\n")
    return place


def last_rehearsal(state: Path, dataset: str, before: str = "") -> Rehearsal | None:
    """The last rehearsal of a dataset, if there is one; a file that is no rehearsal is passed over.

    Args:
        state: the state folder.
        dataset: the dataset's name.
        before: time before which it must have ended, such as the beginning of a release; any time by default.
    """
    found = []
    for place in (state / _FOLDER).glob("*.json"):
        try:
            rehearsal = Rehearsal.model_validate_json(read_own(place))
        except (OSError, ValidationError):
            continue
        if rehearsal.dataset == dataset and (not before or rehearsal.ended <= before):
            found.append(rehearsal)
    return max(found, key=lambda each: each.ended, default=None)
