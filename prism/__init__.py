"""Prism: GPU kernels in a small language embedded in Python, whose types say which threads a piece of code speaks for.

    import prism
    y = prism.lib.scan(x)               # x: a NumPy or CuPy array

`prism.lang` is what kernel files import, `prism.lib` the host functions and the collectives, `prism.kernels` the flagship
kernels. `@prism.kernel` marks a kernel, `@prism.device` a function that kernels call.
"""

from __future__ import annotations

import importlib
import os.path
import sys
from typing import TYPE_CHECKING, Any

from prism.lang.diagnostics import CompileError
from prism.lang.surface import HOOKS, Kernel, PrismModule

if TYPE_CHECKING:
    from prism import dist, interpret, lang, lib, runtime
    from prism.compiler import Compiled, check, compile, explain, source
    from prism.lang import device, kernel
    from prism.runtime.errors import LaunchError
else:
    from prism.lang.surface import device, kernel

__version__ = "0.1.0"
__all__ = [
    "CompileError",
    "Compiled",
    "Kernel",
    "LaunchError",
    "check",
    "compile",
    "device",
    "dist",
    "explain",
    "interpret",
    "kernel",
    "kernels",
    "lang",
    "lib",
    "runtime",
    "source",
]

# A checkout run without installation: the folder `kernels` stands beside this package, and is `prism.kernels`.
if not os.path.isdir(os.path.join(os.path.dirname(__file__), "kernels")):
    __path__.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

sys.modules[__name__].__class__ = PrismModule

_FROM = {
    **dict.fromkeys(("Compiled", "check", "compile", "explain", "source"), "prism.compiler"),
    "LaunchError": "prism.runtime.errors",
}
_PACKAGES = ("dist", "interpret", "kernels", "lang", "lib", "runtime")


def __getattr__(name: str) -> Any:
    """Load a part of the package when it is first used."""
    if name in _FROM:
        value = getattr(importlib.import_module(_FROM[name]), name)
    elif name in _PACKAGES:
        value = importlib.import_module(f"prism.{name}")
    else:
        raise AttributeError(f"module 'prism' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _launch(*arguments: Any, **options: Any) -> Any:
    return importlib.import_module("prism.launcher").launch(*arguments, **options)


def _explain(found: Kernel) -> str:
    text: str = importlib.import_module("prism.compiler").notebook_html(found)
    return text


HOOKS.launch = _launch
HOOKS.explain = _explain
HOOKS.collectives = lambda level: importlib.import_module(f"prism.lib.{level}")
