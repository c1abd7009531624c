"""`deniable release again`: write the spec of a further release with the model of a published one, which is paid for.

Records that start from seeds are charged by themselves, those of the model alone cost nothing. The release's record is
verified, and the new spec names it by its digest. No confidential record is read, and nothing is charged.
"""

import argparse
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable.command_names import command_line
from deniable.foundation.errors import InvalidInput, Refused
from flows.cli.contract import StateCommand, add_keys_option

if TYPE_CHECKING:
    from schemas.spec.release_spec import ReleaseSpec

OK = 0
_MODEL: Final = "model.json"
_ENDING: Final = "-again"
_LEFT_OUT: Final = ("epsilon", "delta", "title")


def _add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("release", metavar="RELEASE", help="a published release, by name or folder")
    command.add_argument("spec", type=Path, metavar="SPEC", help="the spec that it was made from")
    command.add_argument("--records", type=int, required=True, help="number of records of the further release")
    command.add_argument(
        "--epsilon", help="what the seeds of the further release may cost, for the whole table; none without seeds"
    )
    command.add_argument("--delta", help="delta of these seeds (default: that of the release)")
    command.add_argument("--name", help=f"name of the new spec (default: that of SPEC with {_ENDING})")
    add_keys_option(command)


def _run(asked: argparse.Namespace, state: Path) -> int:
    """Write the spec of a further release, and say what it would cost.

    Args:
        asked: the parsed arguments.
        state: the state folder.

    Returns:
        0.

    Raises:
        InvalidInput: an argument is wrong, or a file is there already.
        DeniableError: the release is missing, does not hold or is not of the spec's table, or no law is within the
            budget.
    """
    from deniable.console import show  # noqa: PLC0415 - here and below: only what the command needs
    from deniable.privacy.rounding import rounded_up  # noqa: PLC0415
    from schemas.spec.plan import plan_release  # noqa: PLC0415
    from schemas.spec.release_spec import load_spec  # noqa: PLC0415
    from stores.ledger.remembered_costs import remember_costs  # noqa: PLC0415

    remember_costs(state)
    spec = load_spec(asked.spec)
    synthesis, path = _synthesis(asked, spec), _new_spec(asked, spec)
    learner = _paid_model(asked.release, spec, state, asked.keys)
    write_further_spec(path, asked.spec, spec, learner, synthesis)
    try:
        further = load_spec(path)
        accounts = plan_release(further).accounts
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    total = accounts.total
    charged = [f"epsilon {rounded_up(step.charged.epsilon)} for the records read" for step in accounts.steps]
    show(
        [
            f"Written: {path}. Nothing was read of the table, and nothing was charged.",
            "",
            f"{further.synthesis.records:,} records of the model of {learner['release']}, which is paid for.",
            f"Charged for this release: {', '.join(charged) or 'nothing'}.",
            "Model and records together: "
            + (
                "no guarantee."
                if total is None
                else f"epsilon {rounded_up(total.epsilon)}, delta {rounded_up(total.delta)}."
            ),
            "",
            "People that the model was learnt from are left out of the holdout, if the first release's key is kept and",
            "the table is the same; otherwise how useful the model is was measured for the first release alone.",
            "",
            f"Next: {command_line('release plan')} {path}",
            f"      {command_line('release make')} {path}",
        ]
    )
    return OK


def _new_spec(asked: argparse.Namespace, spec: "ReleaseSpec") -> Path:
    """Return the path of the new spec.

    Raises:
        InvalidInput: its name is not valid, or the file exists.
    """
    from flows.cli.table.drafts import require_name  # noqa: PLC0415

    name = asked.name or f"{spec.name}{_ENDING}"
    require_name(name)
    path: Path = asked.spec.with_name(f"{name}.yaml")
    if path.exists():
        raise InvalidInput(f"a new spec must not replace another file, and {path} exists; give another --name.")
    return path


def write_further_spec(
    path: Path, first: Path, spec: "ReleaseSpec", learner: dict[str, Any], synthesis: dict[str, Any]
) -> None:
    """Write the spec of a further release; what the first says about all else is kept, with its comments.

    Args:
        path: the new spec.
        first: the first spec.
        spec: its content.
        learner: the entry of the paid model.
        synthesis: the sampler's entry.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415

    yaml = YAML()
    yaml.width = 120
    written = yaml.load(first.read_text(encoding="utf-8"))
    for entry in _LEFT_OUT:
        written.pop(entry, None)
    written["name"] = path.stem
    written.insert(1, "title", spec.title)
    written["learner"], written["synthesis"] = learner, synthesis
    probabilities = spec.split.probabilities
    if "split" in written and "shared" not in written["split"]:
        # Only the seeds are read: all that was not held out.
        held = probabilities.get("holdout", Fraction(0))
        written["split"] = {"shared": float(1 - held), "holdout": float(held)}
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(written, file)


def _synthesis(asked: argparse.Namespace, spec: "ReleaseSpec") -> dict[str, Any]:
    """Return the sampler's entry for another number of records, with a budget of its own if it reads records.

    Raises:
        InvalidInput: the sampler cannot serve again, or its budget is missing or has no use.
    """
    from schemas.spec.defaults import epsilon_of_part  # noqa: PLC0415

    entry = spec.synthesis
    if entry.tests or entry.draws_from_counts:
        raise InvalidInput(
            f"a further release must be of records without a fixed number of candidates, and {asked.spec} has the "
            f"guarantee {entry.guarantee}; make another release of the spec, which pays for a model of its own."
        )
    fields = {name: value for name, value in entry.model_dump(mode="json", fallback=str).items() if value is not None}
    if asked.records < 1:
        raise InvalidInput(f"--records must be at least 1, got {asked.records}.")
    fields |= {"records": asked.records}
    fields.pop("total", None)
    if not entry.parts:
        if asked.epsilon is not None or asked.delta is not None:
            raise InvalidInput(
                f"--epsilon and --delta must be left out for the guarantee {entry.guarantee}, whose records cost "
                "nothing beyond the model."
            )
        return fields
    if asked.epsilon is None:
        raise InvalidInput(
            "--epsilon must be given, what the seeds of the further release may cost, such as 0.5; it adds to what the "
            "model has cost."
        )
    held = spec.split.probabilities.get("holdout", Fraction(0))
    fields["epsilon"] = float(epsilon_of_part(_number("--epsilon", asked.epsilon), 1 - held))
    if asked.delta is not None:
        fields["delta"] = float(_number("--delta", asked.delta))
    return {name: float(Fraction(each)) if name == "delta" else each for name, each in fields.items()}


def _number(option: str, stated: str) -> Fraction:
    try:
        found = Fraction(stated)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if found <= 0:
        raise InvalidInput(f"{option} must be a number above 0 such as 0.5, got {stated}.")
    return found


def _paid_model(name: str, spec: "ReleaseSpec", state: Path, keys: Path | None) -> dict[str, Any]:
    """Return the entry of a release's model, once its record is verified.

    Raises:
        Refused: the release does not match its record, was withdrawn, or is of another table.
        InvalidInput: it is missing, or has no model with a guarantee.
    """
    from deniable.learners.registry import READING  # noqa: PLC0415
    from deniable.privacy.loss import TRIVIAL  # noqa: PLC0415
    from schemas.provenance import RECORD  # noqa: PLC0415
    from stores.record.folder_verification import verified_release  # noqa: PLC0415
    from stores.record.record_reader import (  # noqa: PLC0415
        find_release_folder,
        keys_to_trust,
        trusted_record,
        trusted_where,
    )
    from stores.vault.workspace import file_digest  # noqa: PLC0415

    folder = find_release_folder(name, state)
    _require_in_force(folder, state)
    trusted, where = keys_to_trust(state, keys), trusted_where(state, keys)
    signed = trusted_record(folder / RECORD, trusted, where)
    report = verified_release(folder, trusted, where)
    if wrong := [check.line for check in report.checks if not check.holds]:
        raise Refused(f"a release must match its own record to serve again, and {folder} does not: {wrong[0]}.")
    record = signed.record
    if (record.release.dataset, record.table_schema.domain) != (spec.dataset_name, spec.domain.digest):
        raise Refused(
            f"release and spec must be of one dataset with one schema, and {record.release.id} is of "
            f"{record.release.dataset}; name the spec that it was made from."
        )
    cost = record.cost.model
    if not (folder / _MODEL).is_file() or cost.epsilon is None or cost.accountant == TRIVIAL.accountant:
        raise InvalidInput(
            f"the release must have a public model with a guarantee, and {record.release.id} has none; release with a "
            "learner that makes one."
        )
    return {
        "kind": READING[0],
        "release": record.release.id,
        "record": signed.digest,
        "model": file_digest(folder / _MODEL),
        "epsilon": record.cost.model.epsilon,
        "delta": record.cost.model.delta,
    }


def _require_in_force(folder: Path, state: Path) -> None:
    """Refuse a release of this state folder that was withdrawn."""
    from stores.releases.status_file import standings_of  # noqa: PLC0415

    if folder.parent != (state / "releases").resolve():
        return
    for each in standings_of(state):
        if each.release == folder.name and each.standing == "withdrawn":
            raise Refused(f"a release must be in force to serve again, and {each.release} was {each.in_words}.")


COMMAND = StateCommand(
    arguments=_add_arguments,
    run=_run,
    description="Write the spec of a further release with the model of a published one. The model is not learnt or "
    "charged again: only new attempts of seeds are, and records of the model alone cost nothing. The record of the "
    "further release names that of the first, and both costs add up. No data are read.",
)
