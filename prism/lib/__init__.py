"""The library: host functions that take arrays, and the collectives that kernels are composed of.

    y = prism.lib.scan(x)                                   # x: a NumPy or CuPy array

`thread`, `warp` and `block` hold the collectives; in a kernel they are called by the level's name, as `block.scan(...)`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prism.lib import block, thread, warp
    from prism.lib.matmuls import hgemm
    from prism.lib.operators import Operator
    from prism.lib.scans import scan

__all__ = ["Operator", "block", "hgemm", "scan", "thread", "warp"]

_WHERE = {"Operator": "operators", "hgemm": "matmuls", "scan": "scans"}
_PACKAGES = ("block", "thread", "warp")


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first used."""
    if name in _WHERE:
        value = getattr(importlib.import_module(f"prism.lib.{_WHERE[name]}"), name)
    elif name in _PACKAGES:
        value = importlib.import_module(f"prism.lib.{name}")
    else:
        raise AttributeError(f"module 'prism.lib' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
