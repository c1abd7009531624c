"""The command `deniable table import-sgf CONFIG`: a schema and a spec from the files of the paper's own tool.

Attributes and bins become the schema, graph and order the public graph of the learner, and the configuration the rest
of the spec. The tool's files of records are not opened.
"""

import argparse
import re
from collections.abc import Iterator
from fractions import Fraction
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from deniable.command_names import command_line
from deniable.console import show
from deniable.foundation.errors import InvalidInput
from flows.cli.contract import StateCommand
from flows.cli.table.drafts import files_of_draft, read_epsilon, relative_source, require_name, write_and_load

if TYPE_CHECKING:
    from schemas.codebooks.sgf_files import Configuration, Described
    from schemas.spec.release_spec import ReleaseSpec

OK = 0
_RECORDS, _K, _EPS0 = "10000", "50", "1"
_MOST = 10**10
_LEAST_DELTA = Fraction(1, 10**9)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, metavar="CONFIG", help="the configuration, such as my.cfg")
    parser.add_argument("--prefix", metavar="PREFIX", help="path prefix of the other files (default: dataprefix)")
    parser.add_argument("--name", help="name of the release, and of the two files (default: that of the prefix)")
    parser.add_argument("--source", metavar="PATH", help="the table, for the spec (default: NAME.csv)")
    parser.add_argument("--records", default=_RECORDS, metavar="N", help=f"records to release (default: {_RECORDS})")
    parser.add_argument("--k", default=_K, metavar="K", help=f"plausible seeds that each must have (default: {_K})")
    parser.add_argument("--eps0", default=_EPS0, metavar="E", help=f"budget of the noise on k (default: {_EPS0})")
    parser.add_argument(
        "--public-rows", metavar="N", help="a public number that the seeds are known to exceed, if records have seeds"
    )
    parser.add_argument("--title", default="", help="what the release is, for readers (default: the name)")
    parser.add_argument(
        "--to", type=Path, default=Path(), metavar="DIR", help="folder for the two files (default: the current one)"
    )
    parser.add_argument("--replace", action="store_true", help="replace files of an earlier import")


def _run(asked: argparse.Namespace, _: Path) -> int:
    """Carry out the command.

    Args:
        asked: the parsed arguments.

    Returns:
        0.

    Raises:
        InvalidInput: a file or an option is at fault; nothing was written.
    """
    from schemas.codebooks.sgf_drafting import (  # noqa: PLC0415 - other commands do without it
        Extraction,
        imported_schema,
        imported_spec,
    )
    from schemas.codebooks.sgf_files import files_of, read_configuration, read_description  # noqa: PLC0415

    configuration = read_configuration(asked.config)
    prefix = asked.prefix or configuration.prefix
    if not prefix:
        raise InvalidInput(
            f"{asked.config.name} must state dataprefix, where the other files are, and does not; add it, or give "
            "--prefix PREFIX, for instance --prefix data/acs13."
        )
    described = read_description(prefix, configuration.attributes)
    name = asked.name or re.sub(r"[^a-z0-9_-]+", "_", Path(prefix).name.lower()).strip("_-")
    require_name(name)
    files = files_of_draft(asked.to, name, replace=asked.replace)
    extraction = Extraction(
        records=_whole("--records", asked.records),
        k=_whole("--k", asked.k),
        eps0=read_epsilon(asked.eps0),
        public_rows=None if asked.public_rows is None else _whole("--public-rows", asked.public_rows),
    )
    sources = [asked.config.name, *(path.name for path in files_of(prefix).values())]
    source = asked.source or str(asked.to / f"{name}.csv")
    schema = imported_schema(described, sources=sources, description=asked.title or name)

    def spec(budget: tuple[str, str] | None = None) -> str:
        return imported_spec(
            configuration,
            described,
            extraction,
            name=name,
            schema=files[0].name,
            source=relative_source(source, asked.to),
            title=asked.title,
            sources=sources,
            budget=budget,
        )

    with TemporaryDirectory() as folder:
        tried = Path(folder) / files[0].name, Path(folder) / files[1].name
        try:
            budget = _cost_of(write_and_load(tried, (schema, spec()), sources=sources))
        except InvalidInput as error:
            raise InvalidInput(str(error).replace(folder, str(asked.to))) from None
    write_and_load(files, (schema, spec(budget)), sources=sources)
    show([*_told(configuration, described, files, prefix, source)])
    return OK


def _cost_of(spec: "ReleaseSpec") -> tuple[str, str] | None:
    """Return the charge of a release, rounded up; None if its total is not bounded."""
    from deniable.ledger.budget import cost_of  # noqa: PLC0415 - as above
    from deniable.privacy.rounding import rounded_up  # noqa: PLC0415
    from schemas.spec.plan import plan_release  # noqa: PLC0415
    from stores.ledger.charging import planned_charges  # noqa: PLC0415

    accounts = plan_release(spec).accounts
    if accounts.total is None or not isfinite(accounts.total.epsilon):
        return None
    cost = cost_of(planned_charges(spec, accounts))
    # A budget has some delta, also where a release costs none.
    return rounded_up(cost.epsilon), rounded_up(cost.delta or _LEAST_DELTA)


def _told(
    configuration: "Configuration", described: "Described", files: tuple[Path, Path], prefix: str, source: str
) -> Iterator[str]:
    """Yield what was written, what to look at, and the next commands."""
    attributes, edges = len(described.names), sum(map(len, described.parents))
    yield f"{files[0]}: {attributes} attributes, with the bins of {prefix}_grps.csv as buckets"
    if not configuration.uses_graph:
        yield f"{files[1]}: attributes are independent; the graph and the order are not used"
    else:
        drawn = f"{configuration.omega} attributes are drawn anew" if configuration.has_seeds else "without seeds"
        yield f"{files[1]}: the learner's graph has the {edges} dependences of {prefix}_dag.csv; {drawn}"
        yield "To look at:"
        yield "  graph: it must be public; if it was made from the confidential table, the guarantee does not hold, and"
        yield "    structure, the budget with which a graph is learnt, must replace it"
        if configuration.has_seeds:
            yield "  k, eps0: SGF asks for them when records are extracted; here every candidate is charged for"
    yield f"No record was read. {source} must have the rows of both tables of SGF below one line of names, such as by"
    yield f"  (cat {prefix}_records.csv; tail -n +2 {prefix}_stats.csv) > {source}"
    yield f"Next: read {files[0]}, then run `{command_line('release plan')} {files[1]}`."


def _whole(option: str, stated: str) -> int:
    """Return a whole number given on the command line."""
    if not re.fullmatch(r"\d{1,11}", stated) or not 0 < int(stated) <= _MOST:
        raise InvalidInput(f"{option} must be a whole number above 0, got {stated!r}; correct it.")
    return int(stated)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Write NAME.py and NAME.yaml from a configuration of SGF 0.10a and the files PREFIX_attrs.csv, "
    "PREFIX_grps.csv, PREFIX_dag.csv and PREFIX_order.csv. The records are not read. The graph must be public.",
)
