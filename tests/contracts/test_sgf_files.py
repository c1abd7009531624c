"""The files of SGF become a schema, buckets, a graph, an order and a spec, or are refused in a sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest

from deniable.cli.dispatch import main
from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from schemas.codebooks.sgf_files import read_configuration, read_description
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec, load_spec

CONFIG = """[all]
workdir=/somewhere
mechanism=seedbased
attrs=4
gamma=4
omega=2
ncomp=adv
ndist=geom
max_ps=400
max_check_ps=0
count=1000
count=3000
"""
FILES = {
    "attrs": "age,1,2,3,4,5,6\nsex,1,2\nwork,1,2,3,4\nincome,1,2,3\n",
    "grps": "1,1,1,2,2,2\n1,2\n1,2,1,2\n1, 1,2\n",
    "dag": "0\n1,0.2\n1,2,0.31\n3,0.4\n\n",
    "order": "1\n2\n3\n4\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my.cfg").write_text(CONFIG)
    for what, text in FILES.items():
        (tmp_path / f"town_{what}.csv").write_text(text)
    return tmp_path


def imported(folder: Path, *more: str) -> int:
    """Run the command."""
    options = ["--prefix", f"{folder}/town", "--to", str(folder / "mine"), "--records", "500", *more]
    return main(["table", "import-sgf", str(folder / "my.cfg"), *options])


def spec_of(folder: Path, *more: str) -> ReleaseSpec:
    """Import, and load what was written."""
    assert imported(folder, "--public-rows", "1000", *more) == 0
    return load_spec(folder / "mine" / "town.yaml")


def domain_of(folder: Path) -> Domain:
    return spec_of(folder).domain


def test_attributes_values_and_bins_become_the_schema(folder: Path) -> None:
    age, sex, work, income = domain_of(folder).attributes
    assert [each.name for each in (age, sex, work, income)] == ["age", "sex", "work", "income"]
    assert (age.values, age.buckets, age.kind) == ((1, 2, 3, 4, 5, 6), (0, 0, 0, 1, 1, 1), "ordered")
    assert (sex.values, sex.buckets, sex.kind) == ((1, 2), (0, 1), "nominal")
    assert (work.buckets, work.kind) == ((0, 1, 0, 1), "nominal")
    assert income.buckets == (0, 0, 1)


def test_graph_order_and_configuration_become_the_spec(folder: Path) -> None:
    spec = spec_of(folder)
    structure = next(iter(plan_release(spec).steps))
    graph = structure.run(None, {}, None).products["graph"]  # type: ignore[arg-type] # it reads nothing
    assert graph["order"] == ["age", "sex", "work", "income"]
    assert {child: [each["name"] for each in those] for child, those in graph["parents"].items()} == {
        "age": [],
        "sex": ["age"],
        "work": ["age", "sex"],
        "income": ["work"],
    }
    drawn = dict(spec.synthesis)
    assert (drawn["omega"], drawn["gamma"], drawn["candidates"], drawn["max_plausible"]) == ({2: 1}, 4, 3000, 400)
    assert drawn["max_check_plausible"] is None
    assert float(dict(spec.learner)["parameters"].delta) == pytest.approx(2**-60, rel=1e-5)
    assert dict(spec.learner)["parameters"].delta <= 2**-60
    assert spec.split.probabilities.keys() == {"seeds", "parameters", "holdout"}


@pytest.mark.slow
def test_from_the_files_to_a_plan_that_fits_and_no_record_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "town_records.csv").mkdir()
    spec_of(folder)
    said = capsys.readouterr().out
    assert "graph: it must be public" in said
    assert "No record was read." in said
    assert main(["release", "plan", str(folder / "mine" / "town.yaml"), "--state", str(folder / "state")]) == 0
    plan = capsys.readouterr().out
    assert "The budget allows this release." in plan
    assert "A graph that is not public" in plan


def test_without_seeds_or_with_marginals_no_record_starts_from_a_seed(folder: Path) -> None:
    (folder / "my.cfg").write_text(CONFIG.replace("omega=2", "omega=4"))
    assert imported(folder) == 0
    seedless = load_spec(folder / "mine" / "town.yaml")
    assert (seedless.learner.kind, seedless.synthesis.guarantee) == ("cfs", "seedless")
    (folder / "my.cfg").write_text(CONFIG.replace("seedbased", "marginals"))
    assert imported(folder, "--replace") == 0
    marginals = load_spec(folder / "mine" / "town.yaml")
    assert (marginals.learner.kind, marginals.synthesis.guarantee) == ("marginals", "seedless")


def changed(name: str, before: str, after: str) -> Callable[[Path], None]:
    """Change a file of the folder."""

    def change(folder: Path) -> None:
        path = folder / name
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after, 1))

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed("my.cfg", "[all]", "[some]"), "must have the section [all]"),
        (changed("my.cfg", "[all]\n", ""), "must be a configuration of SGF"),
        (changed("my.cfg", "seedbased", "magic"), "mechanism must be seedbased or marginals, got magic"),
        (changed("my.cfg", "ndist=geom", "ndist=none"), "with which the model has no privacy"),
        (changed("my.cfg", "ncomp=adv", "ncomp=some"), "ncomp must be seq or adv, got some"),
        (changed("my.cfg", "gamma=4", "gamma=1"), "gamma must be above 1, got 1"),
        (changed("my.cfg", "gamma=4", "gamma=four"), "gamma must be a number of at least 0, got four"),
        (changed("my.cfg", "omega=2", "omega=5"), "omega must be a whole number from 1 to 4, got 5"),
        (changed("my.cfg", "attrs=4", "attrs="), "attrs must be a whole number from 1 to 32,767, got none"),
        (changed("my.cfg", "attrs=4", "attrs=5"), "must have a line for each of the 5 attributes"),
        (changed("my.cfg", "max_ps=400", "max_ps=20"), "max_ps must be at least k = 50, or 0"),
        (changed("my.cfg", "gamma=4", "gama=4"), "options of SGF 0.10a only, got gama"),
        (changed("town_attrs.csv", "sex,1,2", "sex,m,f"), "town_attrs.csv, line 2: the values of sex must be 1, 2, 3"),
        (changed("town_attrs.csv", "sex,", "age,"), "line 2: each attribute must have a name of its own, got age"),
        (changed("town_attrs.csv", "sex,", ","), "line 2: an attribute must have a name"),
        (changed("town_grps.csv", "1,2\n", "1,2,2\n"), "line 2: sex must have a bin for each of its 2 values, got 3"),
        (changed("town_grps.csv", "1,2\n", "1,3\n"), "the bins of sex must be numbered 1, 2, 3 and so on"),
        (changed("town_grps.csv", "1,2\n", "1,x\n"), "line 2: must have numbers separated by commas, got '1,x'"),
        (changed("town_dag.csv", "1,0.2", "2,0.2"), "sex must have others as its parents, each once, got 2"),
        (changed("town_dag.csv", "1,0.2", "9,0.2"), "parents must be numbers of attributes, 1 to 4, got 9"),
        (changed("town_dag.csv", "1,0.2", "1"), "the last number must be the merit"),
        (changed("town_dag.csv", "0\n", "2,0.1\n"), "the order must have parents first, got age before its parent sex"),
        (changed("town_order.csv", "1\n2\n", "2\n1\n"), "must have parents first, got sex before its parent age"),
        (changed("town_order.csv", "1\n2\n", "2\n2\n"), "each attribute once, got 2"),
        (lambda folder: (folder / "town_dag.csv").unlink(), "town_dag.csv does not exist; correct its path"),
        (lambda folder: (folder / "my.cfg").unlink(), "my.cfg does not exist; correct its path"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_a_sentence_and_nothing_is_written(
    folder: Path, change: Callable[[Path], None], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(folder)
    assert imported(folder, "--public-rows", "1000") != 0
    shown = " ".join(capsys.readouterr().err.split())
    assert said in shown
    assert not (folder / "mine").exists()


def test_an_order_of_places_is_recognised(folder: Path) -> None:
    (folder / "town_dag.csv").write_text("4,0.1\n1,0.2\n2,0.3\n0\n")
    (folder / "town_order.csv").write_text("2\n3\n4\n1\n")
    with pytest.raises(InvalidInput, match="read as the place of each attribute, it would fit"):
        read_description(f"{folder}/town", 4)


def test_a_missing_number_of_seeds_and_a_missing_prefix_name_the_option(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imported(folder) != 0
    assert "state it with --public-rows" in capsys.readouterr().err
    assert main(["table", "import-sgf", str(folder / "my.cfg")]) != 0
    assert "give --prefix PREFIX" in " ".join(capsys.readouterr().err.split())
    assert imported(folder, "--public-rows", "many") != 0
    assert "--public-rows must be a whole number above 0, got 'many'" in capsys.readouterr().err


def test_what_is_there_is_not_replaced_without_being_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec_of(folder)
    before = (folder / "mine" / "town.yaml").read_text()
    assert imported(folder, "--public-rows", "2000") != 0
    assert "must not replace what a person wrote" in capsys.readouterr().err
    assert (folder / "mine" / "town.yaml").read_text() == before


def test_the_tools_defaults_hold_for_options_that_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "short.cfg"
    path.write_text("[all]\nmechanism=seedbased\nattrs=3\n")
    read = read_configuration(path)
    assert (read.omega, read.has_seeds, read.count, read.noise) == (3, False, None, "laplace")
    assert (read.gamma, read.epsilon, read.security, read.most_plausible, read.most_checked) == (4, 1, 60, 1000, 100000)
