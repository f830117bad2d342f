"""Settings of the documentation."""

import sys
from pathlib import Path

from confide import __version__

sys.path[:0] = [
    str(Path(__file__).parent),  # mathml.py
    str(Path(__file__).parents[1]),  # the studies, which are not installed
]

project = "confide"
author = "the confide authors"
copyright = "the confide authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml"]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "confide"
html_static_path = ["pictures"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": True}
nitpicky = False
suppress_warnings = ["myst.xref_missing", "ref.python"]  # words of docstrings that several classes have as names
