"""Reads the files of SGF, the plausible-deniability paper's tool: configuration, attributes, bins, graph and order.

They describe a table and a model, and hold no record. The two files of records beside them are never opened.

Source: Bindschaedler, Shokri, Gunter 2017; the tool's README, version 0.10a, sections 5 and 6.
"""

import configparser
import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final, TypeVar

from deniable.foundation.errors import InvalidInput
from schemas.codebooks.codebook import one_line
from schemas.regular_files import read_regular

T = TypeVar("T")

SECTION: Final = "all"
_LONGEST = 16 << 20
_MOST_ATTRIBUTES = _MOST_VALUES = 32_767
_LEFT_ALONE = frozenset({"workdir", "runtime", "verbose", "rngseed", "saveconf", "seeded_noise", "random_ps"})
"""Options on how the tool runs; they say nothing about what is released."""
_NOISES = {"lap": "laplace", "geom": "laplace"}
_NUMBERS = {
    "gamma": "4",
    "budget": "1",
    "lambda": "60",
    "dir_hyperp": "1",
    "max_ps": "1000",
    "max_check_ps": "100000",
}
"""Options that are numbers, with the tool's defaults."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What a configuration file says about a release.

    Attributes:
        mechanism: `seedbased` or `marginals`.
        attributes: number of attributes.
        prefix: path prefix of the other files; empty if it is not stated.
        omega: number of re-sampled attributes; all of them without seeds.
        count: number of candidates; None if it is not stated.
        noise: the noise of the model's counts, as a spec names it.
        gamma: largest ratio between the probabilities of plausible seeds.
        epsilon: budget of the model.
        security: lambda, where the model's delta is 2^-lambda.
        prior: total Dirichlet mass of a configuration.
        most_plausible: the largest number of plausible seeds to count; 0 for no limit.
        most_checked: the largest number of seeds to score; 0 for no limit.
    """

    mechanism: str
    attributes: int
    prefix: str
    omega: int
    count: int | None
    noise: str
    gamma: Decimal
    epsilon: Decimal
    security: Decimal
    prior: Decimal
    most_plausible: int
    most_checked: int

    @property
    def uses_graph(self) -> bool:
        """Whether attributes depend on each other in the model."""
        return self.mechanism == "seedbased"

    @property
    def has_seeds(self) -> bool:
        """Whether records copy attributes of a seed."""
        return self.uses_graph and self.omega < self.attributes


@dataclass(frozen=True, kw_only=True)
class Described:
    """A table and a graph, as the other files describe them; attributes and their values are numbered from 0.

    Attributes:
        names: the attributes.
        sizes: number of values of each; the values are 1, 2, ... in the table.
        bins: the bin of each value, by attribute.
        parents: the attributes on which each depends.
        order: the attributes, each after those on which it depends.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    bins: tuple[tuple[int, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]


def files_of(prefix: str) -> dict[str, Path]:
    """The files with a path prefix, by their content."""
    return {what: Path(f"{prefix}_{what}.csv") for what in ("attrs", "grps", "dag", "order")}


def read_configuration(path: Path) -> Configuration:
    """Read a configuration file.

    Raises:
        InvalidInput: it cannot be read, lacks an option, or has one that is unknown or not private.
    """
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string(_text(path, "the configuration"))
    except configparser.Error as error:
        raise InvalidInput(
            f"{path.name} must be a configuration of SGF, with lines such as omega=10 below [{SECTION}], got another "
            f"form: {one_line(str(error))}."
        ) from None
    if SECTION not in parser:
        raise InvalidInput(f"{path.name} must have the section [{SECTION}], got none; is it a configuration of SGF?")
    options = {name: value.strip() for name, value in parser[SECTION].items() if value.strip()}
    known = {"mechanism", "attrs", "dataprefix", "omega", "count", "ndist", "ncomp", *_NUMBERS, *_LEFT_ALONE}
    if unknown := sorted(options.keys() - known):
        raise InvalidInput(
            f"{path.name} must have options of SGF 0.10a only, got {', '.join(map(one_line, unknown))}; take out what "
            "is not one."
        )
    return _configured(options, path.name)


def _configured(options: Mapping[str, str], where: str) -> Configuration:
    mechanism = _one_of(options.get("mechanism", ""), ("seedbased", "marginals"), "mechanism", where)
    attributes = _whole(options.get("attrs", ""), "attrs", where, 1, _MOST_ATTRIBUTES)
    noise = options.get("ndist", "lap")
    if noise in {"no", "none"}:
        raise InvalidInput(
            f"{where}: ndist must be lap or geom, got {noise}, with which the model has no privacy; choose one of them."
        )
    composition = options.get("ncomp", "seq")
    if composition not in {"def", "seq"} and not composition.startswith("adv"):
        raise InvalidInput(f"{where}: ncomp must be seq or adv, got {one_line(composition)}; correct it.")
    numbers = {name: _number(options.get(name, default), name, where) for name, default in _NUMBERS.items()}
    for name in ("budget", "lambda"):
        if numbers[name] <= 0:
            raise InvalidInput(f"{where}: {name} must be above 0, got {numbers[name]}; correct it.")
    if numbers["gamma"] <= 1:
        raise InvalidInput(f"{where}: gamma must be above 1, got {numbers['gamma']}; correct it.")
    omega = options.get("omega", "m")
    count = options.get("count")
    return Configuration(
        mechanism=mechanism,
        attributes=attributes,
        prefix=options.get("dataprefix", ""),
        omega=attributes if omega == "m" else _whole(omega, "omega", where, 1, attributes),
        count=None if count is None else _whole(count, "count", where, 1, 10**10),
        noise=_NOISES[_one_of(noise, tuple(_NOISES), "ndist", where)],
        gamma=numbers["gamma"],
        epsilon=numbers["budget"],
        security=numbers["lambda"],
        prior=numbers["dir_hyperp"],
        most_plausible=_whole(str(numbers["max_ps"]), "max_ps", where, 0, 10**10),
        most_checked=_whole(str(numbers["max_check_ps"]), "max_check_ps", where, 0, 10**10),
    )


def read_description(prefix: str, attributes: int) -> Described:
    """Read attributes, bins, graph and order.

    Args:
        prefix: path prefix of the files.
        attributes: number of attributes that the configuration states.

    Raises:
        InvalidInput: a file cannot be read, or does not fit the others.
    """
    files = files_of(prefix)
    attrs = _lines(files["attrs"], attributes, _as_text)
    names, sizes = [], []
    for number, (name, *values) in enumerate(attrs, 1):
        where = f"{files['attrs'].name}, line {number}"
        if not name:
            raise InvalidInput(f"{where}: an attribute must have a name, got none; write it before its values.")
        if not values or values != [str(value) for value in range(1, len(values) + 1)]:
            raise InvalidInput(
                f"{where}: the values of {one_line(name)} must be 1, 2, 3 and so on, as SGF requires, got others; "
                "number them here and in the table."
            )
        if name in names:
            raise InvalidInput(f"{where}: each attribute must have a name of its own, got {one_line(name)} twice.")
        names.append(name)
        sizes.append(len(values))
    parents = _read_graph(files["dag"], names)
    return Described(
        names=tuple(names),
        sizes=tuple(sizes),
        bins=_read_bins(files["grps"], names, sizes),
        parents=parents,
        order=_read_order(files["order"], names, parents),
    )


def _read_bins(path: Path, names: Sequence[str], sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    found = []
    for number, line in enumerate(_lines(path, len(names), _as_whole), 1):
        name, size, where = one_line(names[number - 1]), sizes[number - 1], f"{path.name}, line {number}"
        if len(line) != size:
            raise InvalidInput(f"{where}: {name} must have a bin for each of its {size:,} values, got {len(line):,}.")
        if set(line) != set(range(1, max(line) + 1)):
            raise InvalidInput(f"{where}: the bins of {name} must be numbered 1, 2, 3 and so on without a gap.")
        found.append(tuple(each - 1 for each in line))
    return tuple(found)


def _read_graph(path: Path, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The parents in each line; its last number is the merit, which is not used."""
    found = []
    for number, line in enumerate(_lines(path, len(names), _as_decimal), 1):
        where = f"{path.name}, line {number}"
        *parents, merit = line
        if merit < 0 or (not parents and merit == merit.to_integral_value() and merit != 0):
            raise InvalidInput(f"{where}: the last number must be the merit of the parents before it, got {merit}.")
        if any(parent not in range(1, len(names) + 1) for parent in parents):
            raise InvalidInput(
                f"{where}: parents must be numbers of attributes, 1 to {len(names)}, got "
                f"{', '.join(map(str, parents))}; write the merit after them."
            )
        own = tuple(int(parent) - 1 for parent in parents)
        if number - 1 in own or len(set(own)) < len(own):
            raise InvalidInput(
                f"{where}: {one_line(names[number - 1])} must have others as its parents, each once, got "
                f"{', '.join(map(str, parents))}."
            )
        found.append(own)
    return tuple(found)


def _read_order(path: Path, names: Sequence[str], parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The attribute visited in each line, as the README says."""
    order = []
    for number, line in enumerate(_lines(path, len(names), _as_whole), 1):
        if len(line) != 1 or line[0] not in range(1, len(names) + 1) or line[0] - 1 in order:
            raise InvalidInput(
                f"{path.name}, line {number}: the order must have one attribute a line, by its number from 1 to "
                f"{len(names)}, and each attribute once, got {', '.join(map(str, line))}."
            )
        order.append(line[0] - 1)
    fault = _fault_of(order, parents, names)
    if fault is not None:
        places = sorted(range(len(names)), key=order.__getitem__)
        fits = _fault_of(places, parents, names) is None
        turned = "; read as the place of each attribute, it would fit: list attributes, not places" if fits else ""
        raise InvalidInput(f"{path.name}: the order must have parents first, got {fault}{turned}.")
    return tuple(order)


def _fault_of(order: Sequence[int], parents: Sequence[Sequence[int]], names: Sequence[str]) -> str | None:
    """An attribute that comes before one of its parents, in words; a cycle has one in any order."""
    at = {attribute: place for place, attribute in enumerate(order)}
    for child, those in enumerate(parents):
        for parent in those:
            if at[parent] > at[child]:
                return f"{one_line(names[child])} before its parent {one_line(names[parent])}"
    return None


def _lines(path: Path, attributes: int, read: Callable[[str], T]) -> list[list[T]]:
    """The lines of a file, one for each attribute."""
    found: list[list[T]] = []
    lines = _text(path, f"the file {path.name} of SGF").splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    for number, cells in enumerate(csv.reader(lines, skipinitialspace=True), 1):
        try:
            found.append([read(cell.strip()) for cell in cells])
        except (ValueError, InvalidOperation):
            raise InvalidInput(
                f"{path.name}, line {number}: must have numbers separated by commas, got "
                f"{one_line(','.join(cells))[:80]!r}; correct it."
            ) from None
        if not cells:
            raise InvalidInput(f"{path.name}, line {number}: must be about an attribute, got an empty line; fill it.")
    if len(found) != attributes:
        raise InvalidInput(
            f"{path.name} must have a line for each of the {attributes} attributes that the configuration states, got "
            f"{len(found)}."
        )
    return found


def _as_text(cell: str) -> str:
    return cell


def _as_whole(cell: str) -> int:
    number = int(cell)
    if not 1 <= number <= _MOST_VALUES:
        raise ValueError(cell)
    return number


def _as_decimal(cell: str) -> Decimal:
    number = Decimal(cell)
    if not number.is_finite():
        raise ValueError(cell)
    return number


def _text(path: Path, what: str) -> str:
    try:
        return read_regular(path, what, _LONGEST).decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidInput(f"{what} must be a file, and {path} does not exist; correct its path.") from None
    except OSError as error:
        raise InvalidInput(f"{what} must be a readable file, got {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{what} must be text in UTF-8, got {path} with other bytes.") from None


def _one_of(stated: str, values: Sequence[str], name: str, where: str) -> str:
    if stated not in values:
        got = one_line(stated) or "none"
        raise InvalidInput(f"{where}: {name} must be {' or '.join(values)}, got {got}; correct it.")
    return stated


def _number(stated: str, name: str, where: str) -> Decimal:
    try:
        number = Decimal(stated)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 <= number <= 10**12:
        raise InvalidInput(f"{where}: {name} must be a number of at least 0, got {one_line(stated)}; correct it.")
    return number


def _whole(stated: str, name: str, where: str, least: int, most: int) -> int:
    try:
        number = int(stated)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        got = one_line(stated) or "none"
        raise InvalidInput(f"{where}: {name} must be a whole number from {least} to {most:,}, got {got}; correct it.")
    return number
