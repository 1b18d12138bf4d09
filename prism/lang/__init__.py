"""The language: what a kernel file imports, and the compiler core behind it, from text to CUDA C++.

from prism.lang import prism, requires, template, block, grid, thread, group, partition, ptr, const, dtype
"""

from __future__ import annotations

import sys

from prism.lang.diagnostics import CompileError, InternalError
from prism.lang.intrinsics import *  # noqa: F403 - the table names what it exports
from prism.lang.intrinsics import NAMES, intrinsic
from prism.lang.surface import (
    Kernel,
    assert_,
    async_,
    attr,
    bf16,
    bfloat16,
    block,
    bool_,
    c_float,
    c_int,
    claim,
    const,
    constexpr,
    count,
    device,
    double,
    double2,
    double2_cast,
    dtype,
    extern,
    float2,
    float2_cast,
    float4,
    float4_cast,
    float16,
    float32,
    float64,
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
    partition,
    print_,
    ptr,
    requires,
    shared,
    split,
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
)

prism = sys.modules[__name__.partition(".")[0]]
"""The package itself: `@prism("global")` works after `from prism.lang import prism` as after `import prism`."""

__all__ = [
    "CompileError", "InternalError", "Kernel", "assert_", "async_", "attr", "bf16", "bfloat16", "block", "bool_",
    "claim", "const", "constexpr", "count", "device", "double", "double2", "double2_cast", "dtype", "extern",
    "float16", "float2", "float2_cast", "float32", "float4", "float4_cast", "float64", "function", "grid", "group",
    "half", "half2", "half2_cast", "half8", "half8_cast", "id", "int16", "int2", "int2_cast", "int32", "int4",
    "int4_cast", "int64", "int8", "intrinsic", "kernel", "mailbox", "may_alias", "partition", "print_", "prism",
    "ptr", "requires", "shared", "split", "template", "thread", "uint", "uint16", "uint2", "uint2_cast", "uint32",
    "uint4", "uint4_cast", "uint64", "uint8", "unsafe", "vector", "warp", "warpgroup", "c_float", "c_int",
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", *NAMES,
]  # fmt: skip
