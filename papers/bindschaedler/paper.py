"""Document 000 with its figures and tables, in its order."""

from typing import Final

from papers.bindschaedler.accuracy import figure_1, figure_2
from papers.bindschaedler.attributes import table_1, table_2
from papers.bindschaedler.controls import controls
from papers.bindschaedler.distances import figure_3, figure_4
from papers.bindschaedler.passing import figure_6
from papers.bindschaedler.people import words_for_made_up
from papers.bindschaedler.private_training import table_4
from papers.bindschaedler.speed import figure_5
from papers.bindschaedler.trained import table_3, table_5
from papers.findings import Paper

PAPER: Final = Paper(
    number="000",
    title="Bindschaedler, Shokri, Gunter 2017: plausible deniability",
    source='Bindschaedler, Shokri, Gunter, "Plausible Deniability for Privacy-Preserving Data Synthesis", Proceedings '
    "of the VLDB Endowment 10(5), 2017.",
    lead="Records start from real ones, their seeds: a model with noise re-samples some attributes, and a record is "
    "released if enough other seeds are as plausible. How good are the model and its records? The people are the "
    "100,000 records of ACS 2013 that come with the authors' tool, in the paper's coding, with the graph and the "
    "order that the tool learnt and published. Models and records are made by the project's own learners and "
    "samplers, planned as from a spec, under a fixed public key; k = 50, gamma = 4, eps0 = 1, epsilon 1 and delta "
    "2^-30, as in the paper. It learnt from about 280,000 records and had about 735,000 seeds. Noise does not "
    "depend on the number of records, so rows marked `paper's size` have a model with as many times the epsilon as "
    "the paper had times the records, and 735,000 seeds drawn from the model without noise: stand-ins, whose noise "
    "and k are as small, relative to the counts, as the paper's. `log-linear` is the project's own learner at "
    "epsilon 1. That is the cost of a model. The paper states a cost for each record beside it; what all candidates "
    "that start from seeds cost is in Figure 6. So only rows of marginals, of omega 11 and of `log-linear` cost "
    "epsilon 1 in total.",
    parts=(
        ("Table 1", table_1),
        ("Table 2", table_2),
        ("Figure 1", figure_1),
        ("Figure 2", figure_2),
        ("Figure 3", figure_3),
        ("Figure 4", figure_4),
        ("Table 3", table_3),
        ("Table 4", table_4),
        ("Table 5", table_5),
        ("Figure 5", figure_5),
        ("Figure 6", figure_6),
        ("Controls", controls),
    ),
    stand_in=words_for_made_up,
)
