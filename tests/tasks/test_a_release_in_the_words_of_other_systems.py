"""`deniable data describe`: each format is accepted by its own validator, and read back by a foreign reader.

Schemas and shapes that the package index does not have are read from `../shared/data/standards`, where it is present.
mlcroissant cannot be pinned, because a part of it exists as source alone; here a Croissant file is read as JSON-LD.
"""

import json
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import in_toto_attestation.v1.statement as in_toto
import jsonschema
import prov.model
import pyshacl
import pytest
import rdflib
import rocrate.rocrate
import xmlschema
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import ComponentType
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf.json_format import ParseDict, ParseError
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from packageurl import PackageURL
from ruamel.yaml import YAML

from deniable.catalogues.registry import FORMATS
from deniable.cli.dispatch import main
from tests.mechanisms.table import LEARNERS, SAMPLERS
from tests.published import Published
from tests.whole_release import GUARANTEES, SEEDLESS, drawn_release

STANDARDS = Path(__file__).resolve().parents[2].parent / "shared/data/standards"
ADDRESS = "https://statistics.example/people"
SAID = {
    "description": "People of a test.",
    "keywords": ["people", "tests"],
    "language": "en",
    "publisher": {"name": "Office of Tests", "url": "https://statistics.example"},
    "curator": {"name": "Ada", "email": "ada@statistics.example"},
    "licence": "CC-BY-4.0",
    "purpose": "Tests & <teaching>.",
    "not_for": "Decisions about a person.",
    "conditions": "Say that the records are made up.",
    "legal_basis": "An act.",
    "population": "All people of a test.",
    "region": "XX",
    "sector": "Education",
    "period": "2015/2018-06",
    "review_by": "2030-01-01",
}
DCT, DCAT = "http://purl.org/dc/terms/", "http://www.w3.org/ns/dcat#"
KINDS: dict[str, dict[str, Any]] = {
    **GUARANTEES,
    "seedless": {**SEEDLESS, "publication": SAID},
    "poisson_seeds": {**SEEDLESS, **SAMPLERS["poisson_seeds"], "split": {"shared": 0.8, "holdout": 0.2}},
    "per_draw": SAMPLERS["per_draw"],
    "no guarantee": dict(LEARNERS["diverse"].asked),
}


@cache
def standard(name: str) -> Path:
    """A schema or shape of another system."""
    path = STANDARDS / name
    if not path.exists():
        pytest.skip(f"{path} is absent; it has the schemas of other systems")
    return path


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published release, its trust file beside it, and its descriptions in `described`."""
    drawn = drawn_release(tmp_path_factory.mktemp(request.param), "people-1", bytes(range(32)), **KINDS[request.param])
    drawn.publish()
    folder = drawn.workspace.release_folder
    trust = folder.parent / "trusted.json"
    trust.write_text(Published.of(drawn).keys.to_text(), encoding="utf-8")
    assert describe(folder, "all", out=folder.parent / "described") == 0
    return folder


def describe(folder: Path, form: str, *, out: Path | None = None, address: str = ADDRESS) -> int:
    named = [] if out is None else ["--out", str(out)]
    keys = str(folder.parent / "trusted.json")
    try:
        return main(["data", "describe", str(folder), "--as", form, "--address", address, "--keys", keys, *named]) or 0
    except SystemExit as ended:
        return int(ended.code or 0)


def text_of(folder: Path, form: str) -> str:
    return (folder.parent / "described" / FORMATS[form].file).read_text(encoding="utf-8")


def document_of(folder: Path, form: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text_of(folder, form))
    return document


def package_of(folder: Path) -> dict[str, Any]:
    package: dict[str, Any] = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    return package


def names_of(folder: Path) -> list[str]:
    return [field["name"] for field in package_of(folder)["resources"][0]["schema"]["fields"]]


def digest_of(folder: Path, name: str) -> str:
    return sha256((folder / name).read_bytes()).hexdigest()


def test_a_catalogue_accepts_the_dcat_description_and_finds_every_file(folder: Path) -> None:
    graph = rdflib.Graph().parse(data=text_of(folder, "dcat"), format="json-ld")
    shapes = rdflib.Graph().parse(standard("dcat-ap-3.0.1/dcat-ap-SHACL.ttl"))
    conforms, _, said = pyshacl.validate(graph, shacl_graph=shapes)
    assert conforms, said
    places = {str(place) for place in graph.objects(None, rdflib.URIRef(f"{DCAT}downloadURL"))}
    assert places == {f"{ADDRESS}/synthetic.csv", f"{ADDRESS}/synthetic.parquet"}
    # Positive control: a description without a title is not accepted.
    graph.remove((None, rdflib.URIRef(f"{DCT}title"), None))
    assert not pyshacl.validate(graph, shacl_graph=shapes)[0]


def test_an_archive_accepts_the_ddi_codebook_with_every_variable_and_label(folder: Path) -> None:
    text = text_of(folder, "ddi")
    schema = codebook_schema()
    assert [error.reason for error in schema.iter_errors(text)] == []
    book = ET.fromstring(text)  # noqa: S314 - our own
    space = {"d": "ddi:codebook:2_6"}
    variables = book.findall("d:dataDscr/d:var", space)
    assert [variable.get("name") for variable in variables] == names_of(folder)
    labels = {
        variable.get("name"): {
            category.findtext("d:catValu", None, space): category.findtext("d:labl", None, space)
            for category in variable.findall("d:catgry", space)
        }
        for variable in variables
    }
    for field in package_of(folder)["resources"][0]["schema"]["fields"]:
        stated = {str(each["value"]): each.get("label") for each in field.get("categories", ())}
        assert labels[field["name"]] == stated
    unknown = text.replace("<stdyDscr>", "<stdyDscr><unknown/>")
    assert list(schema.iter_errors(unknown)) != []


@cache
def codebook_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(standard("ddi-codebook-2/codebook.xsd")))


def test_a_crate_has_every_file_of_the_folder_with_its_digest(folder: Path, tmp_path: Path) -> None:
    crate = tmp_path / "crate"
    crate.mkdir()
    for path in folder.iterdir():
        (crate / path.name).write_bytes(path.read_bytes())
    (crate / "ro-crate-metadata.json").write_text(text_of(folder, "ro-crate"), encoding="utf-8")
    read = rocrate.rocrate.ROCrate(crate)
    assert {entity.id for entity in read.data_entities} == {path.name for path in folder.iterdir()}
    for entity in read.data_entities:
        assert entity["sha256"] == digest_of(folder, entity.id)
    (action,) = (entity for entity in read.contextual_entities if entity.type == "CreateAction")
    assert len(action["result"]) == len(list(folder.iterdir()))


def steps_of(folder: Path) -> list[Mapping[str, Any]]:
    steps: list[Mapping[str, Any]] = record_of(folder)["steps"]
    return steps


def test_the_lineage_of_prov_is_that_of_the_record(folder: Path) -> None:
    read = prov.model.ProvDocument.deserialize(content=text_of(folder, "prov"), format="json")
    used = {record.args[0].localpart for record in read.get_records(prov.model.ProvUsage)}
    steps = steps_of(folder)
    assert used == {f"step-{number}" for number, step in enumerate(steps, 1) if step["inputs"]}
    generated = list(read.get_records(prov.model.ProvGeneration))
    assert len(generated) == sum(len(step["outputs"]) + len(step["artifacts"]) for step in steps)


def test_the_graph_of_openlineage_is_that_of_the_record(folder: Path) -> None:
    """Whoever reads the events alone draws the same graph: what each step read was made by an earlier one."""
    schema = json.loads(standard("openlineage/OpenLineage.json").read_text(encoding="utf-8"))
    check = jsonschema.Draft202012Validator({**schema, "$ref": "#/$defs/RunEvent", "oneOf": [{}]})
    events = [json.loads(line) for line in text_of(folder, "openlineage").splitlines()]
    for event in events:
        assert [error.message for error in check.iter_errors(event)] == []
    assert list(check.iter_errors({**events[0], "eventType": "DONE"})) != []
    steps, made = steps_of(folder), dict[str, str]()
    ended = [event for event in events[1:-1] if event["eventType"] == "COMPLETE"]
    assert len({event["run"]["runId"] for event in events}) == len(steps) + 1
    for event, step in zip(ended, steps, strict=True):
        for kind in ("inputs", "outputs"):
            told = {item["facets"]["version"]["datasetVersion"] for item in event[kind]}
            assert told == {item["digest"] for item in step[kind]}
        for item in event["inputs"]:
            assert made[item["name"]] == item["facets"]["version"]["datasetVersion"]
        made |= {item["name"]: item["facets"]["version"]["datasetVersion"] for item in event["outputs"]}
    for event, step in zip(ended, steps, strict=True):
        told = event["run"]["facets"]["deniable_privacyCost"]
        if step["cost"] is None:
            assert (told["guarantee"], "epsilon" in told) == ("none", False)
        else:
            assert (told["epsilon"], told["delta"]) == (step["cost"]["epsilon"], step["cost"]["delta"])
    assert any(step["cost"] is None for step in steps) == ("no guarantee" in str(folder))


def record_of(folder: Path) -> Mapping[str, Any]:
    envelope = json.loads((folder / "record.dsse.json").read_text(encoding="utf-8"))
    record: Mapping[str, Any] = json.loads(b64decode(envelope["payload"]))["predicate"]
    return record


def test_the_bill_of_materials_is_valid_and_names_what_the_record_names(folder: Path) -> None:
    text = text_of(folder, "cyclonedx")
    check = JsonStrictValidator(SchemaVersion.V1_6)
    assert check.validate_str(text) is None
    assert check.validate_str(text.replace('"library"', '"book"')) is not None
    read = Bom.from_json(json.loads(text))
    environment = record_of(folder)["environment"]
    libraries = {each.name: each.version for each in read.components if each.type is ComponentType.LIBRARY}
    assert libraries == environment["packages"]
    assert {str(each.purl) for each in read.components if each.purl} >= {
        PackageURL("pypi", name=name, version=version).to_string() for name, version in libraries.items()
    }
    used = {str(each.ref): {str(other.ref) for other in each.dependencies} for each in read.dependencies}
    assert used["program"] == {str(each.bom_ref) for each in read.components} - {"program"}


def test_the_slsa_provenance_is_a_statement_about_the_files_of_the_folder(folder: Path) -> None:
    stated = json.loads(text_of(folder, "slsa"))
    read = in_toto.Statement.copy_from_pb(ParseDict(stated, statement_pb2.Statement()))
    read.validate()
    ParseDict(stated["predicate"], provenance_pb2.Provenance())
    with pytest.raises(ParseError):
        ParseDict({"buildDefinition": {"builtBy": "nobody"}}, provenance_pb2.Provenance())
    assert {each["name"]: each["digest"]["sha256"] for each in stated["subject"]} == {
        path.name: digest_of(folder, path.name) for path in folder.iterdir() if path.name != "record.dsse.json"
    }
    (byproduct,) = stated["predicate"]["runDetails"]["byproducts"]
    assert byproduct["digest"]["sha256"] == digest_of(folder, "record.dsse.json")
    record = record_of(folder)
    build = stated["predicate"]["buildDefinition"]
    assert build["externalParameters"]["spec"] == record["spec"]["document"]
    assert build["resolvedDependencies"][0]["digest"]["hmacSha256"] == record["input"]["commitment"]


def test_the_registry_of_deployments_accepts_the_entry(folder: Path) -> None:
    schema = YAML(typ="safe", pure=True).load(standard("dp-registry/deployments-schema.yaml"))
    entry = YAML(typ="safe", pure=True).load(text_of(folder, "registry"))
    assert [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(entry)] == []
    stated = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    total = json.loads((folder / "privacy.json").read_text(encoding="utf-8"))["total"]
    if "no guarantee" in str(folder):
        assert (stated, entry["deployment"]["dp_variant"]["variant_name"]) == ({}, "Custom")
    else:
        assert (stated["epsilon"], stated["delta"]) == (total["epsilon"], total["delta"])
    entry["deployment"]["basic"].pop("name")
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(entry)) != []


def test_of_a_release_that_says_all_about_itself_every_field_of_the_registry_is_filled(folder: Path) -> None:
    schema = YAML(typ="safe", pure=True).load(standard("dp-registry/deployments-schema.yaml"))
    entry = YAML(typ="safe", pure=True).load(text_of(folder, "registry"))["deployment"]
    parts = schema["properties"]["deployment"]["properties"]
    empty = {
        name
        for part, described in parts.items()
        for name in described["properties"]
        if entry[part].get(name, "Not stated.") in ("Not stated.", ["Not stated."], "", [], {})
    }
    assert sum(len(described["properties"]) for described in parts.values()) == 32
    if "seedless" in str(folder):
        assert empty == set()
    elif "no guarantee" not in str(folder):
        unsaid = {"data_curators", "intended_use", "data_product_region", "data_product_sector"}
        assert empty == unsaid | {"justification", "registry_authors"}


def test_croissant_and_schema_org_are_linked_data_about_the_same_table(folder: Path) -> None:
    croissant, dataset = document_of(folder, "croissant"), document_of(folder, "schema-org")
    (records,) = croissant["recordSet"]
    assert [field["source"]["extract"]["column"] for field in records["field"]] == names_of(folder)
    for file in croissant["distribution"]:
        assert file["sha256"] == digest_of(folder, file["name"])
        assert file["contentUrl"] == f"{ADDRESS}/{file['name']}"
    graph = rdflib.Graph().parse(data=json.dumps(croissant), format="json-ld")
    columns = set(graph.objects(None, rdflib.URIRef("http://mlcommons.org/croissant/column")))
    assert {str(column) for column in columns} == set(names_of(folder))
    assert [each["name"] for each in dataset["variableMeasured"]] == names_of(folder)


@pytest.mark.parametrize("form", FORMATS)
def test_every_description_says_that_the_records_are_made_up_and_at_what_cost(folder: Path, form: str) -> None:
    text = text_of(folder, form)
    if form in {"prov", "openlineage"}:
        assert "epsilon" in text
        return
    assert "none describes a real person" in text
    promised, none = "made up under differential privacy", "made up, without differential privacy"
    assert (promised in text, none in text) == (("no guarantee" not in str(folder)), "no guarantee" in str(folder))


def test_a_release_is_found_under_differential_privacy_only_if_it_has_it(folder: Path) -> None:
    promises = str(folder).partition("no guarantee")[1] == ""
    assert ("differential privacy" in package_of(folder)["keywords"]) == promises
    if not promises:
        assert "disclosure control" in package_of(folder)["keywords"]


def test_a_description_is_printed_or_written_and_refused_in_one_sentence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert describe(folder, "dcat") == 0
    assert capsys.readouterr().out == text_of(folder, "dcat")
    place = tmp_path / "it.json"
    assert describe(folder, "dcat", out=place) == 0
    assert place.read_text(encoding="utf-8") == text_of(folder, "dcat")
    capsys.readouterr()
    assert describe(folder, "marc") == 2
    assert "a format must be one of schema-org, croissant" in capsys.readouterr().err
    assert describe(folder, "all") == 2
    assert "name one with --out" in capsys.readouterr().err
    assert describe(folder, "dcat", address="statistics.example") == 2
    assert "--address must begin with https://" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    (tmp_path / "trusted.json").write_bytes((folder.parent / "trusted.json").read_bytes())
    assert describe(tmp_path / "empty", "dcat") == 2
    assert "the record must be in the folder" in capsys.readouterr().err


def test_a_folder_whose_documents_were_changed_is_not_described(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (tmp_path / "trusted.json").write_bytes((folder.parent / "trusted.json").read_bytes())
    assert describe(copy, "dcat") == 0
    for name in ("privacy.json", "datapackage.json"):
        (copy / name).write_text((folder / name).read_text().replace("a", "b"))
        capsys.readouterr()
        assert describe(copy, "dcat") == 2
        assert f"{name} is not the file that was signed" in capsys.readouterr().err
        (copy / name).write_bytes((folder / name).read_bytes())
    record = (folder / "record.dsse.json").read_text(encoding="utf-8")
    signature = json.loads(record)["signatures"][0]["sig"]
    (copy / "record.dsse.json").write_text(record.replace(signature, "A" * 86 + "=="), encoding="utf-8")
    assert describe(copy, "dcat") == 1
    assert "http" not in capsys.readouterr().out
