"""Scans along axes, of segments and by key, beside CuPy, torch and a device copy: one process, alternating rounds, medians.

    python asv_bench/scan_axis.py [--dtypes float32] [--log 26] [--step 2] [--rounds 5] [--peers] [--segments]

Needs a GPU and CuPy; torch for torch, which is left out where it is missing. Arrays are (2^k, 2^(log - k)), for each k, along
either axis. Prism is timed as CUDA graphs, the others as plain launches; a peer whose one call takes longer than 50 ms is left
out. Every result of Prism's is checked before it is timed: elements are small whole numbers, so that sums are exact, and
differences of results are elements. "copy" is a device copy of as many bytes, and the ratio Prism's share of its speed.
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

import prism

SLOW = 50e-3
LAUNCHES = 4


def data(kind: str, shape: tuple[int, int]) -> Any:
    """Whole numbers of -8 to 8, 0 on average: sums of 2^26 of them stay below 2^24, and are exact in float32."""
    random = cupy.random.default_rng(0)
    return random.integers(0, 17, shape, dtype=cupy.uint8).astype(kind) - cupy.asarray(8).astype(kind)


def check(x: Any, y: Any, axis: int, what: str) -> None:
    """Compare the differences of a cumulative sum with its elements."""
    x, y = cupy.moveaxis(x, axis, 0), cupy.moveaxis(y, axis, 0)
    assert bool((y[:1] == x[:1]).all()) and bool((y[1:] - y[:-1] == x[1:]).all()), what


def copy_of(x: Any, y: Any) -> measure.Call:
    def copy(i: int) -> None:
        y.data.copy_from_device_async(x.data, x.nbytes, cupy.cuda.get_current_stream())

    return copy


def peers(x: Any, y: Any, axis: int) -> dict[str, measure.Call]:
    """Return CuPy's and torch's calls that are not too slow."""
    found: dict[str, measure.Call] = {"cupy": lambda i: cupy.cumsum(x, axis=axis, dtype=x.dtype, out=y)}
    try:
        import torch
    except ImportError:
        pass
    else:
        given, result = torch.as_tensor(x, device="cuda"), torch.as_tensor(y, device="cuda")
        found["torch"] = lambda i: torch.cumsum(given, axis, dtype=given.dtype, out=result)
    return {name: call for name, call in found.items() if seconds_of(call) < SLOW}


def seconds_of(call: measure.Call) -> float:
    """Return the seconds of a second call."""
    call(0)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    cupy.cuda.Device().synchronize()
    begin.record()
    call(0)
    cupy.cuda.Device().synchronize()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(begin, end)) / 1e3


def along(kind: str, shape: tuple[int, int], axis: int, rounds: int, with_peers: bool) -> dict[str, float]:
    """Return the median seconds of a scan of an array along an axis, by name."""
    x = data(kind, shape)
    y = cupy.empty_like(x)
    prism.lib.scan(x, axis=axis, out=y)
    check(x, y, axis, f"{kind} {shape} axis {axis}")
    plain = {"copy": copy_of(x, y), **(peers(x, y, axis) if with_peers else {})}
    return measure.compare({"prism": lambda i: prism.lib.scan(x, axis=axis, out=y)}, plain, LAUNCHES, rounds)


def segments(kind: str, size: int, length: int, rounds: int) -> dict[str, float]:
    """Return the median seconds of scans and reductions of segments of random lengths, `length` on average, by name."""
    x = data(kind, (1, size))[0]
    y = cupy.empty_like(x)
    cuts = np.sort(np.random.default_rng(0).integers(0, size + 1, size // length + 1))
    cuts[0], cuts[-1] = 0, size
    offsets = cupy.asarray(cuts)
    sums = cupy.empty(len(cuts) - 1, kind)
    keys = cupy.zeros(size, "int32")
    keys[offsets[1:-1][offsets[1:-1] < size]] = 1
    keys = cupy.cumsum(keys).astype("int32")
    calls: dict[str, measure.Call] = {
        "segmented_scan": lambda i: prism.lib.segmented_scan(x, offsets, out=y),
        "segmented_reduce": lambda i: prism.lib.segmented_reduce(x, offsets, out=sums),
        "scan_by_key": lambda i: prism.lib.scan_by_key(keys, x, out=y),
        "reduce_by_key": lambda i: prism.lib.reduce_by_key(keys, x, count=True),
    }
    return measure.compare({}, {"copy": copy_of(x, y), **calls}, LAUNCHES, rounds)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--log", type=int, default=26, help="logarithm to base 2 of the number of elements")
    parser.add_argument("--step", type=int, default=2, help="of k")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", action="store_true", help="time CuPy and torch too")
    parser.add_argument("--segments", action="store_true", help="time segments and keys too")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    found = []
    for kind in options.dtypes.split(","):
        bytes_ = 2 * np.dtype(kind).itemsize << options.log
        for axis in (0, 1):
            for k in range(0, options.log + 1, options.step):
                shape = (1 << k, 1 << (options.log - k))
                seconds = along(kind, shape, axis, options.rounds, options.peers)
                found.append({"dtype": kind, "shape": shape, "axis": axis, **seconds})
                rates = "  ".join(f"{name} {bytes_ / value / 1e9:5.0f}" for name, value in seconds.items())
                text = f"{kind:8} (2^{k}, 2^{options.log - k})".ljust(22) + f" axis {axis}: {rates} GB/s"
                print(f"{text}  {seconds['copy'] / seconds['prism']:5.2f} of copy", flush=True)
                cupy.get_default_memory_pool().free_all_blocks()
        for length in (4, 30, 250, 4000, 1 << 20) if options.segments else ():
            seconds = segments(kind, 1 << options.log, length, options.rounds)
            found.append({"dtype": kind, "segments": length, **seconds})
            rates = "  ".join(f"{name} {value * 1e6:.0f} us" for name, value in seconds.items())
            print(f"{kind:8} segments of {length:7}: {rates}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({"axis": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
