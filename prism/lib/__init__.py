"""The library: host functions that take arrays, and the collectives that kernels are composed of.

    y = prism.lib.scan(x)                                   # x: a NumPy or CuPy array

`lazy` makes arrays that are computed where they are read. `thread`, `warp`, `block` and `grid` hold the collectives; in a kernel
they are called by the level's name, as `block.scan(...)`.
The functions are those of the manifest, `prism.lib.algorithms`; editors read them in `__init__.pyi`, which is made from it.
"""

from __future__ import annotations

import importlib
from typing import Any

from prism.host.front import front
from prism.lib import algorithms

_BESIDE = {"Operator": "prism.lib.operators", "for_each": "prism.lib.for_each", "plan": "prism.host.plans"}
_BESIDE |= dict.fromkeys(("place", "put", "putmask"), "prism.lib.algorithms.take.write")  # they return nothing
_PACKAGES = ("block", "epilogues", "grid", "lazy", "thread", "warp")


def _modules() -> dict[str, str]:
    """Return the module of each public function and class."""
    return _BESIDE | {name: one.module for one in algorithms.MANIFEST for name in one.functions}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first used."""
    if name == "__all__":
        return sorted((*_modules(), *_PACKAGES))
    if name in _PACKAGES:
        value: Any = importlib.import_module(f"prism.lib.{name}")
    elif (module := _modules().get(name)) is not None:
        value = front(getattr(importlib.import_module(module), name))
    else:
        raise AttributeError(f"module 'prism.lib' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules(), *_PACKAGES})
