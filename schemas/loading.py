"""How a spec is read from YAML, to the last decimal, and how a refusal is worded in one line.

What a spec must hold is not for this module to know.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

from deniable.errors import InvalidInput

_SHOWN_CHARACTERS = 60
_MEANT = 0.7  # of 1: how like each other two keys are when one was meant for the other
_PYDANTIC_SUBJECT = re.compile(r"^\w+ should ")


class _ExactConstructor(SafeConstructor):
    """Reads 0.1 as a tenth."""

    def construct_exact(self, node: ScalarNode) -> Fraction | float:
        """Read a decimal number from its text."""
        try:
            return Fraction(node.value)
        except ValueError:  # .inf and .nan
            return float(self.construct_yaml_float(node))


_ExactConstructor.add_constructor("tag:yaml.org,2002:float", _ExactConstructor.construct_exact)


_KINDS = {
    "source": "the kind package or file",
    "synthesis": "the guarantee tested_seeds, histogram_seeds or seedless",
    "split": "a probability for each part, or for shared and holdout",
}
"""Entries of which there are several kinds, and what tells which."""

_MUST_BE = {
    **dict.fromkeys(["int_type", "int_parsing", "int_from_float"], "a whole number such as 1"),
    **dict.fromkeys(["fraction_type", "fraction_parsing"], "a number"),
    **dict.fromkeys(["dict_type", "model_type", "model_attributes_type"], "a mapping of keys"),
    "tuple_type": "a list",
}
"""What a value must be that is something else altogether, by pydantic's word for that."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file whose top is a mapping.

    Args:
        path: the file.

    Returns:
        The mapping; numbers with a point or an exponent are fractions.

    Raises:
        InvalidInput: there is no such file, it is not YAML, a key stands twice, or its top is no mapping.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _ExactConstructor
    try:
        written = yaml.load(path)
    except FileNotFoundError:
        raise InvalidInput(f"the release spec must be a YAML file, but {path} does not exist.") from None
    except IsADirectoryError:
        raise InvalidInput(
            f"the release spec must be a YAML file, but {path} is a folder; name the file in it that is meant."
        ) from None
    except OSError as error:
        raise InvalidInput(f"the release spec {path} must be readable, got: {error.strerror}.") from None
    except (UnicodeDecodeError, ReaderError):
        raise InvalidInput(
            f"the release spec {path} must be text in UTF-8, and has bytes that are not; save it anew."
        ) from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidInput(f"the release spec {path} must be YAML; line {line}: {error.problem}.") from None
    except YAMLError as error:
        raise InvalidInput(f"the release spec {path} must be YAML, got: {error}.") from None
    if not isinstance(written, dict):
        raise InvalidInput(f"the release spec {path} must be a mapping of keys, got {type(written).__name__}.")
    return written


def complaint(detail: Mapping[str, Any], model: type[BaseModel]) -> str:
    """Say in one line where something is wrong, what must hold and what was got.

    Args:
        detail: one of the errors of a pydantic ValidationError.
        model: the model that refused.
    """
    place = detail["loc"]
    # Where there are several kinds of an entry pydantic names the one it tried, which is no key of the file.
    keys = [str(key) for index, key in enumerate(place) if not (index == 1 and place[0] in _KINDS) and key != "[key]"]
    if place[-1] == "[key]" and isinstance(detail["input"], Fraction):
        keys[-1] = _shown(detail["input"])  # pydantic names a key by its type in Python
    return f"{'.'.join(keys)}: {_sentence(detail, model)}"


def _sentence(detail: Mapping[str, Any], model: type[BaseModel]) -> str:
    """Say what must hold and what was got."""
    got = _shown(detail["input"])
    match detail["type"]:
        case "missing":
            said = "must be given"
        case "extra_forbidden":
            said = f"is not a key of the spec; {_suggestion(detail['loc'], model)}"
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
            # Entries that are wrong by themselves are complained of by themselves, and do not count.
            said += f" that is right, got {got}" if detail["input"] else ", got none"
        case _:
            said = f"must {_PYDANTIC_SUBJECT.sub('', str(detail['msg']))}, got {got}"
    return said if said.endswith((".", "?")) else f"{said}."


def _shown(value: object) -> str:
    """A value of the spec as its author may know it again."""
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _suggestion(place: Sequence[str | int], model: type[BaseModel]) -> str:
    """The key that was meant, or those there are."""
    models = [model]
    for part in place[:-1]:
        models = [inner for outer in models for inner in _models_of(outer, part)] or models
    # Where there are several kinds of an entry, the one that refused the key is none that has it.
    refusing = [inner for inner in models if place[-1] not in inner.model_fields]
    keys = list(dict.fromkeys(key for inner in refusing for key in inner.model_fields))
    close = get_close_matches(str(place[-1]), keys, n=1, cutoff=_MEANT)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(keys)}"


def _models_of(model: type[BaseModel], part: str | int) -> Iterator[type[BaseModel]]:
    """The models that one step of a place leads to: those of a field, or the one of a kind."""
    if isinstance(part, str) and part in model.model_fields:
        yield from _models_in(model.model_fields[part].annotation)
    elif any(
        name in model.model_fields and part in get_args(model.model_fields[name].annotation)
        for name in ("kind", "guarantee")
    ):
        yield model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a type mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
