"""Transposes and permutations beside torch's and a device copy: one process, alternating rounds, medians, random data.

    PYTHONPATH=. python asv_bench/transposes.py [--only float32] [--rounds 7] [--json FILE]

Needs a GPU, CuPy and torch. Buffers are rotated past the L2. Prism is timed as CUDA graphs of launches; torch (`copy_` of a
permuted tensor into one that is there) and the copy as plain launches. "whole" is a call as a user makes it, the host's time
too, its result made anew: `prism.lib.permute` beside `permute(...).contiguous()`. Every result is compared with CuPy's, once.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.transposes import CALLS, SMALL

import prism

GRAPHED, ROUNDS = 8, 7
WIDE = {"float32": "uint32", "bfloat16": "uint16", "uint8": "uint8", "float64": "uint64", "complex128": "complex128"}
"""What CuPy has elements as, of which only the bits count."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a line for each, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="calls whose name has this")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    found = []
    for name, (dtype, shape, axes) in {**CALLS, **SMALL}.items():
        if options.only not in name:
            continue
        x = data(dtype, shape)
        seconds = along(x, dtype, axes, options.rounds)
        if name in SMALL:
            seconds |= {f"whole {key}": value for key, value in whole(x[0], dtype, axes, options.rounds).items()}
        found.append({"call": name, "bytes": x[0].nbytes, **seconds})
        print(line(name, x[0].nbytes, seconds), flush=True)
        release()
    if options.json is not None:
        options.json.write_text(json.dumps({"transposes": found}, indent=1) + "\n", encoding="utf-8")
    return 0


def line(name: str, nbytes: int, seconds: dict[str, float]) -> str:
    """Return a line of what was measured."""
    rates = "  ".join(f"{key} {2 * nbytes / value / 1e9:5.0f} GB/s" for key, value in seconds.items() if " " not in key)
    ratios = f"{seconds['copy'] / seconds['prism']:5.2f} of copy  {seconds['torch'] / seconds['prism']:6.2f} x torch"
    both = "  ".join(f"{key} {value * 1e6:.2f} us" for key, value in seconds.items() if " " in key)
    return f"{name:44} {rates}  {ratios}  {both}"


def data(dtype: str, shape: tuple[int, ...]) -> Any:
    """Return arrays of random bits, more than the L2 holds together."""
    import cupy
    import measure
    import numpy as np

    size = int(np.prod(shape)) * np.dtype(WIDE[dtype]).itemsize
    rows = measure.rows_of(size)
    words = cupy.random.default_rng(0).integers(0, 1 << 32, rows * size // 4 + 1, dtype=cupy.uint32)
    return words.view(cupy.uint8)[: rows * size].view(WIDE[dtype]).reshape(rows, *shape)


def along(x: Any, dtype: str, axes: tuple[int, ...], rounds: int) -> dict[str, float]:
    """Return the median seconds of a permutation of a row of `x`, by name."""
    import cupy
    import measure

    rows, nbytes = len(x), x[0].nbytes
    y = cupy.zeros((rows, *x[0].transpose(axes).shape), x.dtype)
    wanted = cupy.ascontiguousarray(x[0].transpose(axes)).view(cupy.uint8)
    prism.lib.permute(x[0], axes, out=y[0])
    assert bool((y[0].view(cupy.uint8) == wanted).all()), (dtype, x.shape, axes)
    given, result = tensor(x, dtype), tensor(y, dtype)
    launches = 40 if nbytes < 1 << 26 else GRAPHED

    def copy(i: int) -> None:
        y[i % rows].data.copy_from_device_async(x[i % rows].data, nbytes, cupy.cuda.get_current_stream())

    return measure.compare(
        {"prism": lambda i: prism.lib.permute(x[i % rows], axes, out=y[i % rows])},
        {"torch": lambda i: result[i % rows].copy_(given[i % rows].permute(axes)), "copy": copy},
        launches, rounds,
    )  # fmt: skip


def whole(x: Any, dtype: str, axes: tuple[int, ...], rounds: int) -> dict[str, float]:
    """Return the median seconds of a call that makes its result, one behind the other until the GPU has made them."""
    import cupy

    given = tensor(x, dtype)
    calls = {
        "prism": lambda: prism.lib.permute(given, axes), "torch": lambda: given.permute(axes).contiguous(),
        "prism on CuPy": lambda: prism.lib.permute(x, axes), "cupy": lambda: cupy.ascontiguousarray(x.transpose(axes)),
    }  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name in list(calls)[:: 1 if number % 2 else -1]:
            calls[name]()
            cupy.cuda.Device().synchronize()
            begin = time.perf_counter()
            for _ in range(200):
                calls[name]()
            cupy.cuda.Device().synchronize()
            if number:
                times[name].append((time.perf_counter() - begin) / 200)
    return {name: sorted(found)[len(found) // 2] for name, found in times.items()}


def tensor(x: Any, dtype: str) -> Any:
    """Return torch's tensor of the same memory."""
    import cupy
    import torch

    flat = torch.as_tensor(x.reshape(-1).view(cupy.uint8), device="cuda")
    return flat.view(getattr(torch, dtype)).view(x.shape)


def release() -> None:
    """Give back the memory that both libraries keep."""
    import cupy
    import torch

    cupy.get_default_memory_pool().free_all_blocks()
    torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
