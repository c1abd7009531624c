"""`python -m benchmarks.peer_programs.anchors REQUEST`: a figure by the program that defined it.

It runs in the program's environment. The request is a JSON file that names the program and CSV files of codes; the
figure is printed as JSON. Nothing but the standard library, pandas and the program is imported.
"""

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd


def main() -> None:
    """Read the request, and print the figure."""
    warnings.filterwarnings("ignore")
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found = {"sdnist": k_marginal, "anonymeter": inferred}[asked.pop("program")](**asked)
    print(json.dumps(found))


def k_marginal(first: str, second: str) -> dict[str, float]:
    """The k-marginal score of two tables."""
    importlib.import_module("sdnist.report")  # imported first: the two modules import each other
    score = importlib.import_module("sdnist.metrics.kmarginal").KMarginal
    return {"score": float(score(pd.read_csv(first), pd.read_csv(second)).compute_score())}


def inferred(used: str, unused: str, released: str, known: list[str], secret: str, guesses: int) -> dict[str, Any]:
    """The rates of right guesses about people used and not used, each with half of its 95% interval."""
    evaluator = importlib.import_module("anonymeter.evaluators").InferenceEvaluator(
        ori=pd.read_csv(used),
        syn=pd.read_csv(released),
        control=pd.read_csv(unused),
        aux_cols=known,
        secret=secret,
        n_attacks=guesses,
    )
    evaluator.evaluate(n_jobs=1)
    found = evaluator.results()
    rates = {"used": found.attack_rate, "unused": found.control_rate}
    return {name: [float(rate.value), float(rate.error)] for name, rate in rates.items()}


if __name__ == "__main__":
    main()
