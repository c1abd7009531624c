"""The certificate of a release: the statement on the quality of its model that may be published."""

import json
from pathlib import Path

from deniable.foundation.domain import Domain
from deniable.measurements.certificate import Certificate


def read_certificate(path: Path, domain: Domain) -> str | None:
    """The statement of a certificate; None if there is no certificate.

    Args:
        path: where `certificate.json` would be.
        domain: the public domain of the table.
    """
    if not path.exists():
        return None
    return Certificate.from_document(domain.modelled, json.loads(path.read_text(encoding="utf-8"))).statement
