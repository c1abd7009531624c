import math

import pandas as pd
import pytest
from pandera.errors import SchemaErrors
from pandera.pandas import Column, DataFrameSchema

from deniable.foundation.domain import Attribute, Domain
from deniable.foundation.errors import InvalidInput
from schemas.table import columns_read, domain_of, labels_of, nominal, numeric, table

SEX = {1: "male", 2: "female"}


def people() -> DataFrameSchema:
    """A small table."""
    return table(
        {
            "age": numeric(18, 37, width=10, label="age in years"),
            "sex": nominal(SEX, missing=[9], label="sex"),
            "school": nominal(["none", "some", "degree"], buckets=[["none", "some"]], missing=["?"]),
        },
        description="Made-up people.",
        target="sex",
    )


def refusals(schema: DataFrameSchema, frame: pd.DataFrame) -> dict[tuple[str, str], list[int]]:
    """Rows that each check of each column refuses."""
    with pytest.raises(SchemaErrors) as caught:
        schema.validate(frame, lazy=True)
    return {
        (error.column_name, error.check.name): list(error.check_output.index[~error.check_output])
        for error in caught.value.schema_errors
    }


def test_a_schema_is_the_only_description_of_its_domain() -> None:
    assert domain_of(people()) == Domain(
        (
            Attribute("age", tuple(range(18, 38)), "numeric", (0,) * 10 + (1,) * 10),
            Attribute("sex", (1, 2), "nominal", (0, 1)),
            Attribute("school", ("none", "some", "degree"), "nominal", (0, 0, 1)),
        ),
        target="sex",
    )


def test_a_schema_carries_labels_for_readers() -> None:
    schema = people()
    assert labels_of(schema) == {"sex": {"1": "male", "2": "female"}}
    assert schema.columns["age"].title == "age in years"
    assert schema.description == "Made-up people."


def test_valid_rows_pass_whatever_the_order_and_number_of_columns() -> None:
    frame = pd.DataFrame({"other": [0], "school": ["some"], "sex": [2], "age": [20]})
    assert people().validate(frame, lazy=True).to_dict("records") == [{"age": 20.0, "sex": 2.0, "school": "some"}]


@pytest.mark.parametrize("age", [20, 20.0, "20", " 20", "020", pd.array([20], dtype="Int8")[0]])
def test_a_number_is_a_number_however_the_source_writes_it(age: object) -> None:
    frame = pd.DataFrame({"age": [age], "sex": [2], "school": ["some"]})
    assert people().validate(frame, lazy=True)["age"].tolist() == [20.0]


@pytest.mark.parametrize("school", [3, 3.0, "3"])
def test_text_is_text_however_the_source_writes_it(school: object) -> None:
    schema = table({"school": nominal(["3", "4"])})
    assert schema.validate(pd.DataFrame({"school": [school]}), lazy=True)["school"].tolist() == ["3"]


def test_categorical_columns_are_read_by_their_values() -> None:
    frame = pd.DataFrame({"age": ["30", "20", None], "sex": ["1", "9", "2"], "school": ["some", None, "?"]})
    read = people().validate(frame.astype("category"), lazy=True)
    assert read["age"].tolist()[:2] == [30.0, 20.0]
    assert read.isna().to_numpy().tolist() == [[False, False, False], [False, True, True], [True, False, True]]


def test_missing_values_and_their_codes_pass_as_null() -> None:
    frame = pd.DataFrame({"age": [20, None], "sex": [9, 1], "school": ["?", "none"]})
    assert people().validate(frame, lazy=True).isna().to_numpy().tolist() == [[False, True, True], [True, False, False]]


def test_text_where_a_number_must_be_is_refused_as_no_number() -> None:
    frame = pd.DataFrame({"age": ["twenty", "20"], "sex": [1, 1], "school": ["some", "some"]})
    assert refusals(people(), frame)["age", "number"] == [0]


def test_a_number_out_of_range_is_refused() -> None:
    frame = pd.DataFrame({"age": [17, 18, 38], "sex": [1, 1, 1], "school": ["some"] * 3})
    assert refusals(people(), frame) == {("age", "in_range"): [0, 2]}


def test_a_number_between_the_steps_is_refused() -> None:
    frame = pd.DataFrame({"age": [18.5, 19], "sex": [1, 1], "school": ["some"] * 2})
    assert refusals(people(), frame) == {("age", "steps_of_1"): [0]}


def test_a_value_that_is_not_listed_is_refused() -> None:
    frame = pd.DataFrame({"age": [18, 19], "sex": [3, 1], "school": ["some", "SOME"]})
    assert refusals(people(), frame) == {("sex", "isin"): [0], ("school", "isin"): [1]}


def test_infinity_is_refused() -> None:
    frame = pd.DataFrame({"age": [math.inf], "sex": [1], "school": ["some"]})
    assert ("age", "number") in refusals(people(), frame)


def test_a_missing_column_is_refused() -> None:
    with pytest.raises(SchemaErrors, match="school"):
        people().validate(pd.DataFrame({"age": [20], "sex": [1]}), lazy=True)


def grown_up(person: pd.DataFrame) -> pd.Series:
    """Persons of 18 or more."""
    return person["years"] >= 18


def in_hundreds(person: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"age": person["years"], "wage": person["wage"] // 100})


def recoding_table() -> DataFrameSchema:
    """A table with a universe and a recoding."""
    return table(
        {"age": numeric(18, 99), "wage": numeric(0, 9)},
        reads={"years": int, "wage": int},
        universe=grown_up,
        recode=in_hundreds,
    )


def test_rows_out_of_the_universe_go_and_the_others_keep_their_numbers() -> None:
    frame = pd.DataFrame({"years": [30, 17, None, 40], "wage": [100, -5, 0, 900]})
    assert recoding_table().validate(frame, lazy=True).to_dict() == {
        "age": {0: 30.0, 3: 40.0},
        "wage": {0: 1.0, 3: 9.0},
    }


def test_a_row_whose_scope_cannot_be_read_is_a_mistake_and_not_out_of_scope() -> None:
    frame = pd.DataFrame({"years": ["30", "old"], "wage": ["100", "100"]})
    assert refusals(recoding_table(), frame)["age", "number"] == [1]


def test_a_recoding_cannot_make_a_value_of_what_cannot_be_read() -> None:
    schema = table(
        {"rich": nominal([0, 1]), "class": nominal(["low", "high"])},
        reads={"wage": int},
        recode=lambda person: pd.DataFrame(
            {"rich": (person["wage"] > 50) * 1, "class": (person["wage"] > 50).map({False: "low", True: "high"})}
        ),
    )
    frame = pd.DataFrame({"wage": ["10", "much", "90"]})
    assert refusals(schema, frame)["rich", "number"] == [1]
    assert schema.validate(frame[::2], lazy=True)["class"].tolist() == ["low", "high"]


def test_columns_that_are_read_for_others_may_have_codes_for_missing_values() -> None:
    schema = table(
        {"rich": numeric(0, 9)},
        reads={"wage": int},
        missing={"wage": ["N"]},
        recode=lambda p: p.rename(columns={"wage": "rich"}),
    )
    assert schema.validate(pd.DataFrame({"wage": ["N", "3"]}), lazy=True)["rich"].tolist()[1:] == [3.0]


def test_a_recoded_table_reads_the_columns_that_its_recoding_needs() -> None:
    assert columns_read(recoding_table()) == ("years", "wage")
    assert columns_read(people()) == ("age", "sex", "school")


def test_the_universe_is_published_in_words() -> None:
    assert recoding_table().metadata["universe"] == "Persons of 18 or more."


def test_a_recoding_that_drops_rows_is_refused() -> None:
    schema = table({"age": numeric(0, 9)}, recode=lambda person: person[person["age"] > 3])
    with pytest.raises(InvalidInput, match="one row for each row"):
        schema.validate(pd.DataFrame({"age": [1, 5]}), lazy=True)


def test_floats_and_steps_keep_the_format_of_the_source() -> None:
    domain = domain_of(table({"age": numeric(0.0, 3.0), "gain": numeric(0, 300, step=100, edges=[1, 201])}))
    assert repr(domain.attributes[0]) == repr(Attribute("age", (0.0, 1.0, 2.0, 3.0), "numeric", (0, 1, 2, 3)))
    assert domain.attributes[1] == Attribute("gain", (0, 100, 200, 300), "numeric", (0, 1, 1, 2))


def test_a_bucket_of_what_is_no_value_is_refused() -> None:
    with pytest.raises(InvalidInput, match="buckets"):
        nominal(["a", "b"], buckets=[["a", "c"]])


def test_a_value_in_two_buckets_is_refused() -> None:
    with pytest.raises(InvalidInput, match="buckets"):
        nominal(["a", "b", "c"], buckets=[["a", "b"], ["b", "c"]])


def test_values_of_several_types_are_refused() -> None:
    with pytest.raises(InvalidInput, match="one type, got int and str"):
        nominal([1, "b"])


def test_a_column_without_values_is_refused() -> None:
    with pytest.raises(InvalidInput, match="got no value"):
        nominal([])


def test_a_value_listed_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must be distinct"):
        domain_of(table({"a": nominal(["x", "x"])}))


@pytest.mark.parametrize(("low", "high", "step"), [(2, 1, 1), (0, 5, 2), (0, 4, 0)])
def test_a_range_that_is_none_is_refused(low: int, high: int, step: int) -> None:
    with pytest.raises(InvalidInput, match="low to high"):
        numeric(low, high, step=step)


def test_a_range_with_too_many_values_is_refused_before_they_are_listed() -> None:
    with pytest.raises(InvalidInput, match="at most 65535 values"):
        numeric(0, 10**12)


def test_a_width_and_edges_at_once_are_refused() -> None:
    with pytest.raises(InvalidInput, match="got both"):
        numeric(0, 9, width=5, edges=[5])


def test_a_target_that_is_no_attribute_is_refused() -> None:
    with pytest.raises(InvalidInput, match="target must be one of a, got b"):
        table({"a": nominal([1])}, target="b")


def test_codes_for_missing_values_of_a_column_that_is_not_read_are_refused() -> None:
    with pytest.raises(InvalidInput, match="columns that are read"):
        table({"a": nominal([1], missing=[9])}, reads={"b": int})


def test_a_column_described_in_another_way_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"schemas\.table\.nominal or numeric"):
        table({"a": Column(int)})


def test_a_schema_made_in_another_way_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"schemas\.table\.table"):
        domain_of(DataFrameSchema({"a": nominal([1])}))
