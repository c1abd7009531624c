"""What is audited: each mechanism as a function of a table."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from pydantic import BaseModel

from deniable.foundation.domain import Attribute, Codes, Domain
from deniable.foundation.errors import InvalidInput, Refused
from deniable.foundation.keys import ReleaseKey
from deniable.learners.registry import draws_of, steps_of
from deniable.mechanisms import PlannedStep, Sampler, drawn_from
from deniable.models.model_formats import model_from_document
from deniable.privacy.loss import MechanismEvent
from deniable.samplers.registry import sampler_of
from schemas.spec.release_spec import ReleaseSpec
from tasks.data.public_rows import PublicCounter
from tests.extent import drawn
from tests.mechanisms.audit.tables import neighbours, tables_of_the_same_values, unlike_tables

_TWINS = 1
_CHUNKS = 3
_RECORDS = 32
"""Number of records that are drawn of a chunk."""


class Subject(Protocol):
    """A mechanism.

    Attributes:
        name: its name.
        events: the events of each step.
        tables: unlike tables.
        neighbours: tables that differ by one record, or by one person, from one of these.
    """

    name: str

    @property
    def events(self) -> Mapping[str, Sequence[MechanismEvent]]: ...

    @property
    def tables(self) -> Mapping[str, Any]: ...

    @property
    def neighbours(self) -> Sequence[tuple[str, Any]]: ...

    def run(self, table: Any, key: ReleaseKey) -> Mapping[str, bytes]:
        """All that is published of a table."""

    def chunks(self, table: Any, key: ReleaseKey) -> Sequence[bytes]:
        """Records drawn from exact counts, chunk by chunk; none if there are none."""

    def variants(self) -> Sequence["Subject"]:
        """The same mechanism with another budget, with other whole numbers, and with values in another order."""


class InMemory:
    """Counts the rows of a table."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes

    def count(self, empty: Callable[[], Any], _: str) -> Any:
        tally = empty()
        for part in np.array_split(self.codes, 2):
            tally.add(part)
        return tally

    def advance(self, amount: int) -> None:
        pass


class NoRows:
    """The counter of a step that reads no part of the rows."""

    def count(self, _: Callable[[], Any], __: str) -> Any:
        raise Refused("a step that reads no part of the rows must count none, and requested counts.")

    def advance(self, amount: int) -> None:
        pass


@dataclass(eq=False)
class Release:
    """The steps of a spec, and its sampler.

    Attributes:
        name: its name.
        spec: the spec.
        folder: where its public file is.
        domain: the attributes: those of the spec and, where it lets one, some of them twice.
        dearer: whether the learner's budgets are twice as large.
        coarser: whether the learner's whole numbers, such as that of bins, are half as large.
        relabelled: whether the values of the first attribute are in another order.
    """

    name: str
    spec: ReleaseSpec
    folder: Path
    dearer: bool = False
    coarser: bool = False
    relabelled: bool = False

    @cached_property
    def domain(self) -> Domain:
        plain = self.spec.domain
        found = plain if any(step.public for step in self._steps(plain)) else twice(plain)
        try:
            self._steps(found)
        except (InvalidInput, IndexError, ValueError):  # of a learner that names all its attributes
            found = plain
        return reordered(found) if self.relabelled else found

    def _steps(self, domain: Domain) -> tuple[PlannedStep, ...]:
        return (*steps_of(self._entry, domain, lambda delta: delta), *self._prepared(domain))

    @cached_property
    def _entry(self) -> Any:
        entry = self.spec.learner
        if self.coarser:
            entry = halved(entry)
        return doubled(entry) if self.dearer else entry

    @cached_property
    def sampler(self) -> Sampler:
        return self._sampler(self.domain)

    def _sampler(self, domain: Domain) -> Sampler:
        draws = None
        if self.spec.learner.is_drawn_from_counts:
            asked = self.spec.synthesis
            draws = draws_of(self._entry, domain, records=asked.records, chunk=asked.chunk_candidates)
        return sampler_of(self.spec.synthesis, domain, lambda delta: delta, draws)

    def _prepared(self, domain: Domain) -> tuple[PlannedStep, ...]:
        prepare = self._sampler(domain).prepare
        return () if prepare is None else (prepare,)

    @cached_property
    def steps(self) -> tuple[PlannedStep, ...]:
        return self._steps(self.domain)

    @property
    def events(self) -> Mapping[str, Sequence[MechanismEvent]]:
        return {step.name: step.events for step in self.steps}

    @cached_property
    def tables(self) -> Mapping[str, Codes]:
        if self.relabelled:
            plain = replace(self, relabelled=False)
            return {name: recoded(plain.domain, codes) for name, codes in plain.tables.items()}
        by_values = any(event.mechanism == "stability_histogram" for step in self.steps for event in step.events)
        return tables_of_the_same_values(self.domain) if by_values else unlike_tables(self.domain)

    @cached_property
    def neighbours(self) -> Sequence[tuple[str, Codes]]:
        return neighbours(self.domain, self.tables, drawn(12, least=6))

    def run(self, table: Codes, key: ReleaseKey) -> Mapping[str, bytes]:
        made, published = self._made(table, key)
        prepare = self.sampler.prepare
        if prepare is None or all(product.is_public for product in prepare.makes):
            published["records"] = b"".join(self._chunks(made, key))
        return published

    def _made(
        self, table: Codes, key: ReleaseKey, *, with_counts: bool = False
    ) -> tuple[dict[str, Any], dict[str, bytes]]:
        made, published = dict[str, Any](), dict[str, bytes]()
        for step in self.steps:
            is_public = any(product.is_public for product in step.makes)
            if not (is_public or with_counts):
                continue
            counter: Any = NoRows() if step.part is None else InMemory(table)
            if step.public is not None:
                counter = PublicCounter(self.spec, step.public, self.folder)
            found = step.run(
                counter, {name: made[name] for name in step.reads}, partial(key.stream, step=step.name, inputs="")
            )
            published[f"figures of {step.name}"] = repr(sorted(found.figures.items())).encode()
            for product in step.makes:
                written = io.BytesIO()
                product.write(found.products[product.name], written)
                made[product.name] = product.read(io.BytesIO(written.getvalue()))
                if product.is_public:
                    published[product.file] = written.getvalue()
        return made, published

    def _chunks(self, made: Mapping[str, Any], key: ReleaseKey, records: int = _RECORDS) -> list[bytes]:
        prepare, source = self.sampler.prepare, drawn_from(made)
        if not self.spec.learner.is_drawn_from_counts:
            source = model_from_document(self.domain, source)
        given = None if prepare is None else made[prepare.makes[0].name]
        draw = self.sampler.open(source, given, partial(key.stream, step="records", inputs=""))
        return [draw(chunk, records).tobytes() for chunk in range(_CHUNKS)]

    def chunks(self, table: Codes, key: ReleaseKey, records: int = _RECORDS) -> Sequence[bytes]:
        return self._chunks(self._made(table, key, with_counts=True)[0], key, records)

    def variants(self) -> Sequence["Release"]:
        entry = self.spec.learner
        dearer = [] if doubled(entry) is entry else [replace(self, dearer=True)]
        coarser = [] if halved(entry) is entry else [replace(self, coarser=True)]
        return [replace(self, relabelled=True), *dearer, *coarser]


def doubled(entry: Any) -> Any:
    """An entry with budgets that are twice as large; itself if it has none."""
    changed: dict[str, Any] = {}
    for name in type(entry).model_fields:
        value = getattr(entry, name)
        if name == "epsilon" and isinstance(value, Fraction):
            changed[name] = 2 * value
        elif isinstance(value, BaseModel) and (more := doubled(value)) is not value:
            changed[name] = more
    return entry.model_copy(update=changed) if changed else entry


def halved(entry: Any) -> Any:
    """An entry with whole numbers that are half as large; itself if it has none above 1."""
    numbers = {name: getattr(entry, name) for name in type(entry).model_fields}
    changed = {name: value // 2 for name, value in numbers.items() if type(value) is int and value > 1}
    return entry.model_copy(update=changed) if changed else entry


def twice(domain: Domain) -> Domain:
    """A domain in which some attributes occur twice, so that only its name tells one from the other."""
    small = [each for each in domain.attributes if 1 < each.cardinality <= 4][:_TWINS]
    again = tuple(replace(each, name=f"{each.name}_again") for each in small)
    return replace(domain, attributes=(*domain.attributes, *again))


def reordered(domain: Domain) -> Domain:
    """A domain whose attributes have the same names, and their values in another order."""

    def turned(attribute: Attribute) -> Attribute:
        return attribute if attribute.is_ordered else replace(attribute, values=attribute.values[::-1])

    return replace(domain, attributes=tuple(turned(each) for each in domain.attributes))


def recoded(domain: Domain, codes: Codes) -> Codes:
    """The same records in the domain with values in another order."""
    found = codes.copy()
    for i, attribute in enumerate(domain.attributes):
        if not attribute.is_ordered:
            found[:, i] = attribute.cardinality - 1 - found[:, i]
    return found
