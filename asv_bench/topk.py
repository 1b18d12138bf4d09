"""The first elements of rows beside torch and CuPy, and beside what reading the bytes takes: one process, alternating rounds.

    PYTHONPATH=. python asv_bench/topk.py [--rounds 7] [--tb 4.6] [--only top_k] [--json FILE]

Needs a GPU, CuPy and torch. Every result is compared with torch's or CuPy's, once; positions by what stands there. Prism's calls
are plans in CUDA graphs, and so are CUB's, which has first elements from 3.5 on, in no order: of one array, and of rows of up to
8192. The others are calls. `floor`: what reading takes at so many TB/s.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.tables import TOPS
from measure import peer, peer_if_built
from rows import Rows

import prism

KINDS = ("normal", "few", "equal", "sorted", "reversed")


def main() -> None:
    """Measure, and print a line for each."""
    import cupy
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tb", type=float, default=4.6)
    parser.add_argument("--only", default="")
    parser.add_argument("--newest", help="the folder of another CUB's headers, or of it as it was built")
    table = Rows("topk", parser)
    asked = parser.parse_args()
    cub = peer("cub_top", asked.newest) if asked.newest else peer_if_built("cub_top")
    for rows, n, k in TOPS:
        for kind in KINDS if n == 1 << 28 and k == 100 else KINDS[:1]:
            name = f"top_k {rows} x {n}, k {k}" + (f", {kind}" if kind != "normal" else "")
            if asked.only not in name:
                continue
            x = data(cupy, kind, rows, n)
            one = torch.as_tensor(x, device="cuda")
            check(cupy, torch, x, one, k)
            copies = [x, *(x.copy() for _ in range(min(8, (120 << 20) // x.nbytes)))]
            graphs = {
                "prism": [lambda x=x, k=k: prism.lib.top_k(x, k) for x in copies],
                **cub_calls(cupy, cub, copies, k),
            }
            found = measure(cupy, graphs, {"torch": lambda one=one, k=k: torch.topk(one, k)}, asked.rounds)
            table.add(name, (rows * n).bit_length() - 1, found, 4 * rows * n / asked.tb / 1e6)
            del x, one, copies, graphs
            cupy.get_default_memory_pool().free_all_blocks()
    for name, rows, n, other, mine in ranks(cupy):
        if asked.only not in name:
            continue
        x = data(cupy, "normal", rows, n)
        x = x[0] if rows == 1 else x
        assert bool((mine(x) == other(x)).all()), name
        graphs = {"prism": [lambda x=x, mine=mine: mine(x)]}
        found = measure(cupy, graphs, {"cupy": lambda x=x, other=other: other(x)}, asked.rounds)
        table.add(name, (rows * n).bit_length() - 1, found, 4 * rows * n / asked.tb / 1e6)
        del x, graphs
        cupy.get_default_memory_pool().free_all_blocks()
    table.write(asked.json)


def ranks(cupy: Any) -> list[tuple[str, int, int, Callable[[Any], Any], Callable[[Any], Any]]]:
    """Return calls of medians and partitions on rows, by CuPy and by Prism; of a partition, what it leaves at its element."""
    lib = prism.lib
    return [
        ("median, 2^28", 1, 1 << 28, cupy.median, lib.median),
        ("median, 2^20", 1, 1 << 20, cupy.median, lib.median),
        ("median, 1024 x 8192", 1024, 8192, lambda x: cupy.median(x, axis=1), lambda x: lib.median(x, axis=1)),
        ("quantile 0.9, 2^24", 1, 1 << 24, lambda x: cupy.quantile(x, 0.9), lambda x: lib.quantile(x, 0.9)),
        (
            "partition, 2^24", 1, 1 << 24, lambda x: cupy.partition(x, 1 << 20)[1 << 20],
            lambda x: lib.partition(x, 1 << 20)[1 << 20],
        ),
    ]  # fmt: skip


def data(cupy: Any, kind: str, rows: int, n: int) -> Any:
    """Return rows of float32."""
    if kind == "equal":
        return cupy.ones((rows, n), cupy.float32)
    x = cupy.random.default_rng(0).standard_normal((rows, n), dtype=cupy.float32)
    if kind == "few":
        return cupy.floor(x)
    if kind in ("sorted", "reversed"):
        x.sort(axis=-1)
        return cupy.ascontiguousarray(x[:, ::-1]) if kind == "reversed" else x
    return x


def cub_calls(cupy: Any, library: Any, xs: list[Any], k: int) -> dict[str, list[Callable[[], Any]]]:
    """Return CUB's calls on arrays, where it has them; what it gives is compared with what Prism gives, put in order."""
    (rows, n), of_rows = xs[0].shape, len(xs[0]) > 1
    function = getattr(library, "cub_top_rows_float32" if of_rows else "cub_top_float32", None)
    if function is None or (of_rows and n > 8192):
        return {}
    many = [ctypes.c_int64(one) for one in ((rows, n, k) if of_rows else (n, k))]
    y, places, size = cupy.empty((rows, k), cupy.float32), cupy.empty((rows, k), cupy.int32), ctypes.c_size_t(0)
    assert function(None, ctypes.byref(size), *[None] * 3, *many, None) == 0
    scratch = cupy.empty(size.value + 16, cupy.uint8)

    def call(x: Any) -> None:
        pointers = [ctypes.c_void_p(one.data.ptr) for one in (x, y, places)]
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        assert function(ctypes.c_void_p(scratch.data.ptr), ctypes.byref(size), *pointers, *many, stream) == 0

    call(xs[0])
    assert bool((cupy.sort(y, axis=-1)[:, ::-1] == prism.lib.top_k(xs[0], k)[0]).all()), "CUB"
    return {"newest": [lambda x=x: call(x) for x in xs]}


def check(cupy: Any, torch: Any, x: Any, one: Any, k: int) -> None:
    """Compare values with torch's, and positions: what stands there, and that of equal ones the lower come first."""
    values, indices = prism.lib.top_k(x, k)
    wanted = cupy.asarray(torch.topk(one, k)[0])
    assert bool((values == wanted).all()), "values"
    assert bool((cupy.take_along_axis(x, indices, -1) == values).all()), "positions"
    later = (values[:, 1:] < values[:, :-1]) | (indices[:, 1:] > indices[:, :-1])
    assert bool(later.all()), "order"
    last = values[:, -1:]
    equal = (x[0] == last[0]).nonzero()[0][: int((values[0] == last[0]).sum())]
    assert bool((indices[0][values[0] == last[0]] == equal).all()), "ties"


def measure(
    cupy: Any, graphs: dict[str, list[Callable[[], Any]]], others: dict[str, Callable[[], Any]], rounds: int
) -> dict[str, float]:
    """Return the median microseconds of a call, of those of `graphs` in graphs of calls in turn, in rounds that alternate."""
    cupy.cuda.Device().synchronize()  # the stream waits for no other, and arrays may still be made
    stream = cupy.cuda.Stream(non_blocking=True)
    captured, kept, launches = {}, list[Any](), max(*(len(calls) for calls in graphs.values()), 4)
    with stream:
        for name, calls in graphs.items():
            kept += [call() for call in calls]  # what is decided, compiled and allocated once
            stream.synchronize()
            stream.begin_capture()
            kept += [calls[i % len(calls)]() for i in range(launches)]
            captured[name] = stream.end_capture()
    times: dict[str, list[float]] = {name: [] for name in [*graphs, *others]}
    for number in range(rounds + 1):
        for name in list(times)[:: 1 if number % 2 else -1]:
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            if name in captured:
                begin.record(stream)
                captured[name].launch(stream)
                end.record(stream)
            else:
                begin.record()
                for _ in range(2):
                    others[name]()
                end.record()
            end.synchronize()
            if number:
                each = launches if name in captured else 2
                times[name].append(cupy.cuda.get_elapsed_time(begin, end) / each * 1e3)
    del kept
    return {name: statistics.median(found) for name, found in times.items()}


if __name__ == "__main__":
    main()
