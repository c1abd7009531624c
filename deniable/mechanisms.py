"""The contract of mechanisms: learners, which make a model, and samplers, which draw records.

A mechanism has a folder of its own with three modules: `spec`, its entry of a release spec; `steps` or `sampler`, what
it does to the data and with what result; `verification`, what a record must say that it did. The registries,
deniable.learners.registry and deniable.samplers.registry, know the folders by their names. How one is added:
docs/developer/adding-a-mechanism.md. A step is planned before
anything is read; whoever carries it out reserves its cost first, counts for it, and keeps what it makes.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, BinaryIO, Protocol, TypeAlias, TypeVar

from deniable.foundation.domain import Codes
from deniable.foundation.keys import Parameter, StreamOpener, WordStream
from deniable.foundation.tables import Tally
from deniable.models.sequential_kernels import Network
from deniable.privacy.loss import NOTHING, Guarantee, MechanismEvent

T = TypeVar("T", bound=Tally)

PartDelta: TypeAlias = Callable[[Fraction], Fraction]
"""From the delta of a step in the whole release to that for the records that the step reads."""

Draw: TypeAlias = Callable[[int, int], Codes]
"""What a chunk releases, by its number and the number of its candidates."""


class ChunkStreams(Protocol):
    """Opens the stream of one chunk of candidates."""

    def __call__(self, *, mechanism: str, parameters: dict[str, Parameter], chunk: int) -> WordStream:
        """Open the stream of a mechanism with exactly these parameters."""


class Counter(Protocol):
    """Counts the rows of one part; a mechanism sees what it counted, never a row."""

    def count(self, empty: Callable[[], T], name: str) -> T:
        """Count all rows.

        Args:
            empty: makes an empty tally; it may be sent to other machines, and must hold nothing but what is public.
            name: of what is counted, unlike all else that the step counts.
        """


def write_json(document: Any, file: BinaryIO) -> None:
    """Write a document as JSON in one line."""
    file.write(json.dumps(document).encode())


def read_json(file: BinaryIO) -> Any:
    """Read a JSON document."""
    return json.load(file)


@dataclass(frozen=True, kw_only=True)
class Product:
    """Something that a step makes and that later steps read.

    Attributes:
        name: what it is.
        file: name of its file.
        is_public: whether it is released; else it stays in the vault.
        is_shown: whether it is kept with the record of its step too, for those who browse.
        write: writes it to a file. Its bytes must follow from it alone: their digest decides what is drawn.
        read: reads it back.
    """

    name: str
    file: str
    is_public: bool = True
    is_shown: bool = False
    write: Callable[[Any, BinaryIO], None] = write_json
    read: Callable[[BinaryIO], Any] = read_json


def _write_indented(document: Any, file: BinaryIO) -> None:
    file.write(json.dumps(document, indent=1).encode())


GRAPH = Product(name="graph", file="graph.json", is_shown=True, write=_write_indented)
"""Which attributes depend on which; every learner makes one."""
MODEL = Product(name="model", file="model.json")
"""The model, a document of a known format (deniable.models.model_formats); every learner makes one."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a step made.

    Attributes:
        products: what it made, by name.
        figures: public figures of it.
        internal: figures that depend on the data without noise.
    """

    products: Mapping[str, Any]
    figures: Mapping[str, float] = field(default_factory=dict)
    internal: Mapping[str, float] = field(default_factory=dict)


Run: TypeAlias = Callable[[Counter, Mapping[str, Any], StreamOpener], Made]
"""Carries out a step: by a counter of its rows, what it reads of earlier steps, and what opens its streams."""


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """A step as it is planned before anything is read: the one list that all else follows.

    Attributes:
        name: what ledger and record call the draw.
        part: the part of the rows that it reads; none where it reads none and costs nothing.
        events: what is done to the data.
        guarantee: what that costs; None where there is no differential privacy.
        record: what one attempt may end with costs, where a theorem says so.
        parameters: all that decides the draw beside what is read and the release key.
        shown: public parameters, for those who browse.
        reads: products of earlier steps that it reads, by name and in this order.
        makes: what it makes.
        taken_in: the step in which the cost is spent, where the draws come in a later one; else `name`.
        run: carries it out.
    """

    name: str
    part: str | None
    events: tuple[MechanismEvent, ...] = ()
    guarantee: Guarantee | None = NOTHING
    record: Guarantee | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    shown: Mapping[str, object] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    makes: tuple[Product, ...]
    taken_in: str = ""
    run: Run

    @property
    def task(self) -> str:
        """The name of the step that is carried out."""
        return self.taken_in or self.name

    @property
    def draws_later(self) -> bool:
        """Whether what is charged here is drawn in later steps."""
        return self.task != self.name


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """How records are drawn.

    Attributes:
        prepare: the step that takes from the seeds what is needed; none where records come from the model alone.
        open: makes what draws a chunk, from the model, what the step made, and what opens the streams of a chunk.
    """

    prepare: PlannedStep | None = None
    open: Callable[[Network, Any, ChunkStreams], Draw]
