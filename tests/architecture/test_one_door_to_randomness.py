"""Nothing but the release key brings chance into a release."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ["deniable", "schemas", "stores", "reports", "tasks", "infra", "flows", "papers"]
DOOR = {"deniable/foundation/keys.py", "deniable/foundation/noise.py"}

SOURCES_OF_CHANCE = {"random", "secrets", "uuid", "numpy.random", "scipy.stats.sampling"}
# However a module of these names was reached: np.random.normal(), os.urandom(), scipy's law.rvs().
CALLS_OF_CHANCE = {"urandom", "getrandom", "default_rng", "RandomState", "rvs", "RAND_bytes", "generate_key", "shuffle"}
CALLS_OF_CHANCE |= {"train_test_split", "token_bytes", "permutation"}
DEVICES = ("/dev/urandom", "/dev/random", "/dev/hwrng")
# What draws by itself unless it is told what to start from.
DRAWS_UNLESS_TOLD = ("Classifier", "Regressor", "KFold")


def doors(source: str) -> list[str]:
    """Every import, attribute and name in a source text by which chance may enter it."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A module may also be imported by its name.
            names = [node.value] if node.value in SOURCES_OF_CHANCE else []
            found += [device for device in DEVICES if device in node.value]
        elif isinstance(node, ast.Call):
            told = {keyword.arg for keyword in node.keywords}
            called = ast.unparse(node.func).rsplit(".", 1)[-1]
            if called.endswith(DRAWS_UNLESS_TOLD) and "random_state" not in told:
                found.append(f"{called} without random_state")
            if called == "sample" and {"frac", "n"} & told and "random_state" not in told:
                found.append("a sample without random_state")
            continue
        else:
            continue
        found += [
            name
            for name in names
            if any(name == module or name.startswith(f"{module}.") for module in SOURCES_OF_CHANCE)
            or name.startswith("np.random")
            or name.rsplit(".", 1)[-1] in CALLS_OF_CHANCE
        ]
    return found


@pytest.mark.slow
def test_no_module_but_keys_and_noise_draws_by_chance() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert {f"{folder}/__init__.py" for folder in FOLDERS} <= {str(path.relative_to(ROOT)) for path in paths}
    guilty = {str(path.relative_to(ROOT)): doors(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: names for path, names in guilty.items() if names and path not in DOOR} == {}


def test_the_operating_system_is_asked_for_chance_in_one_place() -> None:
    assert doors((ROOT / "deniable/foundation/keys.py").read_text(encoding="utf-8")) == [
        "secrets",
        "secrets.token_bytes",
    ]
    assert doors((ROOT / "deniable/foundation/noise.py").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "import random as r",
        "from random import gauss",
        "import secrets",
        "import uuid",
        "from uuid import uuid4",
        "import numpy.random",
        "import numpy.random as nr",
        "from numpy import random",
        "from numpy import random as nr",
        "from numpy.random import default_rng",
        "import os\nos.urandom(32)",
        "from os import urandom",
        "import numpy as np\nnp.random.normal(size=3)",
        "import numpy as np\ngenerator = np.random.default_rng()",
        "import numpy\nnumpy.random.seed(0)",
        "from scipy import stats\nstats.laplace.rvs(size=3)",
        "def draw():\n    import random\n    return random.random()",
        '__import__("random").random()',
        "frame.sample(frac=1)",
        "RandomForestClassifier(50)",
        "sklearn.tree.DecisionTreeClassifier(max_depth=3)",
        "from sklearn.model_selection import train_test_split",
        "import ssl\nssl.RAND_bytes(32)",
        "AESGCM.generate_key(256)",
        'open("/dev/urandom", "rb").read(32)',
    ],
)
def test_a_door_that_is_made_up_is_found(source: str) -> None:
    assert doors(source)


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nnp.zeros(3)",
        "from deniable.foundation.keys import WordStream",
        "randomness = 1",
        "import os\nos.path",
        "f(random_state=3)",
    ],
)
def test_what_is_no_door_is_left_alone(source: str) -> None:
    assert doors(source) == []
