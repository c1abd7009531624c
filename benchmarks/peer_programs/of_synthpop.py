"""synthpop-py: classification and regression trees with their defaults, which give no privacy guarantee."""

from typing import Any, Final

import pandas as pd
from synthpop import Synthesiser

from benchmarks.peer_programs.driver import Draw, Fit, Request


def _fit(request: Request) -> Draw:
    """Fit a tree for each column after those before it; see `driver.Fit`."""
    made = Synthesiser(random_seed=request.seed)
    made.fit(pd.read_csv(request.train)[list(request.sizes)])

    def draw(records: int) -> Any:
        return made.generate(records)

    return draw


PROGRAMS: Final[dict[str, Fit]] = {"CART": _fit}
