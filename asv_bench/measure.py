"""Prism's scan beside CUB's and a device copy: one process, alternating rounds, medians, random data.

    python asv_bench/measure.py [--dtypes int32,int64] [--sizes 20,24,28] [--rounds 9] [--newest FOLDER] [--json FILE]

Needs a GPU, CuPy and nvcc. `--newest` names the headers of another CUB, measured in the same rounds as the toolkit's, or a folder
with its `cub_peer.so`. Buffers are rotated past the L2. Kernels are timed as CUDA graphs of launches, so that the host's time a
call does not count; the copy as plain launches, since in a graph it would run on a copy engine. Every result is compared with
NumPy's, that of a long array with CuPy's (floats: with a bound), before anything is timed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from host_time import host_time

import prism

HERE = Path(__file__).parent
L2 = 60 << 20
Call = Callable[[int], Any]


def peer(name: str = "cub_peer", headers: str | None = None) -> ctypes.CDLL:
    """Build CUB's entry points, of `name`.cu here, and load them.

    The headers are those of the folder that is given, or that the variable CCCL names, or the toolkit's. What has been built
    already, as `name`.so, is loaded: from the folder that is given, or from the one that PEERS names where none is.
    """
    built = headers or os.environ.get("PEERS")
    if built is not None and (headers is None or Path(built, f"{name}.so").is_file()):
        return ctypes.CDLL(str(Path(built).absolute() / f"{name}.so"))
    folder, cccl = Path(tempfile.mkdtemp()), headers or os.environ.get("CCCL")
    options = ["-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", *(["-I", cccl] if cccl else [])]
    subprocess.run(["nvcc", *options, "-o", folder / "cub.so", HERE / f"{name}.cu"], check=True)
    return ctypes.CDLL(str(folder / "cub.so"))


def peer_if_built(name: str, headers: str | None = None) -> ctypes.CDLL | None:
    """Return what `peer` does, or None where it can't be built, which is said."""
    try:
        return peer(name, headers)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"CUB is left out: {error}")
        return None


def peers_if_built(name: str, newest: str | None) -> dict[str, ctypes.CDLL]:
    """Return CUB's entry points that can be built: `cub`, and `newest` of the headers in a folder, where one is given."""
    folders = {"cub": None} | ({"newest": newest} if newest else {})
    found = {key: peer_if_built(name, headers) for key, headers in folders.items()}
    return {key: library for key, library in found.items() if library is not None}


def peers(newest: str | None) -> dict[str, ctypes.CDLL]:
    """Return CUB's entry points: `cub`, and `newest` of the headers in a folder, where one is given."""
    return {"cub": peer()} | ({"newest": peer(headers=newest)} if newest else {})


def cub_scan(library: ctypes.CDLL, kind: str, x: Any, y: Any) -> Call:
    """Return a call of CUB's inclusive sum on the rows of `x`, in turn."""
    size = getattr(library, f"cub_bytes_{kind}")
    size.restype = ctypes.c_size_t
    bytes_ = size(ctypes.c_int64(x.shape[1]))
    scratch = cupy.empty(bytes_ + 16, cupy.uint8)
    function = getattr(library, f"cub_scan_{kind}")

    def call(i: int) -> None:
        k, stream = i % len(x), cupy.cuda.get_current_stream().ptr
        pointers = [ctypes.c_void_p(array.data.ptr + k * array.strides[0]) for array in (x, y)]
        status = function(
            ctypes.c_void_p(scratch.data.ptr),
            ctypes.c_size_t(bytes_),
            *pointers,
            ctypes.c_int64(x.shape[1]),
            ctypes.c_void_p(stream),
        )
        assert status == 0, status

    return call


def graph_of(call: Call, launches: int) -> Any:
    """Return a CUDA graph of so many calls, and the stream that it was captured on.

    Its stream waits for no other: what made the arrays, and what a call before wrote to them, has ended first. Else two sorts
    may write one array at once, or read keys that are still being made, and then write where nothing is.
    """
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for i in range(3):
            call(i)  # compiles, loads, allocates: outside the capture
        stream.synchronize()
        stream.begin_capture()
        for i in range(launches):
            call(i)
        graph = stream.end_capture()
    return graph, stream


def compare(graphs: Mapping[str, Call], plain: Mapping[str, Call], launches: int, rounds: int) -> dict[str, float]:
    """Return the median seconds of a call, by name. The order alternates: the second of two runs hotter."""
    captured = {name: graph_of(call, launches) for name, call in graphs.items()}
    times: dict[str, list[float]] = {name: [] for name in [*graphs, *plain]}
    names = list(times)
    for number in range(rounds + 1):
        for name in names[:: 1 if number % 2 else -1]:
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            if name in captured:
                graph, stream = captured[name]
                graph.launch(stream)
                begin.record(stream)
                graph.launch(stream)
            else:
                stream = cupy.cuda.get_current_stream()
                plain[name](0)
                begin.record(stream)
                for i in range(launches):
                    plain[name](i)
            end.record(stream)
            end.synchronize()
            if number:
                times[name].append(cupy.cuda.get_elapsed_time(begin, end) / launches / 1e3)
    return {name: statistics.median(found) for name, found in times.items()}


def rows_of(bytes_: int) -> int:
    """Return how many arrays of so many bytes are taken in turn: more than the L2 holds, and not above 2 GiB."""
    return max(1, min(1 + 2 * L2 // bytes_, (2 << 30) // bytes_))


def beside_copy(calls: Mapping[str, Call], x: Any, y: Any, rounds: int) -> dict[str, float]:
    """Return the median seconds of each call on the rows of `x` and `y`, and of `copy`, a device copy of a row."""
    rows, bytes_ = len(x), x[0].nbytes

    def copy(i: int) -> None:
        target, source = y[i % rows].data, x[i % rows].data
        target.copy_from_device_async(source, bytes_, cupy.cuda.get_current_stream())

    return compare(calls, {"copy": copy}, 40 if bytes_ < 1 << 26 else 20 if bytes_ < 1 << 29 else 8, rounds)


def data(kind: str, rows: int, size: int) -> Any:
    """Random elements over the dtype's whole range."""
    random = cupy.random.default_rng(0)
    if np.dtype(kind).kind == "f":
        return random.standard_normal((rows, size), dtype=cupy.float32).astype(kind)
    return random.integers(0, 256, (rows, size * np.dtype(kind).itemsize), dtype=cupy.uint8).view(kind)


LONG = 1 << 29
"""Bytes from which on results are compared on the GPU, where NumPy would take minutes."""


def check(kind: str, x: Any, y: Any, what: str) -> None:
    """Compare a result with NumPy's; that of a long array with CuPy's, whose sums of floats are made in float64."""
    library, wide = (cupy, np.float64) if x.nbytes >= LONG else (np, np.longdouble)
    given, found = (x, y) if library is cupy else (cupy.asnumpy(x), cupy.asnumpy(y))
    if np.dtype(kind).kind == "f":
        exact = library.cumsum(given, dtype=wide)
        bound = 4 * np.finfo(kind).eps * np.log2(given.size + 2) * library.cumsum(library.abs(given), dtype=wide)
        assert bool((library.abs(found - exact) <= bound).all()), what
    else:
        assert bool((found == library.cumsum(given, dtype=kind)).all()), what


def measure(libraries: Mapping[str, ctypes.CDLL], kind: str, size: int, rounds: int) -> dict[str, float]:
    """Return the seconds of one call of `prism`, of each CUB by its name, and of `copy`."""
    rows = rows_of(size * np.dtype(kind).itemsize)
    x = data(kind, rows, size)
    y = cupy.empty_like(x)
    calls = {
        "prism": lambda i: prism.lib.scan(x[i % rows], out=y[i % rows]),
        **{name: cub_scan(library, kind, x, y) for name, library in libraries.items()},
    }
    for name, call in calls.items():
        y[...] = 0
        call(0)
        check(kind, x[0], y[0], f"{name} {kind} {size}")
    return beside_copy(calls, x, y, rounds)


def scan_host_time() -> float:
    """Return the seconds that the host takes for one warm call."""
    x = cupy.ones(1000, cupy.int32)
    y = cupy.empty_like(x)
    return host_time(lambda: prism.lib.scan(x, out=y), cupy.cuda.Device().synchronize)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtypes", default="int32,int64,float32,float64,int16,int8")
    parser.add_argument("--sizes", default="16,20,22,24,26,28", help="logarithms to base 2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--newest", help="the folder of another CUB's headers, or of it as it was built")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    libraries = peers(options.newest)
    others = [*libraries, "copy"]
    found = []
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    print(f"{name}; GB/s count bytes read and written; a ratio above 1 means that Prism is faster")
    heads = " ".join(f"{other + '/prism':>12}" for other in others)
    print(f"{'dtype':8} {'size':>6} {'prism us':>9} {'prism':>7} {'cub':>7} {'copy':>7} GB/s {heads}")
    for kind in options.dtypes.split(","):
        for log in map(int, options.sizes.split(",")):
            size = 1 << log
            seconds = measure(libraries, kind, size, options.rounds)
            found.append({"dtype": kind, "size": size, **seconds})
            rate = {name: 2 * size * np.dtype(kind).itemsize / value / 1e9 for name, value in seconds.items()}
            rates = " ".join(f"{rate[name]:7.0f}" for name in ("prism", "cub", "copy"))
            ratios = " ".join(f"{seconds[name] / seconds['prism']:12.3f}" for name in others)
            line = f"{kind:8} {f'2^{log}':>6} {seconds['prism'] * 1e6:9.2f} {rates}      {ratios}"
            print(line, flush=True)
            cupy.get_default_memory_pool().free_all_blocks()
    host = scan_host_time()
    print(f"host time of a warm call: {host * 1e6:.1f} us")
    if options.json is not None:
        options.json.write_text(json.dumps({"device": name, "scan": found, "host": host}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
