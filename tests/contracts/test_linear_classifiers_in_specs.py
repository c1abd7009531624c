"""Linear classifiers are measured if a spec names them, and refused for tables of very many values."""

from pathlib import Path

import pytest

from deniable.evaluation.linear.size import MOST_NUMBERS, numbers_of
from deniable.evaluation.registry import figures_of
from deniable.foundation.domain import Attribute
from deniable.foundation.errors import InvalidInput
from schemas.spec.release_spec import load_spec
from tests.small_release import write_small_release


def test_their_figures_are_declared_where_a_spec_names_them(tmp_path: Path) -> None:
    asked = {"evaluation__classifiers": ["logistic", "svm"], "thresholds": {"accuracy_logistic_min": 0.5}}
    named = figures_of(load_spec(write_small_release(tmp_path / "named", **asked)).evaluation.scope)
    assert {"accuracy_svm", "accuracy_loss_logistic", "agreement_svm"} <= named.keys()
    others = figures_of(load_spec(write_small_release(tmp_path / "others")).evaluation.scope)
    assert not {"accuracy_svm", "accuracy_logistic"} & others.keys()


def test_a_table_of_very_many_values_is_refused_with_them_alone(tmp_path: Path) -> None:
    values = ", ".join(f'"{number}"' for number in range(1200))
    schema = (
        "from schemas.table import nominal, numeric, table\n\n"
        f'schema = table({{"age": numeric(18, 37), "sex": nominal(["f", "m"]), "school": nominal([{values}]), '
        '"employed": nominal(["no", "yes"])}, description="x", target="employed")\n'
    )
    load_spec(write_small_release(tmp_path / "tree", schema=schema))
    with pytest.raises(InvalidInput, match=r"more than 1,000 values of categories, got svm for 1,206; leave it out"):
        load_spec(write_small_release(tmp_path / "svm", schema=schema, evaluation__classifiers=["tree", "svm"]))


def test_a_number_counts_once_and_a_category_by_its_values() -> None:
    size = tuple(range(50))
    attributes = [Attribute(kind, size, kind, size) for kind in ("numeric", "ordered", "nominal")]
    assert numbers_of(attributes) == 1 + 1 + 50 + 50 < MOST_NUMBERS
