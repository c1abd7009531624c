"""What was learnt from a table under differential privacy: records, answers and documents follow from it at no cost."""

import io
import json
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.inference.interval_table import published_estimates
from deniable.ledger.drawing_versions import drawing_of, stream_name
from deniable.library.records import Records
from deniable.library.saving import WORDS, statement_in_words, unsigned_record, with_digests, write_folder
from deniable.library.schema import Schema
from deniable.measurements.document import FILE as MEASURED
from deniable.measurements.document import Measurements
from deniable.mechanisms import drawn_from
from deniable.models.model_formats import model_from_document
from deniable.privacy.loss import Guarantee
from deniable.privacy.step_costs import SHARED, StepCost
from deniable.record.statement import stated_without_ledger
from deniable.roles import Role
from deniable.samplers.registry import entry_of, sampler_of
from deniable.verification.release import CSV, DOMAIN, STATEMENT
from deniable.verification.unsigned import UNSIGNED

if TYPE_CHECKING:
    from deniable.library.opened import Questions

_GUARANTEE = "seedless"
_CHUNK = 100_000
_RECORDS = 10_000
_MOST_RECORDS = 10**8


class Release:
    """What one fit learnt. It holds no row of the table, and everything in it may be published.

    It was made without a ledger: nothing records that its cost was spent, or by whom, and nothing is signed.

    Attributes:
        schema: the schema.
        cost: what the fit cost; samples, answers and copies cost nothing more, and another fit costs again.
    """

    def __init__(
        self,
        schema: Schema,
        learner: Mapping[str, Any],
        steps: Sequence[StepCost],
        cost: Guarantee,
        products: Mapping[str, tuple[Any, Any]],
    ) -> None:
        self.schema = schema
        self.cost = cost
        self._learner, self._steps = learner, steps
        self._products = {name: made for name, made in products.items() if made[0].is_public}

    def __repr__(self) -> str:
        """The learner and the cost."""
        return f"Release({self._learner['kind']}, epsilon={self.cost.epsilon:.6g}, delta={self.cost.delta:.6g})"

    def sample(self, records: int) -> Records:
        """Draw synthetic records, others each time; this costs nothing.

        Args:
            records: how many.

        Raises:
            InvalidInput: the number is out of range.
        """
        if type(records) is not int or not 1 <= records <= _MOST_RECORDS:
            raise InvalidInput(f"the number of records must be a whole number from 1 to {_MOST_RECORDS:,}.")
        entry = entry_of(_GUARANTEE)(guarantee=_GUARANTEE, records=records, chunk_candidates=min(records, _CHUNK))
        key = ReleaseKey.generate()
        name = stream_name(drawing_of(self._learner["kind"], Role.CANDIDATES, dict(entry)), Role.CANDIDATES)
        sampler = sampler_of(entry, self.schema.domain, lambda whole: whole)
        draw = sampler.open(self._model, None, partial(key.stream, step=name, inputs=""))
        chunks = [draw(chunk, min(_CHUNK, records - start)) for chunk, start in enumerate(range(0, records, _CHUNK))]
        return Records(self.schema.domain, np.concatenate(chunks), key)

    @cached_property
    def infer(self) -> "Questions":
        """Answers questions with intervals, from what was measured and not from records."""
        from deniable.library.opened import questions_about  # noqa: PLC0415 - it reads documents, as of a folder

        return questions_about({name: text.encode() for name, text in self._documents(self.sample(_RECORDS)).items()})

    def save(self, folder: "str | os.PathLike[str]", records: "Records | int" = _RECORDS) -> None:
        """Write the release to a new folder: records, model, measurements, estimates and the statement of privacy.

        The documents are those of a flow's release, but nothing is signed. The folder appears when it is complete.

        Args:
            folder: the folder, which must not exist.
            records: the records to publish, or how many to draw.

        Raises:
            InvalidInput: the folder exists or cannot be written.
        """
        drawn = self.sample(records) if isinstance(records, int) else records
        if tuple(drawn) != self.schema.domain.names:
            raise InvalidInput("the records must be of this release; draw them with its sample.")
        write_folder(os.fspath(folder), self._documents(drawn))

    @cached_property
    def _model(self) -> Any:
        document = drawn_from({name: value for name, (_, value) in self._products.items()})
        return model_from_document(self.schema.domain, json.loads(json.dumps(document)))

    @cached_property
    def _learnt(self) -> Mapping[str, str]:
        """The texts of what was learnt and of what follows from it, by the names of their files."""
        texts: dict[str, str] = {}
        for product, value in self._products.values():
            file = io.BytesIO()
            product.write(value, file)
            texts[product.file] = file.getvalue().decode()
        if MEASURED in texts:
            measured = Measurements.from_document(self.schema.domain.modelled, json.loads(texts[MEASURED]))
            texts |= published_estimates(measured, {SHARED: Fraction(1)})
        return texts

    def _documents(self, drawn: Records) -> Mapping[str, str]:
        texts = {
            CSV: drawn.csv_text,
            DOMAIN: json.dumps(self.schema.document, indent=2, allow_nan=False) + "\n",
            **self._learnt,
        }
        synthesis = {"guarantee": _GUARANTEE, "records": drawn.rows, "chunk_candidates": min(drawn.rows, _CHUNK)}
        record = unsigned_record(
            self.schema.domain, learner=self._learner, synthesis=synthesis, steps=self._steps, total=self.cost
        )
        stated = stated_without_ledger(record)
        texts[STATEMENT] = json.dumps(stated, indent=2, allow_nan=False) + "\n"
        texts[WORDS] = statement_in_words(stated)
        texts[UNSIGNED] = with_digests(record, texts)
        return texts
