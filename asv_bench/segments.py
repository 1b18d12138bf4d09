"""Sums of segments, and scans and reductions by key, beside CUB's: one process, alternating rounds, medians, random lengths.

    python asv_bench/segments.py [--dtypes float32] [--log 26] [--lengths 51,250,1000,4417] [--rounds 5] [--json FILE]

Needs a GPU and CuPy; nvcc for CUB, which has no scan of segments by offsets: that stands beside a copy. Lengths are random,
from 0 to twice the average; keys are int32, offsets too. What writes to arrays that it is given is timed as CUDA graphs, so that
the host's time a call does not count; `reduce_by_key`, which makes its results, and the copy as plain launches. Elements are
small whole numbers, of which all sums are exact, and every result of Prism's is compared with them.
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
import scan_axis

import prism


def cub(function: Any, *arguments: Any) -> measure.Call:
    """Return a call of one of CUB's functions, which take arrays and a size, with its scratch memory; it keeps the arrays."""
    given = [ctypes.c_void_p(a.data.ptr) if hasattr(a, "data") else ctypes.c_int64(a) for a in arguments]
    size = ctypes.c_size_t(0)
    assert function(None, ctypes.byref(size), *given, None) == 0
    scratch = cupy.empty(size.value + 16, cupy.uint8)

    def call(i: int, kept: Any = arguments) -> None:
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        assert function(ctypes.c_void_p(scratch.data.ptr), ctypes.byref(size), *given, stream) == 0

    return call


def measured(library: Any, kind: str, size: int, length: int, rounds: int) -> dict[str, float]:
    """Return the seconds of each call, by name; CUB's begin with `cub`."""
    x = scan_axis.data(kind, (1, size))[0]
    y = cupy.empty_like(x)
    cuts = np.cumsum(np.random.default_rng(0).integers(0, 2 * length + 1, size // length + 1)).astype(np.int64)
    cuts = np.concatenate([[0], cuts[cuts < size], [size]])
    offsets, count = cupy.asarray(cuts.astype(np.int32)), len(cuts) - 1
    sums, unique, runs = cupy.zeros(count, kind), cupy.empty(count + 1, "int32"), cupy.zeros(1, "int64")
    heads = cupy.zeros(size, bool)
    heads[offsets[:-1][offsets[:-1] < size]] = True
    keys = cupy.cumsum(heads, dtype="int32")
    others = cupy.zeros(count, kind)
    calls: dict[str, measure.Call] = {
        "segmented_reduce": lambda i: prism.lib.segmented_reduce(x, offsets, out=sums),
        "segmented_scan": lambda i: prism.lib.segmented_scan(x, offsets, out=y),
        "scan_by_key": lambda i: prism.lib.scan_by_key(keys, x, out=y),
        "reduce_by_key": lambda i: prism.lib.reduce_by_key(keys, x, count=True),
        "cub segmented_reduce": cub(getattr(library, f"cub_segments_{kind}"), x, others, offsets, count),
        "cub scan_by_key": cub(getattr(library, f"cub_scan_by_key_{kind}"), keys, x, y, size),
        "cub reduce_by_key": cub(getattr(library, f"cub_reduce_by_key_{kind}"), keys, unique, x, others, runs, size),
    }
    check(x, offsets, heads, keys, calls, sums, y)
    plain = {"copy": scan_axis.copy_of(x, y), "reduce_by_key": calls.pop("reduce_by_key")}
    return measure.compare(calls, plain, scan_axis.LAUNCHES, rounds)


def check(x: Any, offsets: Any, heads: Any, keys: Any, calls: dict[str, measure.Call], sums: Any, y: Any) -> None:
    """Compare Prism's results with sums in int64, and scans element by element with the one before."""
    total = cupy.concatenate([cupy.zeros(1, "int64"), cupy.cumsum(x, dtype="int64")])
    expected = total[offsets[1:].astype("int64")] - total[offsets[:-1].astype("int64")]
    calls["segmented_reduce"](0)
    assert bool((sums == expected.astype(x.dtype)).all()), "segmented_reduce"
    for name in ("segmented_scan", "scan_by_key"):
        y[...] = 0
        calls[name](0)
        before = cupy.where(heads[1:], 0, y[:-1])
        assert bool(y[0] == x[0]) and bool((y[1:] == before + x[1:]).all()), name
    _, found, count = prism.lib.reduce_by_key(keys, x, count=True)
    full = expected[offsets[1:] > offsets[:-1]]
    assert int(count[0]) == len(full) and bool((found[: len(full)] == full.astype(x.dtype)).all()), "reduce_by_key"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--log", type=int, default=26, help="logarithm to base 2 of the number of elements")
    parser.add_argument("--lengths", default="51,250,1000,4417", help="on average")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    library, found = measure.peer("cub_segments"), []
    for kind in options.dtypes.split(","):
        for length in map(int, options.lengths.split(",")):
            seconds = measured(library, kind, 1 << options.log, length, options.rounds)
            found.append({"dtype": kind, "length": length, **seconds})
            parts = []
            for name in ("segmented_reduce", "segmented_scan", "scan_by_key", "reduce_by_key"):
                beside = seconds.get(f"cub {name}")
                ratio = (
                    f" ({beside / seconds[name]:.2f} CUB)"
                    if beside
                    else f" ({seconds['copy'] / seconds[name]:.2f} copy)"
                )
                parts.append(f"{name} {seconds[name] * 1e6:.0f} us{ratio}")
            print(f"{kind} {length:5}: {', '.join(parts)}; copy {seconds['copy'] * 1e6:.0f} us", flush=True)
            cupy.get_default_memory_pool().free_all_blocks()
    if options.json is not None:
        options.json.write_text(json.dumps({"segments": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
