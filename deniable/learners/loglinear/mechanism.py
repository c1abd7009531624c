"""The learner: makes a network from a calibrated plan and a counter of rows.

The storage of rows and the use of the network do not belong here.
"""

import numpy as np
from numpy.typing import NDArray

from deniable.foundation.keys import StreamOpener
from deniable.learners.loglinear.estimation.counting import Counter
from deniable.learners.loglinear.learning import Learnt, learn
from deniable.learners.loglinear.measurements import Measurements
from deniable.learners.loglinear.plan import LoglinearPlan
from deniable.learners.loglinear.quantization import to_network
from deniable.models.loglinear.net import LoglinearNet


def learn_network(plan: LoglinearPlan, counter: Counter, open_stream: StreamOpener) -> tuple[LoglinearNet, Learnt]:
    """Carry out a plan.

    Args:
        plan: the budget; its events cover all queries of the data.
        counter: counts tables of the confidential rows.
        open_stream: opens the streams of this step.

    Returns:
        The integer network, and all released values and intermediate results, which are public too.
    """

    def words(purpose: str, count: int) -> NDArray[np.uint32]:
        return open_stream(mechanism="population", parameters={"purpose": purpose}).take(count)

    learnt = learn(plan, counter, Measurements(plan, open_stream), words)
    return to_network(plan.domain, learnt), learnt
