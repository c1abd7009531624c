"""The public page of a release: `index.html`, which states what was released, what is guaranteed, and how to check it.

It is made from public material alone: the spec, the accounts, the public record and the files that are about to be
published. Figures measured on real records cannot enter it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from deniable.foundation.errors import Refused
from deniable.inference.interval_table import FILE as INTERVALS
from deniable.measurements.certificate import FILE as CERTIFICATE
from reports.figures.certificate import read_certificate
from reports.figures.marginals import DescribedTable, panels, shares_of
from reports.figures.measured_intervals import IntervalTable, read_intervals, strongest_tables
from reports.figures.numbers import count
from reports.pages.explorer import EXPLORER
from reports.pages.pages import Card, cost_cards, cost_lines, picture, render_page
from reports.plots.graph_plot import Edge, draw_graph, parents_of, strongest, weights_of
from reports.plots.measured import MEASURED, Measured, read_measured
from reports.plots.method_diagram import draw_method_diagram, method_in_words
from reports.plots.theme import drawn_once
from schemas.provenance import RECORD, Provenance, Released, Resource, Step
from schemas.spec.accounts import Accounts
from schemas.spec.publication import ENTRIES, stated
from schemas.spec.release_spec import ReleaseSpec
from stores.publication.release_folder import PARQUET
from stores.vault.workspace import file_digest

PUBLIC_PAGE = "index.html"

_GRAPH = "graph.json"
_PUBLICATION = "publish"
_CONTENTS = {
    "synthetic.csv": "the records, as text",
    "synthetic.parquet": "the same records, as Parquet",
    "datapackage.json": "the table's description for other tools, as a Frictionless Data Package",
    "schema.json": "every attribute: its kind, its values, and the buckets that group them",
    "graph.json": "the dependences between attributes in the model",
    "model.json": "the model's probabilities, as integers that are divided by 2³²",
    "urns.json": "what records were drawn from, without the counts that are not released",
    "measured.json": "every noisy table behind the model, as whole numbers",
    "consistent.json": "estimates of the same tables that agree with each other, with variances",
    "certificate.json": "a bound on the error of a sample of the model's records, over the pairs that it names",
    "intervals.csv": "the same tables as counts and shares with intervals, a line for each cell",
    "seeds.json": "the noisy histogram that prefixes were drawn from",
    "PRIVACY.md": "what is guaranteed, in words",
    "privacy.json": "what is guaranteed, in a form for programs",
    "explore.html": "filters and counts the records; the only page with a script, which runs only when you start it",
    "README.md": "how to use the records, and what not to conclude from them",
}


@dataclass(frozen=True)
class PublishedFile:
    """A file of the release folder.

    Attributes:
        name: its name.
        holds: its contents; may be empty.
        bytes: its size.
        sha256: its digest.
    """

    name: str
    holds: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class StepLine:
    """A step in the page's list.

    Attributes:
        name: its name.
        parts: the number of parts in which it was done.
        inputs: its inputs; empty for a step in parts, whose inputs and outputs are listed in the record.
        outputs: its outputs.
        epsilon: the epsilon that it spent; None if there is no differential privacy.
        delta: the delta that it spent.
    """

    name: str
    parts: int
    inputs: tuple[Resource, ...]
    outputs: tuple[Resource, ...]
    epsilon: float | None
    delta: float | None


@dataclass(frozen=True, kw_only=True)
class PublicContent:
    """Everything that the page shows; all of it is public.

    Attributes:
        record: the public record, with or without the publication step, which the page does not show.
        spec: the specification of the release.
        accounts: its privacy costs.
        weights: strength of each dependency, by (parent, child), from noisy counts.
        shares: by attribute, the share of each value in the synthetic table.
        measured: the measurements behind the model, if its learner publishes them.
        certificate: the statement of its certificate, if there is one.
        intervals: the strongest measured tables, with intervals.
        files: the files of the release, except the page itself and the signed record.
    """

    record: Provenance
    spec: ReleaseSpec
    accounts: Accounts
    weights: Mapping[Edge, float]
    shares: Mapping[str, Sequence[float]]
    measured: Measured | None
    certificate: str | None
    intervals: tuple[IntervalTable, ...]
    files: tuple[PublishedFile, ...]


def write_public_page(folder: Path, *, record: Provenance, spec: ReleaseSpec, accounts: Accounts) -> Path:
    """Write `index.html` into a staged release that contains everything else except the signed record.

    Args:
        folder: the staged release.
        record: its public record.
        spec: the specification of the release.
        accounts: its privacy costs.

    Returns:
        The page.

    Raises:
        Refused: the record is not the public one.
    """
    page = folder / PUBLIC_PAGE
    content = public_content(folder, record=record, spec=spec, accounts=accounts)
    page.write_text(render_public_page(content), encoding="utf-8")
    return page


def public_content(folder: Path, *, record: Provenance, spec: ReleaseSpec, accounts: Accounts) -> PublicContent:
    """Read the content of the page from a release folder.

    Args:
        folder: the folder, staged or published.
        record: its public record.
        spec: the specification of the release.
        accounts: its privacy costs.

    Returns:
        The content; it does not depend on the page and the signed record in the folder, if they exist.
    """
    graph = folder / _GRAPH
    weights = weights_of(json.loads(graph.read_text(encoding="utf-8"))) if graph.exists() else {}
    measured = read_measured(folder / MEASURED, DescribedTable.of(spec), weights)
    tables = read_intervals(folder / INTERVALS, spec.labels)
    order = [] if measured is None else [line.names for line in measured.tables]
    return PublicContent(
        record=record,
        spec=spec,
        accounts=accounts,
        weights=weights,
        measured=measured,
        intervals=tuple(strongest_tables(tables, order)),
        certificate=read_certificate(folder / CERTIFICATE, spec.domain),
        shares=shares_of(folder / PARQUET, spec.domain),
        files=tuple(
            PublishedFile(path.name, _CONTENTS.get(path.name, ""), path.stat().st_size, file_digest(path))
            for path in sorted(folder.iterdir())
            if path.name not in {PUBLIC_PAGE, RECORD}
        ),
    )


def render_public_page(content: PublicContent) -> str:
    """Make the page.

    Args:
        content: the content.

    Returns:
        HTML that refers only to the files next to it; the same content gives the same text.

    Raises:
        Refused: the record is not the public one.
    """
    record, spec, accounts = content.record, content.spec, content.accounts
    if record.rendering != "public":
        raise Refused(
            f"a public page must be made from the public record, got the {record.rendering} one; use the public record."
        )
    domain = spec.domain
    edges = content.weights
    graph = drawn_once(draw_graph, domain.names, parents_of(edges), domain.target, edges) if edges else None
    making = method_in_words(spec, accounts, record.release.records)
    cards = [
        Card("Synthetic records", count(record.release.records), f"with {len(domain)} attributes each"),
        *_seeded_card(record.release),
        *cost_cards(spec, accounts),
    ]
    return render_page(
        "index.html.jinja",
        {
            "record": record,
            "release": record.release,
            "spec": spec,
            "accounts": accounts,
            "cards": cards,
            "costs": cost_lines(spec, accounts),
            "making": picture(draw_method_diagram(spec, accounts, record.release.records), making),
            "making_words": making,
            "graph": graph and picture(graph, f"The dependences between {len(domain)} attributes, drawn as a graph."),
            "edges": {
                edge: edges[edge] for edge in sorted(edges, key=lambda edge: (domain.index(edge[1]), -edges[edge]))
            },
            "drawn_edges": len(strongest(edges, len(domain))),
            "measured": content.measured,
            "certificate": content.certificate,
            "intervals": content.intervals,
            "panels": panels(
                DescribedTable.of(spec), [content.shares], bands=content.measured.bands if content.measured else None
            ),
            "about": [(ENTRIES[name], text) for name, text in stated(spec.publication)],
            "steps": _steps(record.steps),
            "files": content.files,
            "explorer_name": EXPLORER,
            "own_name": PUBLIC_PAGE,
            "record_name": RECORD,
        },
    )


def _seeded_card(release: Released) -> tuple[Card, ...]:
    """How many records start from a seed, if some do not; never which."""
    if release.seeded is None:
        return ()
    others = f"the other {count(release.records - release.seeded)} are drawn from the model alone"
    return (Card("Records from seeds", count(release.seeded), others),)


def _steps(steps: Sequence[Step]) -> list[StepLine]:
    """The steps before publication; the parts of a step are combined."""
    before = [step for step in steps if step.step != _PUBLICATION]
    return [_line(name, list(those)) for name, those in groupby(before, key=lambda step: step.step)]


def _line(name: str, steps: Sequence[Step]) -> StepLine:
    first, alone = steps[0], len(steps) == 1
    return StepLine(
        name=name,
        parts=len(steps),
        inputs=first.inputs if alone else (),
        outputs=first.outputs if alone else (),
        epsilon=first.cost.epsilon if first.cost else None,
        delta=first.cost.delta if first.cost else None,
    )
