"""What was measured is shown as it was: with what budget, in which order, and how the denoiser moved it."""

import json
import re
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteGaussian, DiscreteLaplace
from reports.figures.marginals import DescribedTable
from reports.plots.graph_plot import draw_graph, strongest
from reports.plots.measured import Measured, counted_by_value, interval, measured_of
from reports.plots.ratio_pictures import draw_ratios, pair_svg

DOMAIN = Domain(
    (
        Attribute("age", tuple(range(6)), "numeric", tuple(range(6))),
        Attribute("sex", ("f", "m"), "nominal", (0, 1)),
        Attribute("town", ("a", "b", "c"), "nominal", (0, 1, 2)),
        Attribute("state", ("here",), "nominal", (0,)),
    )
)
FOUND: dict[str, Any] = {
    "records": 100.0,
    "signal": 5.0,
    "order": ["sex", "age", "town", "state"],
    "buckets": {"age": [0, 0, 1, 1, 2, 2], "sex": [0, 1], "town": [1, 0, 1], "state": [0]},
    "attributes": {
        "age": {"shares": 8, "deviation": 3.0, "noisy": [10, 20, -5, 30, 25, 20], "denoised": [10, 20, 0, 30, 20, 20]},
        "sex": {"shares": 8, "deviation": 3.0, "noisy": [40, 60], "denoised": [40, 60]},
        "town": {"shares": 8, "deviation": 3.0, "noisy": [5, 90, 5], "denoised": [5, 90, 5]},
    },
    "tables": [
        {
            "attributes": ["sex", "town"],
            "reason": "extra",
            "shares": 4,
            "deviation": 5.0,
            "noisy": [[10, 30], [20, 40]],
            "denoised": [[12, 28], [18, 42]],
        },
        {
            "attributes": ["age", "sex"],
            "reason": "tree",
            "shares": 12,
            "deviation": 2.5,
            "differences": ["sex"],
            "noisy": [[-30], [34], [20]],
            "denoised": [[30, 0], [0, 30], [10, 30]],
        },
    ],
}
WEIGHTS = {("sex", "age"): 0.3, ("sex", "town"): 0.1}


@pytest.fixture
def measured() -> Measured:
    return measured_of(FOUND, DescribedTable(DOMAIN, {}, {}), WEIGHTS)


def test_the_shares_of_the_budget_are_those_of_all_that_was_counted(measured: Measured) -> None:
    shares = {line.names: line.noise.share for line in measured.tables}
    assert shares == {("age", "sex"): 30, ("sex", "town"): 10}
    assert sum(shares.values()) + sum(line.noise.share for line in measured.singles if line.noise) == 100
    assert measured.largest_share == 30


def test_integers_are_shown_as_the_counts_that_they_come_to(measured: Measured) -> None:
    """The first version of the document had noisy means; this one has sums, of which two releases are one mean."""

    turns = count(1)

    def released(sums: Any, *shares: int) -> list[dict[str, Any]]:
        return [
            {"turn": next(turns), "shares": own, "multiplier": own, "sums": (np.asarray(sums) * own).tolist()}
            for own in shares
        ]

    integers = {
        **FOUND,
        "format": "deniable/measured/2",
        "noise": "gaussian",
        "amount": "100",
        "attributes": {
            name: {"releases": released(entry["noisy"], 3, 5), "denoised": entry["denoised"]}
            for name, entry in FOUND["attributes"].items()
        },
        "tables": [
            {
                **{name: entry[name] for name in ("attributes", "reason", "denoised")},
                "by_values": [],
                "differences": entry.get("differences", []),
                "releases": released(entry["noisy"], entry["shares"]),
            }
            for entry in FOUND["tables"]
        ],
        "choices": [],
    }
    shown = measured_of(integers, DescribedTable(DOMAIN, {}, {}), WEIGHTS)
    assert {line.names: line.noise.deviation for line in shown.tables} == {
        ("age", "sex"): pytest.approx((100 / 12) ** 0.5),
        ("sex", "town"): 5.0,
    }
    assert [(line.names, line.noise.share, line.noise.moved) for line in shown.tables] == [
        (line.names, line.noise.share, line.noise.moved) for line in measured.tables
    ]
    assert np.array_equal(shown.ratios[0].noisy, measured.ratios[0].noisy)
    assert shown.panels == measured.panels


def test_what_the_denoiser_moved_is_half_of_all_differences(measured: Measured) -> None:
    # Released of age by sex is the second sex less the first: with its sums, -2 and 32 where 0 and 30 remained.
    assert {line.names: line.noise.moved for line in measured.tables} == {("age", "sex"): 2, ("sex", "town"): 4}
    assert {line.name: line.noise and line.noise.moved for line in measured.singles} == {
        "sex": 0,
        "age": 5,
        "town": 0,
        "state": None,
    }


def test_the_strongest_table_comes_first_and_attributes_stand_in_their_order(measured: Measured) -> None:
    assert [(line.names, line.strength) for line in measured.tables] == [(("age", "sex"), 0.3), (("sex", "town"), 0.1)]
    assert [line.name for line in measured.singles] == FOUND["order"]
    assert [(line.shape, line.differences) for line in measured.tables] == [((3, 2), ("sex",)), ((2, 2), ())]


def test_the_buckets_have_their_reasons(measured: Measured) -> None:
    assert {line.name: (line.values, line.buckets, line.reason) for line in measured.singles} == {
        "sex": (2, 2, "one bucket per value"),
        "age": (6, 3, "neighbouring values merged until they have enough records"),
        "town": (3, 2, "rare values merged"),
        "state": (1, 1, "only one value"),
    }


def test_counts_are_compared_with_those_of_independent_attributes(measured: Measured) -> None:
    [table, _] = measured.ratios
    # Of 100 records 30 have age 0 or 1, and 40 are f: independent, 12 would be both.
    assert table.denoised[0].tolist() == [np.log2(30 / 12), -np.inf]
    assert table.noisy[1].tolist() == [-np.inf, np.log2(32 / 18)]
    drawn = draw_ratios(measured.ratios)
    assert re.findall('<text class="title"[^>]*>([^<]*)</text>', drawn) == [
        f"{' and '.join(table.line.names)}, {which}" for table in measured.ratios for which in ("noisy", "denoised")
    ]
    assert drawn.count('class="ground"') == 4


def test_a_picture_has_each_cell_once_and_none_where_counts_are_as_expected() -> None:
    table = np.asarray([[3.0, 9.0, -np.inf], [0.0, 1.2, -1.2]])
    svg = str(pair_svg((table, table), ("before", "after"), (("f", "m"), ("a", "b", "c")), "a <picture>"))
    assert 'aria-label="a &lt;picture&gt;"' in svg
    for path in (
        '<path class="more" fill-opacity="1" d="M0,0h2v1h-2z"/>',
        '<path class="fewer" fill-opacity="1" d="M2,0h1v1h-1z"/>',
        '<path class="more" fill-opacity="0.4" d="M1,1h1v1h-1z"/>',
        '<path class="fewer" fill-opacity="0.4" d="M2,1h1v1h-1z"/>',
    ):
        assert svg.count(path) == 2
    assert svg.count('<path class="') == 8
    assert re.findall("<text[^>]*>([^<]*)</text>", svg) == ["f", "m", "before", "a", "b", "c", "after", "a", "b", "c"]


def test_the_names_beside_a_table_are_those_of_its_values_and_of_its_buckets() -> None:
    labels = {"sex": {"f": "female"}}
    tables = measured_of(FOUND, DescribedTable(DOMAIN, {}, labels), WEIGHTS).ratios
    assert {table.line.names: table.names for table in tables} == {
        ("age", "sex"): (("0 to 1", "2 to 3", "4 to 5"), ("f female", "m")),
        ("sex", "town"): (("f female", "m"), ("b", "a, c")),
    }
    assert re.findall('<text class="row"[^>]*>([^<]*)</text>', draw_ratios(tables)[:3000])[:5] == [
        *("0 to 1", "2 to 3", "4 to 5"),
        *("f female", "m"),
    ]


def test_intervals_are_made_of_noisy_counts_their_noise_and_nothing_else(measured: Measured) -> None:
    reach = 2.12 * 3.0 / 100
    lower, upper = measured.bands["sex"]
    assert lower == pytest.approx((0.4 - reach, 0.6 - reach))
    assert upper == pytest.approx((0.4 + reach, 0.6 + reach))
    assert measured.bands["age"][0][2] == 0
    # What the denoiser made of the counts plays no part.
    denoised = {name: {**entry, "denoised": [1] * len(entry["noisy"])} for name, entry in FOUND["attributes"].items()}
    others = measured_of({**FOUND, "attributes": denoised}, DescribedTable(DOMAIN, {}, {}), WEIGHTS)
    assert others.bands == measured.bands


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_intervals_hold_what_was_counted_in_95_of_100_cases_and_others_do_not(
    noise: Literal["gaussian", "laplace"],
) -> None:
    """One draw of the release's own noise, at a scale that makes rounding to integers small; sigma is 30 and 42."""
    key = ReleaseKey(bytes(range(32)))
    words = key.stream(step="test", mechanism=f"interval {noise}", inputs="", parameters={})
    number = 40_000
    law = DiscreteGaussian(Fraction(900)) if noise == "gaussian" else DiscreteLaplace(Fraction(30))
    drawn = law.sample(words, number)
    deviation = 30.0 if noise == "gaussian" else 30 * 2**0.5

    def held(scale: float) -> float:
        entry = {"noisy": (5000 + drawn).tolist(), "deviation": scale * deviation}
        lower, upper = interval(entry, noise, 100_000.0)
        return float(np.mean((np.asarray(lower) <= 0.05) & (np.asarray(upper) >= 0.05)))

    # Seven standard deviations of a share of 40,000 cases.
    room = 7 * (0.95 * 0.05 / number) ** 0.5
    assert abs(held(1.0) - 0.95) < room
    assert held(0.9) < 0.95 - room
    assert held(1.1) > 0.95 + room


def test_the_explorer_is_told_of_what_was_counted_value_by_value_alone(tmp_path: Path) -> None:
    file = tmp_path / "measured.json"
    file.write_text(json.dumps(FOUND))
    known = counted_by_value(file, DOMAIN)
    # Towns were counted in two buckets beside sex, and of age by sex only a difference.
    assert set(known) == {("age",), ("sex",), ("town",)}
    assert known["town",].noisy == (5, 90, 5)
    assert known["town",].reach == 7
    assert counted_by_value(tmp_path / "none.json", DOMAIN) == {}


def test_a_picture_of_many_dependences_shows_the_strongest_and_one_of_each_attribute() -> None:
    names = [f"a{i}" for i in range(9)]
    weights = {(names[i], names[j]): 0.9 - 0.1 * j + 0.001 * i for j in range(9) for i in range(j)}
    drawn = strongest(weights, len(names))
    assert len(drawn) == 18
    assert {child for _, child in drawn} == set(names[1:])
    assert [weights[edge] for edge in drawn] == sorted((weights[edge] for edge in drawn), reverse=True)
    left_out = weights.keys() - set(drawn)
    firsts = {max((edge for edge in weights if edge[1] == name), key=weights.__getitem__) for name in names[1:]}
    assert max(weights[edge] for edge in left_out) <= min(weights[edge] for edge in set(drawn) - firsts)
    figure = draw_graph(names, {child: [p for p, c in weights if c == child] for child in names}, None, weights)
    widths = {patch.get_linewidth() for patch in figure.axes[0].patches if type(patch).__name__ == "PathPatch"}
    assert len(widths) == 18
    assert max(widths) == pytest.approx(3.6)
