"""The public products of a learner of noisy tables: the tables, and the graph and network that follow from them."""

from deniable.measurements.document import Measurements, Universe
from deniable.measurements.noisy_tables import MeasuredTable, estimated_records
from deniable.mechanisms import Made
from deniable.models.bayes_net import BayesNet


def made_of(learner: str, net: BayesNet, released: tuple[MeasuredTable, ...]) -> Made:
    """Graph, model and measurements.

    Args:
        learner: name of the learner.
        net: the network.
        released: the noisy tables from which it follows.
    """
    domain = net.domain
    measured = Measurements(
        domain=domain,
        learner=learner,
        universe=Universe("parameters"),
        buckets=tuple(attribute.bucket_of for attribute in domain.attributes),
        tables=released,
        choices=(),
        records=estimated_records(released),
        order=net.graph.order,
    )
    return Made(
        products={"graph": net.graph.document(domain), "model": net.document(), "measured": measured.document()},
        figures={"cells": sum(table.size for table in net.weights)},
    )
