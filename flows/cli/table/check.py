"""Counts what of a table does not fit its schema, or proposes the lines that would mend it; the output is internal."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.command_names import command_line
from deniable.console import show
from deniable.foundation.errors import InvalidInput
from flows.cli.contract import StateCommand
from flows.cli.spinner import at_work

if TYPE_CHECKING:
    from schemas.spec.release_spec import ReleaseSpec
    from tasks.data.fit import Fit
    from tasks.data.mending import Proposal

FITS, DOES_NOT_FIT = 0, 1
_DECISION = (
    "Each line is a public decision: accept it only if the codebook, or the program that wrote the table, says so."
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a release spec")
    parser.add_argument(
        "--propose", action="store_true", help="print the lines that would mend what does not fit, and no counts"
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="ask for each of these lines whether to write it into the schema or the spec, and check again",
    )


def _run(asked: argparse.Namespace, state: Path) -> int:
    if asked.apply:
        mend_table(asked.spec, state)
    elif asked.propose:
        return propose_lines(asked.spec, state)
    return check_table(asked.spec, state)


def check_table(place: Path, state: Path) -> int:
    """Count and print what does not fit; nothing is drawn, charged or published.

    Args:
        place: the spec's file.
        state: the state folder.

    Returns:
        0; 1 if a release of the table would be refused.

    Raises:
        InvalidInput: the spec or the source is at fault.
    """
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415 - as above

    given, spec = place, load_spec(place)
    from tasks.data.fit import fit_of, forget_examples, write_examples  # noqa: PLC0415 - imports pandas

    forget_examples(state / "vault", spec.name)
    with at_work("Reading the table"):
        fit = fit_of(spec, state)
    _say(*fit_lines(spec, fit))
    if fit.examples:
        place = write_examples(fit, state / "vault", spec.name)
        _say(f"Values that do not fit: {place} (restricted; delete it when you have seen it)")
    if fit.examples or any(fit.missing_by_column.values()):
        _say(f"Lines that would mend it: {command_line('table check')} {given} --propose")
    _say("Nothing was drawn, charged or published.")
    return FITS if fits(spec, fit) else DOES_NOT_FIT


def propose_lines(place: Path, state: Path) -> int:
    """Print the lines that would mend what does not fit; nothing is counted, drawn, charged or published.

    Args:
        place: the spec's file.
        state: the state folder.

    Returns:
        0; 1 if a release of the table would be refused.

    Raises:
        InvalidInput: the spec or the source is at fault.
    """
    from tasks.data.mending import in_words  # noqa: PLC0415 - imports pandas

    _, proposals, would_fit = _proposed(place, state)
    if not proposals and would_fit:
        _say("Nothing is proposed: a release of the table would be accepted.")
    elif not proposals:
        _say("Nothing is proposed: no misfit is of a kind that is known.")
    else:
        _say(*in_words(proposals))
        _say(
            _DECISION,
            f"To accept or decline each line, and have it written: {command_line('table check')} {place} --apply",
        )
    return FITS if would_fit else DOES_NOT_FIT


def mend_table(place: Path, state: Path) -> None:
    """Ask for each line that would mend a misfit whether to write it, until no new one is left.

    The schema and the spec are both written, or neither; they load with the new lines.

    Args:
        place: the spec's file.
        state: the state folder.

    Raises:
        InvalidInput: the spec or the source is at fault, or a line must be written by hand.
    """
    from flows.cli.table.drafts import write_and_load  # noqa: PLC0415 - as above
    from flows.cli.table.questions import Questions  # noqa: PLC0415

    ask, asked_for = Questions(), set[str]()
    while True:
        spec, proposals, _ = _proposed(place, state)
        new = [each for each in proposals if each.line not in asked_for]
        if not new:
            return
        schema = spec.folder / spec.dataset
        if not schema.is_file():
            raise InvalidInput(
                f"the schema must be a file of yours for lines to be written into it, got {spec.dataset}; run "
                f"{command_line('table check')} {place} --propose, and write them by hand."
            )
        if not asked_for:
            _say(_DECISION)
        accepted = []
        for each in new:
            asked_for.add(each.line)
            of = "" if each.column is None else f"{each.column}: "
            if ask.yes(f"{of}{each.reason}. Write {each.line}?", default=each.is_certain):
                accepted.append(each)
        if not accepted:
            return
        texts = _texts_with(accepted, schema.read_text(encoding="utf-8"), place.read_text(encoding="utf-8"))
        write_and_load((schema, place), texts, sources=[schema.name])


def _texts_with(proposals: "Sequence[Proposal]", schema: str, spec: str) -> tuple[str, str]:
    """Return the texts of a schema and a spec with accepted proposals.

    Args:
        proposals: the proposals, in their order.
        schema: the text of the schema.
        spec: the text of the spec.

    Raises:
        InvalidInput: a text has another form than a draft's, and is left to be changed by hand.
    """
    for proposal in proposals:
        try:
            if proposal.is_of_spec:
                spec = proposal.write(spec)
            else:
                schema = proposal.write(schema)
        except InvalidInput as error:
            raise InvalidInput(f"{error} The line is: {proposal.line}") from None
    return schema, spec


def _proposed(place: Path, state: Path) -> "tuple[ReleaseSpec, Sequence[Proposal], bool]":
    """Return the spec, what would mend its table, and whether a release of the table would be accepted as it is."""
    from schemas.spec.release_spec import FileSource, load_spec  # noqa: PLC0415 - as above

    spec = load_spec(place)
    from stores.tables.sources.contract import WrittenOtherwise  # noqa: PLC0415 - imports pandas
    from tasks.data.fit import fit_of  # noqa: PLC0415
    from tasks.data.mending import of_another_form, proposals_of  # noqa: PLC0415

    try:
        with at_work("Reading the table"):
            fit = fit_of(spec, state)
    except WrittenOtherwise as error:
        if not isinstance(spec.source, FileSource):
            raise
        return spec, (of_another_form(spec.source, error.words, error.entries),), False
    return spec, proposals_of(spec, fit), fits(spec, fit)


def fits(spec: "ReleaseSpec", fit: "Fit") -> bool:
    """Return whether a release of this table would pass validation."""
    return fit.valid > 0 and all(share <= allowed for share, allowed, _ in _limits(spec, fit))


def _limits(spec: "ReleaseSpec", fit: "Fit") -> Iterator[tuple[float, float, str]]:
    """Yield the shares of rows that the spec limits, with their limits and the entries that set them."""
    if spec.max_invalid_share is not None:
        yield float(fit.share_invalid), float(spec.max_invalid_share), "max_invalid_share"
    if spec.max_dropped_share is not None:
        yield float(fit.share_dropped), float(spec.max_dropped_share), "max_dropped_share"


def fit_lines(spec: "ReleaseSpec", fit: "Fit") -> Iterator[str]:
    """Yield lines on how a table fits its schema; internal.

    Args:
        spec: the spec.
        fit: what was found.
    """
    yield f"How the table fits {spec.dataset} (internal: exact counts of real records, for this console alone)"
    left_out = fit.rows - fit.out_of_universe + fit.malformed - fit.valid
    scope = f", {fit.out_of_universe:,} of them out of scope" if fit.out_of_universe else ""
    yield f"{fit.rows + fit.malformed:,} rows{scope}: {fit.valid:,} kept, {left_out:,} left out"
    if fit.empty:
        yield f"{fit.empty:,} empty lines are no rows, and were ignored"
    if fit.malformed:
        yield f"{fit.malformed:,} rows have too few or too many fields"
    if (person := spec.domain.person) is not None:
        rows = "1 row" if person.most_records == 1 else f"at most {person.most_records} rows"
        yield f"a release uses {rows} for each {person.column}, chosen at random from the rows kept"
    for share, allowed, entry in _limits(spec, fit):
        verdict = "at most" if share <= allowed else "TOO MANY: more than"
        what = "left out" if entry == "max_dropped_share" else "invalid"
        yield f"{share:.2%} {what}, {verdict} the {allowed:.2%} of {entry}"
    found = fit.by_finding
    if found:
        yield ""
        yield from _table(found, fit)
    names = [name for name in spec.schema.columns if name not in found]
    if names:
        yield ""
        every = len(spec.schema.columns)
        yield f"{len(names)} of {every} columns fit in every row" if found else f"All {every} columns fit in every row"


def _table(found: dict[str, dict[str, int]], fit: "Fit") -> Iterator[str]:
    """Yield a line for each column that does not fit, with its findings."""
    kinds = list(dict.fromkeys(name for counts in found.values() for name in counts))
    usual = ["missing", "not a number", "out of domain", "out of range", "off grid"]
    heads = [name for name in usual if name in kinds]
    rules = [name for name in kinds if name not in usual]
    rows = [["column", *heads, "left out for it alone"]]
    rows += [
        [column, *(f"{counts.get(head, 0):,}" for head in heads), f"{fit.lost_by[column]:,}"]
        for column, counts in found.items()
        if any(head in counts for head in heads)
    ]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        first, *rest = (
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([first, *rest])
    for name in rules:
        yield f"{sum(counts.get(name, 0) for counts in found.values()):,} rows break {name}"


def _say(*lines: str) -> None:
    show(lines)


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Count, without noise and for this console alone, what of the source of a spec does not fit its "
    "schema. Examples go to the vault. Exits with 1 if a release of the table would be refused. --propose prints the "
    "lines that would mend it instead; --apply asks for each of them and writes it.",
    imports=("pandas", "pyarrow"),
)
