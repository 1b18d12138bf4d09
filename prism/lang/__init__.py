"""The language: what a kernel file imports, and the compiler core behind it, from text to CUDA C++.

from prism.lang import prism, requires, template, block, grid, thread, group, partition, ptr, const, dtype
"""

from __future__ import annotations

import sys
from typing import Any

from prism.lang import surface
from prism.lang.diagnostics import CompileError, InternalError
from prism.lang.intrinsics import *  # noqa: F403 - the table names what it exports
from prism.lang.intrinsics import NAMES
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.intrinsics.namespace import Namespace
from prism.lang.surface import *  # noqa: F403 - likewise


def _declare(*signature: Any, **about: Any) -> Intrinsic:
    """Declare an intrinsic of the user's own. The checker is imported here: who only launches what is built has no need of it."""
    from prism.lang.check.extend import declare

    return declare(*signature, **about)


intrinsic = Namespace(NAMES, _declare)
"""`intrinsic.mma(...)`, as *Typed Perspectives* writes them; `@intrinsic("text")` declares one of the user's own."""

prism = sys.modules[__name__.partition(".")[0]]
"""The package itself: `@prism("global")` works after `from prism.lang import prism` as after `import prism`."""

__all__ = ["CompileError", "InternalError", "intrinsic", "prism", *surface.__all__, *NAMES]
