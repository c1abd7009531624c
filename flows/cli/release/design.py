"""`deniable release design`: what a total buys with the guarantee `poisson_seeds`, from public inputs alone.

Without an option it prints the design of a spec, with reasons. `--after` predicts, from the public model of a published
release, how many attempts pass for each number of copied attributes. `--curve` compares four accounts, and draws them.
`--target` solves for the missing one of four numbers. No confidential record is read, and nothing is charged.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput
from flows.cli.contract import StateCommand, add_keys_option
from flows.cli.spinner import at_work

if TYPE_CHECKING:
    from deniable.foundation.domain import Domain
    from deniable.plausible_deniability.pass_law import PassLaw
    from deniable.privacy.loss import Guarantee, PoissonAttemptsEvent
    from deniable.samplers.poisson_seeds.designs import Curves, Quantity, Wish
    from deniable.samplers.poisson_seeds.spec import Entry
    from schemas.spec.accounts import Accounts
    from schemas.spec.release_spec import ReleaseSpec

OK = 0
_GUARANTEE = "poisson_seeds"
_SHOWN = (0.001, 0.01, 0.1, 0.5, 0.9)
_FOLDER = "designs"
_PICTURES = (".svg", ".png")
_SCALED = 20
"""Theorem 1 is shown for a noise of this many scales between 0 and k, unless the command says otherwise."""
_HEADS = ("threshold\nadded", "threshold\ncomposed", "best law\nadded", "best law\ncomposed")
"""Short names of the accounts."""
_SHARES: Final = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
"""The model's shares of the squared noise ratio that are compared after a release."""
_EXAMPLE: Final = "records=50000,share=0.75,epsilon=1"


def _add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "spec", type=Path, nargs="?", metavar="SPEC", help="a release spec with the guarantee poisson_seeds"
    )
    modes = command.add_mutually_exclusive_group()
    modes.add_argument(
        "--after",
        metavar="RELEASE",
        help="predict from the public model of RELEASE, by name or folder, how many attempts pass for every prefix, by "
        "its own law, or by that of SPEC",
    )
    modes.add_argument(
        "--curve",
        action="store_true",
        help="show total against plausible seeds and records by four accounts, and Theorem 1 over t (about a minute)",
    )
    modes.add_argument(
        "--target",
        metavar="NAME=VALUE,...",
        help="three of records, half (the plausible seeds with which half of the attempts pass), share (of the model) "
        f"and epsilon, such as {_EXAMPLE}; the fourth is found",
    )
    command.add_argument("--out", type=Path, metavar="FILE", help="the picture of --curve, .svg or .png")
    command.add_argument("--k", type=int, help="k of Theorem 1 in --curve (default: half of the design)")
    command.add_argument("--gamma", type=float, default=1.0, help="gamma of Theorem 1 in --curve (default: 1)")
    command.add_argument("--eps0", type=float, help=f"eps0 of Theorem 1 in --curve (default: {_SCALED} / k)")
    add_keys_option(command, only="with --after, ")


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Print a design.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        InvalidInput: no spec is given where one is needed, it has another guarantee, or an option is wrong.
        DeniableError: no law is within the budget, or the release is missing or cannot be trusted.
    """
    from stores.ledger.remembered_costs import remember_costs  # noqa: PLC0415 - here and below: what the mode needs

    if asked.after is None and asked.spec is None:
        raise InvalidInput("a design must have a release spec, got none; name one, or a release with --after.")
    if asked.out is not None and (not asked.curve or asked.out.suffix not in _PICTURES):
        raise InvalidInput(f"--out must name the .svg or .png file of --curve, got {asked.out}.")
    spec = None if asked.spec is None else _spec(asked.spec)
    # So that a malformed target is refused at once.
    target = None if asked.target is None else _target(asked.target)
    remember_costs(state)
    console = Console(highlight=False)
    if asked.after is not None:
        _show_after(console, spec, asked.after, state, asked.keys)
        return OK
    assert spec is not None  # noqa: S101 - checked above
    from schemas.spec.plan import plan_release  # noqa: PLC0415

    if target is not None:
        with at_work("Solving"):
            _show_target(console, _wish(spec, plan_release(spec).accounts), target)
        return OK
    with at_work("Designing"):
        accounts = plan_release(spec).accounts
    if asked.curve:
        _show_curve(console, spec, accounts, asked, state)
    else:
        _show_design(console, spec, accounts)
    return OK


def _spec(path: Path) -> "ReleaseSpec":
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415

    spec = load_spec(path)
    if spec.synthesis.guarantee != _GUARANTEE:
        raise InvalidInput(
            f"a design is for the guarantee {_GUARANTEE}, and {path} has {spec.synthesis.guarantee}; change "
            f"synthesis.guarantee, or see what this one costs with {command_line('release plan')}."
        )
    return spec


def _entry(spec: "ReleaseSpec") -> "Entry":
    from deniable.samplers.poisson_seeds.spec import Entry  # noqa: PLC0415

    entry = spec.synthesis
    assert isinstance(entry, Entry)  # noqa: S101 - its guarantee is checked
    return entry


def _event(accounts: "Accounts") -> "PoissonAttemptsEvent":
    """The event of all attempts."""
    from deniable.privacy.loss import PoissonAttemptsEvent  # noqa: PLC0415

    return next(event for event in accounts.events if isinstance(event, PoissonAttemptsEvent))


def _law(event: "PoissonAttemptsEvent") -> "PassLaw":
    from deniable.plausible_deniability.pass_law import PassLaw  # noqa: PLC0415

    return PassLaw(event.plausible, event.law)


def _of_read(spec: "ReleaseSpec", accounts: "Accounts") -> tuple[float, float, float]:
    """Epsilon and delta that the spec allows model and seeds for the records read, and the probability of those."""
    (drawn,) = accounts.drawn
    if accounts.joint is not None:
        cost = accounts.joint.guarantee
        epsilon, delta = cost.epsilon, cost.delta
    else:
        spent = [step.charged for step in accounts.steps if step.part == drawn.part]
        epsilon, delta = sum(each.epsilon for each in spent), sum(each.delta for each in spent)
    allowed = _entry(spec).total
    return epsilon if allowed is None else float(allowed), delta, float(drawn.probability)


def _wish(spec: "ReleaseSpec", accounts: "Accounts") -> "Wish":
    """The release as a design sees it: the model stands for its share of the squared shift."""
    from math import expm1, log1p  # noqa: PLC0415

    from deniable.plausible_deniability.pass_law import shift_of  # noqa: PLC0415
    from deniable.samplers.poisson_seeds.designs import Wish  # noqa: PLC0415

    entry = _entry(spec)
    epsilon, delta, read = _of_read(spec, accounts)
    part = accounts.drawn[0].part
    learnt = [step.charged for step in accounts.learnt if step.part == part]
    shift = shift_of(sum(each.epsilon for each in learnt), sum(each.delta for each in learnt)) if learnt else 0.0
    return Wish(
        records=entry.records,
        public_rows=entry.public_rows,
        plausible=entry.plausible,
        epsilon=log1p(read * expm1(epsilon)),
        delta=delta * read,
        share=min(0.99, max(0.01, (shift / shift_of(epsilon, delta)) ** 2)),
        read=read,
    )


def _show_design(console: Console, spec: "ReleaseSpec", accounts: "Accounts") -> None:
    """Print how the budget is divided, how many attempts are made, and the law of passing."""
    from deniable.privacy.rounding import rounded_up  # noqa: PLC0415

    entry, event = _entry(spec), _event(accounts)
    law, wish = _law(event), _wish(spec, accounts)
    epsilon, delta, read = _of_read(spec, accounts)
    of_model = accounts.model
    table = _table("", "design", "reason")
    whole = accounts.total
    stated = (
        "no guarantee" if whole is None else f"epsilon {rounded_up(whole.epsilon)}, delta {rounded_up(whole.delta)}"
    )
    table.add_row("whole release", stated, f"the spec allows epsilon {wish.epsilon:.4g}")
    secret = f"each record is read with probability {read:g}, in secret" if read < 1 else "all records are read"
    table.add_row("records read", f"epsilon {epsilon:.4g}, delta {delta:.3g}", secret)
    if accounts.paid is None:
        alone = f"alone it costs epsilon {rounded_up(of_model.epsilon)} of the whole release"
        table.add_row("model", f"{wish.share:.0%} of the squared noise ratio", alone)
        table.add_row("seeds", f"{1 - wish.share:.0%}", _why_seeds(accounts))
    else:
        table.add_row("model", "of an earlier release", f"epsilon {rounded_up(of_model.epsilon)}, which is paid for")
        table.add_row("seeds", f"epsilon {epsilon:.4g} of the records read", _why_seeds(accounts))
    tau = float(event.attempts_per_row)
    table.add_row(
        "attempts per row",
        f"tau = {tau:.3g}, {tau * entry.public_rows:,.0f} in all",
        f"1.3 for each of {entry.records:,} records, from {entry.public_rows:,} public rows",
    )
    table.add_row("floor", f"{law.plausible:,} plausible seeds", "with fewer no record passes, with certainty")
    table.add_row("half pass", f"with {law.half:,} plausible seeds", "the law that passes most within the budget")
    table.add_row("all pass", f"from {law.full:,} plausible seeds on", "as above")
    prefix = "left to the learnt model" if entry.omega is None else f"all attributes but {entry.omega}"
    why = "the longest of which enough attempts pass" if entry.omega is None else "synthesis.omega"
    table.add_row("copied", prefix, why)
    console.print(f"[bold]{escape(spec.title)}[/bold]\n{entry.records:,} records; {_GUARANTEE}. No data were read.\n")
    console.print(table)
    console.print()
    console.print(_law_table(law))
    if spec.derived:
        places = ("learner.", "synthesis.", "split")
        derived = [each for each in spec.derived if each.entry.startswith(places)]
        console.print("\n[bold]What the spec leaves out[/bold]; each can be given by hand")
        rows = _table("entry", "value", "reason")
        for each in derived:
            rows.add_row(each.entry, escape(each.value), escape(each.reason))
        console.print(rows)
    console.print(
        "\nHow many attempts pass depends on the model. After a release of the same table, --after RELEASE predicts "
        "it. --curve and --target show what other numbers would buy."
    )


def _why_seeds(accounts: "Accounts") -> str:
    from deniable.privacy.rounding import rounded_up  # noqa: PLC0415

    if accounts.joint is not None:
        cost = accounts.joint.guarantee
        return f"composed with the model: together epsilon {rounded_up(cost.epsilon)} of the records read"
    return "their cost is added to the model's"


def _law_table(law: "PassLaw") -> Table:
    """The probability of passing at some numbers of plausible seeds."""
    import numpy as np  # noqa: PLC0415

    counts = np.arange(law.plausible, law.full + 1)
    passes = law.probability(counts)
    shown = [law.plausible, *(int(counts[int(np.argmax(passes >= share))]) for share in _SHOWN), law.full]
    table = _table("plausible seeds", "a record passes with probability", numbers=(0, 1))
    table.add_row(f"fewer than {law.plausible:,}", "0")
    for count in dict.fromkeys(shown):
        table.add_row(f"{count:,}", f"{float(law.probability(np.array([count]))[0]):.3g}")
    return table


def _show_after(console: Console, spec: "ReleaseSpec | None", name: str, state: Path, keys: Path | None) -> None:
    """Print how many attempts the public model of a release predicts to pass, for every prefix."""
    from deniable.foundation.domain import Domain  # noqa: PLC0415
    from deniable.plausible_deniability.predictions import order_of, passing_shares  # noqa: PLC0415
    from deniable.plausible_deniability.prefix_choice import ENOUGH, FORMAT, choose_length  # noqa: PLC0415
    from deniable.privacy.loss import PoissonAttemptsEvent, from_record  # noqa: PLC0415
    from schemas.spec.plan import plan_release  # noqa: PLC0415
    from stores.record.record_reader import find_release_folder  # noqa: PLC0415

    with at_work(f"Predicting from the model of {name}"):
        folder = find_release_folder(name, state)
        record = _verified(folder, state, keys)
        if not (folder / "model.json").is_file():
            raise InvalidInput(f"the release must have a public model, and {folder} has no model.json.")
        domain = Domain.from_document(_json(folder / "schema.json"))
        if spec is not None:
            if spec.domain.digest != domain.digest:
                raise InvalidInput(
                    f"spec and release must have the same schema, and those of {spec.name} and {name} differ; design "
                    "by a release of the same table."
                )
            accounts = plan_release(spec).accounts
            event, rows, omega = _event(accounts), _entry(spec).public_rows, _entry(spec).omega
        else:
            events = [from_record(each) for step in record["cost"]["steps"] for each in step["events"]]
            found = [each for each in events if isinstance(each, PoissonAttemptsEvent)]
            if not found:
                raise InvalidInput(
                    f"{name} has no seeds of {_GUARANTEE}, whose law would be needed; name a spec beside it, "
                    "whose law is then used."
                )
            synthesis = record["spec"]["document"]["synthesis"]
            event, rows, omega = found[0], synthesis["public_rows"], synthesis.get("omega")
        law = _law(event)
        model = _json(folder / "model.json")
        shares = passing_shares(domain, model, plausible=law.plausible, law=law.passes, public_rows=rows)
        names = order_of(domain, model)
    attempts = float(event.attempts_per_row) * rows
    chosen = choose_length(shares) if omega is None else len(names) - omega
    console.print(
        f"{attempts:,.0f} attempts of {rows:,} rows, by the public model of {escape(name)}; half pass with "
        f"{law.half:,} plausible seeds, all from {law.full:,} on. No data were read.\n"
    )
    table = _table(
        "copied", "the last of them", "predicted to pass", "records", "copied values", "", numbers=(0, 2, 3, 4)
    )
    for length, share in enumerate(shares, 1):
        table.add_row(
            f"{length}",
            escape(names[length - 1]),
            f"{share:.1%}",
            f"{share * attempts:,.0f}",
            f"{share * attempts * length:,.0f}",
            "chosen" if length == chosen else "",
        )
    console.print(table)
    console.print()
    if omega is not None:
        console.print(f"The spec states omega {omega}, so that {chosen} attributes are copied.")
    elif not chosen:
        console.print("Nothing is predicted to pass, whatever is copied; the release would be refused.")
    elif shares[chosen - 1] >= ENOUGH[FORMAT]:
        console.print(f"The longest prefix is chosen of which at least {ENOUGH[FORMAT]:.0%} of the attempts pass.")
    else:
        console.print(
            f"At no length do {ENOUGH[FORMAT]:.0%} of the attempts pass; the most values are copied with {chosen}."
        )
    if spec is not None and accounts.paid is None and _entry(spec).total is not None:
        with at_work("Designing for other shares of the model"):
            compared = _shares_table(domain, model, _wish(spec, accounts), _entry(spec))
        console.print("\n[bold]Other shares of the model[/bold]; state learner.parameters.epsilon to use one")
        console.print(compared)


def _shares_table(domain: "Domain", model: dict[str, Any], wish: "Wish", entry: "Entry") -> Table:
    """What each share of the model leaves to the seeds, by a public model; its laws are near those of a plan."""
    from dataclasses import replace  # noqa: PLC0415
    from fractions import Fraction  # noqa: PLC0415

    from deniable.plausible_deniability.pass_law import epsilon_of_model  # noqa: PLC0415
    from deniable.plausible_deniability.predictions import passing_shares  # noqa: PLC0415
    from deniable.plausible_deniability.prefix_choice import choose_length  # noqa: PLC0415
    from deniable.samplers.poisson_seeds.designs import composed_law  # noqa: PLC0415

    heads = ("share", "learner.parameters.epsilon", "half pass with", "copied", "predicted to pass")
    table = _table(*heads, numbers=range(len(heads)))
    whole, total = Fraction(wish.delta), Fraction(entry.total or 0)
    for share in _SHARES:
        law = composed_law(replace(wish, share=share))
        if law is None:
            table.add_row(f"{share:.0%}", "", "no law", "", "")
            continue
        shares = passing_shares(domain, model, plausible=law.plausible, law=law.passes, public_rows=entry.public_rows)
        length = choose_length(shares) if entry.omega is None else len(domain) - entry.omega
        epsilon = epsilon_of_model(total, whole, whole / 2, share)
        predicted = f"{shares[length - 1]:.1%}" if length else "0.0%"
        table.add_row(f"{share:.0%}", f"{float(epsilon):g}", f"{law.half:,}", f"{length}", predicted)
    return table


def _verified(folder: Path, state: Path, keys: Path | None) -> dict[str, Any]:
    """The record of a release whose files match it, as plain values.

    Raises:
        Refused: they do not, or its key is not trusted.
    """
    from deniable.foundation.errors import Refused  # noqa: PLC0415
    from schemas.provenance import RECORD  # noqa: PLC0415
    from stores.record.folder_verification import verified_release  # noqa: PLC0415
    from stores.record.record_reader import keys_to_trust, trusted_record, trusted_where  # noqa: PLC0415

    trusted, where = keys_to_trust(state, keys), trusted_where(state, keys)
    signed = trusted_record(folder / RECORD, trusted, where)
    report = verified_release(folder, trusted, where)
    if wrong := [check.line for check in report.checks if not check.holds]:
        raise Refused(f"a release must match its own record to design by it, and {folder} does not: {wrong[0]}.")
    return signed.record.to_predicate()


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _target(text: str) -> dict[str, float]:
    """The numbers of a target.

    Raises:
        InvalidInput: they are not three different ones of those that there are, or out of range.
    """
    from deniable.samplers.poisson_seeds.designs import QUANTITIES  # noqa: PLC0415

    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (each.strip() for each in part.partition("="))
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        right = 0 < number < (1 if name == "share" else 1e9)
        if name not in QUANTITIES or name in found or not right:
            raise InvalidInput(
                "--target must state three of records, half, share and epsilon, each once and above 0, and share below "
                f"1, got {part.strip() or 'nothing'}; for example {_EXAMPLE}."
            )
        found[name] = number
    if len(found) != len(QUANTITIES) - 1:
        raise InvalidInput(
            f"--target must state three of records, half, share and epsilon, so that the fourth can be found, got "
            f"{len(found)}; for example {_EXAMPLE}."
        )
    return found


def _show_target(console: Console, wish: "Wish", target: dict[str, float]) -> None:
    """Print the release that meets a target."""
    from dataclasses import replace  # noqa: PLC0415

    from deniable.samplers.poisson_seeds.designs import QUANTITIES, composed_law, solved  # noqa: PLC0415

    given: dict[str, Any] = {name: value for name, value in target.items() if name != "half"}
    if "records" in given:
        given["records"] = round(given["records"])
    wish = replace(wish, **given)
    missing: Quantity = next(name for name in QUANTITIES if name not in target)
    if missing != "half":
        wish = solved(wish, round(target["half"]), missing)
    law = composed_law(wish)
    if law is None:
        raise InvalidInput(
            "the target must leave the seeds a law by which records pass, and none was found; raise epsilon, lower the "
            "share of the model, or release fewer records."
        )
    shown = {
        "records": f"{wish.records:,}",
        "half": f"{law.half:,} plausible seeds (all from {law.full:,} on)",
        "share": f"{wish.share:.3f}",
        "epsilon": f"{wish.epsilon:.4g}, at delta {wish.delta:.3g}",
    }
    table = _table("", "", "")
    for name in QUANTITIES:
        table.add_row(name, shown[name], "found" if name == missing else "as given")
    table.add_row("floor", f"{wish.plausible:,} plausible seeds", "the spec's")
    table.add_row("public rows", f"{wish.public_rows:,}", "the spec's")
    console.print(table)
    console.print(
        "\nThe model stands here for Gaussian noise with its share of the squared noise ratio; a plan composes its own "
        "events, and may differ by a percent or two."
    )


def _show_curve(
    console: Console, spec: "ReleaseSpec", accounts: "Accounts", asked: argparse.Namespace, state: Path
) -> None:
    """Print plausible seeds by total and by records for all accounts, and Theorem 1 over t; and draw them."""
    from deniable.samplers.poisson_seeds.designs import ACCOUNTS, curves_about, trade_off  # noqa: PLC0415

    law = _law(_event(accounts))
    k = law.half if asked.k is None else asked.k
    eps0 = _SCALED / max(k, 1) if asked.eps0 is None else asked.eps0
    one_record = trade_off(k=k, gamma=asked.gamma, eps0=eps0)
    with at_work("Computing the curves"):
        curves = curves_about(_wish(spec, accounts), law.half)
    console.print(
        f"[bold]{escape(spec.title)}[/bold]\nPlausible seeds with which half of the attempts pass, by four accounts; "
        f"delta {curves.wish.delta:.3g}, floor {curves.wish.plausible:,}, the model's share {curves.wish.share:.0%}. "
        "No data were read.\n"
    )
    heads = ("records", "epsilon", *_HEADS)
    table = _table(*heads, numbers=range(len(heads)))
    for records in curves.records:
        for total in curves.totals:
            found = curves.by_place[records, total]
            table.add_row(f"{records:,}", f"{total:.3g}", *(_count(found[account]) for account in ACCOUNTS))
    console.print(table)
    console.print(
        "\nthreshold: Laplace noise on k, as in tested_seeds; best law: the law that passes most. added: its cost is "
        "added to the model's; composed: with the model's noise, as poisson_seeds is charged. -: the model leaves too "
        "little.\n"
    )
    console.print(_totals(curves))
    threshold = f"k = {k:,}, gamma = {asked.gamma:g}, eps0 = {eps0:.4g}"
    console.print(f"\n[bold]Theorem 1 for one record[/bold], a Laplace threshold with {threshold}")
    table = _table("t", "epsilon", "delta", numbers=(0, 1, 2))
    for t, guarantee in one_record:
        table.add_row(f"{t:,}", f"{guarantee.epsilon:.4g}", f"{guarantee.delta:.3g}")
    console.print(table)
    console.print(f"\npicture  {_draw(curves, one_record, threshold, _place(asked.out, spec, state))}")


def _totals(curves: "Curves") -> Table:
    """The totals that other numbers of records would need for the same plausible seeds."""
    from deniable.samplers.poisson_seeds.designs import ACCOUNTS  # noqa: PLC0415

    heads = ("records", *_HEADS)
    table = _table(*heads, numbers=range(len(heads)))
    table.title = f"Epsilon at which half pass with {_count(curves.half)} plausible seeds, interpolated"
    for records in curves.records:
        totals = [curves.total_for(records, account) for account in ACCOUNTS]
        table.add_row(f"{records:,}", *("-" if total is None else f"{total:.3g}" for total in totals))
    return table


def _draw(curves: "Curves", one_record: "Sequence[tuple[int, Guarantee]]", threshold: str, place: Path) -> Path:
    """Draw the curves to a file, and return it."""
    from reports.plots.curves.design_curves import draw_design_curves  # noqa: PLC0415 - imports matplotlib
    from reports.plots.theme import svg_file  # noqa: PLC0415

    figure = draw_design_curves(curves, one_record, threshold)
    try:
        if place.suffix == ".png":
            figure.savefig(place, dpi=120)
        else:
            title = "Total privacy cost against plausible seeds and records, by four accounts, and Theorem 1 over t"
            place.write_text(svg_file(figure, title=title), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(
            f"the picture must be writable, got {place}: {error.strerror}; name another with --out."
        ) from None
    return place


def _place(asked: Path | None, spec: "ReleaseSpec", state: Path) -> Path:
    """The file of the picture."""
    from stores.vault.private_files import make_private_folder  # noqa: PLC0415

    return asked if asked is not None else make_private_folder(state / _FOLDER) / f"{spec.name}.svg"


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _table(*heads: str, numbers: Iterable[int] = ()) -> Table:
    """An empty table with plain headings; the columns of numbers are aligned right."""
    right = set(numbers)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left", header_style="bold")
    table.show_header = any(heads)
    for place, head in enumerate(heads):
        justify: JustifyMethod = "right" if place in right else "left"
        table.add_column(head, justify=justify, overflow="fold", no_wrap=place == 0 or place in right)
    return table


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Show how a total is divided among model and seeds, and from how many plausible seeds on records pass. "
    "No data are read, and nothing is charged.",
    imports=("numba", "pandas", "pyarrow", "scipy", "matplotlib"),
)
