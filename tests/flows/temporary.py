"""Makes a temporary file that is removed at once, which the watching of temporary files must detect."""

import os
from tempfile import NamedTemporaryFile

CONTROL = "control-"

if __name__ == "__main__":
    with NamedTemporaryFile(prefix=CONTROL, dir=os.environ["TMPDIR"]):
        pass
