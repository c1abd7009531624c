"""The contract of mechanisms: learners, which make a model, and samplers, which draw records.

Some learners make no model: their records are drawn from exact counts, which are never released, and every draw is
charged (`ChargedDraws`, decision 26).

A mechanism has a folder of its own with three modules: `spec`, its entry in a release spec; `steps` or `sampler`, its
operations on the data and their results; `verification`, what a record must state about them. The registries,
deniable.learners.registry and deniable.samplers.registry, find the folders by name. How to add one:
docs/developer/adding-a-mechanism.md. A step is planned before any data are read; the caller reserves its cost,
supplies its counts, and stores its products.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt
from typing import Any, BinaryIO, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.domain import Codes
from deniable.foundation.keys import Parameter, StreamOpener, WordStream
from deniable.foundation.tables import Tally
from deniable.measurements.certificate import FILE as CERTIFICATE_FILE
from deniable.measurements.document import FILE as MEASURED_FILE
from deniable.privacy.loss import NOTHING, Guarantee, MechanismEvent
from deniable.privacy.step_costs import SHARED, StepCost

T = TypeVar("T", bound=Tally)
A = TypeVar("A")

_TENTHS = 10

Arrays: TypeAlias = Sequence[NDArray[Any]]
"""Counts, as a list of arrays."""

PartDelta: TypeAlias = Callable[[Fraction], Fraction]
"""Converts a step's delta for the whole release to its delta for the records that it reads."""

Draw: TypeAlias = Callable[[int, int], Codes]
"""The released records of a chunk, given its number and the number of its candidates."""


class ChunkStreams(Protocol):
    """Opens the stream of one chunk of candidates."""

    def __call__(self, *, mechanism: str, parameters: dict[str, Parameter], chunk: int) -> WordStream:
        """Open the stream of a mechanism with exactly these parameters."""


class Counter(Protocol):
    """Counts the rows of one part; a mechanism sees the counts, never a row."""

    def count(self, empty: Callable[[], T], name: str) -> T:
        """Count all rows.

        Args:
            empty: makes an empty tally; it may be sent to other machines, and must hold only public values.
            name: name of the counts, unique within the step.
        """

    def advance(self, amount: int) -> None:
        """Report progress, in units of the planned work; a long step does so about every second.

        The times of the reports may depend on confidential data only through noisy answers.
        """


def write_json(document: Any, file: BinaryIO) -> None:
    """Write a document as JSON in one line."""
    file.write(json.dumps(document).encode())


def read_json(file: BinaryIO) -> Any:
    """Read a JSON document."""
    return json.load(file)


@dataclass(frozen=True, kw_only=True)
class Product:
    """An output of a step that later steps read.

    Attributes:
        name: its name.
        file: name of its file.
        is_public: whether it is released; otherwise it stays in the vault.
        is_shown: whether it is also stored with the step's tracked run, for browsing.
        write: writes it to a file. The bytes must depend on the product alone, because their digest determines later
            draws.
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
"""The dependency graph of the attributes; every learner makes one."""
MODEL = Product(name="model", file="model.json")
"""The model, a document of a known format (deniable.models.model_formats)."""
MEASURED = Product(name="measured", file=MEASURED_FILE, is_shown=True)
"""The measurements, in the format of deniable.measurements.document; every learner that releases tables makes them."""
CERTIFICATE = Product(name="certificate", file=CERTIFICATE_FILE, is_shown=True)
"""A noisy number that bounds the model's error (deniable.measurements.certificate), if the spec requests one."""
URNS = Product(name="urns", file="urns.json", is_shown=True, write=_write_indented)
"""The urns that records are drawn from, without their counts, which are not released; made if draws are charged."""


def _write_arrays(arrays: Arrays, file: BinaryIO) -> None:
    """Write arrays in order, each in NumPy's format; an archive's bytes would depend on the version of Python."""
    np.save(file, np.asarray([len(arrays)]), allow_pickle=False)
    for array in arrays:
        np.save(file, array, allow_pickle=False)


def _read_arrays(file: BinaryIO) -> Arrays:
    return [np.load(file, allow_pickle=False) for _ in range(int(np.load(file, allow_pickle=False)[0]))]


EXACT_COUNTS = Product(
    name="exact_counts", file="exact_counts.npy", is_public=False, write=_write_arrays, read=_read_arrays
)
"""The exact counts from which charged draws are made: a list of arrays that stays in the vault."""


def drawn_from(made: Mapping[str, A]) -> A:
    """The source of records: the model, or the urns if draws are charged.

    Args:
        made: the products of the learner's steps, by name.
    """
    return made[MODEL.name] if MODEL.name in made else made[URNS.name]


@dataclass(frozen=True, kw_only=True)
class Made:
    """The results of a step.

    Attributes:
        products: its products, by name.
        figures: its public figures.
        internal: figures computed from the data without noise.
    """

    products: Mapping[str, Any]
    figures: Mapping[str, float] = field(default_factory=dict)
    internal: Mapping[str, float] = field(default_factory=dict)


Run: TypeAlias = Callable[[Counter, Mapping[str, Any], StreamOpener], Made]
"""Runs a step, given a counter of its rows, the products of earlier steps, and the opener of its streams."""


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """A public table, whose rows a step counts instead of the rows of a part.

    Attributes:
        path: its path, relative to the spec's folder.
        sha256: digest of the file; a file with another digest is refused.
    """

    path: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class PublicPart:
    """A part of the release's own table, which anyone may read: counting its rows costs nothing, and hides nothing.

    Attributes:
        part: the part of the split.
    """

    part: str


@dataclass(frozen=True)
class Tail:
    """What is known before any data are read about the tail of a number that is counted by growing bins.

    Attributes:
        attribute: its name.
        begins: distance from zero at which its outermost bin begins.
        step: the smallest distance of two of its numbers.
        noise: deviation of the noise of the count of that bin, in records.
    """

    attribute: str
    begins: float
    step: float
    noise: float

    def least_mean(self, records: float) -> float:
        """The mean below which this noise alone is more than a tenth of it, if there are so many records."""
        return _TENTHS * self.noise * self.begins / records

    def is_noisy(self, records: float) -> bool:
        """Whether that mean is beyond the middle of the doublings between the step and the outermost bin."""
        return self.least_mean(records) > sqrt(self.begins * self.step)


@dataclass(frozen=True, kw_only=True)
class EarlierRelease:
    """A published release of the same dataset, whose public documents a step reads instead of rows.

    Attributes:
        release: its name.
        record: SHA-256 of the file of its record, which states the digests of its files.
        files: SHA-256 of files that the spec states too, by name.
        epsilon: epsilon of its model, which its record must state.
        delta: delta of its model, likewise.
    """

    release: str
    record: str
    files: Mapping[str, str]
    epsilon: float
    delta: float


class ReleasedDocuments(Protocol):
    """The public documents of an earlier release."""

    def document(self, product: Product) -> Any:
        """Read one of them; it is written in the same bytes again."""


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """A step as planned before any data are read; execution, ledger and record all follow this plan.

    Attributes:
        name: name of the draw in ledger and record.
        part: the part of the rows that it reads; None if it reads no rows, and hence costs nothing.
        public: the public table whose rows it counts, the part of a table that is public itself, or the release whose
            documents it reads, if any; `part` is then None.
        events: its mechanism events.
        guarantee: their cost; None if there is no differential privacy.
        record: cost of one attempt for its own record, if a theorem states it.
        parameters: everything that determines the draw apart from the data and the release key.
        shown: public parameters, for browsing.
        caution: what a person should know before the step is charged, if its results may be of little use; a clause
            that depends on spec and schema alone.
        is_held: whether a release with this caution waits for a person's decision, which then discloses nothing.
        tails: the information limit of the tail of each number, if noise is added to counts of growing bins.
        pair_noise: deviation of the noise of each cell of a table of two attributes, in records, if budget is divided
            evenly among all tables; None if there are none, or it is not known beforehand.
        reads: names of the products of earlier steps that it reads, in this order.
        makes: its products.
        joins_learner: whether its noise is charged together with that of the learner's steps on the same part.
        foresee: refuses, given the products that it reads, what by these public values would release nothing; called
            before the cost is reserved.
        taken_in: the step in which the cost is spent, if the draws are made in a later one; otherwise `name`.
        work: total amount of work that it reports to its counter, in its own unit; 0 if it reports none.
        run: runs it.
        compile_more: compiles the kernels that it needs for some noise only; called during installation.
    """

    name: str
    part: str | None
    public: PublicTable | PublicPart | EarlierRelease | None = None
    events: tuple[MechanismEvent, ...] = ()
    guarantee: Guarantee | None = NOTHING
    record: Guarantee | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    shown: Mapping[str, object] = field(default_factory=dict)
    caution: str = ""
    is_held: bool = False
    tails: tuple[Tail, ...] = ()
    pair_noise: float | None = None
    reads: tuple[str, ...] = ()
    makes: tuple[Product, ...]
    joins_learner: bool = False
    foresee: Callable[[Mapping[str, Any]], None] | None = None
    taken_in: str = ""
    work: int = 0
    run: Run
    compile_more: Callable[[], None] | None = None

    @property
    def counts(self) -> str | None:
        """The part whose rows it counts, at a cost or because they are public; None if it counts none."""
        return self.public.part if isinstance(self.public, PublicPart) else self.part

    @property
    def task(self) -> str:
        """The name of the step that runs."""
        return self.taken_in or self.name

    @property
    def draws_later(self) -> bool:
        """Whether the draws charged in this step are made in later steps."""
        return self.task != self.name


def step_cost(
    step: PlannedStep, probabilities: Mapping[str, Fraction], guarantee: Guarantee | None, most_records: int = 1
) -> StepCost:
    """The cost of a step for the part that it reads.

    Args:
        step: the step.
        probabilities: probability of each part of the split.
        guarantee: the cost of its events, for one person if several records of each are read.
        most_records: the most records of one person that are read.

    Raises:
        ValueError: the step reads no part, and so costs nothing.
    """
    if step.part is None:
        raise ValueError(f"step {step.name} reads no part of the rows")
    read = step.part if step.part in probabilities else SHARED
    probability = probabilities[read]
    return StepCost(
        step=step.name,
        part=read,
        probability=probability,
        events=tuple(replace(event, part=read, sampling_rate=probability) for event in step.events),
        guarantee=guarantee,
        record=step.record,
        most_records=most_records,
    )


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """How records are drawn.

    Attributes:
        prepare: the step that prepares the seeds; None if records are drawn from the model alone.
        open: returns the function that draws a chunk, given the model or the urns' document, the step's product, and
            the opener of streams; and, if seeds are counted, a function that is called with the number of records of
            each chunk that start from a seed.
        counts_seeds: whether some records start from a seed and others do not, so that a release states how many.
    """

    prepare: PlannedStep | None = None
    open: Callable[..., Draw]
    counts_seeds: bool = False


def _no_figures(_: Arrays) -> Mapping[str, float]:
    return {}


@dataclass(frozen=True, kw_only=True)
class ChargedDraws:
    """Draws from exact counts that are never released; each is charged, and the number is fixed before data are read.

    A learner plans them (its module `draws`), and the sampler `per_draw` charges them and makes them.

    Attributes:
        events: the events of all draws of the release, from the part `parameters`; their `outputs` are the draws.
        is_private: whether the draws are differentially private; otherwise the events are `EXACT_COUNTS` of step_costs.
        parameters: everything that determines the draws apart from the urns, the data and the release key.
        count: counts the contents of the urns: given a counter and the urns' document, the arrays of EXACT_COUNTS.
        open: returns the function that draws a chunk, given the urns' document, these arrays, and the opener of
            streams.
        internal: figures computed from these arrays, without noise.
        caution: see `PlannedStep`.
        is_held: see `PlannedStep`.
        work: total amount of work that `count` reports to its counter; 0 if it reports none.
    """

    events: tuple[MechanismEvent, ...]
    is_private: bool = True
    parameters: Mapping[str, Parameter]
    count: Callable[[Counter, Any], Arrays]
    open: Callable[[Any, Arrays, ChunkStreams], Draw]
    internal: Callable[[Arrays], Mapping[str, float]] = _no_figures
    caution: str = ""
    is_held: bool = False
    work: int = 0
