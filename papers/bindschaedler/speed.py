"""Figure 5: time to make records, on the paper's axes."""

from fractions import Fraction
from time import process_time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable.foundation.domain import Codes
from deniable.plausible_deniability.mechanism_one import Counting, MechanismOne, synthesize, synthesize_by_scan
from deniable.plausible_deniability.plausible_seeds import SeedIndex
from deniable.plausible_deniability.privacy_tests import PrivacyTest
from deniable.plausible_deniability.resampling import SeedResampler
from deniable.privacy.common_events import check_probability
from papers.bindschaedler.people import People, stream_of, the_people
from papers.bindschaedler.pictures import draw_times
from papers.bindschaedler.published import (
    CORES,
    EPS0,
    GAMMA,
    RECORDS_IN_AN_HOUR,
    RECORDS_IN_TEN_MINUTES,
    TOOLS_CANDIDATES,
    K,
)
from papers.bindschaedler.releases import as_many_as_the_paper
from papers.findings import Check, Part, Picture, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

_OMEGA: Final = {9: 1}
_CANDIDATES: Final = (10_000, 100_000, 1_000_000)
_SCANNED: Final = 200
_MOST_PLAUSIBLE, _MOST_CHECKED = 100, 50_000
"""The paper's limits: a candidate's seeds are scored until so many are plausible, among so many."""
_WARM: Final = 2000


def figure_5() -> Part:
    """Time to make records."""
    return times(the_people())


def times(people: People, *, candidates: tuple[int, ...] = _CANDIDATES, scanned: int = _SCANNED) -> Part:
    """Figure 5 on a table.

    Args:
        people: the table.
        candidates: numbers of candidates of the index.
        scanned: number of candidates whose seeds are scored one by one.
    """
    net, seeds = as_many_as_the_paper(people, of_half=True)
    resampler = SeedResampler(net, _OMEGA)
    attempt = MechanismOne(PrivacyTest(k=K, gamma=Fraction(GAMMA), eps0=Fraction(EPS0), randomized=True))
    began = process_time()
    index = SeedIndex.build(net.in_order(seeds), _OMEGA)
    built = process_time() - began
    synthesize(resampler, index, attempt, stream_of("warm"), _WARM)  # compiles what is not compiled yet
    made, spent = [], []
    for number in candidates:
        began = process_time()
        made.append(len(synthesize(resampler, index, attempt, stream_of("timed"), number)))
        spent.append(built + process_time() - began)
    each = _scan(resampler, net.in_order(seeds), attempt, scanned)
    share = made[-1] / candidates[-1]
    curves: Mapping[str, tuple[list[float], list[float]]] = {
        "this project": ([float(number) for number in made], spent),
        "this project, seeds scored one by one": _line(each / share),
        "the authors' tool, measured": _line(2 / sum(TOOLS_CANDIDATES) / share),
        "published, one core: less than": ([float(RECORDS_IN_TEN_MINUTES)], [600.0]),
        f"published, {CORES} cores: less than": ([float(RECORDS_IN_AN_HOUR)], [3600.0 * CORES]),
    }
    per_second = (made[-1] - made[0]) / max(spent[-1] - spent[0], 1e-9)
    tools = share * sum(TOOLS_CANDIDATES) / 2
    return Part(
        name="Figure 5",
        title="time to make records",
        verdict="close",
        measured=True,
        why=f"The paper prints no numbers, and states that one core makes {RECORDS_IN_TEN_MINUTES:,} records in less "
        f"than ten minutes, and {CORES} cores more than a million in less than an hour, for omega 9, k = {K} and "
        f"gamma {GAMMA}. Its tool scores seeds until {_MOST_PLAUSIBLE} are plausible, among {_MOST_CHECKED:,} at "
        "most. Our sampler counts the seeds of each prefix once, in an index, and then needs no scan; the count is "
        f"exact, without a limit. Times are CPU seconds, of all cores, here of one thread with {len(seeds):,} seeds, "
        f"including the index, which takes {built:.2f} s; they differ from run to run and between machines. The tool "
        f"(0.10a) was measured once on one core of a similar machine, with 50,000 seeds: {TOOLS_CANDIDATES[0]} to "
        f"{TOOLS_CANDIDATES[1]} candidates per second. The scan that defines our test, with the paper's limits, is "
        "written in Python and serves tests alone.",
        product=(
            "deniable/plausible_deniability/mechanism_one_kernels.py",
            "deniable/plausible_deniability/plausible_seeds.py",
        ),
        checks=(
            Check("one core makes more than a hundred times as many records per second as the paper states",
                  per_second > 100 * RECORDS_IN_TEN_MINUTES / 600),
            Check("and more than a hundred times as many as the authors' tool", per_second > 100 * tools),
            Check("the most that were made took less than the paper states for one core", spent[-1] < 600),
        ),
        table=Table(
            ("program", "records", "CPU seconds", "records per second"),
            (
                ("published, one core", f"{RECORDS_IN_TEN_MINUTES:,}", "less than 600", "more than 17"),
                (f"published, {CORES} cores, each", f"{RECORDS_IN_AN_HOUR // CORES:,}", "less than 3,600",
                 "more than 17"),
                ("the authors' tool, measured", "", "", f"{tools:.0f}"),
                *(("this project", f"{number:,}", f"{seconds:.2f}", f"{number / seconds:,.0f}")
                  for number, seconds in zip(made, spent, strict=True)),
                ("this project, seeds scored one by one", f"{scanned * share:.0f}", f"{scanned * each:.2f}",
                 f"{share / each:,.0f}"),
            ),
        ),
        picture=Picture(
            draw_times(curves, ("number of records", "CPU time")),
            "Time to make records: this project, its scan, the authors' tool, and the paper's two statements",
        ),
    )  # fmt: skip


def _scan(resampler: SeedResampler, seeds: Codes, attempt: MechanismOne, candidates: int) -> float:
    """CPU seconds of a candidate whose seeds are scored one by one, with the paper's limits."""
    checked = check_probability(min(_MOST_CHECKED, len(seeds) - 1), len(seeds))
    counting = Counting(checked, _MOST_PLAUSIBLE)
    stream: Any = stream_of("scanned")
    synthesize_by_scan(resampler, seeds, attempt, stream, 1, counting=counting)
    began = process_time()
    synthesize_by_scan(resampler, seeds, attempt, stream, candidates, counting=counting)
    return (process_time() - began) / candidates


def _line(seconds: float) -> tuple[list[float], list[float]]:
    """Numbers of records, and the time that they take at a constant pace."""
    numbers = np.array([1e3, 1e4, 1e5, 1e6])
    return numbers.tolist(), (numbers * seconds).tolist()
