"""Every learner and every sampler of the registries, by one row of one table, keeps what the contract promises."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deniable.foundation import noise
from deniable.foundation.checks import found
from deniable.foundation.domain import Codes
from deniable.foundation.keys import ReleaseKey
from deniable.learners import registry as learners
from deniable.learners.registry import LEARNERS as LEARNERS_THERE
from deniable.ledger.entries import Charge
from deniable.mechanisms import PlannedStep
from deniable.models.model_formats import model_from_document
from deniable.plausible_deniability.resampling import SeedResampler
from deniable.privacy.loss import MechanismEvent
from deniable.privacy.step_costs import part_delta, read_probability
from deniable.samplers.registry import SAMPLERS as SAMPLERS_THERE
from deniable.verification.planned_events import check_planned, expected_steps
from deniable.verification.record import step_costs
from schemas.spec.accounts import Accounts
from schemas.spec.plan import plan_release
from schemas.spec.release_spec import ReleaseSpec
from stores.ledger.charging import note_publication, open_ledger, opened_streams
from stores.statement.statement import TEMPLATES
from stores.tables.tables import read_codes
from tasks.data.public_rows import PublicCounter
from tests.conftest import ROOT
from tests.golden.made import KEY, NOTED, cases_of_rows, compared, digests
from tests.mechanisms.table import LEARNERS, ROWS, SAMPLERS
from tests.published import Published, faults, leaves, with_change
from tests.relation_words import RELATIONS, texts_of, words_of_others
from tests.whole_release import Drawn, drawn_release

AGAINST_THE_SPEC = "the events of every step are those that follow from spec and domain"
FALSE_ALARM = 1e-9
DIGESTS: dict[str, dict[str, str]] = json.loads(NOTED.read_text())
NOISY = {"discrete_laplace", "discrete_gaussian", "stability_histogram"}


@dataclass(frozen=True)
class Made:
    """A release of a row.

    Attributes:
        row: its name.
        drawn: the release.
        published: its folder, in memory.
    """

    row: str
    drawn: Drawn
    published: Published

    @property
    def spec(self) -> ReleaseSpec:
        return self.drawn.workspace.spec

    @cached_property
    def record(self) -> dict[str, Any]:
        return self.published.record

    @property
    def spending(self) -> list[PlannedStep]:
        return [step for step in plan_release(self.spec).steps if step.part is not None]


@pytest.fixture(scope="module", params=ROWS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    drawn = drawn_release(tmp_path_factory.mktemp("mechanism"), "people-1", KEY, **ROWS[request.param])
    note_publication(drawn.workspace, drawn.publish())
    return Made(request.param, drawn, Published.of(drawn))


def test_every_mechanism_has_a_row() -> None:
    assert set(LEARNERS) == set(LEARNERS_THERE)
    assert set(SAMPLERS) == set(SAMPLERS_THERE)


def test_the_release_is_byte_for_byte_what_it_was(made: Made) -> None:
    """Those of tests/golden that are of rows; what is not noted yet is named there."""
    noted = DIGESTS.get(cases_of_rows().get(made.row, ""))
    if noted is not None:
        assert compared(digests(made.drawn.workspace)) == compared(noted)


def test_the_verifier_derives_the_events_that_are_planned(made: Made) -> None:
    document, domain = made.record["spec"]["document"], made.spec.domain
    expected = expected_steps(document)
    used = {step.part for step in made.spending if step.part is not None}
    read = read_probability(made.spec.split.probabilities, used)
    stated = {step.step: step for step in step_costs(made.record)}
    for step in made.spending:
        derived = expected[step.name].plan(document, domain, stated[step.name], lambda whole: part_delta(whole, read))
        assert as_in_part(derived.events, step) == as_in_part(step.events, step), step.name
        assert list(derived.amounts()) == []
        assert list(derived.claim(step.guarantee)) == []
    assert {name for name, step in expected.items() if step.part is not None} == {step.name for step in made.spending}


def as_in_part(events: tuple[MechanismEvent, ...], step: PlannedStep) -> list[MechanismEvent]:
    """Events as they are before it is known which part of the split the step reads, and how many records."""
    return [replace(event, part=str(step.part), sampling_rate=Fraction(1)) for event in events]


def test_steps_make_what_the_verifier_expects_and_all_of_it_is_published(made: Made) -> None:
    expected = expected_steps(made.record["spec"]["document"])
    for step in plan_release(made.spec).steps:
        public = {product.name: product.file for product in step.makes if product.is_public}
        assert public == dict(expected[step.name].makes)
        assert set(public.values()) <= set(made.published.files)


def test_what_is_read_was_made_before(made: Made) -> None:
    there: set[str] = set()
    for step in plan_release(made.spec).steps:
        assert set(step.reads) <= there
        there |= {product.name for product in step.makes}
    assert ({"urns"} if made.spec.learner.is_drawn_from_counts else {"graph", "model"}) <= there


def test_every_step_that_reads_a_part_is_charged_once_with_its_events(made: Made) -> None:
    charges = [entry.fact() for entry in open_ledger(made.drawn.workspace).entries()]
    charged = [fact for fact in charges if isinstance(fact, Charge)]
    assert [charge.step for charge in charged] == [step.name for step in made.spending]
    for charge, cost in zip(charged, plan_release(made.spec).accounts.steps, strict=True):
        assert charge.events == cost.events
        assert float(charge.claim.cost.epsilon) >= cost.charged.epsilon
        assert float(charge.claim.cost.delta) >= cost.charged.delta


def test_the_release_verifies_with_its_ledger(made: Made) -> None:
    report = made.published.verify(with_ledger=True)
    assert report.holds, faults(report)


def test_an_event_that_is_altered_left_out_or_added_is_named_against_the_spec(made: Made) -> None:
    """With one figure of each step altered the whole release is verified; others are held against the spec alone."""
    record = made.record
    for number, step in enumerate(record["cost"]["steps"]):
        altered = [
            with_change(record, ("cost", "steps", number, "events", *place), lambda _, to=changed: to)
            for place in leaves(step["events"])
            if place[-1] not in ("part", "sampling_rate")  # what the split says, and so held against that
            for changed in others(step["events"][place[0]][place[-1]])
        ]
        if step["events"]:
            fewer = with_change(record, ("cost", "steps", number, "events"), lambda events: events[1:])
            more = with_change(record, ("cost", "steps", number, "events"), lambda events: [*events, events[0]])
            altered += [fewer, more]
        for each in altered[:1]:
            assert is_named_in_full(made.published.signed_again(each), step["step"]), each["cost"]["steps"][number]
        for each in altered[1:]:
            assert is_named(made, each, step["step"]), each["cost"]["steps"][number]


def others(value: Any) -> list[Any]:
    """Other values of a field, near and far."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    number = None
    try:
        number = Fraction(value)
    except ValueError:
        return [f"{value} and more"]
    return [str(number * 2), str(number / 2)] if number else ["1"]


def is_named(made: Made, altered: dict[str, Any], step: str) -> bool:
    """Whether a step's event is said not to be what the spec asks for, or otherwise the release does not verify."""
    faults_found = found(lambda: check_planned(altered, made.spec.domain, step_costs(altered)).faults)
    if any(fault.startswith(f"step {step}: ") for fault in faults_found):
        return True
    return is_named_in_full(made.published.signed_again(altered), step)


def is_named_in_full(altered: Published, step: str) -> bool:
    """Whether a step's event is said not to be what the spec asks for, or to be none at all."""
    report = altered.verify()
    against = [fault for check in report.checks for fault in check.faults if check.name == AGAINST_THE_SPEC]
    return any(fault.startswith(f"step {step}: ") for fault in against) or (not report.holds and not against)


class InMemory:
    """Counts the rows of a part, read once."""

    def __init__(self, codes: list[Codes]) -> None:
        self.codes = codes

    def count(self, empty: Callable[[], Any], _: str) -> Any:
        tally = empty()
        for codes in self.codes:
            tally.add(codes)
        return tally

    def advance(self, amount: int) -> None:
        pass


def test_what_is_learnt_is_made_again_to_the_bit_and_noise_is_drawn_where_there_are_events(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []
    for law in (noise.DiscreteLaplace, noise.DiscreteGaussian):
        monkeypatch.setattr(law, "sample", told(law.sample, drawn))
    workspace, there = made.drawn.workspace, dict[str, Any]()
    parts = {path.stem: path for path in workspace.vault.rglob("*.parquet")}
    for step in plan_release(made.spec).steps:
        codes = [] if step.part is None else list(read_codes(parts[step.part], made.spec.domain))
        stated = next(each for each in made.record["steps"] if each["step"] == step.task)
        inputs = " ".join(thing["digest"] for thing in stated["inputs"])
        drawn.clear()
        counter = InMemory(codes) if step.public is None else PublicCounter(made.spec, step.public, workspace.state)
        again = step.run(
            counter, {name: there[name] for name in step.reads}, opened_streams(workspace, step.name, inputs)
        )
        for product in step.makes:
            written = io.BytesIO()
            product.write(again.products[product.name], written)
            there[product.name] = product.read(io.BytesIO(written.getvalue()))
            if product.is_public:
                assert written.getvalue() == made.published.files[product.file], product.file
        noisy = {event.mechanism for event in step.events} & NOISY
        assert bool(drawn) == bool(noisy), step.name


def told(sample: Callable[..., Any], drawn: list[object]) -> Callable[..., Any]:
    """Let a law tell of what is drawn by it."""

    def telling(self: object, *arguments: Any) -> Any:
        drawn.append(self)
        return sample(self, *arguments)

    return telling


def test_records_of_the_model_have_the_probabilities_that_it_scores_them_with(made: Made) -> None:
    if made.spec.learner.is_drawn_from_counts:
        assert "model.json" not in made.published.files, "its counts are not released"
        return
    net = model_from_document(made.spec.domain, made.published.document("model.json"))
    stream = ReleaseKey(bytes(range(32))).stream(step="test", mechanism="sample", inputs="", parameters={})
    records = 20_000
    codes = net.in_order(net.sample(stream.take(records * len(made.spec.domain))))
    sizes = [made.spec.domain.cardinalities[i] for i in net.order]
    cells = np.indices(sizes).reshape(len(sizes), -1).T.astype(np.uint16)
    whole = SeedResampler(net, {len(sizes): 1})
    scored = np.array([whole.probabilities(cell.copy(), cell[None]).item() for cell in cells])
    assert scored.sum() == pytest.approx(1)
    observed = np.bincount(np.ravel_multi_index(tuple(codes.T.astype(int)), sizes), minlength=len(cells))
    assert p_value(observed, scored * records) > FALSE_ALARM
    contrary = np.empty_like(observed)
    contrary[np.argsort(scored)] = np.sort(observed)[::-1]
    assert p_value(contrary, scored * records) < FALSE_ALARM or np.ptp(scored) < 1e-6


def p_value(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    often = expected >= 5
    both = (np.append(each[often], each[~often].sum()) for each in (observed, expected))
    kept = [each[np.array([*often[often], expected[~often].sum() >= 5])] for each in both]
    if kept[0].sum() < observed.sum():
        kept[1] = kept[1] * kept[0].sum() / kept[1].sum()
    return float(stats.chisquare(*kept).pvalue)


def test_every_page_is_there_and_speaks_of_this_learner_alone(made: Made) -> None:
    readme = made.published.files["README.md"].decode()
    known = {"structure": made.drawn.accounts.structure}
    for kind in LEARNERS_THERE:
        said = str(TEMPLATES.get_template(f"learners/{kind}/words.md.jinja").make_module(known).made())  # type: ignore[attr-defined]
        assert (said in readme) == (kind == made.spec.learner.kind), kind
    privacy = made.published.files["PRIVACY.md"].decode()
    assert {"README.md", "PRIVACY.md", "index.html", "privacy.json"} <= set(made.published.files)
    for text in (readme, privacy, made.published.files["index.html"].decode()):
        assert "None" not in text
        assert "{{" not in text
        assert not re.search(r"(?<![\d.,])1 (choices|draws|records|candidates|rows|people|attributes|tables)\b", text)


def test_the_page_names_the_gamma_that_the_statement_names(made: Made) -> None:
    """Given the number of attributes that was drawn, gamma is 1, whatever the spec has."""
    page, statement = (made.published.files[name].decode() for name in ("index.html", "privacy.json"))
    shown = {float(gamma) for gamma in re.findall("factor \N{GREEK SMALL LETTER GAMMA} = ([0-9.]*[0-9])", page)}
    assert shown == {float(gamma) for gamma in re.findall(r'"gamma": ([\d.]+)', statement)}
    assert shown == ({1.0} if getattr(made.spec.synthesis, "given_omega", False) else shown)
    assert bool(shown) == made.spec.synthesis.tests


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_learner_that_adds_noise_names_the_test_of_its_law(kind: str) -> None:
    row = LEARNERS[kind]
    entry = next(each for each in learners.entries() if each.model_fields["kind"].annotation.__args__ == (kind,))
    assert bool(row.laws) == bool(entry.parts or entry.is_drawn_from_counts)
    for law in row.laws:
        file, name = law.split("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_every_sentence_is_of_the_releases_own_relation(made: Made) -> None:
    """All texts speak of what this release protects, and one about anything else is found in each of them."""
    relation, total = made.drawn.accounts.relation, made.drawn.accounts.total
    texts = dict(texts_of(made.drawn, made.published.files))
    assert {"PRIVACY.md", "README.md", "privacy.json", "index.html", "report", "in short", "plan"} <= set(texts)
    assert ("MLflow's model" in texts) != made.spec.learner.is_drawn_from_counts
    for name, text in texts.items():
        assert words_of_others(relation, text) == [], name
    for other in RELATIONS.values():
        if other.kind != relation.kind:
            for name in ("PRIVACY.md", "privacy.json", "index.html", "report", "plan"):
                assert words_of_others(other, texts[name]), (other.kind, name)
    page, privacy = texts["index.html"], " ".join(texts["PRIVACY.md"].split())
    for line in relation.not_covered:
        assert line in privacy
        assert line in page
        assert line in texts["privacy.json"]
    assert relation.holds in page
    assert page.count("is the largest possible share of correct guesses") == meters(made.drawn.accounts)
    assert page.count(f"guesses {relation.guessed}.") == meters(made.drawn.accounts) or not relation.is_guarantee
    assert (f"if the {relation.several} do not depend on each other" in page) == relation.is_guarantee
    drawn = re.findall(r"exact figures of the confidential records[^.]*", page)
    assert all(("except the number of workers" in sentence) == relation.is_replacement for sentence in drawn)
    accounts = made.drawn.accounts
    assert ("although some records keep" in page) == (accounts.attempts is not None)
    assert ("although each record keeps" in page) == accounts.tested
    assert ("not the size of the confidential table" in " ".join(texts["README.md"].split())) != relation.is_replacement
    assert ("no differential privacy" in texts["plan"]) == (total is None)
    assert ("privacy test 1" in "".join(texts.values())) == (made.spec.synthesis.tests and total is None)


def meters(accounts: Accounts) -> int:
    """How many bounds on guesses a page shows: of the release, and of the model where that is something else."""
    total, model = accounts.total, accounts.model
    own = 0 if accounts.from_counts or (total is not None and total.epsilon == model.epsilon) else 1
    return own + (total is not None)
