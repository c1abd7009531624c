"""Draws records from a logged model, without seeds: the code that MLflow keeps with the model and runs to load it.

It reads only the two public files next to it, and of this project it needs only `deniable`, so anyone who has these may
copy the folder and use it.
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
from deniable.samplers.within_bins import WithinBins


class ModelOfARelease(PythonModel):
    """The model of a release, for drawing records from the model alone, without confidential records as seeds.

    These are comparable to the release's own records only if those, too, are drawn from the model alone. A draw uses
    only the model, which is differentially private, so it costs nothing beyond the cost of the model.
    """

    def load_context(self, context: PythonModelContext) -> None:
        """Read the model and the schema next to this file."""
        model = Path(context.artifacts["model"]).read_bytes()
        schema = json.loads(Path(context.artifacts["schema"]).read_bytes())
        self._net = model_from_document(Domain.from_document(schema), json.loads(model))
        self._digest = hashlib.sha256(model).hexdigest()

    def predict(  # type: ignore[override] # MLflow passes no parameters if none are declared
        self,
        context: PythonModelContext,  # noqa: ARG002 - MLflow passes it
        model_input: pd.DataFrame,
    ) -> pd.DataFrame:
        """Draw records in public: anyone who knows the name of a draw can repeat it and gets the same records.

        All random numbers are derived from the name, which is not a secret; if they must be secret, make a release. A
        longer draw with the same name starts with the same records.

        Args:
            context: the location of the files, which were read before.
            model_input: one row: `records`, the number to draw, and `draw`, any text as the name of the draw.

        Returns:
            One column per attribute, with the values of the table.

        Raises:
            InvalidInput: the number of rows is not one, there is no record to draw, or there is no name.
        """
        if len(model_input) != 1:
            raise InvalidInput(
                f"a draw must be requested in one row, got {len(model_input)} rows; request one draw at a time."
            )
        records, draw = model_input["records"].item(), model_input["draw"].item()
        if records < 1 or not isinstance(draw, str):
            raise InvalidInput(
                f"a draw must have a name and at least one record, got records={records}, draw={draw!r}; give both."
            )
        public = ReleaseKey(hashlib.sha256(draw.encode()).digest())
        stream = public.stream(step="public_draw", mechanism="seedless", inputs=self._digest, parameters={})
        domain = self._net.domain
        codes = self._net.sample(stream.take(int(records) * len(domain)))
        numbers = WithinBins(domain, public, self._digest).numbers(codes, 0)
        return pd.DataFrame(
            {
                attribute.name: numbers.get(number, pd.Index(attribute.values).take(codes[:, number]))
                for number, attribute in enumerate(domain.attributes)
            }
        )


mlflow.models.set_model(ModelOfARelease())
