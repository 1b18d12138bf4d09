"""Kernels of a text, each in a file of its own: where errors look for their lines."""

import importlib.util
from itertools import count
from pathlib import Path
from typing import Any

_files = count()


def kernel_of(folder: Path, text: str) -> Any:
    """Return the kernel `k` that a module of this text defines."""
    path = folder / f"program{next(_files)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.k
