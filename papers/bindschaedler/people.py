"""The people of the experiments: ACS 2013 if the machine has it, otherwise made-up people with the same attributes."""

import os
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Final

import numpy as np

from deniable.foundation.domain import Codes, Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import WordStream
from deniable.learners.cfs.given_graph import graph_in_spec
from deniable.learners.cfs.parameters import integer_weights
from deniable.models.bayes_net import BayesNet
from papers.bindschaedler.published import ORDER, PARENTS
from papers.chance import KEY, uniforms
from papers.writing import ROOT
from schemas.spec.release_spec import load_spec
from stores.tables.tables import encode

PLACE: Final = "DENIABLE_ACS13"
SPEC: Final = ROOT / "deployments/specs/acs13.yaml"
_MADE_UP: Final = 100_000


@dataclass(frozen=True, eq=False)
class People:
    """A public table in a fixed random order.

    Attributes:
        domain: its domain.
        codes: its records, shape (rows, m).
        are_real: whether they are the people of ACS 2013; otherwise they are made up.
    """

    domain: Domain
    codes: Codes
    are_real: bool

    @property
    def half(self) -> int:
        """The number of records in each half: of one, models are learnt; with the other, they are compared."""
        return len(self.codes) // 2

    @property
    def halves(self) -> tuple[Codes, Codes]:
        """Two halves of equal size."""
        return self.codes[: self.half], self.codes[self.half : 2 * self.half]

    @property
    def parts(self) -> tuple[Codes, Codes]:
        """Seven tenths to learn from, and the others to test with."""
        rows = len(self.codes) * 7 // 10
        return self.codes[:rows], self.codes[rows:]

    def column(self, name: str) -> int:
        """The number of an attribute's column."""
        return self.domain.index(name)


def stream_of(what: str, number: int = 0) -> WordStream:
    """The words of one experiment."""
    return KEY.stream(step="paper", mechanism="plausible deniability", inputs=what, parameters={"number": number})


@cache
def the_people() -> People:
    """The people of this machine: those of the file that DENIABLE_ACS13 names, or made-up ones."""
    place = os.environ.get(PLACE)
    return made_up(_MADE_UP) if not place else _read(Path(place))


def words_for_made_up() -> str:
    """A sentence for the page if the people are made up; otherwise nothing."""
    if the_people().are_real:
        return ""
    return (
        f"The people are made up, because {PLACE} names no file here: set it to the path of acs13_stats.csv.gz, the "
        "example of the authors' tool. Only expectations that do not need real people are checked, and the text on "
        "differences from the paper is about real people."
    )


def _read(place: Path) -> People:
    """The people of a file, in a fixed random order.

    Raises:
        InvalidInput: there is no such file, or it does not have these people.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import

    domain = load_spec(SPEC).domain
    if not place.is_file():
        raise InvalidInput(
            f"{PLACE} must name the file acs13_stats.csv.gz, got {place}, where there is no file; correct it, or "
            "unset it for made-up people."
        )
    frame = pd.read_csv(place, skipinitialspace=True)
    if missing := [name for name in domain.names if name not in frame.columns]:
        raise InvalidInput(
            f"the file that {PLACE} names must have the columns {', '.join(domain.names)}, got none for "
            f"{', '.join(missing)}; name the file acs13_stats.csv.gz of the authors' tool."
        )
    codes = encode(frame, domain)
    order = np.argsort(stream_of("order of the people").take(len(codes)), kind="stable")
    return People(domain, codes[order], are_real=True)


def made_up(rows: int) -> People:
    """Made-up people, drawn from probabilities along the authors' graph.

    Each attribute is near a value that moves with its parents, and has a few common values.

    Args:
        rows: their number.
    """
    domain = load_spec(SPEC).domain
    graph = graph_in_spec(domain, {"parents": PARENTS, "order": ORDER})
    weights = []
    for attribute, parents in zip(domain.attributes, graph.parents, strict=True):
        values = np.arange(attribute.cardinality) / max(attribute.cardinality - 1, 1)
        sizes = [domain.bucket_counts[parent] for parent in parents]
        at = np.array(np.unravel_index(np.arange(prod(sizes)), sizes)) if parents else np.zeros((0, 1))
        where = (at / np.maximum(np.array(sizes)[:, None] - 1, 1)).mean(axis=0) if parents else np.array([0.4])
        near = np.exp(-8 * (values - where[:, None]) ** 2)
        common = 1 + 9 * (uniforms(stream_of(f"common values of {attribute.name}"), attribute.cardinality) > 0.7)
        shares = near**2 * common + 0.01
        weights.append(integer_weights(shares / shares.sum(axis=1, keepdims=True)))
    words = stream_of("made-up people").take(rows * len(domain))
    return People(domain, BayesNet(domain, graph, tuple(weights)).sample(words), are_real=False)
