"""Learns a public or made-up table with the project's own learners, and draws synthetic tables.

Entries of learners and samplers are validated as those of a spec, steps are planned, and noise is drawn as in a
release; only the storage, the ledger and the record are absent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.learners.registry import entry_of, steps_of
from deniable.models.model_formats import model_from_document
from papers.chance import KEY


@dataclass(frozen=True)
class Rows:
    """A counter of rows, which all steps of a learner read."""

    codes: Codes

    def count(self, empty: Callable[[], Any], _: str) -> Any:
        """Count all rows; see `deniable.mechanisms.Counter`."""
        tally = empty()
        tally.add(self.codes)
        return tally

    def advance(self, amount: int) -> None:
        """Report nothing."""


def domain_of(sizes: Mapping[str, int]) -> Domain:
    """A public domain whose attributes have the given numbers of values, each its own bucket."""
    return Domain(
        tuple(Attribute(name, tuple(range(size)), "ordered", tuple(range(size))) for name, size in sizes.items())
    )


def learnt(entry: Mapping[str, Any], domain: Domain, codes: Codes, name: str) -> Any:
    """Learn a table, and return the network.

    Args:
        entry: the learner's entry in a spec.
        domain: the public domain.
        codes: the table.
        name: the example, which has its own noise.
    """
    asked = entry_of(entry["kind"]).model_validate(dict(entry), context={"domain": domain})
    made: dict[str, Any] = {}
    for step in steps_of(asked, domain, lambda delta: delta):
        read = {product: made[product] for product in step.reads}
        made |= step.run(Rows(codes), read, partial(KEY.stream, step=step.name, inputs=name)).products
    return model_from_document(domain, made["model"])


def drawn(model: Any, rows: int, name: str) -> Codes:
    """Draw records from a network as a release without seeds does.

    Args:
        model: the network.
        rows: number of records.
        name: the example, which has its own words.
    """
    words = KEY.stream(step="draw", mechanism="sample", inputs=name, parameters={}).take(rows * len(model.domain))
    more = KEY.stream(step="draw", mechanism="match", inputs=name, parameters={}).take(model.words_of_matching(rows))
    found: Codes = model.matched(model.sample_evenly(words), more)
    return found


def synthetic(entry: Mapping[str, Any], domain: Domain, codes: Codes, name: str) -> Codes:
    """Learn a table, and draw as many records; arguments as of `learnt`."""
    return drawn(learnt(entry, domain, codes, name), len(codes), name)
