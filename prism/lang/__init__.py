"""The language: what a kernel file imports, and the compiler core behind it, from text to CUDA C++.

from prism.lang import prism, requires, template, block, grid, thread, group, partition, ptr, const, dtype
"""

from __future__ import annotations

import sys
from typing import Any

from prism.lang.diagnostics import CompileError, InternalError
from prism.lang.intrinsics import *  # noqa: F403 - the table names what it exports
from prism.lang.intrinsics import NAMES
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.intrinsics.namespace import Namespace
from prism.lang.surface import (
    CUtensorMap,
    Kernel,
    assert_,
    assume,
    async_,
    attr,
    bf16,
    bfloat16,
    block,
    bool_,
    c_float,
    c_int,
    claim,
    column,
    complex64,
    complex128,
    const,
    constexpr,
    count,
    device,
    distinct,
    double,
    double2,
    double2_cast,
    dtype,
    extern,
    float2,
    float2_cast,
    float4,
    float4_cast,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    fragment,
    function,
    grid,
    group,
    half,
    half2,
    half2_cast,
    half8,
    half8_cast,
    id,
    int2,
    int2_cast,
    int4,
    int4_cast,
    int8,
    int8_t,
    int16,
    int16_t,
    int32,
    int32_t,
    int64,
    int64_t,
    kernel,
    mailbox,
    may_alias,
    one,
    partition,
    print_,
    ptr,
    requires,
    roles,
    row,
    shared,
    split,
    static_assert,
    struct,
    template,
    thread,
    uint,
    uint2,
    uint2_cast,
    uint4,
    uint4_cast,
    uint8,
    uint8_t,
    uint16,
    uint16_t,
    uint32,
    uint32_t,
    uint64,
    uint64_t,
    unsafe,
    vector,
    warp,
    warpgroup,
    wgmma_async,
)


def _declare(*signature: Any, **about: Any) -> Intrinsic:
    """Declare an intrinsic of the user's own. The checker is imported here: who only launches what is built has no need of it."""
    from prism.lang.check.extend import declare

    return declare(*signature, **about)


intrinsic = Namespace(NAMES, _declare)
"""`intrinsic.mma(...)`, as the paper writes them; `@intrinsic("text")` declares one of the user's own."""

prism = sys.modules[__name__.partition(".")[0]]
"""The package itself: `@prism("global")` works after `from prism.lang import prism` as after `import prism`."""

__all__ = [
    "CUtensorMap", "CompileError", "InternalError", "Kernel", "assert_", "assume", "async_", "attr", "bf16", "bfloat16", "block",
    "bool_", "claim", "column", "complex128", "complex64", "const", "constexpr", "count", "device", "distinct", "double",
    "double2", "double2_cast", "dtype", "extern",
    "float16", "float2", "float2_cast", "float32", "float4", "float4_cast", "float64", "float8_e4m3fn", "float8_e5m2",
    "fragment", "function", "grid", "group",
    "half", "half2", "half2_cast", "half8", "half8_cast", "id", "int16", "int2", "int2_cast", "int32", "int4",
    "int4_cast", "int64", "int8", "intrinsic", "kernel", "mailbox", "may_alias", "one", "partition", "print_", "prism",
    "ptr", "requires", "roles", "row", "shared", "split", "static_assert", "struct", "template", "thread", "uint", "uint16",
    "uint2", "uint2_cast", "uint32",
    "uint4", "uint4_cast", "uint64", "uint8", "unsafe", "vector", "warp", "warpgroup", "wgmma_async", "c_float", "c_int",
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", *NAMES,
]  # fmt: skip
