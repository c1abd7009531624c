"""Prints the digest of what MLflow has for a release: STATE RUN, in the database that MLFLOW_TRACKING_URI names."""

import sys
from pathlib import Path

from stores.tracking.run_tree import snapshot

if __name__ == "__main__":
    print(snapshot(Path(sys.argv[1]), sys.argv[2]).digest)  # noqa: T201 - read by the test
