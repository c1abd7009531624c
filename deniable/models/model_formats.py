"""Reads networks by the format of their documents, without knowing the learner.

Networks are defined in bayes_net, loglinear.net and graphical.junction_tree_net.
"""

from collections.abc import Mapping
from typing import Any

from deniable.foundation.domain import Domain
from deniable.models import document_formats as formats
from deniable.models.bayes_net import BayesNet
from deniable.models.constrained_net import ConstrainedNet, network_in
from deniable.models.graphical.junction_tree_net import JunctionTreeNet
from deniable.models.loglinear.net import LoglinearNet
from deniable.models.sequential_model import require_format

_KINDS: dict[str, type[BayesNet] | type[LoglinearNet] | type[JunctionTreeNet]] = {
    formats.BAYES_NET: BayesNet,
    formats.LOGLINEAR: LoglinearNet,
    formats.LOGLINEAR_WITHOUT_TABLES: LoglinearNet,
    formats.JUNCTION_TREE: JunctionTreeNet,
}


def model_from_document(
    domain: Domain, document: Mapping[str, Any]
) -> BayesNet | LoglinearNet | JunctionTreeNet | ConstrainedNet:
    """The network that a document describes; its records satisfy the rules of the domain.

    Raises:
        InvalidInput: the format is unknown, the document does not describe a network over this domain, or its rules
            are not those of the domain.
    """
    if domain.rules or document.get("format") == formats.CONSTRAINED:
        return ConstrainedNet(domain, _network(domain.modelled, network_in(domain, document)))
    return _network(domain, document)


def _network(domain: Domain, document: Mapping[str, Any]) -> BayesNet | LoglinearNet | JunctionTreeNet:
    return _KINDS[require_format(document, *_KINDS)].from_document(domain, document)
