"""The papers by number, each with the module whose `PAPER` it is; modules are imported when their paper is run."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from papers.findings import Paper

PAPERS: Final[Mapping[str, str]] = {
    "000": "papers.bindschaedler.paper",
    "001": "papers.park.paper",
    "002": "papers.onthemap.paper",
    "003": "papers.charest.paper",
    "004": "papers.lecture.paper",
}


def paper_of(number: str) -> Paper:
    """The paper with a number of the registry."""
    found: Paper = import_module(PAPERS[number]).PAPER
    return found
