"""Prism's reductions beside CUB's, CuPy's and torch's: one process, alternating rounds, medians, random data.

    python asv_bench/reduce.py [--dtypes int32,float32] [--sizes 16,20,24,28] [--axes 2,6,10,14,18,22] [--shapes 1024x1024]
                               [--rounds 7] [--newest FOLDER] [--json FILE]
    python asv_bench/reduce.py --tune int32        # other configurations of the whole array's kernel, of long ones, for one dtype
    python asv_bench/reduce.py --tune-axis         # other configurations of the kernel along an axis, for float32

Needs a GPU and CuPy; nvcc for CUB and torch for torch, which are left out where they are missing. `--newest` names the headers of
another CUB, or a folder with its `cub_peer.so`: it is measured beside the toolkit's; `--shapes` are summed along axis 0. Buffers
are rotated past the L2. Kernels are timed as CUDA graphs of launches, so that the host's time a call does not count; what can't
be captured, as plain launches (marked `*`). Every result is compared with NumPy's, or CuPy's, before anything is timed. "share"
is of the H200's 4800 GB/s. From 32 MiB on `floor` stands beside them: a kernel that reads the array in the same way and combines
nothing (`reading.py`).
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import cupy
import measure
import numpy as np
from host_time import host_times
from reading import reading

import prism
from prism.host import call as host
from prism.host.axes import collapse
from prism.host.machine import Gpu
from prism.kernels.reduce import AXIS, DEVICE, AxisConfiguration, Configuration, Cutting, short
from prism.lib import operators
from prism.lib.algorithms.reduce import plan as reduce_plans
from prism.lib.algorithms.reduce.steps import Work

PEAK = 4.8e12  # bytes a second, by the datasheet
FLOOR = 1 << 25  # bytes: from here on memory decides, and what reading alone takes is measured too


def cub_sum(library: ctypes.CDLL, kind: str, x: Any, y: Any) -> measure.Call:
    """Return a call of CUB's sum of the rows of `x`, in turn, in the dtype of `x`."""
    size = getattr(library, f"cub_reduce_bytes_{kind}")
    size.restype = ctypes.c_size_t
    bytes_ = size(ctypes.c_int64(x.shape[1]))
    scratch = cupy.empty(bytes_ + 16, cupy.uint8)
    function = getattr(library, f"cub_reduce_{kind}")

    def call(i: int) -> None:
        pointers = [ctypes.c_void_p(x.data.ptr + i % len(x) * x.strides[0]), ctypes.c_void_p(y.data.ptr)]
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        status = function(
            ctypes.c_void_p(scratch.data.ptr), ctypes.c_size_t(bytes_), *pointers, ctypes.c_int64(x.shape[1]), stream
        )
        assert status == 0, status

    return call


def read_only(kind: str, x: Any) -> measure.Call:
    """Return a call of a kernel that reads the rows of `x`, in turn, as Prism's sum does, and keeps nothing."""
    scalar = f"u{kind}" if np.dtype(kind).kind == "i" else kind  # as the library has it
    work = Work(operators.add, scalar, scalar, scalar, 0, 0)
    ordinal, size = x.data.device_id, x.shape[1]
    (step,) = reduce_plans.plan_reduction(work, [collapse((size,), (1,), (0,))], 0, Gpu(ordinal)).steps
    launch, spare = reading(step).launcher(ordinal), cupy.zeros(1, kind)
    never = 0x9E3779B9 if np.dtype(kind).kind == "i" else float("nan")

    def call(i: int) -> None:
        values = (x.data.ptr + i % len(x) * x.strides[0], spare.data.ptr, size, 0, never)
        launch(step.blocks, step.threads, cupy.cuda.get_current_stream().ptr, values)

    return call


def torch_sum(x: Any, out: Any, axis: int | None) -> measure.Call | None:
    """Return a call of torch's sum on CuPy's current stream, or None where there is no torch."""
    try:
        import torch
    except ImportError:
        return None
    given, result = torch.as_tensor(x, device="cuda"), torch.as_tensor(out, device="cuda")
    streams: dict[int, Any] = {}

    def call(i: int) -> None:
        handle = cupy.cuda.get_current_stream().ptr
        if handle not in streams:
            streams[handle] = torch.cuda.ExternalStream(handle) if handle else torch.cuda.default_stream()
        with torch.cuda.stream(streams[handle]):
            if axis is None:
                torch.sum(given[i % len(given)], dim=(0,), out=result[i % len(given)])
            else:
                torch.sum(given[i % len(given)], dim=axis, out=result[i % len(given)])

    return call


def can_capture(call: measure.Call) -> bool:
    """Whether a call can be captured in a CUDA graph, after its first time."""
    stream = cupy.cuda.Stream(non_blocking=True)
    try:
        with stream:
            call(0)
            stream.synchronize()
            stream.begin_capture()
            try:
                call(0)
            finally:
                stream.end_capture()
    except Exception:  # each library refuses in its own way
        cupy.cuda.Device().synchronize()
        return False
    return True


def compare(calls: dict[str, measure.Call], launches: int, rounds: int) -> tuple[dict[str, float], set[str]]:
    """Return the median seconds of a call by name, and who was timed as plain launches."""
    plain = {name for name in calls if name in ("cupy", "torch") and not can_capture(calls[name])}
    graphs = {name: call for name, call in calls.items() if name not in plain}
    return measure.compare(graphs, {name: calls[name] for name in plain}, launches, rounds), plain


def check(x: Any, found: Any, axis: int | None, what: str) -> None:
    """Compare a sum with NumPy's; that of a long array with CuPy's, made in float64 or in integers."""
    library = cupy if x.nbytes >= measure.LONG else np
    given, result = (x, found) if library is cupy else (cupy.asnumpy(x), cupy.asnumpy(found))
    if given.dtype.kind == "f":
        exact = library.sum(given, axis=axis, dtype=np.float64)
        total = library.sum(library.abs(given), axis=axis, dtype=np.float64)
        bound = 4 * np.finfo(given.dtype).eps * np.log2(given.size + 2) * total
        assert bool((library.abs(result - exact) <= bound).all()), what
    else:
        assert bool((result == library.sum(given, axis=axis, dtype=result.dtype)).all()), what


def launches_for(bytes_: int) -> int:
    return 40 if bytes_ < 1 << 26 else 20 if bytes_ < 1 << 29 else 8


def whole(libraries: dict[str, ctypes.CDLL], kind: str, size: int, rounds: int) -> tuple[dict[str, float], set[str]]:
    """Return the seconds of a sum of a whole array: `prism` and each CUB in its dtype, the others in NumPy's."""
    bytes_ = size * np.dtype(kind).itemsize
    rows = measure.rows_of(bytes_)
    x = measure.data(kind, rows, size)
    y, wide = cupy.zeros(rows, kind), cupy.zeros(rows, np.sum(np.zeros(1, kind)).dtype)
    calls: dict[str, measure.Call] = {
        "prism": lambda i: prism.lib.reduce(x[i % rows], out=y[i % rows]),
        "prism.sum": lambda i: prism.lib.sum(x[i % rows], out=wide[i % rows]),
        "cupy": lambda i: cupy.sum(x[i % rows], out=wide[i % rows]),
    }
    calls |= {name: cub_sum(library, kind, x, y) for name, library in libraries.items()}
    if (found := torch_sum(x, wide, None)) is not None:
        calls["torch"] = found
    for name, call in calls.items():
        target = y if name in ("prism", *libraries) else wide
        target[...] = 0
        call(0)
        cupy.cuda.Device().synchronize()
        check(x[0], target[0], None, f"{name} {kind} {size}")
    if bytes_ >= FLOOR:
        calls["floor"] = read_only(kind, x)
    return compare(calls, launches_for(bytes_), rounds)


def along(shape: tuple[int, int], axis: int, rounds: int, kind: str = "float32") -> tuple[dict[str, float], set[str]]:
    """Return the seconds of a sum along an axis of an array of two."""
    bytes_ = shape[0] * shape[1] * np.dtype(kind).itemsize
    rows = max(measure.rows_of(bytes_), 2 if bytes_ <= 1 << 29 else 1)
    x = measure.data(kind, rows, shape[0] * shape[1]).reshape(rows, *shape)
    out = cupy.zeros((rows, shape[1 - axis]), kind)
    calls: dict[str, measure.Call] = {
        "prism": lambda i: prism.lib.sum(x[i % rows], axis=axis, out=out[i % rows]),
        "cupy": lambda i: cupy.sum(x[i % rows], axis=axis, out=out[i % rows]),
    }
    if (found := torch_sum(x, out, axis)) is not None:
        calls["torch"] = found
    for name, call in calls.items():
        out[...] = 0
        call(0)
        cupy.cuda.Device().synchronize()
        if name == "prism":
            check(x[0], out[0], axis, f"{name} {shape} {axis}")
    return compare(calls, launches_for(bytes_) if bytes_ < 1 << 28 else 8, rounds)


def line(what: str, bytes_: int, seconds: dict[str, float], plain: set[str]) -> str:
    """Return one line of the table: microseconds, share of the peak, and how much faster than the others."""
    mine = f"{seconds['prism'] * 1e6:9.2f} us {bytes_ / seconds['prism'] / 1e9:6.0f} GB/s {bytes_ / seconds['prism'] / PEAK:5.2f}"
    others = []
    for name in ("floor", "cub", "newest", "prism.sum", "cupy", "torch"):
        if name in seconds:
            base = seconds["prism.sum" if "prism.sum" in seconds and name in ("cupy", "torch") else "prism"]
            mark = "*" if name in plain else ""
            others.append(
                f"{name}{mark} {seconds[name] * 1e6:.2f} us"
                + (f" {seconds[name] / base:.2f}x" if name != "prism.sum" else "")
            )
    return f"{what:28} {mine}   " + "   ".join(others)


def warm_calls() -> dict[str, float]:
    """Return the seconds that the host takes for a warm call."""
    x, out = cupy.ones((32, 32), cupy.float32), cupy.zeros(32, cupy.float32)
    total = cupy.zeros((), cupy.float32)
    calls = {
        "sum(out=)": lambda: prism.lib.sum(x, out=total),
        "sum(axis=0, out=)": lambda: prism.lib.sum(x, axis=0, out=out),
        "sum()": lambda: prism.lib.sum(x),
        "cupy.sum(out=)": lambda: cupy.sum(x, out=total),
    }
    return host_times(calls, cupy.cuda.Device().synchronize)


CANDIDATES = [
    Configuration(threads, blocks, rows, fewest)
    for threads, blocks in [(256, 2), (256, 4), (512, 1), (512, 2), (512, 4), (1024, 1), (1024, 2)]
    for rows, fewest in [(2, 1), (4, 1), (4, 2), (8, 2)]
    if threads * blocks * rows <= 8192
]


def use(size: int, configuration: Configuration | AxisConfiguration) -> None:
    """Reduce elements of so many bytes by this configuration from here on."""
    if isinstance(configuration, Configuration):
        DEVICE[size] = configuration
    else:
        AXIS[size] = configuration
    host.forget()


def tune(kind: str, sizes: list[int], rounds: int) -> None:
    """Print the time of each candidate configuration, at each size of long arrays: short ones go by a table of their own."""
    size_of = np.dtype(kind).itemsize
    sizes = [log for log in sizes if short((size_of << log) // 16, size_of) is None]
    kept = DEVICE[size_of]
    for log, configuration in itertools.product(sizes, CANDIDATES):
        use(size_of, configuration)
        bytes_ = (1 << log) * size_of
        rows = measure.rows_of(bytes_)
        x = measure.data(kind, rows, 1 << log)
        y = cupy.zeros(rows, kind)
        call = {"prism": lambda i, x=x, y=y: prism.lib.reduce(x[i % len(x)], out=y[i % len(x)])}
        seconds = measure.compare(call, {}, launches_for(bytes_), rounds)["prism"]
        check(x[0], y[0], None, str(configuration))
        print(f"2^{log} {kind} {configuration}: {seconds * 1e6:.2f} us {bytes_ / seconds / 1e9:.0f} GB/s", flush=True)
        del x, y, call
        cupy.get_default_memory_pool().free_all_blocks()
    use(size_of, kept)


def tune_axis(logs: list[int], rounds: int) -> None:
    """Print the time of each candidate configuration for float32, along both axes of arrays of 2^26 elements."""
    kept = AXIS[4]
    long = [Cutting(threads, blocks, rows) for threads, blocks in [(128, 5), (128, 8), (512, 2)] for rows in (4, 8)]
    candidates = [
        replace(kept, rows=replace(kept.rows, long=one), columns=replace(kept.columns, long=one)) for one in long
    ]
    for k, axis, configuration in itertools.product(logs, (0, 1), candidates):
        use(4, configuration)
        shape = (1 << k, 1 << (26 - k))
        x = measure.data("float32", 2, 1 << 26).reshape(2, *shape)
        out = cupy.zeros((2, shape[1 - axis]), cupy.float32)

        def call(i: int, x: Any = x, out: Any = out, axis: int = axis) -> None:
            prism.lib.sum(x[i % 2], axis=axis, out=out[i % 2])

        seconds = measure.compare({"prism": call}, {}, 8, rounds)["prism"]
        check(x[0], out[0], axis, str(configuration))
        print(f"(2^{k}, 2^{26 - k}) axis {axis} {configuration}: {seconds * 1e6:.1f} us", flush=True)
    use(4, kept)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtypes", default="int32,float32")
    parser.add_argument("--sizes", default="16,20,24,28", help="logarithms to base 2")
    parser.add_argument("--axes", default="2,6,10,14,18,22", help="k of the shapes (2^k, 2^(26-k))")
    parser.add_argument("--shapes", default="", help="of float32, as 1024x1024, summed along axis 0")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--newest", help="the folder of another CUB's headers, or of it as it was built")
    parser.add_argument("--tune", default="", help="a dtype: try configurations for it, and nothing else")
    parser.add_argument("--tune-axis", action="store_true", help="try configurations along an axis, and nothing else")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    sizes = [int(k) for k in options.sizes.split(",") if k]
    if options.tune:
        tune(options.tune, sizes, options.rounds)
        return 0
    if options.tune_axis:
        tune_axis([int(k) for k in options.axes.split(",") if k], options.rounds)
        return 0
    cupy._core.set_routine_accelerators(["cub"])
    cupy._core.set_reduction_accelerators(["cub"])
    try:
        libraries = measure.peers(options.newest)
    except (OSError, subprocess.SubprocessError) as missing:
        libraries = {}
        print(f"without CUB: {missing}")
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    print(
        f"{name}; time, rate and share of Prism's; others with their time by Prism's: above 1 Prism is faster; * plain launches"
    )
    found: list[dict[str, Any]] = []
    for kind, log in itertools.product(options.dtypes.split(","), sizes):
        seconds, plain = whole(libraries, kind, 1 << log, options.rounds)
        found.append({"dtype": kind, "size": 1 << log, **seconds})
        print(line(f"{kind} 2^{log}", (1 << log) * np.dtype(kind).itemsize, seconds, plain), flush=True)
        cupy.get_default_memory_pool().free_all_blocks()
    cases = [((1 << k, 1 << (26 - k)), axis) for k in [int(k) for k in options.axes.split(",") if k] for axis in (0, 1)]
    given = [shape.split("x") for shape in options.shapes.split(",") if shape]
    cases += [((int(n), int(inner)), 0) for n, inner in given]
    for shape, axis in cases:
        seconds, plain = along(shape, axis, options.rounds)
        found.append({"dtype": "float32", "shape": shape, "axis": axis, **seconds})
        bytes_ = 4 * (shape[0] * shape[1] + shape[1 - axis])
        print(line(f"float32 {shape} axis {axis}", bytes_, seconds, plain), flush=True)
        cupy.get_default_memory_pool().free_all_blocks()
    host = warm_calls()
    for what, seconds_a_call in host.items():
        print(f"host time of a warm {what}: {seconds_a_call * 1e6:.1f} us")
    if options.json is not None:
        options.json.write_text(json.dumps({"device": name, "reduce": found, "host": host}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
