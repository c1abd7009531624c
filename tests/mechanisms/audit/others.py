"""What is audited besides learners and samplers: discovery, and the answers of a survey."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats

from deniable.discovery.plan import STEP, DiscoveryPlan, Question
from deniable.foundation.keys import ReleaseKey
from deniable.local import responding
from deniable.local.survey import Survey, read_survey
from deniable.privacy.loss import MechanismEvent
from schemas.references import Audience, Reference
from schemas.spec.release_spec import ReleaseSpec, load_spec
from stores.vault.workspace import Workspace
from tasks.discovery.answer_questions import drawn as answers_of
from tests.mechanisms.audit.doors import Doors, through
from tests.mechanisms.audit.tables import FULL, SPARSE
from tests.small_release import QUICK, SCHEMA, write_small_release

FALSE_ALARM = 1e-9
_PERSON, _MOST = "person", 3
_OF_PEOPLE = SCHEMA.replace('target="employed",', f'target="employed", person="{_PERSON}", most_records={_MOST},')
_COLOURS = ("blue", "green", "red", "white")
_COLUMNS = (_PERSON, "colour", "colour_again", "size", "size_again")
_KEYS = 200
"""Of how many respondents answers are compared."""

Records = Sequence[tuple[str, str, str]]
"""Of each record the person, a colour and a size. All records of a person are alike."""


@dataclass(eq=False)
class Discovery:
    """A discovery of two columns of values, which are equal, and of two of numbers, which are equal.

    Attributes:
        folder: where its copies of tables are.
        epsilon: its budget.
        name: its name.
    """

    folder: Path
    epsilon: Fraction = Fraction(2)
    name: str = "discovery"

    @cached_property
    def plan(self) -> DiscoveryPlan:
        kinds = zip(_COLUMNS[1:], ("values", "values", "range", "range"), strict=True)
        questions = tuple(Question(column=column, kind=kind) for column, kind in kinds)  # type: ignore[arg-type]
        return DiscoveryPlan(questions=questions, epsilon=self.epsilon, delta=Fraction(1, 10**6))

    @property
    def events(self) -> Mapping[str, Sequence[MechanismEvent]]:
        return {STEP: self.plan.events}

    @cached_property
    def tables(self) -> Mapping[str, Records]:
        draw = np.random.default_rng(list(b"people of a discovery"))

        def people(number: int, sizes: Sequence[str], times: int) -> Records:
            found: list[tuple[str, str, str]] = []
            for person in range(number):
                record = (f"p{person}", _COLOURS[person % 4], sizes[draw.integers(len(sizes))])
                found += [record] * int(draw.integers(1, times + 1))
            return found

        sizes = ["0.5", "12", "-3", "1e40", "7.25", "no number", "100000"]
        return {
            FULL: people(400, sizes, 3),
            SPARSE: people(9, sizes, 1),
            "no number": people(12, [""], 1),
            "one number only": people(40, ["12.5"], 1),
            "numbers beyond the grid": people(40, ["1e300", "-1e300"], 1),
            "several records of a person": people(20, sizes, 60),
            "big counts": people(3_000, ["5"], 1),
        }

    @cached_property
    def neighbours(self) -> Sequence[tuple[str, Records]]:
        """Tables with all records of one person more or less."""
        many = [("somebody", "red", "33.5")] * 40
        return [
            (SPARSE, [*self.tables[SPARSE], *many]),
            (SPARSE, self.tables[SPARSE][:-1]),
            ("one number only", [*self.tables["one number only"], *many]),
            ("no number", [*self.tables["no number"], *many]),
        ]

    @cached_property
    def _spec(self) -> ReleaseSpec:
        return load_spec(write_small_release(self.folder / "spec", schema=_OF_PEOPLE, **QUICK))

    def run(self, table: Records, key: ReleaseKey) -> Mapping[str, bytes]:
        workspace = Workspace(self.folder / "state", "discovery-1", self._spec, "")
        workspace.vault.mkdir(parents=True, exist_ok=True)
        (workspace.vault / "key").write_bytes(key.secret)
        path = workspace.vault / "snapshot.parquet"
        people, colours, sizes = zip(*table, strict=True)
        columns = dict(zip(_COLUMNS, (people, colours, colours, sizes, sizes), strict=True))
        pq.write_table(pa.table({name: pa.array(texts, pa.string()) for name, texts in columns.items()}), path)
        snapshot = Reference(name="snapshot", path=path, digest="", rows=len(table), audience=Audience.RESTRICTED)
        found = answers_of(workspace, self.plan, snapshot)
        return {"answers": repr([*found.answers]).encode()}

    def chunks(self, table: Records, key: ReleaseKey) -> Sequence[bytes]:  # noqa: ARG002
        return ()

    def variants(self) -> Sequence["Discovery"]:
        return [replace(self, epsilon=2 * self.epsilon)]


def asked_twice() -> Survey:
    """A survey in which every design asks two equal questions."""
    designs = [("warner", 2, "3/4"), ("forced", 2, "1/2"), ("k_rr", 4, ""), ("oue", 3, "")]
    questions = [
        {
            "name": f"{design}{again}",
            "text": "Which?",
            "values": [f"v{value}" for value in range(values)],
            "design": design,
            **({"truth": given} if design == "warner" else {"forced": given} if given else {"epsilon": "1"}),
        }
        for design, values, given in designs
        for again in ("", "_again")
    ]
    return read_survey(json.dumps({"survey": "twice", "title": "Twice", "questions": questions}))


def survey_findings() -> Iterator[str]:
    """What the audit of a survey finds: of its streams, of the independence of its answers, and of their law."""
    survey = asked_twice()
    alike = [{question.name: question.values[answer] for question in survey.questions} for answer in range(2)]
    keys = [ReleaseKey(number.to_bytes(32, "big")) for number in range(_KEYS)]
    runs = [through_doors(survey, answers, keys[0])[0] for answers in alike]
    if len(set(runs[0].opened)) < len(survey.questions):
        yield "streams: two questions have the same words"
    if {*runs[0].opened} & {*runs[1].opened}:
        yield "streams: two answers to a question have the same words"
    given = [responding.respond(survey, alike[0], key) for key in keys]
    for one, two in zip(survey.questions[::2], survey.questions[1::2], strict=True):
        design = one.design
        p, q = (float(each) for each in design.support)
        same = sum(each[one.name] == each[two.name] for each in given)
        if design.kind == "oue":
            chance = (p * p + (1 - p) * (1 - p)) * (q * q + (1 - q) * (1 - q)) ** (design.values - 1)
        else:
            chance = p * p + (design.values - 1) * q * q
        if stats.binomtest(same, _KEYS, chance).pvalue < FALSE_ALARM:
            yield f"independence: equal answers by {design.kind} get equal responses {same} times of {_KEYS}"
        if design.kind != "oue":
            true = sum(each[one.name] == alike[0][one.name] for each in given)
            if stats.binomtest(true, _KEYS, p).pvalue < FALSE_ALARM:
                yield f"laws: {design.kind} tells the truth {true} times of {_KEYS}"


def through_doors(survey: Survey, answers: Mapping[str, str], key: ReleaseKey) -> tuple[Doors, dict[str, str]]:
    """Answer a survey."""
    with through(Doors()) as doors:
        given = responding.respond(survey, answers, key)
    return doors, given
