"""The process that commands and servers are forked from: it has imported all that they need, and done nothing else."""

import multiprocessing
from typing import Final

FORKS: Final = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.warm.imported"])
