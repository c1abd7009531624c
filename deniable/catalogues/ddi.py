"""DDI Codebook 2.6, for archives and statistical offices: study, file and variables, with codes and labels.

Source: DDI Alliance, DDI-Codebook 2.6.
"""

from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from deniable.catalogues.described import PROGRAM, Described, codes_of

_NAMESPACE: Final = "ddi:codebook:2_6"
_VERSION: Final = "2.6"


def ddi(release: Described) -> str:
    """A release as a DDI codebook, an XML document."""
    language = str(release.said.get("language") or "en")
    book = Element("codeBook", {"xmlns": _NAMESPACE, "version": _VERSION, "xml:lang": language})
    _study(SubElement(book, "stdyDscr"), release)
    table = release.tables[0]
    file = SubElement(SubElement(book, "fileDscr", {"ID": "F1", "URI": release.place(table["path"])}), "fileTxt")
    _text(file, "fileName", table["path"])
    size = SubElement(file, "dimensns")
    _text(size, "caseQnty", str(release.records))
    _text(size, "varQnty", str(len(release.fields)))
    _text(file, "fileType", table["mediatype"])
    _text(file, "dataChck", f"SHA-256 {table['sha256']}; record {release.record_digest}")
    described = SubElement(book, "dataDscr")
    for number, field in enumerate(release.fields, 1):
        _variable(described, field, number)
    indent(book)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(book, encoding="unicode") + "\n"


def _study(study: Element, release: Described) -> None:
    _citation(SubElement(study, "citation"), release)
    _content(SubElement(study, "stdyInfo"), release)
    said, use = release.said, SubElement(SubElement(study, "dataAccs"), "useStmt")
    _text(use, "confDec", release.guarantee)
    if said.get("conditions"):
        _text(use, "conditions", said["conditions"])
    if release.licence:
        _text(use, "conditions", f"Licence: {release.licence}")
    _text(use, "disclaimer", "No record describes a real person, whatever it resembles.")


def _citation(citation: Element, release: Described) -> None:
    publisher, curator = release.said.get("publisher"), release.said.get("curator")
    title = SubElement(citation, "titlStmt")
    _text(title, "titl", release.title)
    _text(title, "IDNo", release.name, agency=PROGRAM)
    made = SubElement(citation, "prodStmt")
    if publisher:
        _text(made, "producer", publisher["name"])
    _text(made, "software", PROGRAM, version=release.version)
    given = SubElement(citation, "distStmt")
    if publisher:
        _text(given, "distrbtr", publisher["name"], **({"URI": publisher["url"]} if publisher.get("url") else {}))
    if curator:
        _text(given, "contact", curator["name"], **({"email": curator["email"]} if curator.get("email") else {}))
    _text(given, "distDate", release.published, date=release.published)


def _content(info: Element, release: Described) -> None:
    said = release.said
    subject = SubElement(info, "subject")
    for word in release.keywords:
        _text(subject, "keyword", word)
    _text(info, "abstract", release.text)
    summary = SubElement(info, "sumDscr")
    if release.period:
        first, last = release.period
        _text(summary, "timePrd", first, event="start", date=first)
        _text(summary, "timePrd", last, event="end", date=last)
    if said.get("region"):
        _text(summary, "geogCover", said["region"])
    _text(summary, "anlyUnit", str(release.statement["privacy_unit"]))
    if said.get("population"):
        _text(summary, "universe", said["population"])
    _text(summary, "dataKind", "synthetic records")
    for words, entry in (("Meant for", "purpose"), ("Not meant for", "not_for")):
        if said.get(entry):
            _text(info, "notes", f"{words}: {said[entry]}")


def _variable(described: Element, field: Any, number: int) -> None:
    codes, limits = list(codes_of(field)), field.get("constraints", {})
    kind = "discrete" if codes or field["type"] == "boolean" else "contin"
    variable = SubElement(described, "var", {"ID": f"V{number}", "name": field["name"], "files": "F1", "intrvl": kind})
    if field.get("title"):
        _text(variable, "labl", field["title"])
    if "minimum" in limits:
        bounds = {"min": str(limits["minimum"]), "max": str(limits["maximum"])}
        SubElement(SubElement(variable, "valrng"), "range", bounds)
    for code, label in codes:
        category = SubElement(variable, "catgry")
        _text(category, "catValu", code)
        if label:
            _text(category, "labl", label)
    SubElement(variable, "varFormat", {"type": "character" if field["type"] == "string" else "numeric"})


def _text(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = text
