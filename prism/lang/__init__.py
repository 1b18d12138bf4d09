"""The language: what a kernel file imports, and the compiler core behind it, from text to CUDA C++.

from prism.lang import prism, requires, template, block, grid, thread, group, partition, ptr, const, dtype
"""

from __future__ import annotations

import sys

from prism.lang.diagnostics import CompileError, InternalError
from prism.lang.intrinsics import *  # noqa: F403 - the table names what it exports
from prism.lang.intrinsics import TABLE
from prism.lang.surface import (
    Kernel,
    async_,
    attr,
    block,
    bool_,
    claim,
    const,
    constexpr,
    count,
    device,
    double,
    dtype,
    float32,
    float64,
    function,
    grid,
    group,
    id,
    int8,
    int16,
    int32,
    int64,
    kernel,
    mailbox,
    may_alias,
    partition,
    ptr,
    requires,
    shared,
    split,
    template,
    thread,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    unsafe,
    vector,
    warp,
    warpgroup,
)

prism = sys.modules[__name__.partition(".")[0]]
"""The package itself: `@prism("global")` works after `from prism.lang import prism` as after `import prism`."""

__all__ = [
    "CompileError", "InternalError", "Kernel", "async_", "attr", "block", "bool_", "claim", "const", "constexpr", "count",
    "device", "double", "dtype", "float32", "float64", "function", "grid", "group", "id", "int8", "int16", "int32", "int64",
    "kernel", "mailbox", "may_alias", "partition", "prism", "ptr", "requires", "shared", "split", "template", "thread", "uint",
    "uint8", "uint16", "uint32", "uint64", "unsafe", "vector", "warp", "warpgroup", *TABLE,
]  # fmt: skip
