"""Long scans of every type and with every operator, beside CUB's and a device copy: one process, alternating rounds, medians.

    python asv_bench/scan_kinds.py [--kinds uint8,max_float32] [--sizes 28,30] [--rounds 5] [--json FILE]

Needs a GPU and CuPy; nvcc for CUB. Memory is CuPy's, of unsigned integers for types that CuPy hasn't got. Of bytes and 16-bit
integers CUB's sum is made in int, so it stands twice: `own` has an operator that returns the type itself. Every result is
checked: each element is the operator of the one before it and the array's, on data for which that is exact.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import cupy
import measure
import numpy as np
from scan_peers import compared, table

from prism.host.plan import size_of
from prism.lib import operators
from prism.lib.algorithms.scan.plan import Task

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
    operator, kind, entries = KINDS[name]
    x = data(name, measure.rows_of(size * size_of(kind)), size)
    y = cupy.empty_like(x)

    def right(which: str, given: Any, found: Any) -> None:
        if which == "prism":  # CUB's sum of small integers is made in int
            check(name, given, found)

    peers = {entry: measure.cub_scan(library, entry, x, y) for entry in entries}
    return compared(Task(operator, kind, kind), x, peers, y, right, rounds)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write what was found."""
    library = functools.cache(lambda: measure.peer("cub_kinds"))
    return table(
        lambda *case: measured(library(), *case),
        {name: size_of(kind) for name, (_, kind, _) in KINDS.items()},
        description=__doc__.splitlines()[0], sizes="28", rounds=5, arguments=arguments,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
