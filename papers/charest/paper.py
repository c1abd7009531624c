"""Document 003 with its parts, in its order."""

from typing import Final

from papers.charest.posteriors import coverage, figure_2, posterior, synthesizer
from papers.charest.rules import figure_1, table_1, table_2, the_rules
from papers.findings import Paper

PAPER: Final = Paper(
    number="003",
    title="Charest 2010: several synthetic sets",
    source='Charest, "How can we analyze differentially private synthetic datasets?", Journal of Privacy and '
    "Confidentiality 2(2), 2010.",
    lead="A survey counts the people of a category, and publishes M synthetic sets of it under differential privacy: "
    "how good are the combining rules of the literature, and what does a model of the synthesis add? All surveys "
    "are made up, as in the paper: 100 people, sets of 100 records. Figures are exact sums over all outcomes "
    "where there are few enough, and otherwise simulated under a fixed key. Another program computed the numbers "
    "of the expectations.",
    parts=(
        ("Synthesizer", synthesizer),
        ("Combining rules", the_rules),
        ("Table 1", table_1),
        ("Table 2", table_2),
        ("Figure 1", figure_1),
        ("Markov chain", posterior),
        ("Figure 2", figure_2),
        ("Coverage", coverage),
    ),
    minutes=1,
)
