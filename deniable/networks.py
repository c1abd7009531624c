"""Networks by the format of their documents: whoever reads a model need not know which learner made it.

What a network is does not belong here (bayes_net, loglinear.net).
"""

from collections.abc import Mapping
from typing import Any

from deniable import bayes_net
from deniable.bayes_net import BayesNet
from deniable.domain import Domain
from deniable.loglinear import net
from deniable.loglinear.net import LoglinearNet
from deniable.ordered_network import require_format

_KINDS: dict[str, type[BayesNet] | type[LoglinearNet]] = {bayes_net.FORMAT: BayesNet, net.FORMAT: LoglinearNet}


def network_from_document(domain: Domain, document: Mapping[str, Any]) -> BayesNet | LoglinearNet:
    """The network that a document describes.

    Raises:
        InvalidInput: it is of no known format, or describes no network over this domain.
    """
    return _KINDS[require_format(document, *_KINDS)].from_document(domain, document)
