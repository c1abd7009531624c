import re
import xml.etree.ElementTree as ET

import pytest

from deniable.foundation.domain import Attribute, Domain
from reports.figures.marginals import DescribedTable, panels
from reports.pages import evaluation
from reports.plots.marginal_pictures import draw_marginals
from schemas.spec.evaluation import EvaluationFigures

SEX = Attribute("sex", ("f", "m"), "nominal", (0, 1))
AGE = Attribute("age", tuple(range(50)), "numeric", tuple(range(50)))
TABLE = DescribedTable(Domain((SEX, AGE)), {}, {"sex": {"f": "female", "m": "<male>"}})
REAL = {"sex": (0.4, 0.6), "age": (0.02,) * 50}
RELEASED = {"sex": (0.45, 0.55), "age": (0.01, 0.03) * 25}


@pytest.fixture
def drawn() -> str:
    return draw_marginals(panels(TABLE, [REAL, RELEASED], {"sex": 0.05, "age": 0.25}))


def test_every_attribute_has_its_name_its_distance_and_the_names_of_its_values(drawn: str) -> None:
    said = ["".join(text.itertext()) for text in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 - drawn above
    assert said == ["sex", "0.050", "60%", "f female", "m <male>", "age", "0.250", "3%", "0", "49"]


def test_bars_are_as_high_as_shares(drawn: str) -> None:
    real = [float(top) for top in re.findall(r'class="real" d="M[\d.]+,70V([\d.]+)h', drawn)]
    released = [float(top) for top in re.findall(r'class="released" d="M[\d.]+,([\d.]+)h', drawn)]
    assert [(70 - top) / 70 * 0.6 for top in real] == pytest.approx(REAL["sex"], abs=1e-3)
    assert [(70 - top) / 70 * 0.6 for top in released] == pytest.approx(RELEASED["sex"], abs=1e-3)


def test_the_file_asks_for_nothing_outside_itself(drawn: str) -> None:
    assert not re.search(r"href|url\(|@import|<script|<image", drawn)
    assert drawn.count("http") == 1, "the namespace alone"


def test_pictures_of_the_same_results_are_drawn_once_and_those_of_others_are_not() -> None:
    domain = Domain((SEX, AGE))
    figures = {"accuracy_majority": 0.5, "distinguished": 0.6}
    one, two = dict.fromkeys(("tvd_1way", "tvd_1way_training"), (0.1, 0.2)), {"tvd_2way": (0.1,)}
    tables = {**one, **two, "tvd_2way_training": (0.1,)}
    found = EvaluationFigures(figures=figures, series=tables, verdicts=())
    first = evaluation.comparison_pictures(found, domain, ())
    assert evaluation.comparison_pictures(found.model_copy(), domain, ()) == first
    other = evaluation.comparison_pictures(
        found.model_copy(update={"figures": {**figures, "distinguished": 0.7}}), domain, ()
    )
    assert all(other[name] is not first[name] for name in first)
