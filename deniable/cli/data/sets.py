"""Opens the synthetic sets of a release."""

import os
from typing import Any

from deniable.cli.files import content
from deniable.foundation.errors import InvalidInput


def released_sets_in(folder: str) -> Any:
    """Return the synthetic sets of a release folder.

    Args:
        folder: the folder.

    Raises:
        InvalidInput: it is not a release of synthetic sets.
    """
    from deniable.foundation.strict_json import parsed  # noqa: PLC0415 - as above
    from deniable.learners.multinomial_sets.release import released_sets  # noqa: PLC0415

    def document(name: str) -> Any:
        return parsed(content(os.path.join(folder, name), name).decode(errors="replace"), name)  # noqa: PTH118

    table = content(os.path.join(folder, "synthetic.csv"), "the table").decode(errors="replace")  # noqa: PTH118
    try:
        return released_sets(document("schema.json"), document("urns.json"), table)
    except InvalidInput:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):
        raise InvalidInput("it is not in the form of a release.") from None
