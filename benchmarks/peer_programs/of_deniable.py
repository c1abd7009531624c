"""Our own learners, with their steps as in a release and the records drawn without seeds."""

import json
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.coded import Rows, domain_of, of_model
from benchmarks.peer_programs.driver import Draw, Fit, Request
from deniable.foundation.keys import ReleaseKey
from deniable.learners.registry import entry_of, steps_of
from deniable.models.model_formats import model_from_document


def _fit(asked: dict[str, Any], request: Request) -> Draw:
    """Learn with one key; see `driver.Fit`."""
    domain = domain_of(json.loads(Path(request.meta).read_text(encoding="utf-8")))
    codes = np.loadtxt(request.train, dtype=np.uint16, delimiter=",", skiprows=1)
    budget = {"epsilon": Fraction(str(request.epsilon)), "delta": Fraction(str(request.delta))}
    entry = entry_of(asked["kind"]).model_validate({**asked, "parameters": budget}, context={"domain": domain})
    key = ReleaseKey(request.seed.to_bytes(32, "big"))
    made: dict[str, Any] = {}
    for step in steps_of(entry, domain, lambda delta: delta):
        read = {name: made[name] for name in step.reads}
        made |= step.run(Rows(codes), read, partial(key.stream, step=step.name, inputs="benchmark")).products
    net = model_from_document(domain, made["model"])
    return partial(of_model, net, key)


PROGRAMS: Final[dict[str, Fit]] = {
    "loglinear": partial(_fit, {"kind": "loglinear", "noise": "auto"}),
    "aim": partial(_fit, {"kind": "aim"}),
    "mst": partial(_fit, {"kind": "mst"}),
}
