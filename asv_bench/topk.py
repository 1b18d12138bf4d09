"""The first elements of rows beside torch and CuPy, and beside what reading the bytes takes: one process, alternating rounds.

    PYTHONPATH=. python asv_bench/topk.py [--rounds 7] [--tb 4.6] [--only top_k] [--json FILE]

Needs a GPU, CuPy and torch. Every result is compared with torch's or CuPy's, once; positions by what stands there. Prism's calls
are plans in CUDA graphs, the others are calls. `floor`: what reading takes at so many TB/s.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.tables import TOPS
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
    table = Rows("topk", parser)
    asked = parser.parse_args()
    for rows, n, k in TOPS:
        for kind in KINDS if n == 1 << 28 and k == 100 else KINDS[:1]:
            name = f"top_k {rows} x {n}, k {k}" + (f", {kind}" if kind != "normal" else "")
            if asked.only not in name:
                continue
            x = data(cupy, kind, rows, n)
            one = torch.as_tensor(x, device="cuda")
            found = measure(cupy, rows_of(cupy, x, k), {"torch": lambda one=one, k=k: torch.topk(one, k)}, asked.rounds)
            check(cupy, torch, x, one, k)
            table.add(name, (rows * n).bit_length() - 1, found, 4 * rows * n / asked.tb / 1e6)
            del x, one
            cupy.get_default_memory_pool().free_all_blocks()
    for name, rows, n, peer, mine in ranks(cupy):
        if asked.only not in name:
            continue
        x = data(cupy, "normal", rows, n)
        x = x[0] if rows == 1 else x
        assert bool((mine(x) == peer(x)).all()), name
        found = measure(cupy, [lambda x=x, mine=mine: mine(x)], {"cupy": lambda x=x, peer=peer: peer(x)}, asked.rounds)
        table.add(name, (rows * n).bit_length() - 1, found, 4 * rows * n / asked.tb / 1e6)
        del x
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


def rows_of(cupy: Any, x: Any, k: int) -> list[Callable[[], Any]]:
    """Return calls that take arrays in turn, more of them than the L2 holds."""
    copies = [x, *(x.copy() for _ in range(min(8, (120 << 20) // x.nbytes)))]
    return [lambda one=one: prism.lib.top_k(one, k) for one in copies]


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
    cupy: Any, mine: list[Callable[[], Any]], others: dict[str, Callable[[], Any]], rounds: int
) -> dict[str, float]:
    """Return the median microseconds of a call, of `prism` in a graph, in rounds that alternate."""
    cupy.cuda.Device().synchronize()  # the stream waits for no other, and arrays may still be made
    stream = cupy.cuda.Stream(non_blocking=True)
    launches = max(len(mine), 4)
    with stream:
        plans = [one() for one in mine]  # what is decided, compiled and allocated once
        stream.synchronize()
        stream.begin_capture()
        kept = [mine[i % len(mine)]() for i in range(launches)]
        graph = stream.end_capture()
    times: dict[str, list[float]] = {"prism": [], **{name: [] for name in others}}
    for number in range(rounds + 1):
        for name in list(times)[:: 1 if number % 2 else -1]:
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            if name == "prism":
                begin.record(stream)
                graph.launch(stream)
                end.record(stream)
            else:
                begin.record()
                for _ in range(2):
                    others[name]()
                end.record()
            end.synchronize()
            if number:
                each = launches if name == "prism" else 2
                times[name].append(cupy.cuda.get_elapsed_time(begin, end) / each * 1e3)
    del kept, plans
    return {name: statistics.median(found) for name, found in times.items()}


if __name__ == "__main__":
    main()
