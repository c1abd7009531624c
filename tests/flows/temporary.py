"""Makes a temporary file, which is gone at once: what the watching of temporary files must see of any command."""

import os
from tempfile import NamedTemporaryFile

CONTROL = "control-"

if __name__ == "__main__":
    with NamedTemporaryFile(prefix=CONTROL, dir=os.environ["TMPDIR"]):
        pass
