import subprocess
import sys

RUN = """
import sys
import numpy as np
from deniable.learners.loglinear.estimation.fitting import draw
drawn = np.empty(2, np.int32)
draw(np.zeros(2, np.int32), np.full((1, 2), 0.5), np.asarray([0, 1 << 31], np.uint32), drawn)
assert drawn.tolist() == [0, 1]
print(*({"dp_accounting", "scipy.stats"} & {*sys.modules}))
"""


def test_a_kernel_is_called_without_the_statistics_of_scipy() -> None:
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
