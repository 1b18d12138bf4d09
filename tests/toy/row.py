"""A toy algorithm, added from outside: its folder, its kernel, and its row in the manifest.

python -m pytest -p tests.toy.row tests/lib/test_algorithms.py -k negate        # any test, with the toy in the manifest
"""

from __future__ import annotations

from pathlib import Path

import prism.kernels
from prism.lib import algorithms

HERE = Path(__file__).parent
ROW = algorithms.Algorithm("negate", ("negate",), "library.md#scans", ("negate",))
FOLDERS = ((algorithms, HERE / "algorithms"), (prism.kernels, HERE / "kernels"))
"""Packages of Prism's, and where the toy has its parts of them."""


def pytest_configure() -> None:
    """Add the toy for a whole run of pytest."""
    algorithms.MANIFEST = (*algorithms.MANIFEST, ROW)
    for package, folder in FOLDERS:
        package.__path__ = [*package.__path__, str(folder)]
