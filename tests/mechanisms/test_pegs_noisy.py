"""The tables of PeGS with noise: keys of earlier attributes, the noise that is charged, and what may be published."""

from copy import deepcopy
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation.keys import ReleaseKey
from deniable.foundation.noise import DiscreteLaplace
from deniable.learners.pegs_noisy.plan import keys_before, table_events
from deniable.learners.pegs_noisy.spec import Entry
from deniable.learners.pegs_noisy.steps import noisy_counts, steps
from deniable.learners.pegs_noisy.verification import check_measured
from deniable.learners.privbayes.counting import Family, FamilyTables
from deniable.models.model_formats import model_from_document
from deniable.privacy.loss import DiscreteLaplaceEvent
from tests.drawn_noise import OneStream
from tests.urn_law import Record, plain_domain

FALSE_ALARM = 1e-9
DOMAIN = plain_domain(2, 3, 1, 2)
ROWS: list[Record] = [(0, 0, 0, 1)] * 6 + [(1, 2, 0, 0)] * 3 + [(1, 1, 0, 1)]
ORDERS = {"a3": ["a1", "a0"]}


def test_keys_are_of_attributes_before() -> None:
    assert keys_before(DOMAIN, None, 100) == ((), (0,), (0, 1), (0, 1, 2))
    assert keys_before(DOMAIN, ORDERS, 3) == ((), (0,), (0,), (1,))
    assert keys_before(DOMAIN, ORDERS, 6)[3] == (0, 1), "in ascending order, whatever was asked first"


def p_value(noise: NDArray[np.int64], scale: Fraction) -> float:
    law, reach = DiscreteLaplace(scale), 10
    middle = range(1 - reach, reach)
    expected = [law.tail(reach), *(law.probability(z) for z in middle), law.tail(reach)]
    clipped = np.clip(noise, -reach, reach)
    observed = [(clipped == z).sum() for z in range(-reach, reach + 1)]
    return float(stats.chisquare(observed, np.array(expected) * len(noise)).pvalue)


def test_tables_have_the_noise_that_is_charged() -> None:
    (event,) = table_events(DOMAIN, Fraction(1))
    assert isinstance(event, DiscreteLaplaceEvent)
    assert (event.outputs, event.sensitivity, event.scale) == (3, 1, 3)
    families = [Family(key, i) for i, key in enumerate(keys_before(DOMAIN, ORDERS, 3)) if i != 2]
    tally = FamilyTables(DOMAIN, families)
    tally.add(np.asarray(ROWS, np.uint16))
    opened = OneStream("key counts")
    made = [noisy_counts(DOMAIN, families, Fraction(1), tally.tables, opened) for _ in range(3000)]
    truth = np.concatenate([table.ravel() for table in tally.tables])
    noise = np.array([np.concatenate([table.counts.ravel() for table in tables]) - truth for tables in made]).ravel()
    assert p_value(noise, event.scale) > FALSE_ALARM
    assert p_value(noise, event.scale * Fraction(9, 10)) < FALSE_ALARM, "narrower noise would be noticed"


class Counted:
    def count(self, empty: Any, _: str) -> Any:
        tally = empty()
        tally.add(np.asarray(ROWS * 50, np.uint16))
        return tally


def learnt() -> dict[str, Any]:
    entry = Entry.model_validate(
        {"kind": "pegs_noisy", "key_cells": 3, "orders": ORDERS, "parameters": {"epsilon": 60}}
    )
    (step,) = steps(entry, DOMAIN, lambda delta: delta)
    opened = partial(ReleaseKey(bytes(range(32))).stream, step="test", inputs="")
    return dict(step.run(Counted(), {}, opened).products)


def test_with_little_noise_the_model_has_the_shares_of_the_table() -> None:
    net = model_from_document(DOMAIN, learnt()["model"])
    stream = ReleaseKey(bytes(32)).stream(step="t", mechanism="", inputs="", parameters={})
    drawn = net.sample(stream.take(4 * 20_000))
    likely = [tuple(record) for record in drawn.tolist() if tuple(record) in set(ROWS)]
    assert len(likely) > 0.95 * len(drawn)
    shares = np.bincount(drawn[:, 1], minlength=3) / len(drawn)
    assert shares == pytest.approx([0.6, 0.1, 0.3], abs=0.03)


def faults(change: Any) -> list[str]:
    made = deepcopy(learnt()["measured"])
    change(made)
    asked = {"kind": "pegs_noisy", "key_cells": 3, "orders": ORDERS, "parameters": {"epsilon": "60"}}
    events = [event.to_record() for event in table_events(DOMAIN, Fraction(60))]
    step = {"step": "learn_parameters", "events": events, "part": "parameters", "probability": "1", "guarantee": None}
    record = {"spec": {"document": {"learner": asked}}, "cost": {"steps": [step]}}
    described = {
        "target": None,
        "attributes": [
            {
                "name": each.name,
                "kind": each.kind,
                "values": [{"value": v, "bucket": b} for v, b in zip(each.values, each.buckets, strict=True)],
            }
            for each in DOMAIN.attributes
        ],
    }
    return [fault for check in check_measured(record, described, made) for fault in check.faults]


def test_the_published_tables_are_those_of_the_keys() -> None:
    assert faults(lambda _: None) == []
    assert any("must be" in fault for fault in faults(lambda made: made["tables"].pop()))
