"""Arrays over many GPUs and machines: scans, reductions, sorts, histograms of an array whose shards lie on many ranks.

    y = prism.dist.scan(x, comm=group)          # x: this rank's shard; y: its shard of the whole's scan

A program of many processes, one a rank, which all make the same call. The array is the shards of all ranks, in their order, one
behind the other along axis 0; shards may have any lengths, and be empty. `comm` is what moves the data: a torch ProcessGroup, an
mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator. Nothing is started or initialised here. Ranks that disagree in
the call all get the same error, before any data moves.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see of `_FROM`
    from prism.dist._counting import bincount, histogram
    from prism.dist._engines import cuda_aware
    from prism.dist._keys import reduce_by_key, scan_by_key
    from prism.dist._positions import argmax, argmin, flatnonzero, nonzero, select
    from prism.dist._products import matmul
    from prism.dist._reduce import all, any, count_nonzero, max, min, prod, reduce, sum
    from prism.dist._scan import cummax, cummin, cumprod, cumsum, scan
    from prism.dist._segments import segmented_reduce, segmented_scan
    from prism.dist._sort import argsort, kthvalue, median, sort, sort_by_key, top_k, unique

_FROM = {
    "counting": ("bincount", "histogram"),
    "engines": ("cuda_aware",),
    "keys": ("reduce_by_key", "scan_by_key"),
    "positions": ("argmax", "argmin", "flatnonzero", "nonzero", "select"),
    "products": ("matmul",),
    "reduce": ("all", "any", "count_nonzero", "max", "min", "prod", "reduce", "sum"),
    "scan": ("cummax", "cummin", "cumprod", "cumsum", "scan"),
    "segments": ("segmented_reduce", "segmented_scan"),
    "sort": ("argsort", "kthvalue", "median", "sort", "sort_by_key", "top_k", "unique"),
}
__all__ = [
    "all", "any", "argmax", "argmin", "argsort", "bincount", "count_nonzero", "cuda_aware", "cummax", "cummin",
    "cumprod", "cumsum", "flatnonzero", "histogram", "kthvalue", "matmul", "max", "median", "min", "nonzero", "prod",
    "reduce", "reduce_by_key", "scan", "scan_by_key", "segmented_reduce", "segmented_scan", "select", "sort", "sort_by_key",
    "sum", "top_k", "unique",
]  # fmt: skip
_MODULES = {name: module for module, names in _FROM.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module 'prism.dist' has no attribute {name!r}")
    return getattr(importlib.import_module(f"prism.dist._{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
