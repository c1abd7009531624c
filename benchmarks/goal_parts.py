"""`python benchmarks/goal_parts.py PART RUNS FIGURES`: measure one part of the goals of speed, in a process of its own.

The part is measured in the checkout that PYTHONPATH names, which need not be the checkout of this file: in this way
`goals` measures two commits alternately. FIGURES receives, as JSON, every figure of the part by name, one value per
run, and a description of the data.

Whole commands are metered as processes, including their servers: seconds of all cores, as counted by the kernel
(`wait4`). Everything else is metered in seconds of one thread, after a first call that is not counted.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

Figures = dict[str, list[float]]

ROOT: Final = Path(os.environ.get("PYTHONPATH", "").split(os.pathsep)[0] or Path(__file__).resolve().parent.parent)
"""The checkout that is measured."""
HERE: Final = Path(__file__).resolve().parent.parent
"""The checkout of this file, with the downloaded data."""
MILLION: Final = 1_000_000
CANDIDATES: Final = 262_144
ROWS_STREAMED: Final = 10_000_000
MADE_UP: Final = "made-up people"
STEP: Final = "step "
"""Beginning of the name of a figure of one step of a release."""
MADE_UP_ROWS: Final = 1_400_000
COUNTED: Final = 200
"""Candidates whose plausible seeds are counted by prefixes."""
SCANNED: Final = 5
"""The first of them, whose plausible seeds are also counted by a scan."""
OMEGAS: Final = {
    "candidates_9": {9: 1},
    "candidates_9_11": dict.fromkeys((9, 10, 11), 1),
    "candidates_5_11": dict.fromkeys(range(5, 12), 1),
}
"""Numbers of attributes drawn anew, with their weights, by figure."""
_SMALL: Final = Fraction(1, 10**9)
_ACS2024 = "data/acs2024/acs2024_persons_49states.parquet"
_ACS2024_CODED = "data/acs2024/acs2024_workers_pd9_coded.parquet"
_CODED: Final = {
    "age": (1, 79, 10),
    "wc": (1, 8, 1),
    "edu": (1, 24, 4),
    "ms": (1, 5, 1),
    "occ": (1, 25, 1),
    "race": (1, 5, 1),
    "sex": (1, 2, 1),
    "hpw": (1, 99, 15),
    "cit": (1, 5, 1),
    "householder": (0, 2, 1),
    "incc": (1, 2, 1),
}
"""Attributes of the coded file of workers: smallest code, number of values, width of a bucket."""


@dataclass(frozen=True)
class Metered:
    """The cost of a process, including the processes for which it waited.

    Attributes:
        cpu: seconds of all cores.
        clock: seconds by the clock.
        mib: the peak memory of the largest process.
    """

    cpu: float
    clock: float
    mib: float


def metered(command: list[str], environment: dict[str, str]) -> Metered:
    """Run a command to its end, without output, in the measured checkout.

    Raises:
        SystemExit: the command failed, which gives no measurement.
    """
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        clock, process.returncode = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command[1:])} must succeed to be measured:\n{said.read().decode()}")
    return Metered(used.ru_utime + used.ru_stime, clock, used.ru_maxrss / 2**10)


def seconds_of(work: Callable[[], object], runs: int) -> list[float]:
    """Return the CPU seconds of this thread for each of several calls, after one that is not counted."""
    work()
    return [_seconds(work) for _ in range(runs)]


def _seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="deniable-goals-") as folder:
        yield Path(folder)


def release(runs: int) -> tuple[Figures, str]:
    """Measure the release of `make release`, and the commands that only read, in a separate state folder."""
    with _folder() as folder:
        state = folder / "var"
        cached = HERE / "var/cache"
        if cached.is_dir():
            shutil.copytree(cached, state / "cache")
        environment = os.environ | {"DENIABLE_STATE": str(state)}
        program = [sys.executable, "-m", "deniable"]
        spec = "deployments/specs/acs_ma.yaml"
        begin = [*program, "release", "make", spec, "--new"]
        # The first release creates the databases, and compiles whatever is not compiled yet.
        first = metered(begin, environment)
        warm = [metered(begin, environment) for _ in range(runs)]
        fresh = environment | {"NUMBA_CACHE_DIR": str(folder / "kernels")}
        ahead = []
        if (ROOT / "infra/compiled_ahead.py").is_file():
            # As `make` does during installation.
            ahead = [metered([sys.executable, "-m", "infra.compiled_ahead", spec], fresh).cpu]
        cold = metered(begin, fresh)
        steps = _steps_of(Path(spec), environment, folder / "steps.json")
        published = max((state / "releases").iterdir())
        verify = [*program, "audit", "verify", str(published)]
        looks = {
            "plan": [*program, "release", "plan", spec],
            "find": [*program, "release", "find"],
            "held": [*program, "release", "held"],
            "ledger_show": [*program, "budget", "show"],
            "verify": [*verify, "--keys", str(state / "keys/trusted.json")],
        }
        looked = {name: [metered(command, environment).cpu for _ in range(runs)] for name, command in looks.items()}
    return {
        "release_cpu": [one.cpu for one in warm],
        "release_clock": [one.clock for one in warm],
        "release_first_cpu": [first.cpu],
        "kernels_cpu": [cold.cpu - median(one.cpu for one in warm)],
        "kernels_ahead_cpu": ahead,
        **looked,
        **steps,
    }, "persons of Massachusetts, ACS 2015-2018"


def _steps_of(spec: Path, environment: dict[str, str], figures: Path) -> Figures:
    """Return the CPU seconds of each step of one warm release, in their order, and last those of all else."""
    whole = metered([sys.executable, "-m", "benchmarks.metered", str(spec), str(figures)], environment)
    found = {name: step["core_seconds"] for name, step in json.loads(figures.read_text(encoding="utf-8")).items()}
    del found["whole release"]
    return {f"{STEP}{name}": [taken] for name, taken in {**found, "else": whole.cpu - sum(found.values())}.items()}


def million(runs: int) -> tuple[Figures, str]:
    """Measure releases of a million records from 1.4 million, at most five, after one that is not counted."""
    # The cap of the budget allows no more.
    runs = min(runs, 5)
    with _folder() as folder:
        environment = os.environ | {"DENIABLE_STATE": str(folder / "var")}
        real = Path(os.environ.get("DENIABLE_ACS2024") or HERE.parent / "shared" / _ACS2024)
        spec = ROOT / "benchmarks/specs/acs2024_million.yaml"
        if real.is_file():
            environment["DENIABLE_ACS2024"] = str(real)
        else:
            spec = ROOT / "benchmarks/specs/people_million.yaml"
            environment["DENIABLE_PEOPLE"] = str(_people(folder))
        figures = folder / "figures.json"
        found: list[Metered] = []
        steps: list[dict[str, Any]] = []
        for _ in range(runs + 1):
            found.append(metered([sys.executable, "-m", "benchmarks.metered", str(spec), str(figures)], environment))
            steps.append(json.loads(figures.read_text()))
    return {
        "million_cpu": [one.cpu for one in found[1:]],
        "million_clock": [one.clock for one in found[1:]],
        "million_mib": [one.mib for one in found[1:]],
        "million_evaluated": [one["evaluate_utility"]["core_seconds"] for one in steps[1:]],
    }, "persons of 2024" if real.is_file() else MADE_UP


def _people(folder: Path) -> Path:
    import pyarrow as pa  # noqa: PLC0415 - here and below: a part imports what it measures, and no more
    import pyarrow.parquet as pq  # noqa: PLC0415

    from benchmarks.population import DOMAIN, people  # noqa: PLC0415

    codes = people(MADE_UP_ROWS)
    pq.write_table(pa.table({name: codes[:, i] for i, name in enumerate(DOMAIN.names)}), folder / "people.parquet")
    return folder / "people.parquet"


def candidates(runs: int) -> tuple[Figures, str]:
    """Measure candidates drawn and tested from a million seeds, in millions a second."""
    from benchmarks.population import stream  # noqa: PLC0415
    from deniable.plausible_deniability.mechanism_one import synthesize  # noqa: PLC0415
    from deniable.plausible_deniability.plausible_seeds import SeedIndex  # noqa: PLC0415
    from deniable.plausible_deniability.resampling import SeedResampler  # noqa: PLC0415

    net, seeds, data = _seeds()
    attempt = _attempt()
    found: Figures = {}
    for name, omega in OMEGAS.items():
        model, index = SeedResampler(net, omega), SeedIndex.build(seeds, omega)
        work = partial(_draw, synthesize, model, index, attempt, stream)
        found[name] = [CANDIDATES / one / MILLION for one in seconds_of(work, runs)]
    return found, data


def _attempt() -> Any:
    """Return Mechanism 1* with the paper's test."""
    from deniable.plausible_deniability.mechanism_one import MechanismOne  # noqa: PLC0415
    from deniable.plausible_deniability.privacy_tests import PrivacyTest  # noqa: PLC0415

    test = PrivacyTest(50, Fraction(4), Fraction(1), randomized=True)
    return MechanismOne(test, Fraction(1, 100), MILLION // 2)


def scan(runs: int) -> tuple[Figures, str]:
    """Measure how many times faster plausible seeds are counted by prefixes than by a scan; the counts must agree."""
    from benchmarks.population import stream  # noqa: PLC0415
    from deniable.plausible_deniability.plausible_seeds import (  # noqa: PLC0415
        SeedIndex,
        count_plausible,
        count_plausible_by_scan,
        probability_classes,
    )
    from deniable.plausible_deniability.resampling import SeedResampler  # noqa: PLC0415

    net, seeds, data = _seeds()
    omega = OMEGAS["candidates_9_11"]
    model, index = SeedResampler(net, omega), SeedIndex.build(seeds, omega)
    classes, scratch = probability_classes(_attempt().test.gamma, seeds.shape[1]), index.scratch()
    words = stream("candidates").take(64 * COUNTED)
    drawn = [model.draw(seeds[seed], words[64 * seed : 64 * (seed + 1)], 0)[0] for seed in range(COUNTED)]

    def by_prefixes() -> list[int]:
        return [
            int(count_plausible(model.net.arrays, index.arrays, classes, candidate, seed, scratch))
            for seed, candidate in enumerate(drawn)
        ]

    def by_scan() -> list[int]:
        return [
            count_plausible_by_scan(partial(model.probabilities, candidate), seeds, seed, classes)
            for seed, candidate in enumerate(drawn[:SCANNED])
        ]

    if by_scan() != by_prefixes()[:SCANNED]:
        raise AssertionError("the scan and the counts by prefixes must agree")
    fast, slow = seconds_of(by_prefixes, runs), seconds_of(by_scan, runs)
    return {"scan": [(theirs / SCANNED) / (ours / COUNTED) for ours, theirs in zip(fast, slow, strict=True)]}, data


def histogram(runs: int) -> tuple[Figures, str]:
    """Measure records drawn from a noisy histogram of six of 11 attributes, in millions a second."""
    from benchmarks.population import stream  # noqa: PLC0415
    from deniable.samplers.histogram_seeds.noisy_histogram import HistogramRecipe, PrefixCounts  # noqa: PLC0415
    from deniable.samplers.histogram_seeds.sampling import PrefixSampler  # noqa: PLC0415

    net, seeds, data = _seeds()
    counts = PrefixCounts(net.domain, net.graph.order, 6)
    # Seeds are in the order of the network, and counted in the order of the domain.
    counts.add(_in_order_of_domain(net, seeds))
    recipe = HistogramRecipe(
        epsilon=Fraction(1),
        delta=_SMALL,
        k=50,
        beta=Fraction(1, MILLION),
        max_rows=2 * MILLION,
        epsilon_rows=Fraction(1, 100),
    )
    sampler = PrefixSampler(net, recipe.calibrate().run(counts, _open_stream()))
    words = stream("run").take(CANDIDATES * sampler.words_per_record)
    return {"histogram": [CANDIDATES / one / MILLION for one in seconds_of(partial(sampler.sample, words), runs)]}, data


def _in_order_of_domain(net: Any, seeds: Any) -> Any:
    import numpy as np  # noqa: PLC0415

    codes = np.empty_like(seeds)
    codes[:, list(net.graph.order)] = seeds
    return codes


def cfs(runs: int) -> tuple[Figures, str]:
    """Measure learning of structure and parameters as in the paper, counting included, from 1.4 million people."""
    domain, codes, data = _workers()
    return {"cfs": seconds_of(partial(_network, domain, codes, codes), runs)}, data


def _workers() -> tuple[Any, Any, str]:
    """Return domain and codes of 1.4 million people with 11 attributes, real ones if their file exists."""
    coded = Path(os.environ.get("DENIABLE_ACS2024_CODED") or HERE.parent / "shared" / _ACS2024_CODED)
    if not coded.is_file():
        from benchmarks.population import DOMAIN, people  # noqa: PLC0415

        return DOMAIN, people(MADE_UP_ROWS), MADE_UP
    import numpy as np  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    from benchmarks.population import stream  # noqa: PLC0415
    from deniable.foundation.domain import Attribute, Domain  # noqa: PLC0415

    table = pq.read_table(coded, columns=list(_CODED))
    codes = np.stack([table[name].to_numpy() - least for name, (least, _, _) in _CODED.items()], axis=1)
    codes = codes.astype(np.uint16)[np.argsort(stream("order").take(len(codes)), kind="stable")]
    domain = Domain(
        tuple(
            Attribute(name, tuple(range(size)), "numeric", tuple(value // width for value in range(size)))
            for name, (_, size, width) in _CODED.items()
        ),
        target="incc",
    )
    return domain, codes, "workers of 2024"


def _seeds() -> tuple[Any, Any, str]:
    """Return a network of 11 attributes, and a million seeds in its order; the network is learnt from other people."""
    domain, codes, data = _workers()
    net = _network(domain, codes[MILLION:], codes[MILLION:])
    return net, net.in_order(codes[:MILLION]), data


def _network(domain: Any, for_structure: Any, for_parameters: Any) -> Any:
    """Return the Bayesian network that the paper's method learns at epsilon 2, one half for each of its two steps."""
    from deniable.foundation.tables import FamilyCounts, PairCounts  # noqa: PLC0415
    from deniable.learners.cfs.parameters import ParameterRecipe  # noqa: PLC0415
    from deniable.learners.cfs.structure import StructureRecipe  # noqa: PLC0415

    open_stream = _open_stream()
    pairs = PairCounts(domain)
    pairs.add(for_structure)
    structure = StructureRecipe(
        epsilon=Fraction(1), delta=_SMALL, epsilon_rows=Fraction(1, 100), max_cost=300, noise="laplace"
    )
    graph = structure.calibrate(domain).run(pairs, open_stream)
    families = FamilyCounts(domain, graph.parents)
    families.add(for_parameters)
    recipe = ParameterRecipe(epsilon=Fraction(1), delta=_SMALL, noise="laplace", prior=Fraction(1), estimate="mean")
    return recipe.calibrate(domain).run(families, graph, open_stream)


def _open_stream() -> Callable[..., Any]:
    from deniable.foundation.keys import ReleaseKey  # noqa: PLC0415

    return partial(ReleaseKey(bytes(32)).stream, step="benchmark", inputs="")


def _draw(synthesize: Callable[..., Any], model: Any, index: Any, attempt: Any, stream: Callable[[str], Any]) -> None:
    synthesize(model, index, attempt, stream("run"), CANDIDATES)


def planned(domain: Any) -> Any:
    """Return the plan of the log-linear learner at epsilon 1."""
    from deniable.learners.loglinear.plan import LoglinearRecipe  # noqa: PLC0415

    return LoglinearRecipe(epsilon=Fraction(1), delta=_SMALL, noise="gaussian").calibrate(domain)


def learnt(plan: Any, chunks: Callable[[], Any]) -> Any:
    """Return the network that a plan learns from chunks of codes, which are read several times."""
    from deniable.learners.loglinear.estimation.counting import RowCounter  # noqa: PLC0415
    from deniable.learners.loglinear.mechanism import learn_network  # noqa: PLC0415

    return learn_network(plan, RowCounter(chunks), _open_stream())[0]


def wide_people(attributes: int, rows: int) -> tuple[Any, Any]:
    """Return domain and codes of made-up people."""
    from benchmarks import wide  # noqa: PLC0415
    from benchmarks.population import stream  # noqa: PLC0415

    return wide.domain(attributes), wide.network(attributes).sample(stream("wide").take(rows * attributes))


def records(runs: int) -> tuple[Figures, str]:
    """Measure records drawn from a log-linear network, in millions a second, without the matching of small releases."""
    from benchmarks.population import stream  # noqa: PLC0415

    found: Figures = {}
    for attributes in (11, 15):
        domain, codes = wide_people(attributes, 200_000)
        net = learnt(planned(domain), partial(_once, codes))
        found[f"records_{attributes}"] = _rates(net, stream("run").take(CANDIDATES * attributes), runs)
    return found, MADE_UP


def real_records(runs: int) -> tuple[Figures, str]:
    """Measure records drawn likewise from a network that is learnt from a million real people."""
    from benchmarks.population import stream  # noqa: PLC0415

    domain, codes, data = _workers()
    net = learnt(planned(domain), partial(_once, codes[:MILLION]))
    return {"records_real": _rates(net, stream("run").take(CANDIDATES * codes.shape[1]), runs)}, data


def _rates(net: Any, words: Any, runs: int) -> list[float]:
    return [CANDIDATES / one / MILLION for one in seconds_of(partial(net.sample_evenly, words), runs)]


def _once(codes: Any) -> list[Any]:
    return [codes]


def streamed(runs: int) -> tuple[Figures, str]:
    """Measure fits to ten million rows, read chunk by chunk, and the memory of fits to them and to a tenth of them."""
    domain, codes = wide_people(11, MILLION)
    plan = planned(domain)
    seconds = seconds_of(lambda: learnt(plan, lambda: [codes] * (ROWS_STREAMED // MILLION)), runs)
    held = [_held(1), _held(ROWS_STREAMED // MILLION)]
    return {"fit_streamed": seconds, "fit_streamed_mib": [held[1] / held[0]]}, MADE_UP


def _held(millions: int) -> float:
    """Return the peak memory, in MiB, of a process that fits to some millions of rows.

    The process reports it itself, because the kernel's figure for a process includes the memory of its parent at its
    start.
    """
    with _folder() as folder:
        figures = folder / "figures.json"
        this = [sys.executable, "-P", str(Path(__file__).resolve())]
        metered([*this, "streamed_once", str(millions), str(figures)], dict(os.environ))
        found: float = json.loads(figures.read_text(encoding="utf-8"))["figures"]["held"][0]
        return found


def streamed_once(millions: int) -> tuple[Figures, str]:
    """Fit once to some millions of rows, each chunk of which is made when it is read."""
    from benchmarks import wide  # noqa: PLC0415
    from benchmarks.population import stream  # noqa: PLC0415

    net, rows = wide.network(11), MILLION // 10

    def chunks() -> Iterator[Any]:
        words = stream("wide")
        return (net.sample(words.take(rows * 11)) for _ in range(10 * millions))

    learnt(planned(wide.domain(11)), chunks)
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return {"held": [int(line.split()[1]) / 2**10]}, ""


def attributes(_: int) -> tuple[Figures, str]:
    """Measure fits to tables of 80 and 160 attributes, once each, after a small fit has compiled every kernel."""
    small, codes = wide_people(11, 20_000)
    learnt(planned(small), partial(_once, codes))
    took = {}
    for size in (80, 160):
        domain, codes = wide_people(size, 50_000)
        plan = planned(domain)
        took[size] = _seconds(partial(learnt, plan, partial(_once, codes)))
    return {"fit_80": [took[80]], "fit_160": [took[160] / took[80]]}, MADE_UP


def adult(runs: int) -> tuple[Figures, str]:
    """Measure fits to half of Adult, warm; and cold, from the import to as many records, in separate processes."""
    domain, codes = _adult()
    plan = planned(domain)
    warm = seconds_of(partial(learnt, plan, partial(_once, codes)), runs)
    cold = [
        metered(
            [sys.executable, "-P", str(Path(__file__).resolve()), "adult_once", "1", os.devnull], dict(os.environ)
        ).cpu
        for _ in range(runs)
    ]
    return {"fit_adult": warm, "fit_adult_cold": cold}, "half of Adult"


def adult_once(_: int) -> tuple[Figures, str]:
    """Fit once to half of Adult, and draw as many records."""
    from benchmarks.population import stream  # noqa: PLC0415

    domain, codes = _adult()
    net = learnt(planned(domain), partial(_once, codes))
    net.sample_evenly(stream("run").take(codes.size))
    return {}, ""


def _adult() -> tuple[Any, Any]:
    """Return domain and codes of the half for learning, made once from the records' package and stored as arrays."""
    import numpy as np  # noqa: PLC0415

    from deniable.foundation.domain import Attribute, Domain  # noqa: PLC0415

    kept = HERE / "var/utility/adult_codes.npz"
    if not kept.is_file():
        from benchmarks.utility import Half, prepare  # noqa: PLC0415

        prepare(Path(os.environ.get("DENIABLE_EVALUATION") or HERE.parent / "shared"), kept.parent)
        np.savez(kept, codes=Half.read(kept.parent, "adult").train.to_numpy(np.uint16))
    meta = json.loads((kept.parent / "adult_meta.json").read_text())
    columns = {name: column["size"] for name, column in meta["columns"].items()}
    kinds = {name: "numeric" if column["kind"] == "numeric" else "nominal" for name, column in meta["columns"].items()}
    described = tuple(
        Attribute(name, tuple(range(size)), kinds[name], tuple(range(size)))  # type: ignore[arg-type]
        for name, size in columns.items()
    )
    return Domain(described, target=meta["target"]), np.load(kept)["codes"]


PARTS: Final[dict[str, Callable[[int], tuple[Figures, str]]]] = {
    "release": release,
    "million": million,
    "candidates": candidates,
    "scan": scan,
    "histogram": histogram,
    "cfs": cfs,
    "records": records,
    "real_records": real_records,
    "streamed": streamed,
    "attributes": attributes,
    "adult": adult,
}

WHOLE: Final = frozenset({"release", "million"})
"""Parts that run whole commands."""

if __name__ == "__main__":
    part, times, place = sys.argv[1:]
    made, of = {**PARTS, "adult_once": adult_once, "streamed_once": streamed_once}[part](int(times))
    Path(place).write_text(json.dumps({"figures": made, "data": of}), encoding="utf-8")
