"""Reads a spec from YAML, with exact decimals, and words each fault in one line.

The required content of a spec does not belong here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

from deniable.foundation.checks import printable
from deniable.foundation.errors import InvalidInput
from deniable.foundation.exact_numbers import LONGEST_NUMBER, is_too_long
from deniable.learners.registry import KINDS
from deniable.samplers.registry import SAMPLERS
from schemas.regular_files import read_regular

_SHOWN_CHARACTERS = 60
_LONGEST_SPEC = 1 << 20
_MOST_EVENTS = 100_000
_DEEPEST = 20
_LONGEST_REMARK = 200
_LARGEST_SHOWN = 10**300
_MEANT = 0.7  # of 1: similarity of two keys above which one is suggested for the other
_PYDANTIC_SUBJECT = re.compile(r"^\w+ should ")


class _ExactConstructor(SafeConstructor):
    """Reads 0.1 as a tenth, and refuses numbers that are too long."""

    def construct_exact(self, node: ScalarNode) -> Fraction | float:
        """Read a decimal number from its text."""
        _require_short(node)
        try:
            return Fraction(node.value)
        except ValueError:  # .inf and .nan
            return float(self.construct_yaml_float(node))

    def construct_whole(self, node: ScalarNode) -> int:
        """Read an integer from its text."""
        _require_short(node)
        return int(self.construct_yaml_int(node))


_ExactConstructor.add_constructor("tag:yaml.org,2002:float", _ExactConstructor.construct_exact)
_ExactConstructor.add_constructor("tag:yaml.org,2002:int", _ExactConstructor.construct_whole)


def _require_short(node: ScalarNode) -> None:
    """Refuse a number that is too long."""
    if not isinstance(node.value, str) or is_too_long(node.value):
        raise ConstructorError(
            None, None, f"a number must have at most {LONGEST_NUMBER:,} digits and decimals", node.start_mark
        )


def _one_of(names: Sequence[str]) -> str:
    """Alternative names, as in a sentence."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


_KINDS = {
    "source": "the kind package, file or database",
    "learner": f"the kind {_one_of(KINDS)}",
    "synthesis": f"the guarantee {_one_of(SAMPLERS)}",
    "split": "a probability for each part, or for shared and holdout",
}
"""Entries with several kinds, and the key that distinguishes them."""

_MUST_BE = {
    **dict.fromkeys(["int_type", "int_parsing", "int_parsing_size", "int_from_float"], "a whole number such as 1"),
    **dict.fromkeys(["fraction_type", "fraction_parsing"], "a number"),
    **dict.fromkeys(["dict_type", "model_type", "model_attributes_type"], "a mapping of keys"),
    "tuple_type": "a list",
}
"""The required type of a value, by pydantic's type of error."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file whose top level is a mapping.

    Args:
        path: the file.

    Returns:
        The mapping; numbers with a point or an exponent are fractions.

    Raises:
        InvalidInput: there is no such file, it is not YAML, a key is repeated, or its top level is not a mapping.
    """
    with _complaining(path):
        text = read_regular(path, "the release spec", _LONGEST_SPEC).decode("utf-8-sig")
        written = deepcopy(_read(text, path))
    if not isinstance(written, dict):
        raise InvalidInput(f"the release spec {path} must be a mapping of keys, got {type(written).__name__}.")
    return written


@lru_cache(maxsize=1)
def _read(text: str, path: Path) -> Any:
    """What a text says; a command that has checked a spec runs a flow that reads it again."""
    _require_plain(text, path)
    return _reader().load(text)


@contextmanager
def _complaining(path: Path) -> Iterator[None]:
    """Turn errors into one sentence on why a spec cannot be read."""
    try:
        yield
    except InvalidInput:
        raise
    except FileNotFoundError:
        raise InvalidInput(f"the release spec must be a YAML file, but {path} does not exist.") from None
    except OSError as error:
        raise InvalidInput(f"the release spec {path} must be readable, got: {error.strerror}.") from None
    except (UnicodeDecodeError, ReaderError):
        raise InvalidInput(
            f"the release spec {path} must be text in UTF-8, but has other bytes; save it in UTF-8."
        ) from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidInput(f"the release spec {path} must be YAML; line {line}: {_shortened(error.problem)}.") from None
    except YAMLError as error:
        raise InvalidInput(f"the release spec {path} must be YAML, got: {_shortened(error)}.") from None
    # An invalid date, a number with a letter in it, a key that no mapping can have: the library does not report them.
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"the release spec {path} must be YAML of texts, numbers, lists and mappings, but has something else "
            f"({type(error).__name__}); put texts in quotes, and remove tags."
        ) from None


def _shortened(said: object) -> str:
    """A library's message, as one short line."""
    text = " ".join(str(said).split())
    return text if len(text) <= _LONGEST_REMARK else f"{text[:_LONGEST_REMARK]}..."


def _reader() -> YAML:
    """The YAML reader."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _ExactConstructor
    return yaml


def _require_plain(text: str, path: Path) -> None:
    """Refuse, before construction, YAML that is small as text but large or deep when parsed.

    Raises:
        InvalidInput: it has aliases, is nested too deeply, or has too many values.
    """
    depth = 0
    for number, event in enumerate(_reader().parse(text)):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if isinstance(event, AliasEvent):
            fault = f"it has an alias, *{_shortened(event.anchor)}; write out what it stands for"
        elif depth > _DEEPEST:
            fault = f"it is nested more than {_DEEPEST} deep, but no entry of a spec is; check its brackets"
        elif number > _MOST_EVENTS:
            fault = f"it has more than {_MOST_EVENTS:,} values, but no spec has so many; name another file"
        else:
            continue
        raise InvalidInput(f"the release spec {path} must be plain YAML; line {event.start_mark.line + 1}: {fault}.")


def complaint(detail: Mapping[str, Any], model: type[BaseModel]) -> str:
    """State in one line the place of a fault, what must hold and what was got.

    Args:
        detail: one of the errors of a pydantic ValidationError.
        model: the model that refused.
    """
    place = detail["loc"]
    # For an entry with several kinds, pydantic names the one it tried, which is not a key of the file.
    keys = [
        _shortened(key) for index, key in enumerate(place) if not (index == 1 and place[0] in _KINDS) and key != "[key]"
    ]
    if detail["type"] == "invalid_key" or (place[-1] == "[key]" and isinstance(detail["input"], Fraction)):
        keys[-1] = _shown(detail["input"])  # pydantic names a key by its type in Python
    return printable(f"{'.'.join(keys)}: {_sentence(detail, model)}")


def _sentence(detail: Mapping[str, Any], model: type[BaseModel]) -> str:
    """State what must hold and what was got."""
    got = _shown(detail["input"])
    match detail["type"]:
        case "missing":
            said = "must be given"
        case "extra_forbidden":
            said = f"is not a key of the spec; {_suggestion(detail['loc'], model)}"
        case "invalid_key":
            said = "must be a key, which is text, of those that a spec has"
        case "value_error":
            said = str(detail["ctx"]["error"])
        case "string_type":
            said = f"must be text, got {got}; put it in quotes"
        case "union_tag_not_found" | "union_tag_invalid":
            said = f"must have {_KINDS[str(detail['loc'][0])]}"
        case kind if kind in _MUST_BE:
            said = f"must be {_MUST_BE[kind]}, got {got}"
        case "too_short":
            least = detail["ctx"]["min_length"]
            said = f"must have at least {least} {'entry' if least == 1 else 'entries'}"
            # Entries with their own faults are reported separately, and do not count.
            said += f" that is right, got {got}" if detail["input"] else ", got none"
        case _:
            said = f"must {_PYDANTIC_SUBJECT.sub('', str(detail['msg']))}, got {got}"
    return said if said.endswith((".", "?")) else f"{said}."


def _shown(value: object) -> str:
    """A value of the spec, in a form that its author recognises."""
    if isinstance(value, Fraction):
        return f"{float(value):g}" if abs(value) < _LARGEST_SHOWN else "a larger number"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _suggestion(place: Sequence[str | int], model: type[BaseModel]) -> str:
    """The key that was probably intended, or all keys."""
    models = [model]
    for part in place[:-1]:
        models = [inner for outer in models for inner in _models_of(outer, part)] or models
    # If an entry has several kinds, the one that refused the key does not have it.
    refusing = [inner for inner in models if place[-1] not in inner.model_fields]
    keys = list(dict.fromkeys(key for inner in refusing for key in inner.model_fields))
    close = get_close_matches(str(place[-1]), keys, n=1, cutoff=_MEANT)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(keys)}"


def _models_of(model: type[BaseModel], part: str | int) -> Iterator[type[BaseModel]]:
    """The models below one level of a place: those of a field, or the one of a kind."""
    if isinstance(part, str) and part in model.model_fields:
        yield from _models_in(model.model_fields[part].annotation)
    elif any(
        name in model.model_fields and part in get_args(model.model_fields[name].annotation)
        for name in ("kind", "guarantee")
    ):
        yield model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that occur in a type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
