"""Scans of structs and of complex numbers beside CUB's and a device copy: one process, alternating rounds, medians.

    python asv_bench/scan_structs.py [--kinds affine_float32,sum_complex128] [--sizes 16,20,24,28] [--rounds 7] [--json FILE]

Needs a GPU, CuPy and nvcc. `affine`: maps x -> a * x + b, whose composition does not commute, by an operator of the user's own.
Memory is CuPy's, of plain floats: no arrays of structs are needed. Every result is compared with NumPy's.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import cupy
import measure
import numpy as np

from prism.lang import dtype as any_dtype
from prism.lang import float32, float64, prism, requires, struct, template, thread
from prism.lib import Operator, operators, scan_plans
from prism.lib.scan_plans import Shape, Task, number_of


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


def measured(library: ctypes.CDLL, name: str, size: int, rounds: int) -> dict[str, float]:
    """Return the seconds of one call of `prism`, `cub` and `copy`."""
    operator, key, _ = KINDS[name]
    task = Task(operator, key, key)
    bytes_ = size * task.dtype.itemsize
    copies = max(1, min(1 + 2 * measure.L2 // bytes_, (2 << 30) // bytes_))
    x = data(name, copies, size)
    y = cupy.empty_like(x)
    plan = scan_plans.plan(scan_plans.on_device(task, Shape(1, size, 1, True), 132), task, x.data.device_id)
    first = number_of(task.identity())

    def ours(i: int) -> None:
        k = i % copies * x.strides[0]
        plan(x.data.device_id, cupy.cuda.get_current_stream().ptr, (x.data.ptr + k, y.data.ptr + k), first)

    calls = {"prism": ours, "cub": measure.cub_scan(library, name, x, y)}
    for call in calls.values():
        y[...] = 0
        call(0)
        check(name, x[0], y[0])

    def copy(i: int) -> None:
        target, source = y[i % copies].data, x[i % copies].data
        target.copy_from_device_async(source, bytes_, cupy.cuda.get_current_stream())

    return measure.compare(calls, {"copy": copy}, 40 if bytes_ < 1 << 26 else 20 if bytes_ < 1 << 29 else 8, rounds)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--sizes", default="16,20,24,27", help="logarithms to base 2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    library, found = measure.peer("cub_structs"), []
    print("GB/s count bytes read and written; a ratio above 1 means that Prism is faster")
    print(f"{'kind':16} {'size':>6} {'prism us':>9} {'GB/s':>7} {'cub/prism':>10} {'copy/prism':>11}")
    for name in options.kinds.split(","):
        for log in map(int, options.sizes.split(",")):
            seconds = measured(library, name, 1 << log, options.rounds)
            found.append({"kind": name, "size": 1 << log, **seconds})
            bytes_ = 2 * (1 << log) * 2 * np.dtype(KINDS[name][2]).itemsize
            rate, ratios = (
                bytes_ / seconds["prism"] / 1e9,
                [seconds[peer] / seconds["prism"] for peer in ("cub", "copy")],
            )
            print(
                f"{name:16} {f'2^{log}':>6} {seconds['prism'] * 1e6:9.1f} {rate:7.0f} {ratios[0]:10.3f} {ratios[1]:11.3f}",
                flush=True,
            )
            cupy.get_default_memory_pool().free_all_blocks()
    if options.json is not None:
        options.json.write_text(json.dumps({"scan": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
