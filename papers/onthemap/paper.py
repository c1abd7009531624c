"""Document 002 with its figures, in its order."""

from typing import Final

from papers.findings import Paper
from papers.onthemap.attributes import attributes
from papers.onthemap.commuting import figure_1, figure_2, figure_3, figure_4
from papers.onthemap.data import data
from papers.onthemap.sampling import sampled_by_4_4
from papers.onthemap.states import words_for_made_up

PAPER: Final = Paper(
    number="002",
    title="Machanavajjhala and others 2008: commuting flows",
    source='Machanavajjhala, Kifer, Abowd, Gehrke, Vilhuber, "Privacy: Theory meets Practice on the Map", Proceedings '
    "of the International Conference on Data Engineering, 2008.",
    lead="The origins of a destination's workers are drawn from their counts and from prior workers, who hide each of "
    "them. How far do synthetic workers commute? The paper's workers of Minnesota are not public; ours are those of "
    "Rhode Island in 2019 as LODES publishes them, 406,052 workers in 17,127 blocks, with noise of its own, which "
    "stand for the truth, as in the paper. Origins are drawn by the project's own urns under a fixed public key.",
    parts=(
        ("Data", data),
        ("Figure 1", figure_1),
        ("Figure 2", figure_2),
        ("Figure 3", figure_3),
        ("Figure 4", figure_4),
        ("Theorem 5.2", sampled_by_4_4),
        ("Attributes", attributes),
    ),
    stand_in=words_for_made_up,
)
