"""Codebooks in DDI Codebook XML (versions 1 to 2.6).

Frequencies and summary statistics of a variable are not read, because they depend on records. XML with a document type
is refused, so that no entity is ever expanded and no other file or address is ever read.
"""

from collections.abc import Iterator
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from deniable.foundation.errors import InvalidInput
from schemas.codebooks.codebook import Codebook, Entry, Kind, Variable, one_line

_DEEPEST = 100


def read_ddi(content: bytes) -> Codebook:
    """Read a codebook in DDI.

    Args:
        content: the XML.

    Raises:
        InvalidInput: it is not well-formed, has a document type, or is nested too deeply.
    """
    codebook = Codebook()
    root = parsed(content)
    variables = [element for element in root.iter() if element.tag == "var"]
    if not variables:
        codebook.faults.append(
            "a codebook in XML must be DDI Codebook with elements `var`, got none; export it as DDI Codebook 2.5."
        )
    for number_of, element in enumerate(variables, 1):
        codebook.add(_variable(element), f"variable {number_of}")
    return codebook


def parsed(content: bytes) -> Element:
    """Parse XML without a document type; namespaces are dropped.

    Args:
        content: the XML.

    Raises:
        InvalidInput: it is not well-formed, has a document type, or is nested too deeply.
    """
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise InvalidInput(f"XML must be nested at most {_DEEPEST} deep, got more; export the codebook again.")
        builder.start(_local(tag), {_local(name): value for name, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_local(tag))

    def refuse(*_: object) -> NoReturn:
        raise InvalidInput(
            "XML of a codebook must have no document type, which can name other files and expand without end, got one; "
            "remove the lines from <!DOCTYPE to its end."
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(content, True)  # noqa: FBT003 - expat's own
        return builder.close()
    except (expat.ExpatError, AssertionError, LookupError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        line = getattr(error, "lineno", 1)
        msg = f"a codebook in XML must be well-formed, and line {line} is not; export it again."
    raise InvalidInput(msg)


def _variable(element: Element) -> Variable:
    """A variable with its categories, or its range."""
    marked = {own for own in (each.get("VALUE") for each in element.iterfind("invalrng/item")) if own}
    entries, missing = [], [one_line(code) for code in sorted(marked)]
    for category in element.iterfind("catgry"):
        value = one_line(_said(category, "catValu"))
        if not value:
            continue
        if category.get("missing", "").upper() in {"Y", "YES", "TRUE"} or value in marked:
            missing.append(value)
        else:
            entries.append(Entry(value=value, label=one_line(_label(category))))
    kind = _kind(element, has_values=bool(entries))
    entries += _ranges(element)
    return Variable(
        name=one_line(element.get("name", "")),
        kind=kind,
        label=one_line(_label(element)),
        entries=tuple(entries),
        missing=tuple(dict.fromkeys(missing)),
        whole=True if element.get("dcml") == "0" else None,
    )


def _kind(element: Element, *, has_values: bool) -> Kind | None:
    measured = element.get("nature", "").lower()
    form = element.find("varFormat")
    written = "" if form is None else form.get("type", "").lower()
    if element.get("intrvl") == "contin" or measured in {"interval", "ratio"}:
        return "numeric"
    if measured == "ordinal" and has_values:
        return "ordered"
    if has_values:
        return "nominal"
    if form is not None and form.get("category", "").lower() in {"date", "time"}:
        return "date"
    return "text" if written == "character" else None


def _ranges(element: Element) -> Iterator[Entry]:
    """The range stated as valid; never the smallest and largest observed values."""
    for own in element.iterfind("valrng/range"):
        low, high = own.get("min"), own.get("max")
        if low is not None and high is not None:
            yield Entry(value=one_line(low), high=one_line(high))


def _label(element: Element) -> str:
    return _said(element, "labl") or _said(element, "txt")


def _said(element: Element, tag: str) -> str:
    found = element.find(tag)
    return "" if found is None else "".join(found.itertext())


def _local(name: str) -> str:
    return name.rpartition(":")[2]
