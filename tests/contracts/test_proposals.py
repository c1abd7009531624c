"""What a discovery released becomes columns of a schema, and lines of a schema that was drafted."""

from fractions import Fraction
from typing import Any

import pytest
from pandera.pandas import DataFrameSchema

from deniable.discovery.answers import Answers, RangeAnswer, ValuesAnswer
from deniable.discovery.number_grid import BUCKETS, MOST_DECIMALS, place_of
from deniable.discovery.plan import DiscoveryPlan, asked
from deniable.foundation.errors import InvalidInput
from schemas.codebooks.codebook import Codebook, Entry, Variable
from schemas.codebooks.drafting import draft_of, schema_text
from schemas.codebooks.proposals import proposal_lines, proposed, with_proposals
from schemas.codebooks.settling import Described, LeftOut
from schemas.kinds.description import described
from schemas.table import nominal, numeric, open_columns_of, open_range, open_values, table

MISSING = {"charge": ["?"], "income": ["-9"]}
PLAN = DiscoveryPlan(questions=asked(["charge"], ["income"], MISSING), epsilon=Fraction(2), delta=Fraction(1, 10**6))


def answered(values: dict[str, int], numbers: dict[str, int]) -> tuple[Described | LeftOut, ...]:
    counts, decimals = [0] * BUCKETS, [0] * (MOST_DECIMALS + 1)
    for text, count in numbers.items():
        place = place_of(text)
        assert place is not None
        counts[place[0]] += count
        decimals[place[1]] += count
    found = tuple(sorted(values.items()))
    answer = RangeAnswer("income", tuple(counts), tuple(decimals))
    return proposed(Answers(plan=PLAN, answers=(ValuesAnswer("charge", found), answer)))


def test_proposals_are_lines_that_describe_columns() -> None:
    charge, income = answered({"theft": 90, "other": 60}, {"0": 400, "250000": 500})
    assert isinstance(charge, Described)
    assert isinstance(income, Described)
    lines = proposal_lines((charge, income), "d-1")
    made: dict[str, object] = {}
    exec("made.update({" + "\n".join(lines) + "})", {"nominal": nominal, "numeric": numeric, "made": made})  # noqa: S102
    schema = table(made)  # type: ignore[arg-type]
    assert described(schema.columns["charge"]).values == ("other", "theft", "other (2)", "missing")
    assert described(schema.columns["income"]).bins is not None
    assert all("d-1" in line for line in lines if line.lstrip().startswith("#"))


def test_where_nothing_is_shown_nothing_is_proposed() -> None:
    charge, income = answered({}, {"5": 3})
    assert isinstance(charge, LeftOut)
    assert isinstance(income, LeftOut)
    assert proposal_lines((charge, income), "d")[0] == (
        "        # charge: no value was shared by enough records to be proposed (discovery d)"
    )


SCHEMA = """from schemas.table import nominal, table

schema = table(
    {
        "sex": nominal(["f"]),
    },
)
"""


def test_proposals_are_written_into_a_drafted_schema_alone() -> None:
    columns = answered({"theft": 90}, {"0": 400, "9": 500})
    written = with_proposals(SCHEMA, columns, "d")
    assert written.startswith("from schemas.table import nominal, numeric, table\n")
    names: dict[str, object] = {}
    exec(written, names)  # noqa: S102
    assert list(names["schema"].columns) == ["sex", "charge", "income"]  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match="charge, income is there already"):
        with_proposals(written, columns, "d")
    with pytest.raises(InvalidInput, match="the form in which it was drafted"):
        with_proposals("schema = table(COLUMNS)\n", columns, "d")


def test_a_draft_points_to_discoveries_where_the_codebook_is_silent() -> None:
    book = Codebook()
    for name, kind in (("charge", "nominal"), ("income", "numeric"), ("note", "text")):
        book.add(Variable(name=name, kind=kind), name)  # type: ignore[arg-type]
    draft = draft_of(book, "book.csv")
    assert (draft.open_categories, draft.open_numbers) == (("charge",), ("income",))
    assert "deniable table discover" in schema_text(draft, sources=["book.csv"])


def drafted() -> str:
    """A draft whose codebook leaves two columns open, one of them with codes for missing values."""
    book = Codebook()
    book.add(Variable(name="sex", kind="nominal", entries=(Entry(value="f"), Entry(value="m"))), "sex")
    book.add(Variable(name="charge", kind="nominal", missing=("?", "n'a")), "charge")
    book.add(Variable(name="income", kind="numeric"), "income")
    book.add(Variable(name="note", kind="text"), "note")
    return schema_text(draft_of(book, "book.csv"), sources=["book.csv"])


def loaded(text: str) -> DataFrameSchema:
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 - as a schema is loaded
    schema: DataFrameSchema = names["schema"]
    return schema


def test_a_draft_declares_what_is_open_and_is_completed_by_what_was_discovered() -> None:
    text = drafted()
    assert open_columns_of(loaded(text)) == {"charge": open_values(missing=["?", "n'a"]), "income": open_range()}
    described = Described(
        name="charge", form="nominal", values=(("theft", ""),), other="other", missing=("?",), missing_as="missing"
    )
    nothing = LeftOut("income", "too few records have numbers for a range to be proposed", "range")
    one = with_proposals(text, [described, nothing], "d-1")
    assert list(loaded(one).columns) == ["sex", "charge"]
    assert open_columns_of(loaded(one)) == {"income": open_range()}
    assert "#   charge: " not in one
    assert "#   income: the codebook states no range" in one
    income = Described(name="income", form="numeric", low=0, high=10)
    both = with_proposals(one, [income], "d-2")
    assert list(loaded(both).columns) == ["sex", "charge", "income"]
    assert open_columns_of(loaded(both)) == {}
    assert "open_" not in both
    assert "can be described by" not in both
    assert "#   note: " in both


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"sex": open_values()}, "must not be described, and sex is"),
        ({"": open_values()}, "the name of an open column"),
        ({"charge": "values"}, "must be made by open_values or open_range"),
    ],
)
def test_an_open_column_that_no_schema_can_have_is_refused(declared: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        table({"sex": nominal(["f", "m"])}, open_columns=declared)


def test_open_columns_in_another_form_than_a_draft_are_left_to_the_person() -> None:
    text = drafted().replace("    open_columns={\n", "    open_columns=dict({\n").replace("(),\n    },", "(),\n    }),")
    loaded(text)
    with pytest.raises(InvalidInput, match="in the form of a draft"):
        with_proposals(text, [], "d")
