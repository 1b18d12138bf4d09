"""Functions of bools beside the same of uint8, and a device copy: one process, alternating rounds, medians.

    python asv_bench/bools.py [--size 26] [--rounds 9]

Needs a GPU and CuPy. Bytes of bools are any: 0 is false, and all others are true.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import cupy
import measure

import prism

SCANS = ("cummax", "cummin", "cumsum")
REDUCTIONS = ("sum", "any", "all", "max", "argmax", "count_nonzero")


def call_of(function: Callable[..., Any], x: Any, y: Any) -> Callable[[int], Any]:
    """Return a call of a function on the rows of `x` in turn, into those of `y`, or where that is None into fresh arrays."""
    if y is None:
        return lambda i: function(x[i % len(x)])
    return lambda i: function(x[i % len(x)], out=y[i % len(y)])


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=26, help="a logarithm to base 2")
    parser.add_argument("--rounds", type=int, default=9)
    a = parser.parse_args(arguments)
    rows = measure.rows_of(1 << a.size)
    x = cupy.random.default_rng(0).integers(0, 256, (rows, 1 << a.size), dtype=cupy.uint8)
    calls: dict[str, Callable[[int], Any]] = {}
    for kind in ("bool", "uint8"):
        given = x.view(kind)
        for name in (*SCANS, *REDUCTIONS):
            function = getattr(prism.lib, name)
            y = cupy.empty((4, 1 << a.size), function(given[0, :1000]).dtype) if name in SCANS else None
            calls[f"{name} {kind}"] = call_of(function, given, y)
    found = measure.beside_copy(calls, x, cupy.empty_like(x), a.rounds)
    for name, seconds in found.items():
        print(f"{name:22} {seconds * 1e6:9.1f} us")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
