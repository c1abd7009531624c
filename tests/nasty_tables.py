"""Random tables with awkward shapes: constant, all unique, of one row, very wide, with long lists of values."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML

Column = NDArray[np.int64]
MISSING = -1

ROWS = (1, 2, 3, 20, 300, 2000)
EPSILONS = (0.01, 0.1, 1, 10)


@dataclass(frozen=True)
class NastyTable:
    """A table of integers, its domain, and the epsilon of its release.

    Attributes:
        values: number of values of each column; the values are 0 to one less.
        columns: a value for each row, or MISSING.
        ordered: whether a column is numeric.
        epsilon: epsilon of the release.
        shape: its name in messages of failing tests.
    """

    values: dict[str, int]
    columns: dict[str, Column]
    ordered: dict[str, bool]
    epsilon: float
    shape: str

    def write(self, folder: Path, **entries: object) -> Path:
        """Write the table, its schema and a short spec.

        Args:
            folder: where they go.
            entries: further entries of the spec.
        """
        folder.mkdir(parents=True)
        with (folder / "nasty.csv").open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(self.columns)
            lines.writerows(
                ["" if value == MISSING else value for value in row] for row in zip(*self.columns.values(), strict=True)
            )
        described = ",\n        ".join(
            f'"{name}": ' + (f"numeric(0, {size - 1})" if self.ordered[name] else f"nominal(list(range({size})))")
            for name, size in self.values.items()
        )
        schema = f"schema = table(\n    {{\n        {described}\n    }}\n)\n"
        (folder / "nasty.py").write_text(f"from schemas.table import nominal, numeric, table\n\n{schema}")
        spec = {"name": "nasty", "dataset": "nasty.py", "source": "nasty.csv", "epsilon": self.epsilon, **entries}
        with (folder / "nasty.yaml").open("w") as file:
            YAML(typ="safe", pure=True).dump(spec, file)
        return folder / "nasty.yaml"


def nasty_tables(count: int, seed: int) -> Iterator[NastyTable]:
    """Yield tables: first one of each requested shape, then mixed ones.

    Args:
        count: number of tables.
        seed: seed of the draws.
    """
    draw = np.random.default_rng([seed, 17])
    shapes = list(SHAPES)
    for number in range(count):
        shape = shapes[number % len(shapes)]
        yield SHAPES[shape](draw, shape)


def _of(draw: np.random.Generator, kinds: list[str], rows: int, epsilon: float, shape: str) -> NastyTable:
    values, columns, ordered = {}, {}, {}
    for number, kind in enumerate(kinds):
        name = f"{kind}_{number}"
        values[name], columns[name] = _column(draw, kind, rows, list(columns.values()))
        if kind == "copy":
            values[name] = values[list(values)[-2]]
        ordered[name] = bool(draw.random() < 0.5)
    return NastyTable(values, columns, ordered, epsilon, f"{shape}, {rows} rows, epsilon {epsilon}: {kinds[:5]}")


def _column(draw: np.random.Generator, kind: str, rows: int, before: list[Column]) -> tuple[int, Column]:
    """Return the number of values of a column, and its values."""
    few, unique = int(draw.integers(2, 9)), max(2 * rows, 2)
    found = {
        "constant": lambda: (1, np.zeros(rows, np.int64)),
        "one_of_many": lambda: (500, np.full(rows, int(draw.integers(500)))),
        "unique": lambda: (unique, draw.permutation(unique)[:rows]),
        "long": lambda: (40_000, np.minimum(draw.zipf(1.3, rows) - 1, 39_999)),
        "missing": lambda: (3, np.full(rows, MISSING)),
        "copy": lambda: (int(before[-1].max()) + 1, before[-1]),
        "rare": lambda: (2, (draw.random(rows) < 0.002).astype(np.int64)),
        "plain": lambda: (few, draw.choice(few, rows, p=draw.dirichlet(np.ones(few)))),
    }
    return found[kind]()


_KINDS = ["constant", "one_of_many", "unique", "copy", "rare", "plain", "plain"]


def _mixed(draw: np.random.Generator, shape: str) -> NastyTable:
    kinds = [str(draw.choice(_KINDS)) for _ in range(int(draw.integers(1, 9)))]
    rows, epsilon = int(draw.choice(ROWS)), float(draw.choice(EPSILONS))
    return _of(draw, ["plain", *kinds], rows, epsilon, shape)


def _any_epsilon(draw: np.random.Generator) -> float:
    return float(draw.choice(EPSILONS))


SHAPES = {
    "one row": lambda draw, shape: _of(draw, ["plain", "plain"], 1, _any_epsilon(draw), shape),
    "two rows": lambda draw, shape: _of(draw, ["plain", "unique", "plain"], 2, 10, shape),
    "one attribute": lambda draw, shape: _of(draw, ["plain"], 2000, 1, shape),
    "one attribute of 40,000 values": lambda draw, shape: _of(draw, ["long"], 2000, 1, shape),
    "constant": lambda draw, shape: _of(draw, ["constant", "one_of_many", "plain"], 2000, 1, shape),
    "all constant": lambda draw, shape: _of(draw, ["constant", "constant"], 300, 1, shape),
    "all unique": lambda draw, shape: _of(draw, ["unique", "plain", "copy"], 2000, 1, shape),
    "all missing": lambda draw, shape: _of(draw, ["missing", "plain"], 300, 1, shape),
    "200 attributes": lambda draw, shape: _of(draw, ["plain"] * 200, 300, 10, shape),
    "40,000 values": lambda draw, shape: _of(draw, ["long", "plain", "rare"], 2000, 1, shape),
    "mixed": _mixed,
    "mixed again": _mixed,
}
"""What is asked for by name, and mixtures."""
