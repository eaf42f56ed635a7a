"""Configuration of Sphinx, by which `scripts/docs` makes the site. Pages are copied to the same paths below target first."""

import os
import sys
from pathlib import Path

REPOSITORY = Path(os.environ["THALWEG_REPOSITORY"])
sys.path.insert(0, str(REPOSITORY / "docs/site"))

project = "Thalweg"
author = "The authors of Thalweg"
# Single backticks in the docstrings of Python are code.
default_role = "code"
root_doc = "docs/README"
extensions = ["myst_parser", "autoapi.extension", "sphinx_copybutton", "site_menu", "source_pages", "laboratory"]

# Links to headings are those of the repository's host.
myst_heading_anchors = 4
myst_enable_extensions = ["strikethrough"]

html_theme = "furo"
html_title = "Thalweg"
html_static_path = [str(REPOSITORY / "docs/site/site.css")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_domain_indices = False
# Summaries are fetched, and a page that was opened from a file may not fetch.
html_show_search_summary = False
pygments_style = "default"
pygments_dark_style = "github-dark"

# Copies commands without their prompt and their output.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

# The stubs of the compiled module are read as they are: nothing is built or imported.
autoapi_dirs = [str(REPOSITORY / "python/thalweg")]
autoapi_file_patterns = ["*.pyi", "*.py"]
autoapi_root = "python"
autoapi_add_toctree_entry = False
autoapi_options = ["members", "undoc-members", "imported-members"]
autoapi_member_order = "groupwise"
autoapi_python_class_content = "class"

suppress_warnings = [
    # Readers share pages.
    "toc.multiple_toc_parents",
    # Pages have console output of many programs in them.
    "misc.highlighting_failure",
]
