"""Codebooks of every format become the same draft of a schema; a codebook with faults is refused with all of them."""

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.foundation.domain import Attribute
from deniable.foundation.errors import InvalidInput
from schemas.catalog import load_schema
from schemas.codebooks.codebook import Codebook, Entry, Variable
from schemas.codebooks.drafting import draft_of, schema_text
from schemas.codebooks.reading import read_codebooks, require_no_faults
from schemas.table import domain_of, labels_of

CSV = """variable,type,label,values,missing,also
id,identifier,number,,,
age,integer,age in years,0 to 17 ,-9,-1=inapplicable
sex,nominal,sex,1=male | 2=female,9,
grade,ordered,"grade, at school",low | middle | high,?,
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def codebook(tmp_path: Path, name: str, text: str) -> Codebook:
    return read_codebooks([write(tmp_path, name, text)])


def drafted(tmp_path: Path, name: str, text: str) -> dict[str, Attribute]:
    """The attributes of the schema that a codebook becomes."""
    draft = draft_of(codebook(tmp_path, name, text), name)
    write(tmp_path, "drafted.py", schema_text(draft, sources=[name]))
    return {each.name: each for each in domain_of(load_schema("drafted.py", tmp_path)).attributes}


def refused(tmp_path: Path, name: str, text: str) -> list[str]:
    """The faults of a codebook, line by line."""
    with pytest.raises(InvalidInput) as caught:
        draft_of(codebook(tmp_path, name, text), name)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def test_a_codebook_in_csv_has_a_line_for_each_variable(tmp_path: Path) -> None:
    found = drafted(tmp_path, "book.csv", CSV)
    assert list(found) == ["age", "sex", "grade"]
    assert found["age"].values == (-9, -1, *range(18))
    assert (found["age"].kind, found["sex"].kind, found["grade"].kind) == ("numeric", "nominal", "ordered")
    assert found["sex"].values == (1, 2, 9)
    assert found["grade"].values == ("low", "middle", "high", "missing")
    labels = labels_of(load_schema("drafted.py", tmp_path))
    assert labels["age"] == {"-1": "inapplicable", "-9": "missing"}
    assert labels["sex"] == {"1": "male", "2": "female", "9": "missing"}


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_and_names_of_columns_are_found(tmp_path: Path, delimiter: str) -> None:
    text = "Column Name,Data type,Codes,Value labels\nsex,factor,M|F,male|female\n".replace(",", delimiter)
    assert drafted(tmp_path, "book.csv", text)["sex"].values == ("M", "F")
    assert labels_of(load_schema("drafted.py", tmp_path))["sex"] == {"M": "male", "F": "female"}


def test_a_codebook_in_csv_may_have_a_line_for_each_value(tmp_path: Path) -> None:
    text = "variable,description,value,label\nsex,sex at birth,1,male\n,,2,female\nage,age,0 - 99,\nage,,-8,not known\n"
    book = codebook(tmp_path, "book.csv", text)
    assert book.variables["sex"].label == "sex at birth"
    assert book.variables["sex"].entries == (Entry(value="1", label="male"), Entry(value="2", label="female"))
    found = drafted(tmp_path, "book.csv", text)
    assert found["age"].values == (-8, *range(100))


@pytest.mark.parametrize(
    ("cell", "values"),
    [
        ("<=50K | >50K", ("<=50K", ">50K")),
        ('"F,M"', ("F", "M")),
        ("01;02;10", ("01", "02", "10")),
        ('"1, yes | 2, no"', (1, 2)),
        ("0-4; 5-17; 18-99", ("0-4", "5-17", "18-99")),
        ("1 to 3", (1, 2, 3)),
        ("0..10 by 5", (0, 5, 10)),
        ("0 to 1 by 0.5", (0.0, 0.5, 1.0)),
        ("-2 - 1", (-2, -1, 0, 1)),
    ],
)
def test_values_are_read_as_they_are_written(tmp_path: Path, cell: str, values: tuple[object, ...]) -> None:
    assert drafted(tmp_path, "book.csv", f"variable,values\nx,{cell}\n")["x"].values == values


def test_numbers_with_any_decimals_are_rounded_to_a_thousand_steps(tmp_path: Path) -> None:
    (column,) = draft_of(codebook(tmp_path, "book.csv", "variable,type,values\nbmi,float,10 to 60\n"), "").columns
    assert (column.low, column.high, column.step, column.rounds) == (10, 60, 0.05, True)


def test_amounts_of_many_values_have_bins_that_grow(tmp_path: Path) -> None:
    text = "variable,values\ncost,0 to 557001\nbalance,-70000 to 70000\nnumber,20001 to 89999\n"
    cost, balance, number = draft_of(codebook(tmp_path, "book.csv", text), "").columns
    assert isinstance(cost.bins, tuple)
    assert isinstance(balance.bins, tuple)
    assert (cost.high, cost.step, cost.rounds, cost.bins[:11]) == (557_001, 1, False, (*range(1, 10), 10, 20))
    assert "557,002" in cost.remark
    assert balance.bins[:2] == (-60_000, -50_000)
    assert -1 in balance.bins
    assert 0 in balance.bins
    assert number.bins == 1000
    found = drafted(tmp_path, "book.csv", text)
    assert {name: len(each.values) for name, each in found.items()} == {"cost": 51, "balance": 87, "number": 70}


def test_dates_are_released_by_month_unless_they_span_few_days(tmp_path: Path) -> None:
    text = (
        "variable,type,values,pattern\nborn,date,1990-01-01 to 1990-03-31,%d.%m.%Y\n"
        "left,date,2001-01-01 to 2002-12-31,\n"
    )
    found = drafted(tmp_path, "book.csv", text)
    assert len(found["born"].values) == 90
    assert found["left"].values[:2] == ("2001-01", "2001-02")


def test_diagnoses_become_chapters(tmp_path: Path) -> None:
    assert len(drafted(tmp_path, "book.csv", "variable,type,missing\ndiag,icd9,?\n")["diag"].values) == 20


def test_what_a_codebook_does_not_state_is_left_out_with_the_reason(tmp_path: Path) -> None:
    text = "variable,type,values\nnote,text,\nage,integer,\nborn,date,\ncity,nominal,\nsex,nominal,f | m\n"
    draft = draft_of(codebook(tmp_path, "book.csv", text), "book.csv")
    assert {each.name: each.lacks for each in draft.left_out} == {
        "note": "nothing",
        "age": "range",
        "born": "days",
        "city": "values",
    }
    assert "#   age: the codebook states no range of its numbers." in schema_text(draft, sources=["book.csv"])


def test_a_second_codebook_completes_the_first(tmp_path: Path) -> None:
    one = write(tmp_path, "one.csv", "variable,type,label\nage,integer,age in years\n")
    two = write(tmp_path, "two.csv", "variable,values\nage,0 to 9\n")
    assert read_codebooks([one, two]).variables["age"] == Variable(
        name="age", kind="numeric", whole=True, label="age in years", entries=(Entry(value="0", high="9"),)
    )


def test_ranges_of_one_codebook_complete_the_special_codes_of_another(tmp_path: Path) -> None:
    labels = write(tmp_path, "labels.do", STATA)
    ranges = write(tmp_path, "ranges.csv", "variable,type,values\nAGE,integer,0 to 85\n")
    age, sex = draft_of(read_codebooks([labels, ranges]), "").columns
    assert (age.low, age.high, age.also, age.label) == (0, 85, ((-1, "INAPPLICABLE"),), "AGE AS OF '15")
    assert [value for value, _ in sex.values] == [-1, 1, 2]


def test_all_faults_of_a_codebook_are_named_at_once(tmp_path: Path) -> None:
    text = (
        "variable,type,values,labels,step,low,high\nage,years,,,,,\nsex,nominal,f | m,female,,,\nage,integer,,,0,,\n"
        "x,numeric,,,,a,9\n"
    )
    known = "nominal, ordered, numeric, integer, float, boolean, date, time, identifier, person, icd9, icd10, text"
    assert refused(tmp_path, "book.csv", text) == [
        f"line 2: the type of age must be one of {known}, got years; correct it.",
        "line 3: sex must have as many labels as values, got 1 for 2; separate both by bars, in the same order.",
        "line 4: the step of age must be a number above 0, got 0; correct it.",
        "line 4: age must be described once, and is described again; remove one.",
        "line 5: x must have two numbers as low and high, got 'a' and '9'; correct them.",
    ]


def test_all_contradictions_of_a_codebook_are_named_at_once(tmp_path: Path) -> None:
    text = (
        "variable,type,values,also\nage,integer,9 to 1,\nsex,nominal,f | f,\nz,integer,0 to 9,5=odd\n"
        'w,integer,0 to 10 by 3,\ny,nominal,=SUM(A1) | b,\nborn,date,2001-01-01 to never,\n"a|b",nominal,1 | 2,\n'
    )
    faults = refused(tmp_path, "book.csv", text)
    assert [fault.split(",")[0].split(" must")[0] for fault in faults] == [
        "the range of age",
        "sex",
        "the special codes of z",
        "w",
        "the values of y",
        "the first and last day of born",
        "the name of 'a|b'",
    ]


@pytest.mark.parametrize("table", ["house,secret of Mary\n17,4\n", "name,age\nMary,4\n"])
def test_a_table_of_records_is_no_codebook_and_is_not_quoted(tmp_path: Path, table: str) -> None:
    (fault,) = refused(tmp_path, "book.csv", table)
    assert "must have a column named variable" in fault
    assert "Mary" not in fault


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("x,numeric,0,1e30", "x must be within -9,007,199,254,740,992 to 9,007,199,254,740,992"),
        ("x,float,0,1e99", "x must be within -9,007,199,254,740,992 to 9,007,199,254,740,992"),
        ("x,numeric,0,1e-60", "the step of x must be at least 0.000000001, got 1E-60"),
        ("x,numeric,0,900719925474099.0000000000001", "the step of x must be at least"),
    ],
)
def test_numbers_that_files_do_not_hold_exactly_are_refused(tmp_path: Path, line: str, fault: str) -> None:
    (found,) = refused(tmp_path, "book.csv", f"variable,type,low,high\n{line}\n")
    assert found.startswith(fault)


def test_the_form_of_dates_is_refused_if_no_date_could_have_it(tmp_path: Path) -> None:
    text = "variable,type,values,format\nx,date,2019-01-01 to 2019-02-01,YYYY-MM-DD\n"
    (found,) = refused(tmp_path, "book.csv", text)
    assert found == "the form of the dates of x must be stated as in %d.%m.%Y, got 'YYYY-MM-DD'; correct it."


def test_bins_of_numbers_that_miss_zero_are_numbers_of_the_column(tmp_path: Path) -> None:
    text = "variable,type,values,step\nx,numeric,-0.5 to 20000.5,1\n"
    assert drafted(tmp_path, "book.csv", text)["x"].values[:2] == (-0.5, 499.5)


GRADES = [{"value": "a", "label": "low"}, "b"]
FRICTIONLESS = {
    "fields": [
        {"name": "id", "type": "integer"},
        {"name": "age", "type": "integer", "title": "age in years", "constraints": {"minimum": 0, "maximum": 17}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}, "missingValues": ["?", ""]},
        {
            "name": "grade",
            "type": "string",
            "categories": [{"value": "a", "label": "low"}, "b"],
            "categoriesOrdered": True,
        },
        {"name": "yes", "type": "boolean", "trueValues": ["Y"], "falseValues": ["N"]},
        {"name": "score", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
        {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-01-02"}},
        {"name": "note", "type": "string"},
    ],
    "primaryKey": "id",
}


@pytest.mark.parametrize("packed", [False, True])
def test_a_frictionless_schema_is_read(tmp_path: Path, *, packed: bool) -> None:
    read = {"resources": [{"name": "people", "schema": FRICTIONLESS}]} if packed else FRICTIONLESS
    found = drafted(tmp_path, "schema.json", json.dumps(read))
    assert {name: len(each.values) for name, each in found.items()} == {
        "age": 18, "sex": 3, "grade": 2, "yes": 2, "score": 1001, "day": 2,
    }  # fmt: skip
    assert found["yes"].values == ("false", "true")
    assert found["grade"].kind == "ordered"


def test_sdv_metadata_name_kinds_alone(tmp_path: Path) -> None:
    read = {
        "primary_key": "id",
        "columns": {
            "id": {"sdtype": "id"},
            "age": {"sdtype": "numerical", "computer_representation": "Int64"},
            "city": {"sdtype": "categorical"},
            "size": {"sdtype": "categorical", "order": ["S", "M", "L"]},
            "mail": {"sdtype": "email", "pii": True},
            "smokes": {"sdtype": "boolean"},
        },
    }
    draft = draft_of(codebook(tmp_path, "metadata.json", json.dumps({"tables": {"people": read}})), "")
    assert draft.identifiers == ("id",)
    assert [each.name for each in draft.attributes] == ["size", "smokes"]
    assert [each.name for each in draft.left_out] == ["age", "city", "mail"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_domain_of_dpsynth_is_read(tmp_path: Path, *, packed: bool) -> None:
    domain = (
        "age: {type: NumericalAttribute, min_value: 18.0, max_value: 100.0, dtype: int}\n"
        "tier: {type: CategoricalAttribute, possible_values: [FREE, PRO], description: what is paid}\n"
        "city: {type: OpenSetCategoricalAttribute, default_value: <OOD>}\n"
    )
    text = "attributes:\n" + "".join(f"  {line}\n" for line in domain.splitlines()) if packed else domain
    found = drafted(tmp_path, "domain.yaml", text)
    assert found["age"].values == tuple(range(18, 101))
    assert found["tier"].values == ("FREE", "PRO")
    assert "city" not in found


DDI = """<?xml version="1.0"?>
<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
 <var name="AGE" intrvl="contin" dcml="0"><labl>age in
   years</labl><valrng><range min="0" max="17"/></valrng><invalrng><item VALUE="-9"/></invalrng>
   <sumStat type="max">16</sumStat><varFormat type="numeric"/></var>
 <var name="SEX"><labl>sex</labl><catgry><catValu>1</catValu><labl>male</labl><catStat type="freq">7</catStat></catgry>
   <catgry><catValu>2</catValu><labl>female</labl></catgry>
   <catgry missing="Y"><catValu>9</catValu><labl>refused</labl></catgry></var>
 <var name="PAY" intrvl="contin"><sumStat type="min">3</sumStat><sumStat type="max">77</sumStat></var>
</dataDscr></codeBook>"""


def test_a_ddi_codebook_is_read_without_its_statistics(tmp_path: Path) -> None:
    found = drafted(tmp_path, "book.xml", DDI)
    assert found["AGE"].values == (-9, *range(18))
    assert found["SEX"].values == (1, 2, 9)
    # The least and largest value that it counts are no range that it states.
    assert "PAY" not in found


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><codeBook><var name="&b;"/></codeBook>'
OUTSIDE = '<!DOCTYPE x SYSTEM "file:///etc/passwd"><codeBook/>'
PARAMETER = '<!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><codeBook/>'


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, PARAMETER])
def test_xml_with_a_document_type_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="must have no document type"):
        codebook(tmp_path, "book.xml", text)


@pytest.mark.parametrize("text", ["<codeBook>", "<a" * 3, "&undefined;", "<a>" * 200 + "</a>" * 200])
def test_xml_that_is_not_well_formed_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"well-formed|nested"):
        codebook(tmp_path, "book.xml", text)


def test_the_header_of_an_arff_file_is_read_and_no_record(tmp_path: Path) -> None:
    text = (
        "% people\n@relation people\n@attribute 'my age' integer\n@ATTRIBUTE sex {f,m,'not \\'known\\''}\n"
        "@attribute born date 'yyyy-MM-dd'\n@data\n@attribute secret {1}\n17,f,2000-01-01\n"
    )
    book = codebook(tmp_path, "people.arff", text)
    assert list(book.variables) == ["my age", "sex", "born"]
    assert [entry.value for entry in book.variables["sex"].entries] == ["f", "m", "not 'known'"]
    assert book.variables["born"].pattern == "%Y-%m-%d"


SPSS = """* Labels of 2015.
VARIABLE LABELS
  AGE 'AGE AS OF ''15'
  SEX "SEX"
  CITY 'CITY' .
VALUE LABELS
  SEX 1 '1 MALE' 2 '2 FEMALE' -9 '-9 NOT ASCERTAINED'
 /AGE -1 '-1 INAPPLICABLE' -9 '-9 NOT ASCERTAINED'
 /CITY 'N' 'north' 'S' 'south' .
MISSING VALUES SEX AGE (-9).
EXECUTE.
"""
STATA = """#delimit ;
* LABELS;
label variable AGE "AGE AS OF '15";
LABEL VARIABLE SEX "SEX";
label define SEXF -1 "-1 INAPPLICABLE"
   1 "1 MALE; OR BOY"
   2 "2 FEMALE" .a "refused";
label define AGEF -1 "-1 INAPPLICABLE";
LABEL VALUE SEX SEXF;
label values AGE AGEF;
"""


def test_labels_of_spss_are_read(tmp_path: Path) -> None:
    book = codebook(tmp_path, "labels.sps", SPSS)
    assert book.variables["AGE"] == Variable(
        name="AGE", label="AGE AS OF '15", entries=(Entry(value="-1", label="INAPPLICABLE"),), missing=("-9",)
    )
    assert [entry.label for entry in book.variables["SEX"].entries] == ["MALE", "FEMALE"]
    assert [entry.value for entry in book.variables["CITY"].entries] == ["N", "S"]
    # Labels of special codes alone: a range is missing.
    assert [each.lacks for each in draft_of(book, "").left_out] == ["range"]


def test_a_range_of_missing_values_of_spss_is_refused(tmp_path: Path) -> None:
    (fault,) = refused(tmp_path, "labels.sps", "VALUE LABELS x 1 'a'.\nMISSING VALUES x (LO THRU -1).\n")
    assert "must be listed one by one" in fault


def test_labels_of_stata_are_read(tmp_path: Path) -> None:
    book = codebook(tmp_path, "labels.do", STATA)
    assert book.variables["SEX"].entries == (
        Entry(value="-1", label="INAPPLICABLE"),
        Entry(value="1", label="MALE; OR BOY"),
        Entry(value="2", label="FEMALE"),
    )
    assert book.variables["SEX"].missing == (".a",)
    assert book.variables["AGE"].label == "AGE AS OF '15"


def test_labels_of_stata_may_stand_on_lines(tmp_path: Path) -> None:
    text = (
        'label define yesno 1 "yes" ///\n  2 "no"\nlabel values a b yesno\n'
        'label define more 1 "x"\n2 "y"\nlab val c more\n'
    )
    book = codebook(tmp_path, "labels.do", text)
    assert {name: len(each.entries) for name, each in book.variables.items()} == {"a": 2, "b": 2, "c": 2}


AHRQ = """
                    MADE-UP SURVEY CODEBOOK          DATE: May 1, 2025

 NAME      DESCRIPTION                            FORMAT  TYPE  START  END
 AGEX      AGE AT THE END OF THE YEAR                2.0   NUM     10   11
           VALUE                       UNWEIGHTED   WEIGHTED BY WT
           -1 INAPPLICABLE                    344        1,234,567
           0 - 4 AGE                        2,345       20,123,456
           5 - 17 AGE                       6,789       50,123,456.7
           TOTAL                            9,478       71,481,479
 SEX       SEX                                       1.0   NUM     12   12
           1 MALE                          17,000      150,000,000
           2 FEMALE                        18,427      160,000,000
 EXPX      TOTAL PAID IN THE YEAR                    6.0   NUM     13   18
           0                                5,000       50,000,000
           $1 - $250                        5,000       50,000,000
           $251 - $9,000                    5,000       50,000,000
           -9 NOT ASCERTAINED                  40        1,000,000
 ID        PERSON ID                                 8.0   CHAR    19   26
           VALID ID                        35,427      321,000,000
"""


def test_a_codebook_in_the_form_of_ahrq_is_read(tmp_path: Path) -> None:
    book = codebook(tmp_path, "codebook.txt", AHRQ)
    assert list(book.variables) == ["AGEX", "SEX", "EXPX", "ID"]
    draft = draft_of(book, "")
    age, sex, paid = draft.columns
    assert (age.low, age.high, age.also) == (0, 17, ((-1, "INAPPLICABLE"),))
    assert sex.values == ((1, "MALE"), (2, "FEMALE"))
    assert (paid.low, paid.high, paid.also) == (0, 9000, ((-9, "NOT ASCERTAINED"),))
    assert [each.name for each in draft.left_out] == ["ID"]


def test_a_saved_page_of_ahrq_is_read(tmp_path: Path) -> None:
    page = (
        "<html><script>var x;</script><table><tr><td>Variable Name:</td><td>MSA2</td></tr>"
        "<tr><td>Description:</td><td>MSA STATUS</td></tr><tr><td>Type:</td><td>NUM</td></tr>"
        "<tr><td>0 NON-MSA</td><td>2,163</td><td>47,568</td></tr><tr><td>1 MSA</td><td>13,724</td><td>257,778</td></tr>"
        "<tr><td>TOTAL</td><td>16,221</td><td>312,141</td></tr></table></html>"
    )
    (variable,) = codebook(tmp_path, "page.html", page).variables.values()
    assert variable.label == "MSA STATUS"
    assert variable.entries == (Entry(value="0", label="NON-MSA"), Entry(value="1", label="MSA"))


ALLOWED = (
    *(ast.Module, ast.Expr, ast.Constant, ast.ImportFrom, ast.alias, ast.Assign, ast.Name, ast.Store, ast.Load),
    *(ast.Call, ast.keyword, ast.Dict, ast.List, ast.UnaryOp, ast.USub),
)
TEXTS = st.text(min_size=1, max_size=20)


@given(name=TEXTS, label=TEXTS, value=TEXTS, meaning=TEXTS, file=TEXTS)
def test_no_text_of_a_codebook_becomes_code(name: str, label: str, value: str, meaning: str, file: str) -> None:
    book = Codebook()
    entries = (Entry(value=value, label=meaning), Entry(value="other"))
    book.add(Variable(name=name, label=label, entries=entries, missing=(label,)), "")
    book.add(Variable(name="without " + name, kind="text", label=label), "")
    try:
        draft = draft_of(book, "")
    except InvalidInput:
        return
    tree = ast.parse(schema_text(draft, sources=[file], description=label))
    assert all(isinstance(node, ALLOWED) for node in ast.walk(tree))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names <= {"schema", "table", "nominal", "ordered", "numeric", "dates", "identifier"}


UNSEEN = ("\x1b[31m", "\x9b31m", "\u202e")


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize(
    "line",
    [
        "x{},years,a | b,,,",
        "x{},nominal,a | b,,,a",
        "x{},integer,0 to 9,,none,",
        "x,nominal,a{} | b,,,",
        "x,nominal,a | b,?{},,",
        "x,integer,0 to 9 | a{},,,",
        "x,date,2019-01-01 to 2019-01-02,,,%Y{}-%m-%d",
        "x,date,2019-01-01{} to 2019-01-02,,,%Y-%m-%d",
        "x,numeric,0 to 9,,{},",
    ],
)
def test_no_text_of_a_codebook_steers_a_terminal(tmp_path: Path, line: str, unseen: str) -> None:
    text = "variable,type,values,missing,step,pattern\n" + line.format(unseen) + "\n"
    try:
        shown = schema_text(draft_of(codebook(tmp_path, "book.csv", text), ""), sources=[f"{unseen}.csv"])
    except InvalidInput as error:
        shown = str(error)
    assert all(each.isprintable() or each == "\n" for each in shown)


def test_a_text_made_to_be_code_stays_a_text(tmp_path: Path) -> None:
    text = 'variable,type,label,values\nx,nominal,"""""");import os;os.abort()#",1=""""""\\n | 2=\'\n'
    draft = draft_of(codebook(tmp_path, "book.csv", text), "")
    written = schema_text(draft, sources=['a""".csv'], description='"""\nimport os')
    assert all(isinstance(node, ALLOWED) for node in ast.walk(ast.parse(written)))


def test_a_cell_that_is_too_long_is_told_from_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text("variable,type,label\na,nominal," + "x" * 140_000 + "\n")
    (fault,) = read_codebooks([book]).faults
    assert fault.startswith("line 2: a codebook must have cells of at most 131,072 characters, got a longer one")


def test_a_long_codebook_of_ahrq_is_read_line_by_line(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    lines = ["AGE  age in years  4.0  NUM  1  4", *(f"{value}  A VALUE    10" for value in range(20_000))]
    lines += ["x" + " " * 200_000 + "y", "| " * 100_000 + "z", "1 " * 100_000, "", "\t" * 100_000]
    book.write_text("\n".join(lines))
    (variable,) = read_codebooks([book], "ahrq").variables.values()
    assert len(variable.entries) == 20_000


@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        ("line 4: sex must be f or m, got Ada; correct it.", "line 4: what is wrong there is not shown"),
        ("book.csv, line 4: the type must be one, got Ada; correct it.", "line 4: what is wrong there is not shown"),
        ("Ada must have each value once, got 3 twice.", "an entry: what is wrong there is not shown"),
        ("line 1: a codebook must have one column for each entry, got two for type; rename one.", "got two for type"),
    ],
)
def test_faults_of_a_file_that_may_be_the_table_quote_nothing_of_it(fault: str, shown: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        require_no_faults([fault], "book.csv", quoting=False)
    assert shown in str(refused.value)
    assert "Ada" not in str(refused.value)
