"""Document 004 with its parts, in its order."""

from typing import Final

from papers.findings import Paper
from papers.lecture.linkage import membership, netflix, weld
from papers.lecture.local import count_mean_sketch, two_coins
from papers.lecture.queries import auditing, composition, consistency, differencing, sensitivities
from papers.lecture.reconstruction import bits, block
from papers.lecture.report import report
from papers.lecture.synthesis import modes, private_pgm

PAPER: Final = Paper(
    number="004",
    title="A lecture: attacks, noise and synthetic data",
    source="Slides of a lecture on data privacy, with examples from the literature.",
    lead="Each example of the slides, carried out: the attacks on made-up people, with a control that must find "
    "nothing, and the remedies by the project's own parts. Noise and data are drawn under a fixed public key.",
    parts=(
        ("Weld", weld),
        ("Netflix", netflix),
        ("Differencing", differencing),
        ("Query auditing", auditing),
        ("Reconstruction", bits),
        ("Block of seven", block),
        ("Membership", membership),
        ("Two coins", two_coins),
        ("Count-mean sketch", count_mean_sketch),
        ("Sensitivities", sensitivities),
        ("Composition", composition),
        ("Consistency", consistency),
        ("PGM table", private_pgm),
        ("DataSynthesizer", modes),
        ("Report", report),
    ),
)
