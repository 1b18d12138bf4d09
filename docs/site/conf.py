"""The site: Sphinx reads the repository's own Markdown, from its root, so that every relative link in it holds. `make docs`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import prism  # noqa: E402

project = "Prism"
release = version = prism.__version__
copyright = "the authors of Prism; Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docs.site.extension"]
root_doc = "docs/index"
include_patterns = ["docs/**", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "theory/proofs/README.md"]
# Folders that hold no page are not walked: .venv alone has tens of thousands of files.
exclude_patterns = [p.name for p in ROOT.iterdir() if p.is_dir() and p.name not in ("docs", "theory")]

myst_heading_anchors = 4
highlight_language = "none"
default_role = "literal"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
napoleon_google_docstring = False

html_theme = "furo"
html_title = "Prism"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # a page that is opened as a file may not fetch the others: the search works without
