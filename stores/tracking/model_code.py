"""Draws records from a logged model, without seeds: the code that MLflow keeps beside the model and runs to load it.

It reads nothing but the two public files that lie beside it, and needs nothing of this project but `deniable`, so that
whoever has those may copy the folder and use it.
"""

import hashlib
import json
from pathlib import Path

import mlflow
import pandas as pd
from mlflow.pyfunc.model import PythonModel, PythonModelContext

from deniable.foundation.domain import Domain
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey
from deniable.models.model_formats import model_from_document


class ModelOfARelease(PythonModel):
    """The model of a release, to draw records from that no confidential record had a part in.

    These are the release's own records only where those are drawn from the model alone, too. A draw is made of the
    model alone, which is differentially private, and so it costs nothing that the model did not cost.
    """

    def load_context(self, context: PythonModelContext) -> None:
        """Read the model and the schema that lie beside this file."""
        model = Path(context.artifacts["model"]).read_bytes()
        schema = json.loads(Path(context.artifacts["schema"]).read_bytes())
        self._net = model_from_document(Domain.from_document(schema), json.loads(model))
        self._digest = hashlib.sha256(model).hexdigest()

    def predict(  # type: ignore[override] # MLflow passes no parameters where none are asked for
        self,
        context: PythonModelContext,  # noqa: ARG002 - MLflow passes it
        model_input: pd.DataFrame,
    ) -> pd.DataFrame:
        """Draw records, in public: whoever knows the name of a draw makes it again, and gets the same records.

        All chance comes from the name, which is no secret; where chance must be one, make a release. A longer draw of
        the same name begins with the same records.

        Args:
            context: where the files are; they were read before.
            model_input: one row: `records`, how many to draw, and `draw`, any text that is to name the draw.

        Returns:
            A column for each attribute, of the table's own values.

        Raises:
            InvalidInput: there is another number of rows, no record to draw, or no name.
        """
        if len(model_input) != 1:
            raise InvalidInput(f"a draw must be asked for in one row, got {len(model_input)}; ask for one at a time.")
        records, draw = model_input["records"].item(), model_input["draw"].item()
        if records < 1 or not isinstance(draw, str):
            raise InvalidInput(
                f"a draw must have a name and at least one record, got records={records}, draw={draw!r}; give both."
            )
        public = ReleaseKey(hashlib.sha256(draw.encode()).digest())
        stream = public.stream(step="public_draw", mechanism="seedless", inputs=self._digest, parameters={})
        domain = self._net.domain
        codes = self._net.sample(stream.take(int(records) * len(domain)))
        columns = zip(domain.attributes, codes.T, strict=True)
        return pd.DataFrame({attribute.name: pd.Index(attribute.values).take(column) for attribute, column in columns})


mlflow.models.set_model(ModelOfARelease())
