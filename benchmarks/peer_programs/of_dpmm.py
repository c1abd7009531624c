"""dpmm: its pipelines with their defaults, but without processing, because the codes' domain is public."""

from functools import partial
from typing import Any, Final

import pandas as pd
from dpmm.pipelines import PIPELINES

from benchmarks.peer_programs.driver import Draw, Fit, Request


def _fit(pipeline: type, request: Request) -> Draw:
    """Fit with a pipeline, without processes beside this one; see `driver.Fit`."""
    made = pipeline(epsilon=request.epsilon, delta=request.delta, disable_processing=True, n_jobs=1)
    sizes = request.sizes
    made.fit(pd.read_csv(request.train)[list(sizes)], domain=sizes, random_state=request.seed)

    def draw(records: int) -> Any:
        return made.generate(n_records=records, random_state=request.seed)[list(sizes)]

    return draw


PROGRAMS: Final[dict[str, Fit]] = {each.__name__.removesuffix("Pipeline"): partial(_fit, each) for each in PIPELINES}
