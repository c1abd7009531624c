"""DataSynthesizer: PrivBayes (its correlated mode) with the default number of parents, and the public domain."""

import json
from pathlib import Path
from typing import Any, Final

from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator

from benchmarks.peer_programs.driver import Draw, Fit, Request


def _fit(request: Request) -> Draw:
    """Describe the file in the working folder, and draw from the description; see `driver.Fit`."""
    sizes = request.sizes
    domain, described = Path("domain.json").resolve(), Path("description.json").resolve()
    domain.write_text(json.dumps({name: list(range(size)) for name, size in sizes.items()}), encoding="utf-8")
    describer = DataDescriber()
    describer.describe_dataset_in_correlated_attribute_mode(
        request.train,
        epsilon=request.epsilon,
        attribute_to_datatype=dict.fromkeys(sizes, "Integer"),
        attribute_to_is_categorical=dict.fromkeys(sizes, True),
        attribute_to_is_candidate_key=dict.fromkeys(sizes, False),
        categorical_attribute_domain_file=str(domain),
        seed=request.seed,
    )
    describer.save_dataset_description_to_file(str(described))

    def draw(records: int) -> Any:
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(records, str(described), seed=request.seed)
        return generator.synthetic_dataset[list(sizes)]

    return draw


PROGRAMS: Final[dict[str, Fit]] = {"PrivBayes": _fit}
