"""Privacy without a trusted curator: two coins, and the count-mean sketch."""

from fractions import Fraction
from math import exp, log, sqrt
from typing import Final

import numpy as np

from deniable.local.designs import Design, ratio_of
from deniable.local.estimates import estimates
from papers.findings import Check, Part, Table, between, equal
from papers.lecture.made_up import Floats, Integers, integers, stream_of, uniforms

_PEOPLE, _WORDS, _ROWS, _WIDTH = 20_000, 1_000, 64, 256
_EPSILON: Final = 2.0


def two_coins() -> Part:
    """Warner's question with two coins."""
    design = Design("forced", 2, Fraction(3))
    found = estimates(design, [600, 400], 1000)[1]
    stream = stream_of("coins")
    said = sum(design.respond(int(person < 300), stream)[0] for person in range(1000))
    again = estimates(design, [1000 - said, said], 1000)[1]
    low, high = found.interval
    return Part(
        name="Two coins",
        title="randomised response with two coins",
        verdict="reproduced",
        why="Heads: the truth; tails: the second coin answers. A yes is three times as probable from those who have "
        "the attribute: epsilon is ln 3 for each respondent. 400 of 1,000 yes give 30 %, and the slide's "
        "variance is that for a sample of a population; for the respondents themselves it is smaller. The "
        "interval is exact, and ours.",
        product=("deniable/local/designs.py", "deniable/local/estimates.py"),
        checks=(
            equal("epsilon", design.epsilon, log(3), 1e-12),
            equal("estimated share", found.share, 0.3, 1e-12),
            equal("variance of the slide, 4 A (1 - A) / n", found.se_population**2, 0.00096, 1e-12),
            equal("standard error for the respondents", found.se_given_sample, 0.027386127875258306, 1e-9),
            equal("lower end of the interval", low, 0.23893797509782477, 1e-7),
            equal("upper end of the interval", high, 0.3622431080882138, 1e-7),
            equal("1,000 respondents, 300 of whom have the attribute", again.share, 0.3, 4 * again.se_given_sample),
        ),
        table=Table(
            ("figure", "published", "ours"),
            (
                ("epsilon", "ln 3", f"{design.epsilon:.6f}"),
                ("share from 400 yes of 1,000", "0.3", f"{found.share:.3f}"),
                ("standard error, population", "0.0310", f"{found.se_population:.4f}"),
                ("standard error, respondents", "", f"{found.se_given_sample:.4f}"),
                ("95 % interval", "", f"{low:.4f} to {high:.4f}"),
                ("drawn again, 300 of 1,000", "", f"{again.share:.3f}"),
            ),
        ),
    )


def count_mean_sketch() -> Part:
    """Frequencies of words from one noisy bit vector of each respondent."""
    words, counts = _words()
    found = _sketched(words)
    spread = exp(_EPSILON / 2) / (exp(_EPSILON / 2) - 1) ** 2
    collisions = float((counts.astype(np.float64) ** 2).sum()) / (_ROWS * _WIDTH)
    deviation = sqrt(_PEOPLE * spread + collisions)
    other = sqrt(_PEOPLE * Design("oue", 2, ratio_of(Fraction(2))).zero_variance)
    error = float(np.sqrt(((found - counts) ** 2).mean()))
    shown = (0, 1, 2, 9, 99, _WORDS - 1)
    flip = 1 / (1 + exp(_EPSILON / 2))
    # Two words differ in two places; each place has the ratio (1 - flip) / flip.
    loss = 2 * log((1 - flip) / flip)
    return Part(
        name="Count-mean sketch",
        title="frequencies of words, as telephones report them",
        verdict="demonstrated",
        why=f"Each of {_PEOPLE:,} respondents chooses one of {_ROWS} hash functions, sets one of {_WIDTH} places and "
        "flips every place with probability 1 / (1 + e^(epsilon/2)); the mean over the sketch, less what "
        "collisions add, estimates each count. It is unbiased, and the error is that of the noise. The "
        "project's own surveys have no sketch: with up to 1,000 declared answers, its unary encoding (OUE) has "
        f"a smaller error at the same epsilon, {other:.0f} against {deviation:.0f}, without collisions; a sketch "
        "is for words that nobody can list beforehand.",
        product=("deniable/local/designs.py", "deniable/local/estimates.py"),
        checks=(
            equal("largest log-ratio of two words' responses", loss, _EPSILON, 1e-12),
            between("root mean square error over the expected deviation", 0.9, error / deviation, 1.1),
            Check(
                "the counts of the shown words are within four deviations",
                bool((np.abs(found - counts)[list(shown)] < 4 * deviation).all()),
            ),
            Check("unary encoding has the smaller error", other < deviation),
        ),
        table=Table(
            ("word, by rank", "people", f"estimate (deviation {deviation:.0f})"),
            tuple((str(word + 1), str(int(counts[word])), f"{found[word]:.0f}") for word in shown),
        ),
    )


def _words() -> tuple[Integers, Integers]:
    """The word of each respondent, by Zipf's law, and how many have each word."""
    law = 1 / np.arange(1, _WORDS + 1)
    below = np.cumsum(law / law.sum())
    words = np.minimum(np.searchsorted(below, uniforms(stream_of("words"), _PEOPLE), side="right"), _WORDS - 1)
    return words, np.bincount(words, minlength=_WORDS)


def _sketched(words: Integers) -> Floats:
    """The estimate of each word's count.

    Source: Apple's Differential Privacy Team 2017, "Learning with privacy at scale".
    """
    stream = stream_of("sketch")
    place_of = integers(stream, _WIDTH, _ROWS, _WORDS)
    rows = integers(stream, _ROWS, len(words))
    ones = np.full((len(words), _WIDTH), -1.0)
    ones[np.arange(len(words)), place_of[rows, words]] = 1.0
    flip = 1 / (1 + exp(_EPSILON / 2))
    ones[uniforms(stream, *ones.shape) < flip] *= -1
    scale = (exp(_EPSILON / 2) + 1) / (exp(_EPSILON / 2) - 1)
    sketch = np.zeros((_ROWS, _WIDTH))
    np.add.at(sketch, rows, _ROWS * (scale / 2 * ones + 0.5))
    means = sketch[np.arange(_ROWS)[:, np.newaxis], place_of].mean(axis=0)
    return np.asarray(_WIDTH / (_WIDTH - 1) * (means - len(words) / _WIDTH))
