"""cuda.core, imported by one thread at a time: its wheel replaces its own globals, its spec too, while it is imported.

So Python's lock doesn't keep a second thread out, which would find a module half made. All of Prism imports it here.
"""

from __future__ import annotations

import importlib
from typing import Any

from prism.runtime.forks import Lock

_importing = Lock()


def cuda_core(module: str = "cuda.core") -> Any:
    """Return cuda.core, or one of its modules, whole.

    Raises:
        ImportError: it isn't installed, or doesn't load.
    """
    with _importing:
        importlib.import_module("cuda.core")
        return importlib.import_module(module)
