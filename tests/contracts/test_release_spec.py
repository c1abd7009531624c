import os
import pickle
import subprocess
import sys
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from schemas.spec import loading
from schemas.spec.loading import read_yaml
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import KNOWN_FORMATS, FileSource, ReleaseSpec, load_spec
from tests import small_release
from tests.mechanisms.table import LEARNERS
from tests.small_release import write_small_release

ROOT = Path(__file__).resolve().parents[2]


def refusal(path: Path) -> str:
    """What is said about a spec that is refused."""
    with pytest.raises(InvalidInput) as caught:
        load_spec(path)
    return str(caught.value)


def changed(folder: Path, **changes: Any) -> str:
    """What is said about the small spec with changes."""
    return refusal(write_small_release(folder, people=[], **changes))


@pytest.fixture(autouse=True)
def unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test see what another one changed deep inside the small spec."""
    monkeypatch.setattr(small_release, "SPEC", deepcopy(small_release.SPEC))


@pytest.fixture
def small(tmp_path: Path) -> ReleaseSpec:
    return load_spec(write_small_release(tmp_path, people=[]))


def test_declared_analyses_are_figures_that_can_be_bounded_and_are_written_as_they_were(
    tmp_path: Path, small: ReleaseSpec
) -> None:
    declared = [{"regress": "sex=m ~ age"}, {"quantile": "age", "at": 0.25, "by": "sex"}]
    thresholds = {"analysis_2_gap_max": 0.1, "analysis_1_overlap_min": 0.5}
    path = write_small_release(tmp_path, people=[], evaluation__analyses=declared, thresholds=thresholds)
    spec = load_spec(path)
    assert [each.words for each in spec.analyses] == ["regression of sex=m on age", "0.25 quantile of age by sex"]
    written = spec.model_dump(mode="json")["evaluation"]["analyses"]
    assert [each.keys() for each in written] == [each.keys() for each in declared]
    assert "analyses" not in small.model_dump(mode="json")["evaluation"]
    assert small.analyses


def test_a_spec_that_is_read_again_is_parsed_once_and_shares_nothing(tmp_path: Path) -> None:
    path = write_small_release(tmp_path, people=[])
    first = read_yaml(path)
    parsed = loading._read.cache_info().misses
    first["learner"]["kind"] = "of another spec"
    again = read_yaml(path)
    assert again["learner"]["kind"] != "of another spec"
    assert loading._read.cache_info().misses == parsed
    path.write_text(path.read_text().replace("title: ", "title: Other "))
    assert read_yaml(path) == {**again, "title": f"Other {again['title']}"}


def test_numbers_are_exactly_what_is_written(tmp_path: Path) -> None:
    path = write_small_release(tmp_path, people=[])
    written = path.read_text().replace("seeds: 0.5", "seeds: 1/3").replace("total_delta: 1e-06", "total_delta: 1.0e-6")
    path.write_text(written)
    spec = load_spec(path)
    assert spec.split.structure == Fraction(15, 100)
    assert spec.split.seeds == Fraction(1, 3)
    assert spec.max_invalid_share == Fraction(1, 100)
    assert spec.synthesis.total_delta == Fraction(1, 10**6)


def test_a_single_number_of_attributes_is_a_set_of_one(tmp_path: Path) -> None:
    assert load_spec(write_small_release(tmp_path, people=[], synthesis__omega=3)).synthesis.omega == {3: 1}


def test_a_spec_knows_its_schema_its_domain_and_their_labels(small: ReleaseSpec) -> None:
    assert isinstance(small.domain, Domain)
    assert small.domain.names == tuple(small.schema.columns) == ("age", "sex", "school", "employed")
    assert small.domain.target == "employed"
    assert set(small.titles) == set(small.domain.names)
    assert small.labels == {}


def test_a_spec_may_name_another_target(tmp_path: Path) -> None:
    assert load_spec(write_small_release(tmp_path, people=[], evaluation__target="sex")).domain.target == "sex"


def test_a_spec_survives_pickling_and_json(small: ReleaseSpec) -> None:
    again = pickle.loads(pickle.dumps(small))  # noqa: S301 - made here
    assert again == small
    assert again.folder == small.folder
    assert ReleaseSpec.model_validate_json(small.model_dump_json()).synthesis == small.synthesis


def test_a_copy_of_a_spec_can_be_read_in_the_place_of_the_original(tmp_path: Path) -> None:
    path = write_small_release(tmp_path / "there", people=[])
    copy = tmp_path / "copy.yaml"
    copy.write_text(path.read_text())
    assert "does not exist" in refusal(copy)
    assert load_spec(copy, folder=path.parent) == load_spec(path)


def test_parts_without_a_probability_are_no_parts(tmp_path: Path) -> None:
    spec = load_spec(
        write_small_release(
            tmp_path,
            people=[],
            split={"seeds": 0.5, "parameters": 0.25, "holdout": 0.25},
            learner__structure=None,
            learner__kind="marginals",
        )
    )
    assert spec.split.probabilities == {
        "seeds": Fraction(1, 2),
        "parameters": Fraction(1, 4),
        "holdout": Fraction(1, 4),
    }


@pytest.mark.parametrize("path", sorted((ROOT / "deployments" / "specs").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_specs_that_ship_are_right(path: Path) -> None:
    assert load_spec(path).domain.target is not None


@pytest.mark.slow
def test_neither_pandas_nor_pandera_is_imported_before_a_spec_names_a_dataset(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from schemas.spec.release_spec import load_spec\n"
        "try: load_spec(Path('absent.yaml'))\n"
        "except ValueError: pass\n"
        "print([name for name in ('pandas', 'pandera') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == "[]"


def test_all_that_is_wrong_is_said_at_once_a_line_each(tmp_path: Path) -> None:
    said = changed(
        tmp_path,
        synthesis__k=0,
        synthesis__gamma=1,
        learner__structure__epsilon=-1,
        evaluation__known=["age", "hieght"],
        split__holdout=0.9,
        name="No Name",
    )
    places = [line.strip().partition(":")[0] for line in said.splitlines()[1:]]
    assert sorted(places) == [
        "evaluation.known",
        "learner.structure.epsilon",
        "name",
        "split.holdout",
        "synthesis.gamma",
        "synthesis.k",
    ]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("name", "Über", "name: must match"),
        ("max_invalid_share", 1.5, "max_invalid_share: must be less than or equal to 1, got 1.5"),
        ("chunk_rows", 0, "chunk_rows: must be greater than or equal to 1, got 0"),
        ("chunk_rows", True, "chunk_rows: must be a whole number"),
        ("split__seeds", 0, "synthesis: must start from no seeds, as seedless does, if split.seeds is 0"),
        ("split__seeds", -0.1, "split.seeds: must be greater than or equal to 0, got -0.1"),
        ("split__holdout", 0.3, "split.holdout: must keep the sum of the probabilities at most 1, got 1.1"),
        ("split__structure", 0, "if and only if split.structure is positive"),
        ("learner__kind", "of tomorrow", "learner: must have the kind loglinear, cfs"),
        ("learner__noise", "normal", "learner.noise: must be 'laplace', 'gaussian' or 'none'"),
        ("learner__structure", None, "learner.structure: must be given, the budget with which the graph is learnt"),
        ("learner__structure", 1, "learner.structure: must be a mapping of keys, got 1."),
        ("learner__structure__delta", 0, "learner.structure.delta: must be greater than 0, got 0"),
        ("learner__parameters__epsilon", 0, "learner.parameters.epsilon: must be greater than 0, got 0"),
        ("learner__parameters__delta", 1, "learner.parameters.delta: must be from 1e-30 to 0.1, got 1"),
        ("learner__parameters__estimate", "mode", "learner.parameters.estimate: must be 'mean', 'map' or 'sample'"),
        ("synthesis__omega", 5, "synthesis.omega: must be at most 4, the number of attributes, got 5"),
        ("synthesis__omega", {3: 0}, "synthesis.omega.3: must be greater than or equal to 1, got 0"),
        ("synthesis__k", 0, "synthesis.k: must be greater than or equal to 1, got 0"),
        ("synthesis__gamma", 1, "synthesis.gamma: must be greater than 1, got 1"),
        ("synthesis__eps0", 0, "synthesis.eps0: must be greater than 0, got 0"),
        ("synthesis__eps0", "one", "synthesis.eps0: must be a number, got 'one'"),
        ("synthesis__epsilon", 0, "synthesis.epsilon: must be greater than 0, got 0"),
        ("synthesis__delta", 1.5, "synthesis.delta: must be from 1e-30 to 0.1, got 1.5"),
        ("synthesis__test", 3, "synthesis.test: must be 1 or 2, got 3"),
        ("synthesis__candidates", 399, "synthesis.candidates: must be at least the 400 records wanted, got 399"),
        ("synthesis__drop_probability", 1, "synthesis.drop_probability: must be less than 1, got 1"),
        (
            "synthesis__drop_probability",
            "0.99999999999999999999",
            "synthesis.drop_probability: must be at most 0.999999",
        ),
        (
            "synthesis__drop_probability",
            "0.12345678901234567",
            "synthesis.drop_probability: must have at most 15 digits",
        ),
        ("synthesis__public_rows", 19, "synthesis.public_rows: must be at least k, got 19 for k 20"),
        ("synthesis__max_check_plausible", 19, "synthesis.max_check_plausible: must be at least k = 20: even if all"),
        ("synthesis__max_plausible", 19, "synthesis.max_plausible: must be at least k = 20, for candidates could not"),
        ("synthesis__max_check_plausible", 1000, "must be less than public_rows, 1000, or left out to score all seeds"),
        ("synthesis__max_check_plausible", 0, "synthesis.max_check_plausible: must be"),
        ("evaluation__target", "income", "evaluation.target: must name attributes of the dataset"),
        ("evaluation__classifiers", [], "evaluation.classifiers: must have at least 1 entry, got none."),
        (
            "evaluation__classifiers",
            ["linear"],
            "evaluation.classifiers: must have at least 1 entry that is right, got ['linear'].",
        ),
        ("evaluation__known", "age", "evaluation.known: must be a list, got 'age'."),
        ("learner", 3, "learner: must be a mapping of keys, got 3."),
        ("synthesis__omega", {}, "synthesis.omega: must have at least 1 entry, got none."),
        ("synthesis__omega", {2: 0.5, 3: 0.5}, "synthesis.omega.2: must be a whole number such as 1, got 0.5."),
        ("synthesis__omega", 2.5, "synthesis.omega.2.5: must be a whole number such as 1, got 2.5."),
        ("synthesis__k", "many", "synthesis.k: must be a whole number such as 1, got 'many'."),
        (
            "evaluation__quasi_identifiers",
            ["age", "age"],
            "evaluation.quasi_identifiers: must name each attribute once",
        ),
        ("evaluation__sensitive", ["scool"], "got scool"),
        ("evaluation__sensitive", ["sex"], "evaluation.sensitive: must not be known to the intruder already, got sex"),
        (
            "evaluation__analyses",
            [{"mean": "sex"}],
            "the outcome of the mean of sex must be numeric, and sex is nominal",
        ),
        ("evaluation__analyses", [{"regress": "age = sex"}], "must be written as an outcome, ~ and attributes"),
        ("evaluation__analyses", [{"mean": "age", "quantile": "age"}], "exactly one of regress, mean and quantile"),
        ("evaluation__analyses", [{"by": "sex"}], "exactly one of regress, mean and quantile, got none"),
        ("evaluation__analyses", [{"mean": "age", "at": 0.5}], "must have at with a quantile only"),
        ("evaluation__analyses", [{"regress": "age ~ sex", "by": "sex"}], "must have by with a mean or a quantile"),
        ("evaluation__analyses", [{"quantile": "age", "at": 1}], "evaluation.analyses.0.at"),
        ("evaluation__analyses", [], "evaluation.analyses: must have at least 1 entry"),
        ("thresholds__analysis_1_gap_max", 1, "must be the name of a figure"),
        ("thresholds__tvd", 1, "thresholds.tvd: must match pattern"),
        ("source__kind", "sql", "source: must have the kind package, file or database"),
        (
            "source__path",
            "people.pdf",
            f"source.path: must be {KNOWN_FORMATS}, got people.pdf",
        ),
        ("source", {"kind": "file"}, "source.environment: must be given if there is no path"),
        ("dataset", "acs_mb", "did you mean acs_ma?"),
        ("dataset", "absent.py", "must be a file that defines `schema`"),
    ],
)
def test_a_wrong_entry_is_refused(tmp_path: Path, place: str, value: Any, said: str) -> None:
    assert said in changed(tmp_path, **{place: value})


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("epsilom", "epsilom: is not a key of the spec; there are name, title,"),
        ("titel", "titel: is not a key of the spec; did you mean title?"),
        ("learner__structure__epsilon_row", "is not a key of the spec; did you mean epsilon_rows?"),
        ("synthesis__omgea", "is not a key of the spec; did you mean omega?"),
        ("source__pth", "source.pth: is not a key of the spec; did you mean path?"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(tmp_path: Path, place: str, said: str) -> None:
    assert said in changed(tmp_path, **{place: 1})


@pytest.mark.parametrize("place", ["seed", "random_state", "key__seed", "synthesis__seed", "learner__seed"])
def test_a_spec_has_no_place_for_a_seed_of_chance(tmp_path: Path, place: str) -> None:
    """Whoever knows what all chance is drawn from knows the noise."""
    assert "is not a key of the spec" in changed(tmp_path, **({"key": {}} if "key" in place else {}), **{place: 1})


def test_marginals_have_no_structure_to_learn(tmp_path: Path) -> None:
    said = changed(tmp_path, learner__kind="marginals", split__structure=0)
    assert "learner.structure: must be left out for a learner of kind marginals" in said


def test_an_epsilon_that_theorem_1_cannot_meet_is_refused(tmp_path: Path) -> None:
    said = changed(tmp_path, synthesis__epsilon=1.15)
    assert "synthesis.delta: must be met together with epsilon 1.15 by the exact form of Theorem 1, which at" in said
    assert "gives 1.167 for k = 20; k must be at least 23" in said
    assert "lower eps0" in changed(tmp_path, synthesis__epsilon=0.9)


def test_a_delta_that_no_epsilon_meets_is_refused_with_the_k_that_does(tmp_path: Path) -> None:
    said = changed(tmp_path, synthesis__delta=1e-15)
    assert "gives none for k = 20; k must be at least 34" in said
    more = {"synthesis__delta": 1e-15, "synthesis__k": 34}
    assert load_spec(write_small_release(tmp_path, people=[], **more)).synthesis.guarantee == "tested_seeds"


def test_a_smaller_k_suffices_than_theorem_1_asks_as_it_stands(tmp_path: Path) -> None:
    """As it stands it has epsilon 1.4 at delta 1e-4 from k = 19 on, in its exact form from 9 on."""
    assert load_spec(write_small_release(tmp_path, people=[], synthesis__k=9))
    assert "k must be at least 9" in changed(tmp_path, synthesis__k=8)


def test_test_1_has_no_theorem_to_meet(tmp_path: Path) -> None:
    first = {"synthesis__test": 1, "synthesis__epsilon": 0.1}
    accepted = {"synthesis__accept_no_differential_privacy": True}
    assert load_spec(write_small_release(tmp_path, people=[], **first, **accepted))
    assert "synthesis.accept_no_differential_privacy: must be true for privacy test 1" in changed(tmp_path, **first)


def test_a_dataset_without_a_target_gets_one_in_the_spec(tmp_path: Path) -> None:
    path = write_small_release(tmp_path, people=[])
    dataset = tmp_path / "people.py"
    dataset.write_text(dataset.read_text().replace('target="employed"', "target=None"))
    assert load_spec(path).domain.target == "employed"


def test_a_dataset_that_does_not_run_is_refused(tmp_path: Path) -> None:
    path = write_small_release(tmp_path, people=[])
    (tmp_path / "people.py").write_text("schema = 1 / 0")
    assert "must run to its end without an error, got ZeroDivisionError" in refusal(path)


def test_a_dataset_that_defines_no_schema_is_refused(tmp_path: Path) -> None:
    path = write_small_release(tmp_path, people=[])
    (tmp_path / "people.py").write_text("table = 1")
    assert "must define `schema`" in refusal(path)


def test_a_version_that_yaml_takes_for_a_number_is_refused(tmp_path: Path) -> None:
    source = {"kind": "package", "package": "p", "version": 1.1, "sha256": "0" * 64, "tables": [{"member": "a.csv"}]}
    assert "source.version: must be text, got 1.1; put it in quotes" in changed(tmp_path, source=source)


@pytest.mark.parametrize("name", ["-r", "a b", "../a"])
def test_a_package_that_could_be_an_option_of_pip_is_refused(tmp_path: Path, name: str) -> None:
    source = {"kind": "package", "package": name, "version": "1", "sha256": "0" * 64, "tables": [{"member": "a.csv"}]}
    assert "source.package: must match" in changed(tmp_path, source=source)


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("name: a\nname: b\n")
    assert 'line 2: found duplicate key "name"' in refusal(path)


@pytest.mark.parametrize("text", ["", "- name", "name: [", "text"])
def test_what_is_no_mapping_in_yaml_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    assert "must be" in refusal(path)


def test_an_empty_spec_is_told_everything_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("{}")
    missing = [line.strip() for line in refusal(path).splitlines()[1:]]
    assert missing[0].startswith("epsilon: must be given, the epsilon of the whole release")
    assert missing[1:] == [f"{name}: must be given." for name in ("name", "dataset", "source")]


def test_a_spec_that_is_a_folder_or_no_text_is_refused_in_plain_words(tmp_path: Path) -> None:
    assert f"must be a regular file, but {tmp_path} is a folder; name the intended file" in refusal(tmp_path)
    path = tmp_path / "spec.yaml"
    path.write_bytes("name: é".encode("latin1"))
    assert "must be text in UTF-8, but has other bytes" in refusal(path)


def test_a_spec_that_is_absent_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "absent.yaml")


def test_a_file_may_be_known_to_the_environment_alone(tmp_path: Path) -> None:
    path = write_small_release(tmp_path, people=[], source={"kind": "file", "environment": "SOMEWHERE"})
    assert load_spec(path).source == FileSource(kind="file", environment="SOMEWHERE")


def test_parts_are_drawn_in_one_order_whatever_the_order_in_the_spec(tmp_path: Path) -> None:
    split = {"holdout": 0.2, "parameters": 0.15, "structure": 0.15, "seeds": 0.5}
    spec = load_spec(write_small_release(tmp_path, people=[], split=split))
    assert list(spec.split.probabilities) == ["seeds", "structure", "parameters", "holdout"]


TESTED = small_release.SPEC["synthesis"]
HISTOGRAM = {
    "guarantee": "histogram_seeds",
    "omega": 2,
    "epsilon": 1,
    "delta": 1e-9,
    "k": 10,
    "beta": 1e-6,
    "max_rows": 10_000,
    "records": 500,
    "chunk_candidates": 256,
}


def test_each_guarantee_has_entries_of_its_own(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path / "histogram", people=[], synthesis=HISTOGRAM))
    assert spec.synthesis.guarantee == "histogram_seeds"
    assert spec.synthesis.attempts == 500
    seedless = {"guarantee": "seedless", "records": 7, "chunk_candidates": 3}
    spec = load_spec(write_small_release(tmp_path / "seedless", people=[], synthesis=seedless))
    assert spec.synthesis.attempts == 7
    assert load_spec(write_small_release(tmp_path / "tested", people=[])).synthesis.attempts == TESTED["candidates"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"omega": 4}, "synthesis.omega: must be less than 4, the number of attributes"),
        ({"beta": None}, "synthesis.max_rows: must be given together with k and beta"),
        ({"epsilon_rows": 1}, "synthesis.epsilon_rows: must be less than epsilon"),
        ({"gamma": 4}, "synthesis.gamma: is not a key of the spec"),
        (
            {"guarantee": "none"},
            "synthesis: must have the guarantee tested_seeds, poisson_seeds, histogram_seeds, seedless or per_draw",
        ),
    ],
)
def test_a_wrong_histogram_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    assert said in changed(tmp_path, synthesis=HISTOGRAM | change)


def test_tested_seeds_must_copy_something(tmp_path: Path) -> None:
    assert "use the guarantee seedless" in changed(tmp_path, synthesis=TESTED | {"omega": 4})


def test_rows_may_be_shared_by_all_steps(tmp_path: Path) -> None:
    spec = load_spec(write_small_release(tmp_path, people=[], split={"shared": 0.8, "holdout": 0.2}))
    assert spec.split.probabilities == {"shared": Fraction(4, 5), "holdout": Fraction(1, 5)}
    assert "split.holdout: must keep the sum of the probabilities at most 1" in changed(
        tmp_path, split={"shared": 0.9, "holdout": 0.2}
    )
    said = changed(tmp_path, split={"shared": 0.5, "seeds": 0.1, "holdout": 0.2})
    assert "split.seeds: is not a key of the spec; there are shared, holdout." in said


def test_a_threshold_about_no_figure_is_refused(tmp_path: Path) -> None:
    assert "did you mean tvd_2way_max?" in changed(tmp_path, thresholds={"tvd_2wy_max": 0.1})


def test_a_schema_that_is_edited_within_a_second_is_read_anew(tmp_path: Path) -> None:
    path = write_small_release(tmp_path, people=[])
    schema = tmp_path / "people.py"
    before, said = load_spec(path).domain, schema.read_text()
    schema.write_text(said.replace('["none", "some", "degree"]', '["degree", "some", "none"]'))
    os.utime(schema, ns=(schema.stat().st_atime_ns, (tmp_path / "people.csv").stat().st_mtime_ns))
    assert load_spec(path).domain.digest != before.digest
    schema.write_text(said)
    assert load_spec(path).domain.digest == before.digest
    assert not (tmp_path / "__pycache__").exists()


def test_a_spec_states_how_its_rows_were_sampled(small: ReleaseSpec, tmp_path: Path) -> None:
    assert "sampling" not in small.model_dump(mode="json", fallback=str)
    said = load_spec(
        write_small_release(tmp_path, people=[], sampling={"kind": "simple random", "design_effect": 1.25})
    )
    assert said.sampling is not None
    assert said.sampling.design_effect == Fraction(5, 4)


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        ({}, "sampling.kind: must be given"),
        ({"kind": "cluster"}, "sampling.kind: must be"),
        ({"kind": "simple random", "design_effect": 0}, "sampling.design_effect: must be"),
        ({"kind": "census", "design_effect": 2}, "a census has no design effect; leave it out"),
    ],
)
def test_a_sampling_that_is_none_is_refused(sampling: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert said in changed(tmp_path, sampling=sampling)


def test_a_spec_that_says_nothing_of_refreshes_is_written_as_before(small: ReleaseSpec, tmp_path: Path) -> None:
    assert "refresh" not in small.model_dump(mode="json", fallback=str)
    said = load_spec(write_small_release(tmp_path, people=[], refresh={"budget": {"kind": "share_of_rest", "n": 4}}))
    assert said.model_dump(mode="json", fallback=str)["refresh"]["budget"]["n"] == 4


@pytest.mark.parametrize(
    ("refresh", "said"),
    [
        ({}, "refresh.budget: must be given"),
        ({"budget": {"kind": "equal_share"}}, "refresh.budget.refreshes: must be given for the kind equal_share"),
        ({"budget": {"kind": "share_of_rest", "n": 0}}, "refresh.budget.n: must be"),
        ({"budget": {"kind": "equal_share", "refreshes": 2, "n": 3}}, "refresh.budget.n: must be given for the kind s"),
        ({"budget": {"kind": "all"}}, "refresh.budget.kind: must be"),
        ({"budget": {"kind": "equal_share", "refreshes": 2}, "notify": {"webhook": "Hook"}}, "refresh.notify.webhook"),
        ({"budget": {"kind": "equal_share", "refresh": 2}}, "did you mean refreshes?"),
    ],
)
def test_an_entry_on_refreshes_that_is_wrong_is_refused(tmp_path: Path, refresh: dict[str, Any], said: str) -> None:
    assert said in changed(tmp_path, refresh=refresh)


def test_a_release_can_read_another_file_from_wherever_its_spec_lies(small: ReleaseSpec, tmp_path: Path) -> None:
    other = small.reading(tmp_path / "other" / "people.parquet")
    assert isinstance(other.source, FileSource)
    assert other.source.path == str(tmp_path / "other" / "people.parquet")
    assert (other.folder, other.reading(None)) == (small.folder, other)
    with pytest.raises(InvalidInput, match=r"\.csv"):
        small.reading(tmp_path / "people.pdf")


@pytest.mark.parametrize(("privacy", "dataset"), [("pdp", "people"), ("pure", "people-replaced")])
def test_a_ledger_adds_guarantees_of_one_kind(tmp_path: Path, privacy: str, dataset: str) -> None:
    """A guarantee for a replaced origin and one for an added record have no sum under either relation."""
    asked = deepcopy(LEARNERS["origin_destination"].asked)
    del asked["learner"]["totals_epsilon"]
    asked["learner"] |= {"privacy": privacy, "totals": dict.fromkeys(["mill", "port", "school", "farm"], 100)}
    if privacy == "pdp":
        asked["learner"]["delta"] = 0.01

    def written(name: str) -> Path:
        return write_small_release(tmp_path / name, **asked, budget={"epsilon": 1000, "delta": 1e-5, "dataset": name})

    assert "must name a dataset that ends in -replaced if and only if a part of a record is" in refusal(
        written(dataset)
    )
    load_spec(written({"pdp": "people-replaced", "pure": "people"}[privacy]))


def test_given_omega_lowers_the_cost_of_candidates_and_is_left_out_by_default(tmp_path: Path) -> None:
    every = load_spec(write_small_release(tmp_path / "every"))
    given = load_spec(write_small_release(tmp_path / "given", synthesis__given_omega=True))
    assert "given_omega" not in every.model_dump(mode="json")["synthesis"]
    assert given.model_dump(mode="json")["synthesis"]["given_omega"] is True
    costs = [plan_release(spec).accounts.candidates for spec in (every, given)]
    assert costs[0] is not None
    assert costs[1] is not None
    assert costs[1].epsilon < costs[0].epsilon / 1.5
