"""Long scans of every type and with every operator, beside CUB's and a device copy: one process, alternating rounds, medians.

    python asv_bench/scan_kinds.py [--kinds uint8,max_float32] [--sizes 28,30] [--rounds 5] [--json FILE]

Needs a GPU and CuPy; nvcc for CUB. Memory is CuPy's, of unsigned integers for types that CuPy hasn't got. Of bytes and 16-bit
integers CUB's sum is made in int, so it stands twice: `own` has an operator that returns the type itself. Every result is
checked: each element is the operator of the one before it and the array's, on data for which that is exact.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import cupy
import measure
import numpy as np

from prism.lib import operators, scan_plans
from prism.lib.scan_plans import Shape, Task, number_of

KINDS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "int32": (operators.add, "int32", ("int32",)),
    "int64": (operators.add, "int64", ("int64",)),
    "uint8": (operators.add, "uint8", ("uint8", "own_uint8")),
    "int16": (operators.add, "int16", ("int16", "own_int16")),
    "float16": (operators.add, "float16", ("float16",)),
    "bfloat16": (operators.add, "bfloat16", ("bfloat16",)),
    "uint64": (operators.add, "uint64", ("uint64",)),
    "float64": (operators.add, "float64", ("float64",)),
    "max_uint8": (operators.maximum, "uint8", ("max_uint8",)),
    "max_int32": (operators.maximum, "int32", ("max_int32",)),
    "max_float32": (operators.maximum, "float32", ("max_float32",)),
    "product_int32": (operators.multiply, "int32", ("product_int32",)),
    "product_float32": (operators.multiply, "float32", ("product_float32",)),
    "product_float64": (operators.multiply, "float64", ("product_float64",)),
}
"""The operator, the type, and CUB's entry points."""


def data(name: str, rows: int, size: int) -> Any:
    """Random elements, of which every result is exact in its type, as the bits that memory has.

    Sums of floats: each number is followed by its opposite, so that no sum is larger than an element. Products: of odd numbers,
    and of 1 and -1.
    """
    operator, kind, _ = KINDS[name]
    random = cupy.random.default_rng(0)
    if operator is operators.multiply:
        x = random.integers(0, 256, (rows, size), dtype=cupy.uint8)
        return 2 * x.astype(kind) + 1 if kind == "int32" else 1 - 2 * (x & 1).astype(kind)
    if operator is operators.maximum or kind.startswith(("u", "i")):
        bits = random.integers(0, 256, (rows, size * np.dtype(kind).itemsize), dtype=cupy.uint8)
        return bits.view("int32").astype(kind) if kind == "float32" else bits.view(kind)
    whole = random.integers(0, 129, (rows, size // 2, 1), dtype=cupy.uint8).astype("float32") - 64
    whole = cupy.concatenate([whole, -whole], axis=2).reshape(rows, size)
    if kind == "bfloat16":
        return (whole.view("uint32") >> 16).astype("uint16")
    return whole.astype(kind)


def check(name: str, x: Any, y: Any) -> None:
    """Compare each result with the operator of the one before it and its element."""
    operator, kind, _ = KINDS[name]
    if kind == "bfloat16":
        x, y = [(a.astype("uint32") << 16).view("float32") for a in (x, y)]
    part = 1 << 26
    assert bool(y[0] == x[0]), name
    for start in range(1, len(x), part):
        before, here, found = y[start - 1 : start - 1 + part], x[start : start + part], y[start : start + part]
        before = before[: len(found)]
        if operator is operators.maximum:
            expected = cupy.maximum(before, here)
        elif operator is operators.multiply:
            expected = before * here
        else:
            expected = before + here
        assert bool((found == expected).all()), (name, start)


def measured(library: Any, name: str, size: int, rounds: int) -> dict[str, float]:
    """Return the seconds of one call of `prism`, `copy`, and CUB's by the names of their entry points."""
    operator, kind, peers = KINDS[name]
    task = Task(operator, kind, kind)
    bytes_ = size * scan_plans.size_of(kind)
    copies = max(1, min(1 + 2 * measure.L2 // bytes_, (2 << 30) // bytes_))
    x = data(name, copies, size)
    y = cupy.empty_like(x)
    ordinal, first = x.data.device_id, number_of(task.identity())
    plan = scan_plans.plan(scan_plans.on_device(task, Shape(1, size, 1, True), 132), task, ordinal)

    def ours(i: int) -> None:
        k = i % copies * x.strides[0]
        plan(ordinal, cupy.cuda.get_current_stream().ptr, (x.data.ptr + k, y.data.ptr + k), first)

    calls = {"prism": ours} | {entry: measure.cub_scan(library, entry, x, y) for entry in peers}
    for entry, call in calls.items():
        y.view("uint8")[...] = 0
        call(0)
        if entry == "prism":
            check(name, x[0], y[0])

    def copy(i: int) -> None:
        target, source = y[i % copies].data, x[i % copies].data
        target.copy_from_device_async(source, bytes_, cupy.cuda.get_current_stream())

    return measure.compare(calls, {"copy": copy}, 40 if bytes_ < 1 << 26 else 20 if bytes_ < 1 << 28 else 8, rounds)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--sizes", default="28", help="logarithms to base 2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    library, found = measure.peer("cub_kinds"), []
    print("GB/s count bytes read and written; a ratio above 1 means that Prism is faster")
    for name in options.kinds.split(","):
        for log in map(int, options.sizes.split(",")):
            seconds = measured(library, name, 1 << log, options.rounds)
            found.append({"kind": name, "size": 1 << log, **seconds})
            mine = seconds["prism"]
            rate = 2 * (1 << log) * scan_plans.size_of(KINDS[name][1]) / mine / 1e9
            ratios = "  ".join(f"{peer} {value / mine:5.3f}" for peer, value in seconds.items() if peer != "prism")
            print(f"{name:16} {f'2^{log}':>5} {mine * 1e6:8.1f} us {rate:5.0f} GB/s  {ratios}", flush=True)
            cupy.get_default_memory_pool().free_all_blocks()
    if options.json is not None:
        options.json.write_text(json.dumps({"scan": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
