"""Checks of an HTML page: well formed, self-contained, and accessible without sight, mouse or scripts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "br", "link", "img", "input", "hr", "wbr", "col"}
# Attributes that load, run or link to something else.
FOREIGN = {
    "script",
    "link",
    "img",
    "iframe",
    "object",
    "embed",
    "base",
    "form",
    "video",
    "audio",
    "source",
    "image",
}
REFERENCES = (
    "href",
    "src",
    "srcset",
    "xlink:href",
    "data",
    "action",
    "poster",
    "cite",
    "background",
    "ping",
    "formaction",
)
SVG_SHAPES = {
    "path",
    "g",
    "defs",
    "clippath",
    "rect",
    "text",
    "tspan",
    "circle",
    "ellipse",
    "line",
    "polygon",
    "polyline",
    "use",
}
SVG_TOO = {"a", "title"}
"""Elements that SVG has as well as HTML."""
# Elements that may contain only certain others (HTML, section 4), as far as the pages use them.
ALLOWED_IN = {
    "ul": {"li"},
    "ol": {"li"},
    "dl": {"div", "dt", "dd"},
    "table": {"caption", "thead", "tbody", "tfoot"},
    "thead": {"tr"},
    "tbody": {"tr"},
    "tr": {"th", "td"},
    "html": {"head", "body"},
    "head": {"meta", "title", "style"},
}
ONLY_IN = {
    "li": {"ul", "ol"},
    "caption": {"table"},
    "thead": {"table"},
    "tbody": {"table"},
    "tr": {"thead", "tbody"},
    "th": {"tr"},
    "td": {"tr"},
    "summary": {"details"},
    "figcaption": {"figure"},
    "dt": {"div", "dl"},
    "dd": {"div", "dl"},
}
PHRASING = {"a", "abbr", "b", "br", "code", "em", "i", "small", "span", "strong", "sub", "sup", "svg", "time", "wbr"}
HOLD_PHRASING = {
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "span",
    "code",
    "strong",
    "em",
    "a",
    "time",
    "sup",
    "sub",
    "dt",
    "summary",
    "pre",
}
MAY_BE_EMPTY = {"td", "span", "i", "g", "defs", "wbr"}


@dataclass(eq=False, repr=False)
class Element:
    """An element of a page.

    Attributes:
        tag: its tag.
        attributes: its attributes.
        parent: the element that contains it.
        children: the elements in it.
        text: its own text and that of all elements in it.
    """

    tag: str
    attributes: dict[str, str]
    parent: "Element | None" = None
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def up(self) -> Iterator["Element"]:
        """Yield its parent, the parent's parent, and so on."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent

    @property
    def hidden(self) -> bool:
        """Whether it is hidden from assistive technology."""
        return any(element.attributes.get("aria-hidden") == "true" for element in (self, *self.up()))


class Page(HTMLParser):
    """The contents of a page: its elements in order, and its text by element."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.elements: list[Element] = []
        self.text: dict[str, list[str]] = {}
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        parent = self._open[-1] if self._open else None
        element = Element(tag, {name: value or "" for name, value in attrs}, parent)
        if parent is not None:
            parent.children.append(element)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data
        if data.strip():
            self.text.setdefault(self._open[-1].tag if self._open else "", []).append(" ".join(data.split()))

    def all(self, *tags: str) -> list[Element]:
        """Return all elements with one of these tags."""
        return [element for element in self.elements if element.tag in tags]

    @property
    def words(self) -> str:
        """All its text, with normalized spaces."""
        return " ".join(self.elements[0].text.split())

    def require_sound(self, beside: tuple[str, ...] = (), leads_to: tuple[str, ...] = ()) -> None:
        """Require everything that every page must satisfy.

        Args:
            beside: names of files next to the page to which it may link.
            leads_to: beginnings of other addresses that its links, but nothing else in it, may have.
        """
        self.require_well_formed()
        self.require_self_contained(beside, leads_to)
        self.require_accessible()

    def require_well_formed(self) -> None:
        """Require what a validator would: permitted nesting of elements, and unique, existing ids."""
        assert self.html.lower().startswith("<!doctype html>")
        for element in self.elements:
            parent = element.parent
            in_svg = any(above.tag == "svg" for above in element.up())
            assert in_svg == (element.tag in SVG_SHAPES) or element.tag in SVG_TOO, element.tag
            if parent is None or in_svg:
                continue
            assert element.tag in ALLOWED_IN.get(parent.tag, {element.tag}), (parent.tag, element.tag)
            assert parent.tag in ONLY_IN.get(element.tag, {parent.tag}), (parent.tag, element.tag)
            assert parent.tag not in HOLD_PHRASING or element.tag in PHRASING, (parent.tag, element.tag)
            assert element.text.strip() or element.children or element.tag in VOID | MAY_BE_EMPTY, element
        ids = [element.attributes["id"] for element in self.elements if "id" in element.attributes]
        assert len(ids) == len(set(ids))
        named = [element.attributes.get("aria-labelledby") for element in self.elements]
        local = [element.attributes.get("href", "") for element in self.elements]
        wanted = {name for name in named if name} | {href[1:] for href in local if href.startswith("#")}
        wanted |= {target.strip("#\"'") for target in re.findall(r"url\((.*?)\)", self.html)}
        assert wanted <= set(ids), wanted - set(ids)
        for table in self.all("table"):
            rows = [[*columns(row)] for row in self.all("tr") if table in row.up()]
            assert len({len(row) for row in rows}) == 1, table.text

    def require_self_contained(self, beside: tuple[str, ...] = (), leads_to: tuple[str, ...] = ()) -> None:
        """Require that nothing is loaded or run, and that all links lead to files next to the page."""
        assert not [element.tag for element in self.elements if element.tag in FOREIGN]
        for element in self.elements:
            for name, value in element.attributes.items():
                assert not name.startswith("on"), (element.tag, name)
                if name in REFERENCES:
                    followed = element.tag == "a" and value.startswith(leads_to)
                    assert value.startswith("#") or value in beside or followed, value
        assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", self.html))
        assert "@import" not in self.html
        assert "@font-face" not in self.html
        followed = [link.attributes["href"] for link in self.all("a") if link.attributes["href"].startswith(leads_to)]
        shown = sum(text.count("://") for text in self.text.get("dd", []))
        assert self.html.count("://") == sum("://" in address for address in followed) + shown
        [policy] = [m for m in self.all("meta") if m.attributes.get("http-equiv") == "Content-Security-Policy"]
        assert policy.attributes["content"] == "default-src 'none'; style-src 'unsafe-inline'"

    def require_accessible(self) -> None:
        """Require names, landmarks, headings in order, and tables and pictures that explain themselves."""
        assert self.elements[0].attributes["lang"] == "en"
        assert self.all("title")[0].text.strip()
        assert "width=device-width" in self.html
        assert all(len(self.all(tag)) == 1 for tag in ("main", "header", "footer", "h1"))
        landmarks = {"main", "header", "footer", "nav", "head", "style", "title"}
        for element in self.elements:
            if element.tag in {"p", "table", "h1", "h2", "ul"}:
                assert {above.tag for above in element.up()} & landmarks, element.text
        levels = [int(heading.tag[1]) for heading in self.all("h1", "h2", "h3", "h4")]
        assert levels[0] == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        assert all(section.attributes.get("aria-labelledby") for section in self.all("section"))
        labels = [nav.attributes["aria-label"] for nav in self.all("nav")]
        assert len(labels) == len(set(labels))
        for svg in self.all("svg"):
            if not svg.hidden:
                # The content of an image is hidden from readers without sight, with its links.
                has_links = any(svg in link.up() for link in self.all("a"))
                assert svg.attributes["role"] == ("group" if has_links else "img")
                assert len(svg.attributes["aria-label"]) > 20
        for table in self.all("table"):
            assert table.children[0].tag == "caption", table.text
            assert len(table.children[0].text.strip()) > 2
            heads = [cell for cell in self.all("th") if table in cell.up()]
            assert heads
            assert all(head.attributes.get("scope") in {"col", "row"} and head.text.strip() for head in heads)
        for link in self.all("a"):
            assert link.text.strip()
        for element in self.elements:
            if "tabindex" in element.attributes:
                assert element.attributes["tabindex"] in {"0", "-1"}
                assert not element.hidden
                assert element.tag == "main" or element.attributes["aria-label"].strip()
                assert element.tag == "main" or element.attributes["role"] == "region"
        regions = [e.attributes["aria-label"] for e in self.elements if e.attributes.get("role") == "region"]
        assert len(regions) == len(set(regions))
        for details in self.all("details"):
            assert details.children[0].tag == "summary"


def columns(row: Element) -> Iterator[Element]:
    """Yield the cells of a row, each repeated for the columns that it spans."""
    for cell in row.children:
        yield from [cell] * int(cell.attributes.get("colspan", "1"))
