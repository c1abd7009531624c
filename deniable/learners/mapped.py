"""What is drawn on R-U maps: records that are charged one by one, and models, planned and drawn as in a release.

Entries are validated as those of a spec, and keys, charges and draws are those of the learners. Only the storage, the
ledger and the record are absent: nothing is released, so nothing is charged.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.keys import Parameter, ReleaseKey, WordStream
from deniable.learners.pegs.spec import MOST_EPSILON
from deniable.learners.registry import draws_of, entry_of, steps_of
from deniable.models.model_formats import model_from_document
from deniable.privacy.accounting import best

LARGEST_OF_RECORD: Final = MOST_EPSILON
"""Largest epsilon of one record that is charged for itself."""

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Rows:
    """A counter of rows, which all steps and draws of a learner read.

    Attributes:
        codes: the rows.
        advance: receives the work done.
    """

    codes: Codes
    advance: Advance = lambda _: None

    def count(self, empty: Callable[[], Any], _: str) -> Any:
        """Count all rows; see `deniable.mechanisms.Counter`."""
        tally = empty()
        tally.add(self.codes)
        return tally


@dataclass(frozen=True)
class Way:
    """A way to draw records that are charged one by one.

    Attributes:
        curve: its name.
        entry: the learner's entry in a spec, without its budget.
        block: number of records in a block; the budget of a block is that of a record times its size, as in the paper.
    """

    curve: str
    entry: Mapping[str, Any]
    block: int = 1

    def at(self, epsilon: float) -> dict[str, Any]:
        """The learner's entry for an epsilon of one record."""
        blocks = {"block": self.block} if self.block > 1 else {}
        return {**self.entry, **blocks, "epsilon": epsilon * self.block}


def ways(key_cells: int, *, after: str = "", **keys: Any) -> tuple[Way, ...]:
    """The paper's samplers, and urns that serve several draws of a block.

    Args:
        key_cells: largest number of combinations of a key.
        after: what to add to the names of the curves.
        keys: further entries, such as `orders`.
    """
    pegs = {"kind": "pegs", "key_cells": key_cells, **keys}
    return (
        Way(f"PeGS{after}", pegs),
        Way(f"PeGS.rs, B = 10{after}", pegs, 10),
        Way(f"Polya, B = r = 10{after}", {**pegs, "draws_per_row": 10}, 10),
        Way(f"PeGS.rs, B = 100{after}", pegs, 100),
    )


def imputation(fit_rows: int) -> Way:
    """Perturbed multiple imputation (PMI), whose regressions are fitted to at most so many rows."""
    return Way("PMI", {"kind": "imputed", "fit_rows": fit_rows})


DELTA: Final = 1e-9
"""Delta of models."""

Entries = Mapping[str, Callable[[float], Mapping[str, Any]]]
"""By curve, a learner's entry in a spec for a total epsilon at DELTA."""


def gaussian(kind: str) -> Callable[[float], Mapping[str, Any]]:
    """The entry of a learner whose whole budget is for its parameters, with Gaussian noise."""
    return lambda total: {"kind": kind, "noise": "gaussian", "parameters": {"epsilon": total, "delta": DELTA}}


def with_structure(total: float) -> Mapping[str, Any]:
    """The entry of the paper's Bayesian network: half of the budget is for its graph."""
    half = {"epsilon": total / 2, "delta": DELTA / 2}
    structure = {**half, "epsilon_rows": 0.01, "max_cost": 20}
    return {"kind": "cfs", "noise": "gaussian", "parameters": half, "structure": structure}


def noisy_tables(total: float) -> Mapping[str, Any]:
    """The entry of the tables of PeGS with noise, which are published."""
    return {"kind": "pegs_noisy", "parameters": {"epsilon": total}}


MODELS: Final[Entries] = {
    "log-linear": gaussian("loglinear"),
    "Bayesian network": with_structure,
    "marginals": gaussian("marginals"),
    "PeGS with noisy tables": noisy_tables,
}
"""Models whose records are drawn without a seed."""


def diverse(domain: Domain, diversity: float, key_cells: int, **more: Any) -> Mapping[str, Any]:
    """The entry of records of some diversity in every attribute that can have it; no differential privacy.

    Args:
        domain: the domain.
        diversity: the smallest exponential of the entropy of a draw.
        key_cells: largest number of combinations of a key.
        more: further entries, such as `orders`.
    """
    sizes = zip(domain.names, domain.cardinalities, strict=True)
    return {
        "kind": "diverse",
        "diversity": diversity,
        "sensitive": [name for name, size in sizes if size >= max(diversity, 2)],
        "key_cells": key_cells,
        "accept_no_differential_privacy": True,
        **more,
    }


@dataclass(eq=False)
class Drawing:
    """Draws tables from a real one; what was counted or fitted is kept for further draws.

    Attributes:
        domain: the domain.
        codes: the real table.
        advance: receives the work of fits.
    """

    domain: Domain
    codes: Codes
    advance: Advance = lambda _: None
    _counted: dict[str, Any] = field(default_factory=dict)

    def drawer(self, entry: Mapping[str, Any], records: int) -> tuple[Callable[[int], Codes], float | None]:
        """Plan draws.

        Args:
            entry: a learner's entry in a spec.
            records: number of records.

        Returns:
            The function that draws them under a key of a number, and epsilon of all; None if there is no differential
            privacy.
        """
        asked = entry_of(entry["kind"]).model_validate(dict(entry), context={"domain": self.domain})
        (step,) = steps_of(asked, self.domain, lambda delta: delta)
        rows = Rows(self.codes, self.advance)
        document = step.run(rows, {}, partial(stream, 0, step.name)).products["urns"]
        plan = draws_of(asked, self.domain, records=records, chunk=records)
        counted = self._counted.get(name := _contents_of(entry, document))
        if counted is None:
            counted = self._counted[name] = plan.count(rows, document)

        def draw(number: int) -> Codes:
            return plan.open(document, counted, partial(stream, number, "draw"))(0, records)

        return draw, float(best(plan.events, 0).epsilon) if plan.is_private else None

    def learnt(self, entry: Mapping[str, Any], number: int, records: int) -> Codes:
        """Learn a model under a key of a number, and draw records from it.

        Args:
            entry: a learner's entry in a spec.
            number: the number.
            records: number of records.
        """
        asked = entry_of(entry["kind"]).model_validate(dict(entry), context={"domain": self.domain})
        there: dict[str, Any] = {}
        for step in steps_of(asked, self.domain, lambda delta: delta):
            read = {name: there[name] for name in step.reads}
            there |= step.run(Rows(self.codes), read, partial(stream, number, step.name)).products
        net = model_from_document(self.domain, there["model"])
        words = stream(number, "draw", mechanism=f"sample {entry['kind']}", parameters={})
        made: Codes = net.sample_evenly(words.take(records * len(self.domain)))
        return made

    def bootstrap(self, number: int, records: int) -> Codes:
        """Real records, drawn with replacement."""
        return self.codes[_places(number, "bootstrap", records, len(self.codes))]

    def independent(self, number: int, records: int) -> Codes:
        """Values of real records, drawn with replacement for each attribute apart."""
        columns = [
            column[_places(number, f"independent {place}", records, len(column))]
            for place, column in enumerate(self.codes.T)
        ]
        return np.stack(columns, axis=1)


def stream(number: int, step: str, *, mechanism: str, parameters: dict[str, Parameter], chunk: int = 0) -> WordStream:
    """A stream of words under the public key of a number: maps are the same in every run."""
    key = ReleaseKey(number.to_bytes(32, "big"))
    return key.stream(step=step, mechanism=mechanism, inputs="map", parameters=parameters, chunk=chunk)


def _places(number: int, mechanism: str, records: int, rows: int) -> Sequence[int]:
    places: Any = stream(number, "draw", mechanism=mechanism, parameters={}).take(records) % rows
    return places  # type: ignore[no-any-return]


def _contents_of(entry: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """What determines the contents of urns apart from the table."""
    keys = [attribute["key"] for attribute in document["attributes"]]
    return json.dumps([entry["kind"] == "imputed", entry.get("fit_rows"), keys])
