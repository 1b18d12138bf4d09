"""Scans of structs and of complex numbers beside CUB's and a device copy: one process, alternating rounds, medians.

    python asv_bench/scan_structs.py [--kinds affine_float32,sum_complex128] [--sizes 16,20,24,28] [--rounds 7] [--json FILE]

Needs a GPU, CuPy and nvcc. `affine`: maps x -> a * x + b, whose composition does not commute, by an operator of the user's own.
Memory is CuPy's, of plain floats: no arrays of structs are needed. Every result is compared with NumPy's.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import cupy
import measure
import numpy as np
from scan_peers import compared, table

from prism.lang import dtype as any_dtype
from prism.lang import float32, float64, prism, requires, struct, template, thread
from prism.lib import Operator, operators
from prism.lib.algorithms.scan.plan import Task


@struct
class Map32:
    a: float32
    b: float32


@struct
class Map64:
    a: float64
    b: float64


@prism("device")
@requires(thread[1])
@template(T=any_dtype)
def compose(f: T @ thread[1], g: T @ thread[1]) -> T @ thread[1]:
    """First `f`, then `g`."""
    return T(f.a * g.a, f.b * g.a + g.b)


COMPOSE = Operator(compose, identity=(1, 0))
KINDS = {
    "affine_float32": (COMPOSE, Map32.key, "float32"),
    "affine_float64": (COMPOSE, Map64.key, "float64"),
    "sum_complex64": (operators.add, "complex64", "float32"),
    "sum_complex128": (operators.add, "complex128", "float64"),
}


def data(name: str, rows: int, size: int) -> Any:
    """Random pairs; scales of maps are about 1, so that nothing grows without bound."""
    random = cupy.random.default_rng(0)
    x = random.standard_normal((rows, size, 2), dtype=cupy.float32)
    if name.startswith("affine"):
        x[..., 0] = 1 - cupy.abs(x[..., 0]) / 64
    return x.astype(KINDS[name][2])


def check(name: str, x: Any, y: Any) -> None:
    """Compare the first results with NumPy's: of maps step by step, of sums all."""
    given, found = cupy.asnumpy(x).astype(np.float64), cupy.asnumpy(y)
    eps = np.finfo(found.dtype).eps
    if name.startswith("sum"):
        bound = 8 * eps * np.log2(len(given) + 2) * np.cumsum(np.abs(given), axis=0)
        assert (np.abs(found - np.cumsum(given, axis=0)) <= bound).all(), name
        return
    a, b, size = 1.0, 0.0, 0.0
    for k in range(min(len(given), 100_000)):
        s, t = given[k]
        a, b, size = a * s, b * s + t, size * abs(s) + abs(t)
        # Both decay by the scales, and so do their rounding errors: added up one by one they are off by less than 2 eps.
        assert abs(found[k, 0] - a) <= 100 * eps and abs(found[k, 1] - b) <= 100 * eps * (size + 1), (name, k)


def measured(library: Any, name: str, size: int, rounds: int) -> dict[str, float]:
    """Return the seconds of one call of `prism`, `cub` and `copy`."""
    operator, key, _ = KINDS[name]
    task = Task(operator, key, key)
    x = data(name, measure.rows_of(size * task.dtype.itemsize), size)
    y = cupy.empty_like(x)
    peers = {"cub": measure.cub_scan(library, name, x, y)}
    return compared(task, x, peers, y, lambda _, given, found: check(name, given, found), rounds)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write what was found."""
    library = functools.cache(lambda: measure.peer("cub_structs"))
    return table(
        lambda *case: measured(library(), *case),
        {name: 2 * np.dtype(kind).itemsize for name, (_, _, kind) in KINDS.items()},
        description=__doc__.splitlines()[0], sizes="16,20,24,27", rounds=7, arguments=arguments,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
