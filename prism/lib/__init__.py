"""The library: host functions that take arrays, and the collectives that kernels are composed of.

    y = prism.lib.scan(x)                                   # x: a NumPy or CuPy array

`thread`, `warp`, `block` and `grid` hold the collectives; in a kernel they are called by the level's name, as `block.scan(...)`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prism.host.plans import plan
    from prism.lib.by_key import reduce_by_key, scan_by_key
    from prism.lib.cumulative import cummax, cummin, cumprod, cumsum, cumulative_prod, cumulative_sum
    from prism.lib.levels import block, grid, thread, warp
    from prism.lib.matmuls import hgemm
    from prism.lib.operators import Operator
    from prism.lib.products import matmul
    from prism.lib.reductions import all, any, argmax, argmin, count_nonzero, max, min, prod, reduce, sum
    from prism.lib.scans import scan
    from prism.lib.segments import segmented_reduce, segmented_scan
    from prism.lib.sgemms import sgemm

__all__ = [
    "Operator", "all", "any", "argmax", "argmin", "block", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "grid", "hgemm", "matmul", "max", "min", "plan", "prod", "reduce", "reduce_by_key",
    "scan", "scan_by_key", "segmented_reduce", "segmented_scan", "sgemm", "sum", "thread", "warp",
]  # fmt: skip

_WHERE = {"Operator": "operators", "hgemm": "matmuls", "matmul": "products", "scan": "scans"}
_WHERE |= {"sgemm": "sgemms"}
_WHERE |= dict.fromkeys(
    ("all", "any", "argmax", "argmin", "count_nonzero", "max", "min", "prod", "reduce", "sum"), "reductions"
)
_WHERE |= dict.fromkeys(("cummax", "cummin", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum"), "cumulative")
_WHERE |= dict.fromkeys(("segmented_reduce", "segmented_scan"), "segments")
_WHERE |= dict.fromkeys(("reduce_by_key", "scan_by_key"), "by_key")
_PACKAGES = ("block", "grid", "thread", "warp")


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first used."""
    if name == "plan":
        value = importlib.import_module("prism.host.plans").plan
    elif name in _WHERE:
        value = getattr(importlib.import_module(f"prism.lib.{_WHERE[name]}"), name)
    elif name in _PACKAGES:
        value = importlib.import_module(f"prism.lib.{name}")
    else:
        raise AttributeError(f"module 'prism.lib' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
