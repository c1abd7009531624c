"""The formats of the documents of models. Reading them does not belong here (model_formats, conditionals)."""

from typing import Final

BAYES_NET: Final = "deniable/bayes-net/1"
JUNCTION_TREE: Final = "deniable/junction-tree/1"
LOGLINEAR: Final = "deniable/loglinear-net/3"
LOGLINEAR_WITHOUT_TABLES: Final = "deniable/loglinear-net/2"
"""The earlier format, which did not state the tables that the network was made of."""
CONSTRAINED: Final = "deniable/constrained-net/1"
"""Any of them, restricted by the rules of a table."""
