"""Functions on lazy arrays beside the same functions on arrays: one process, alternating rounds, medians.

    PYTHONPATH=. python asv_bench/lazy.py [--sizes 20,24,28] [--rounds 7] [--json FILE]

Needs a GPU and CuPy. Arrays are of float32. A lazy array of one array is to take what that array takes: `sum map` is the sum
of squares, `sum` that of the elements. `evaluate` stands beside a device copy. Results are compared with CuPy's.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import cupy
import measure

import prism
from prism.lang import dtype, requires, template, thread
from prism.lang import prism as mark

L, lib = prism.lib.lazy, prism.lib
PAIRS = {
    "sum map": "sum", "sum flip": "sum", "max map": "max", "argmax map": "argmax", "scan map": "scan", "evaluate map": "copy",
}  # fmt: skip
"""Calls on lazy arrays, and what each is to take as long as."""


@mark("device")
@requires(thread[1])
@template(T=dtype)
def square(x: T @ thread[1]) -> T @ thread[1]:
    return x * x


def calls_of(x: Any, y: Any, s: Any) -> dict[str, measure.Call]:
    """Return the calls, by name, on the rows of `x`, with results in those of `y` and in `s`, a number."""
    rows, lazy, flipped = len(x), [L.map(square, row) for row in x], [L.flip(row) for row in x]
    k = cupy.zeros((), "int64")
    return {
        "sum": lambda i: lib.sum(x[i % rows], out=s),
        "sum map": lambda i: lib.sum(lazy[i % rows], out=s),
        "sum flip": lambda i: lib.sum(flipped[i % rows], out=s),
        "max": lambda i: lib.max(x[i % rows], out=s),
        "max map": lambda i: lib.max(lazy[i % rows], out=s),
        "argmax": lambda i: lib.argmax(x[i % rows], out=k),
        "argmax map": lambda i: lib.argmax(lazy[i % rows], out=k),
        "scan": lambda i: lib.scan(x[i % rows], out=y[i % rows]),
        "scan map": lambda i: lib.scan(lazy[i % rows], out=y[i % rows]),
        "evaluate map": lambda i: lib.evaluate(lazy[i % rows], out=y[i % rows]),
    }


def check(x: Any, y: Any, s: Any, calls: dict[str, measure.Call]) -> None:
    """Compare results with CuPy's, of the first row."""
    squares = x[0] * x[0]
    for name, wanted in (
        ("sum map", squares.sum(dtype="float64")),
        ("max map", squares.max()),
        ("sum flip", x[0].sum()),
    ):
        calls[name](0)
        assert abs(float(s) - float(wanted)) <= 1e-4 * float(squares.sum()), name
    calls["evaluate map"](0)
    assert bool((y[0] == squares).all()), "evaluate map"
    calls["scan map"](0)
    assert bool(cupy.allclose(y[0], cupy.cumsum(squares, dtype="float64"), rtol=1e-4)), "scan map"


def measured(size: int, rounds: int) -> dict[str, float]:
    """Return the seconds of each call, by name, and of `copy`."""
    x = measure.data("float32", measure.rows_of(4 * size), size)
    y, s = cupy.empty_like(x), cupy.zeros((), "float32")
    calls = calls_of(x, y, s)
    check(x, y, s, calls)
    return measure.beside_copy(calls, x, y, rounds)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="20,24,28", help="logarithms to base 2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    found = []
    for log in map(int, options.sizes.split(",")):
        seconds = measured(1 << log, options.rounds)
        found.append({"log": log, **seconds})
        parts = [
            f"{name} {seconds[name] * 1e6:.1f} us ({seconds[beside] / seconds[name]:.3f} {beside})"
            for name, beside in PAIRS.items()
        ]
        print(f"2^{log}: {', '.join(parts)}", flush=True)
        cupy.get_default_memory_pool().free_all_blocks()
    if options.json is not None:
        options.json.write_text(json.dumps({"lazy": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
