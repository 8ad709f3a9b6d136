"""How the documentation is built: `make docs`. Pages must need nothing from the network."""

import maskmeter

project = "maskmeter"
author = "The maskmeter authors"
release = version = maskmeter.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "checks"]
# Docstrings put code between single backticks.
default_role = "code"

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # what an argument takes is said in words
maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"maskmeter {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# Formulas are written in plain text, so that no page needs a script to show them.
html_theme_options = {"footer_icons": []}

myst_enable_extensions = ["deflist"]  # the glossary
myst_heading_anchors = 3


def examples_apart(_app, _what, _name, _object, _options, lines):
    """Give the example that follows a list of parameters a heading, so that it is not read as one."""
    if "Parameters" not in lines:
        return
    first = next((at for at, line in enumerate(lines) if line.startswith(">>>")), None)
    if first is not None and first > lines.index("Parameters"):
        lines[first:first] = ["Examples", "--------"]


def setup(app):
    """Connect what is above, before numpy-style sections are read."""
    app.connect("autodoc-process-docstring", examples_apart, priority=400)
