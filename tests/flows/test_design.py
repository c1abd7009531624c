"""The command `design` shows what a total buys, reads no data, and says in one sentence what it needs."""

import argparse
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from deniable.foundation.errors import InvalidInput
from deniable.samplers.poisson_seeds import designs
from deniable.samplers.poisson_seeds.spec import Entry
from flows.cli.release.design import COMMAND, _shares_table
from tests.loglinear_nets import random_net
from tests.small_release import QUICK, write_small_release

SEEDS: dict[str, Any] = {
    **QUICK,
    "synthesis": {
        "guarantee": "poisson_seeds",
        "total": 2,
        "delta": 1e-6,
        "public_rows": 2400,
        "records": 400,
        "plausible": 20,
        "chunk_candidates": 128,
    },
}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec with seeds, whose source is gone."""
    written = write_small_release(tmp_path, **SEEDS)
    (written.parent / "people.csv").unlink()
    return written


def design(state: Path, *arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    COMMAND.arguments(parser)
    run = COMMAND.run
    return run(parser.parse_args(list(map(str, arguments))), state)


def test_a_design_is_shown_without_data(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert design(tmp_path, spec) == 0
    said = capsys.readouterr().out
    assert "No data were read" in said
    for line in ("fewer than 20", "tau = 0.217, 520 in all", "left to the learnt model", "of the squared noise"):
        assert line in said, line


@pytest.mark.parametrize("missing", ["half", "epsilon"])
def test_a_target_is_met_in_the_number_that_is_missing(
    missing: str, spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(designs, "_FINE", 0.1)
    numbers = {"half": "150", "records": "300", "share": "0.4", "epsilon": "1.8"}
    del numbers[missing]
    target = ",".join(f"{name}={value}" for name, value in numbers.items())
    assert design(tmp_path, spec, "--target", target) == 0
    lines = capsys.readouterr().out.splitlines()
    (found,) = [line for line in lines if "found" in line]
    assert found.startswith(missing)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "must have a release spec, got none"),
        (["SPEC", "--target", "half=3"], "must state three of records, half, share and epsilon"),
        (["SPEC", "--target", "half=3,share=2,epsilon=1"], "share below 1, got share=2"),
        (["SPEC", "--target", "half=3,half=4,epsilon=1"], "each once and above 0"),
        (["SPEC", "--out", "it.svg"], "--out must name the .svg or .png file of --curve"),
        (["SPEC", "--curve", "--out", "it.jpg"], "--out must name the .svg or .png file of --curve, got it.jpg"),
        (["SPEC", "--curve", "--k", "1"], "k must be at least 2"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(
    arguments: list[str], said: str, spec: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=said):
        design(tmp_path, *(spec if each == "SPEC" else each for each in arguments))


def test_a_spec_with_another_guarantee_is_refused(tmp_path: Path) -> None:
    other = write_small_release(tmp_path, **QUICK)
    with pytest.raises(InvalidInput, match=r"is for the guarantee poisson_seeds, and .* has seedless"):
        design(tmp_path, other)


def test_curves_are_a_table_and_a_picture(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(designs, "TIMES", ((1.0,), (2.0,)))
    computed = cache(designs.curves_about)
    monkeypatch.setattr(designs, "curves_about", computed)
    for suffix, begins in ((".svg", b"<svg"), (".png", b"\x89PNG")):
        picture = tmp_path / f"it{suffix}"
        assert design(tmp_path, spec, "--curve", "--out", picture, "--eps0", "0.5") == 0
        said = capsys.readouterr().out
        assert "Theorem 1 for one record" in said
        assert "eps0 = 0.5" in said
        assert picture.name in said
        assert picture.read_bytes().startswith(begins)
    assert computed.cache_info().misses == 1


def test_a_picture_that_cannot_be_written_is_refused(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(designs, "halves", lambda _: dict.fromkeys(designs.ACCOUNTS))
    with pytest.raises(InvalidInput, match="the picture must be writable"):
        design(tmp_path, spec, "--curve", "--out", tmp_path / "nowhere" / "it.svg")


def test_a_larger_share_of_the_model_leaves_less_to_the_seeds_by_an_earlier_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    net = random_net("shares", 4, largest=4)
    wish = designs.Wish(records=4000, public_rows=50_000, plausible=20, epsilon=1.0, delta=1e-6, share=0.5, read=0.8)
    asked = {"guarantee": "poisson_seeds", "records": 4000, "public_rows": 50_000, "plausible": 20, "total": "1.1467"}
    entry = Entry.model_validate(asked | {"delta": "5e-7", "chunk_candidates": 4000})
    Console(width=110).print(_shares_table(net.domain, net.document(), wish, entry))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:] if line.strip()]
    assert [row[0] for row in rows] == ["50%", "60%", "70%", "75%", "80%", "85%", "90%"]
    designed = [row for row in rows if "law" not in row]
    assert len(designed) > 3
    epsilons, halves = ([float(row[place].replace(",", "")) for row in designed] for place in (1, 2))
    assert epsilons == sorted(epsilons)
    assert halves == sorted(halves)
    assert halves[0] < halves[-1]
    law = designs.composed_law(replace(wish, share=0.5))
    assert law is not None
    assert halves[0] == law.half
