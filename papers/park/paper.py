"""Document 001 with its figures and Table 3, in its order."""

from typing import Final

from papers.bindschaedler.people import words_for_made_up
from papers.findings import Paper
from papers.park.coefficients import figure_8
from papers.park.histograms import figure_4
from papers.park.intruders import figure_9
from papers.park.maps import figure_5, figure_6, figure_7
from papers.park.paths import table_3

PAPER: Final = Paper(
    number="001",
    title="Park, Ghosh, Shankar 2013: perturbed Gibbs samplers",
    source='Park, Ghosh, Shankar, "Perturbed Gibbs Samplers for Synthetic Data Release", arXiv:1312.5370, 2013.',
    lead="A record starts from a public seed, and each of its attributes in turn is drawn from the real people who are "
    "alike in a key of the others, and from prior people, who hide each of them (PeGS). In a block, each record starts "
    "from the one before, and a row of people serves once (PeGS.rs). Every draw is charged: epsilon is that of one "
    "record, and grows with the records. The paper's hospital discharges of California are not public, and its values "
    "of epsilon are not known here. Ours are the 100,000 records of ACS 2013 that the authors of document 000 publish: "
    "occupation stands in for the diagnosis, years of schooling for the charge, hours of work for the days of a stay, "
    "and the place of birth for the ZIP code. Keys are ordered by exact mutual information, as in the paper, which "
    "only public people allow. Records are planned, counted and drawn by the project's own learners under fixed public "
    "keys, 1,000 for each point, as in the paper. Neither pictures nor captions of Figures 1 to 3 and Tables 1 and 2 "
    "were at hand, so nothing is compared with them.",
    parts=(
        ("Table 3", table_3),
        ("Figure 4", figure_4),
        ("Figure 5", figure_5),
        ("Figure 6", figure_6),
        ("Figure 7", figure_7),
        ("Figure 8", figure_8),
        ("Figure 9", figure_9),
    ),
    stand_in=words_for_made_up,
)
