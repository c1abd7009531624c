"""How the documentation is built: `make docs`, with warnings as errors and without the network."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "extensions")]

project = "Deniable"
author = "The authors of Deniable"
project_copyright = "The authors of Deniable; Apache-2.0"
version = release = installed("deniable")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "reference",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
# Names in single backticks are code, in docstrings too.
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
# Attributes are described once, by their class.
napoleon_use_ivar = True

html_theme = "furo"
html_title = "Deniable"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["deniable.css"]
