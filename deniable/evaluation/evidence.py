"""What is known about the tables of an evaluation: the tables, and what several metrics compute from them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable.evaluation.analyses.declared import Analysis
from deniable.evaluation.commutes import Places
from deniable.evaluation.contract import Table
from deniable.evaluation.disclosure import Tables
from deniable.evaluation.utility import (
    ClassifierFactory,
    Marginal,
    MarginalCounts,
    compared_marginals,
    count_marginals,
    predictions,
)
from deniable.foundation.domain import Codes, Domain

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True, eq=False)
class UtilityEvidence:
    """The tables that are compared with the holdout.

    Attributes:
        domain: the domain of all tables.
        tables: the tables by name, without the holdout, with equal numbers of records in random order.
        holdout: real records that were not used.
        rows: number of rows of each table from which classifiers learn, and on which they are tested.
        classifiers: names of the classifiers that predict the target.
        factories: makers of all classifiers, by name.
        groups: columns whose values are groups of people.
        pool: carries out long computations, most of which run without the interpreter's lock.
        analyses: the analyses that are compared.
        are_declared: whether the spec declares them, so that each has figures of its own.
        places: the places between which commutes are compared; None if there are none.
    """

    domain: Domain
    tables: Mapping[Table, Codes]
    holdout: Codes
    rows: int
    classifiers: Sequence[str]
    factories: Mapping[str, ClassifierFactory]
    groups: Sequence[int]
    pool: Executor
    analyses: Sequence[Analysis] = ()
    are_declared: bool = False
    places: Places | None = None
    _begun: dict[Hashable, Future[Any]] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def has(self) -> frozenset[Table]:
        """The tables that there are."""
        return frozenset({*self.tables, "holdout"})

    @cached_property
    def marginals(self) -> Mapping[int, tuple[Marginal, ...]]:
        """The marginals in which tables are compared, by order; an order without marginals is left out."""
        return compared_marginals(self.domain.cardinalities)

    @cached_property
    def target(self) -> int:
        """The column that classifiers predict."""
        return self.domain.index(self.domain.target or "")

    def table(self, name: Table) -> Codes:
        """One of the tables, or the holdout."""
        return self.holdout if name == "holdout" else self.tables[name]

    def first_rows(self, name: Table) -> Codes:
        """The rows of a table from which classifiers learn; a sample, because rows are in random order."""
        return self.table(name)[: self.rows]

    def submit(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Begin a long computation that one metric needs."""
        return self.pool.submit(function, *args, **kwargs)

    def counts(self, order: int, name: Table) -> Future[MarginalCounts]:
        """Begin to count a table in the marginals of one order, unless it was begun before."""
        cardinalities, marginals = self.domain.cardinalities, self.marginals[order]
        return self._once(("counts", order, name), count_marginals, [self.table(name)], cardinalities, marginals)

    def predicted(self, classifier: str, name: Table) -> Future[NDArray[np.integer]]:
        """Begin to learn from a table, unless it was begun before, and to predict the target of the holdout's rows.

        Args:
            classifier: name of the classifier.
            name: the table from which it learns.
        """
        learned, tested = self.first_rows(name), self.first_rows("holdout")
        factory = self.factories[classifier]
        return self._once(("predicted", classifier, name), predictions, factory, learned, tested, self.target)

    def _once(self, key: Hashable, function: Callable[..., R], *args: Any) -> Future[R]:
        """A computation whose result several metrics need."""
        with self._lock:
            if key not in self._begun:
                self._begun[key] = self.pool.submit(function, *args)
            return self._begun[key]


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackEvidence:
    """The released records, the people that are attacked, and what the adversary knows.

    Attributes:
        domain: the domain of all tables.
        tables: the release, people whose records were used, and people whose records were not.
        known: columns of the attributes that the adversary knows.
        quasi_identifiers: columns by which the adversary may link records.
        sensitive: names of the attributes that the adversary infers, one at a time.
        pool: carries out long computations, most of which run without the interpreter's lock.
    """

    domain: Domain
    tables: Tables
    known: Sequence[int]
    quasi_identifiers: Sequence[int]
    sensitive: Sequence[str]
    pool: Executor

    @property
    def has(self) -> frozenset[Table]:
        """The tables that there are."""
        return frozenset({"released", "training", "holdout"})

    def first(self, *, released: int, real: int) -> Tables:
        """The first records of each table; all are in random order.

        Args:
            released: the largest number of released records.
            real: the largest number of real records of each part.
        """
        tables = self.tables
        return Tables(
            released=tables.released[:released],
            training=tables.training[:real],
            holdout=tables.holdout[:real],
            cardinalities=tables.cardinalities,
        )

    def equal_parts(self, *, released: int, real: int) -> Tables:
        """The first records of each table, as many of people used as of people not used; all are in random order.

        Args:
            released: the largest number of released records.
            real: the largest number of real records of each part.
        """
        tables = self.tables
        return self.first(released=released, real=min(real, len(tables.training), len(tables.holdout)))
