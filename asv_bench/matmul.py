"""prism.lib.matmul of float64 and complex numbers beside cuBLAS, and of integers beside CuPy: one process, alternating turns.

    python asv_bench/matmul.py [--shapes 4096,2048NT,complex64:8x4096x4096] [--integers 2048] [--json FILE]

Needs a GPU and torch; for integers CuPy, as torch multiplies none on a GPU. As asv_bench/hgemm.py: CUDA graphs of launches,
buffers rotated past the L2, medians. A layout is said of `a` and of `b`: N has a row's elements one after the other. The flops of
a complex product are those of real numbers, 8 m n k. Every result is compared in the same run: of floats with rows in long
double, of integers with the peer's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from benchmarks.matmul import SHAPES
from hgemm import L2, compare, elapsed, graph_of, ratio_of

import prism
from prism.kernels.hgemm.candidates import parse_size

Set = tuple[Any, Any, Any]


def matrices(m: int, n: int, k: int, layout: str, kind: str) -> list[Set]:
    """Enough operands, and room for results, to pass the L2 twice."""

    def normal(rows: int, columns: int, how: str) -> Any:
        found = torch.randn((rows, columns) if how == "N" else (columns, rows), device="cuda", dtype=dtype)
        return found if how == "N" else found.T

    dtype = getattr(torch, kind)
    sets = max(1, min(1 + 2 * L2 // (dtype.itemsize * (m * n + m * k + n * k)), 20))
    return [
        (
            normal(m, k, layout[0]),
            normal(k, n, layout[1]),
            torch.full((m, n), torch.nan, device="cuda", dtype=dtype),
        )
        for _ in range(sets)
    ]


def error(of: Set) -> float:
    """Return the largest difference from long double, of 4 rows, by eps and the sums of products' sizes."""
    import numpy as np

    a, b, c = of
    rows = torch.randint(0, a.shape[0], (4,), device="cuda")
    exact_in = np.clongdouble if a.is_complex() else np.longdouble
    left, right = a[rows].cpu().numpy().astype(exact_in), b.cpu().numpy().astype(exact_in)
    exact, size = left @ right, np.abs(left) @ np.abs(right)
    eps = 2.0**-24 if a.dtype == torch.complex64 else 2.0**-53
    return float((np.abs(c[rows].cpu().numpy() - exact) / size).max() / eps)


def table(times: dict[str, list[float]], flops: float, errors: dict[str, Any], peer: str) -> list[dict[str, Any]]:
    """Print and return the rows of one shape."""
    rows = []
    for name, seen in times.items():
        seconds = statistics.median(seen)
        row = {
            "name": name,
            "us": seconds * 1e6,
            "tflops": flops / seconds / 1e12,
            "ratio": ratio_of(times[peer], seen),
        }
        rows.append({**row, "error": errors[name], "runs": seen})
        print(
            f"  {row['ratio']:6.3f} {row['us']:9.2f} us {row['tflops']:6.2f} T  error {errors[name]}  {name}",
            flush=True,
        )
    return rows


def measure(text: str) -> dict[str, Any]:
    """Print and return the table of one shape, in float64 or in a dtype that is said before it."""
    kind, _, shape = text.rpartition(":")
    layout = shape[-2:] if shape[-1] in "NT" else "NN"
    m, n, k = parse_size(shape.removesuffix(layout) if shape[-1] in "NT" else shape)
    flops, sets = (8.0 if kind else 2.0) * m * n * k, matrices(m, n, k, layout, kind or "float64")
    launches = max(len(sets), min(100, int(2e-2 * 5e13 / flops)), 2)
    calls: dict[str, Callable[[int, int], None]] = {
        "cuBLAS": lambda i, stream: torch.matmul(*sets[i % len(sets)][:2], out=sets[i % len(sets)][2]),
        "matmul": lambda i, stream: prism.lib.matmul(*sets[i % len(sets)]),
    }
    graphs, errors = {}, {}
    for name, call in calls.items():
        for i in range(len(sets)):
            call(i, 0)
        torch.cuda.synchronize()
        errors[name] = round(error(sets[0]), 2) if m * n * k <= (1024 if kind else 4096) ** 3 else "not looked at"
        graphs[name] = graph_of(call, launches)
    print(text if kind else f"float64 {text}")
    return {"shape": text, "rows": table(compare(graphs, launches, 9), flops, errors, "cuBLAS")}


def integers(n: int) -> dict[str, Any]:
    """Print and return the times of integers of 32 and 64 bits beside CuPy's."""
    import cupy

    found = {}
    for kind in ("int32", "int64"):
        a, b = (cupy.random.randint(-(1 << 30), 1 << 30, (n, n)).astype(kind) for _ in range(2))
        mine, theirs = cupy.empty_like(a), cupy.empty_like(a)
        calls = {"CuPy": lambda a=a, b=b, out=theirs: cupy.matmul(a, b, out=out)}
        calls["matmul"] = lambda a=a, b=b, out=mine: prism.lib.matmul(a, b, out)
        times: dict[str, list[float]] = {name: [] for name in calls}
        for number in range(6):
            for name in list(calls)[:: 1 if number % 2 else -1]:
                begin, end = cupy.cuda.Event(), cupy.cuda.Event()
                calls[name]()
                begin.record()
                calls[name]()
                end.record()
                end.synchronize()
                times[name].append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
        print(f"{kind} {n}")
        wrong = int((mine != theirs).sum())
        found[kind] = table(times, 2.0 * n**3, dict.fromkeys(times, wrong), "CuPy")
    return found


def main() -> int:
    """Measure, print tables, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--integers", type=int, default=0, help="of so many rows, too")
    parser.add_argument("--seconds", type=float, default=110.0, help="begin nothing more after this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; above 1: Prism is faster")
    tables: list[Any] = []
    for text in options.shapes.split(","):
        if elapsed() > options.seconds:
            print(f"{text}: no time left")
            continue
        tables.append(measure(text))
        torch.cuda.empty_cache()
    if options.integers:
        tables.append(integers(options.integers))
    if options.json is not None:
        options.json.write_text(json.dumps(tables, indent=1) + "\n")
    print(f"{elapsed():.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
