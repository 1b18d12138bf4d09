"""Selections beside CUB, CuPy and torch, and beside what moving the bytes takes: one process, alternating rounds, medians.

    PYTHONPATH=. python asv_bench/selection.py [--sizes 16,20,24,28] [--dtypes float32] [--rounds 7] [--tb 4.25] [--only compress]
                                   [--newest FOLDER] [--json FILE]

Needs a GPU, CuPy and torch; for CUB nvcc, as `measure.py`: without one CUB is left out. `count` is a call that does not wait for
its number of elements, `split` the kernel of one alone: these and CUB's are timed as CUDA graphs. `whole` waits, as CuPy's and
torch's do: these are timed as plain calls. Then all are timed `alone`, so too, each behind a product of cuBLAS. Every result is
compared with CuPy's, once. `floor`: what reading and writing takes at so many TB/s; the share is that of the first that
is timed. A size is a logarithm to base 2, or, above 64, the number of elements: for 3000001, 50000017 and 200000011 nothing was
tuned.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from rows import Rows

import prism

Call = Callable[[], Any]


def main() -> None:
    """Measure, and print a line for each."""
    import cupy
    import torch
    from measure import peers_if_built

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="16,20,24,28")
    parser.add_argument("--dtypes", default="float32,uint8,int64")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tb", type=float, default=4.25)
    parser.add_argument("--only", default="")
    parser.add_argument("--newest", help="the folder of another CUB's headers, or of it as it was built")
    rows = Rows("selection", parser)
    asked = parser.parse_args()
    libraries = peers_if_built("cub_selection", asked.newest)
    for size in map(int, asked.sizes.split(",")):
        n, log, of = (1 << size, size, "") if size <= 64 else (size, size.bit_length() - 1, f" of {size}")
        for dtype in asked.dtypes.split(","):
            for share in (0.5, 0.05):
                for name, graphs, plain, moved in cases(cupy, torch, libraries, n, dtype, share):
                    if asked.only in name:
                        floor = moved / asked.tb / 1e6
                        found = timed(cupy, graphs, plain, asked.rounds, 3 if n > 1 << 24 else 20)
                        rows.add(f"{name} {dtype} {share}{of}", log, found, floor)
                        found = timed_alone(cupy, graphs, plain, asked.rounds)
                        rows.add(f"{name} {dtype} {share}, alone{of}", log, found, floor)
                cupy.get_default_memory_pool().free_all_blocks()
    rows.write(asked.json)


def cases(
    cupy: Any, torch: Any, libraries: Mapping[str, Any], n: int, dtype: str, share: float
) -> list[tuple[str, dict[str, Call], dict[str, Call], int]]:
    """Return the calls of each operation by the library's name, for graphs and plain ones, and the bytes that it moves."""
    random = cupy.random.default_rng(0)
    mask = random.random(n, dtype=cupy.float32) < share
    x = (random.random(n, dtype=cupy.float32) * 100 + 1).astype(dtype)
    some = x * mask.astype(dtype)
    runs = (cupy.cumsum(mask, dtype=cupy.int64) % 120).astype(dtype)
    del random
    size, lib = x.dtype.itemsize, prism.lib
    kept = int(cupy.count_nonzero(mask))
    of = {
        key: torch.as_tensor(value, device="cuda")
        for key, value in {"mask": mask, "x": x, "some": some, "runs": runs}.items()
    }
    begins = cupy.concatenate([cupy.ones(1, bool), runs[1:] != runs[:-1]])
    wanted = {"compress": x[mask], "flatnonzero": cupy.flatnonzero(mask), "nonzero": cupy.flatnonzero(some)}
    wanted["unique"] = runs[begins]
    ends = cupy.concatenate([cupy.flatnonzero(begins)[1:], cupy.full(1, n)])
    lengths = cupy.diff(ends, prepend=cupy.zeros(1, ends.dtype))
    many, (limit, second) = wanted["unique"].size, limits_of(share)
    below, below_second = (lambda v: v < limit), (lambda v: v < second)
    wanted["select"], few = x[x < limit], int(cupy.count_nonzero(x < limit))
    found = [
        ("compress", {"count": lambda: lib.compress(mask, x, count=True)}, {
            "whole": lambda: lib.compress(mask, x), "cupy": lambda: x[mask],
            "torch": lambda: torch.masked_select(of["x"], of["mask"]),
        }, n * (size + 1) + kept * size),
        ("flatnonzero", {"count": lambda: lib.flatnonzero(mask, count=True)}, {
            "whole": lambda: lib.flatnonzero(mask), "cupy": lambda: cupy.flatnonzero(mask),
            "torch": lambda: torch.nonzero(of["mask"]),
        }, n + kept * 8),
        ("nonzero", {"count": lambda: lib.flatnonzero(some, count=True)}, {
            "whole": lambda: lib.flatnonzero(some), "cupy": lambda: cupy.flatnonzero(some),
            "torch": lambda: torch.nonzero(of["some"]),
        }, n * size + kept * 8),
        ("unique", {"count": lambda: lib.unique_consecutive(runs, count=True)}, {
            "whole": lambda: lib.unique_consecutive(runs), "torch": lambda: torch.unique_consecutive(of["runs"]),
        }, n * size + many * size),
        ("encode", {"count": lambda: lib.run_length_encode(runs, count=True)}, {
            "whole": lambda: lib.run_length_encode(runs),
            "torch": lambda: torch.unique_consecutive(of["runs"], return_counts=True),
        }, n * size + many * (size + 8)),
        ("split", {"split": launched_alone(x, mask)}, {
            "whole": lambda: lib.split(x, mask), "cupy": lambda: (x[mask], x[~mask]),
            "torch": lambda: (torch.masked_select(of["x"], of["mask"]), torch.masked_select(of["x"], ~of["mask"])),
        }, n * (2 * size + 1)),
        ("select", {"count": lambda: lib.select(x, below, count=True)}, {
            "whole": lambda: lib.select(x, below), "cupy": lambda: x[x < limit],
            "torch": lambda: torch.masked_select(of["x"], of["x"] < limit),
        }, n * size + few * size),
        ("split3", {"count": lambda: lib.split3(x, below, below_second, count=True)}, {
            "whole": lambda: lib.split3(x, below, below_second),
            "cupy": lambda: (x[x < limit], x[(x >= limit) & (x < second)], x[x >= second]),
        }, 2 * n * size),
        ("unique_by_key", {"count": lambda: lib.unique_by_key(runs, x, count=True)}, {
            "whole": lambda: lib.unique_by_key(runs, x),
        }, 2 * n * size + 2 * many * size),
    ]  # fmt: skip
    selected, rest = lib.split(x, mask)
    assert bool((selected == wanted["compress"]).all()) and bool((rest == x[~mask]).all()), ("split", dtype, n)
    values, counts, number = lib.run_length_encode(runs, count=True)
    assert int(number[0]) == many and bool((counts[:many] == lengths).all()), ("encode", dtype, n)
    parts = lib.split3(x, below, below_second)
    assert all(map(same, parts, (x[x < limit], x[(x >= limit) & (x < second)], x[x >= second]))), ("split3", dtype, n)
    assert all(map(same, lib.unique_by_key(runs, x), (runs[begins], x[begins]))), ("unique_by_key", dtype, n)
    for name, graphs, plain, _ in (*found[:4], found[6]):
        assert bool((plain["whole"]() == wanted[name]).all()), (name, dtype, n)
        values, number = graphs["count"]()
        assert int(number[0]) == wanted[name].size and bool((values[: wanted[name].size] == wanted[name]).all())
    for key, library in libraries.items():
        for (_, graphs, _, _), call in zip(
            found, peers(cupy, library, dtype, x, mask, some, runs, wanted, share), strict=True
        ):
            graphs[key] = call
    return found


def limits_of(share: float) -> tuple[int, int]:
    """Return what `share` of the elements are below, and half of the others."""
    first = 1 + round(100 * share)
    return first, (first + 101) // 2


def same(one: Any, other: Any) -> bool:
    """Whether two arrays of CuPy have the same elements."""
    return one.shape == other.shape and bool((one == other).all())


def peers(
    cupy: Any, library: Any, dtype: str, x: Any, mask: Any, some: Any, runs: Any, wanted: Mapping[str, Any], share: float
) -> list[Call]:  # fmt: skip
    """Return CUB's calls in the order of `cases`; its results are compared where they are as Prism's."""
    from segments import cub

    n, places, values, number = x.size, cupy.empty(x.size, "int64"), cupy.empty_like(x), cupy.zeros(1, "int64")
    bytes_ = mask.view("uint8")

    def call(name: str, kind: str, *given: Any, count: Any = number, beside: tuple[int, ...] = ()) -> Call:
        made = cub(getattr(library, f"cub_{name}_{kind}"), *given, count, *beside, n)
        return lambda: made(0)

    found = [
        call("compress", dtype, x, bytes_, values), call("nonzero", "uint8", bytes_, places),
        call("nonzero", dtype, some, places), call("unique", dtype, runs, values),
    ]  # fmt: skip
    first, second = limits_of(share)
    found.append(call("select", dtype, x, values, beside=(first,)))
    for one, name in zip(found, ("compress", "flatnonzero", "nonzero", "unique", "select"), strict=True):
        one()
        made = places if "nonzero" in name else values
        many = wanted[name].size
        assert int(number[0]) == many and bool((made[:many] == wanted[name]).all()), ("CUB", name, dtype)
    *found, select = found
    others, both = [cupy.empty_like(x) for _ in range(2)], cupy.zeros(2, "int64")
    return [
        *found, call("encode", dtype, runs, values, places), call("split", dtype, x, bytes_, values), select,
        call("split3", dtype, x, values, *others, count=both, beside=(first, second)),
        call("unique_by_key", dtype, runs, x, values, others[0]),
    ]  # fmt: skip


def launched_alone(x: Any, mask: Any) -> Call:
    """Return what launches the kernel of `split` on arrays, and leaves the number on the GPU."""
    import cupy

    from prism.host.machine import Ready, machine_of
    from prism.lib.algorithms.select import plan
    from prism.lib.algorithms.select.plan import KEPT, Kind
    from prism.runtime.arrays import describe

    given, moved = describe(x), f"uint{8 * x.dtype.itemsize}"
    made = plan.split_apart([Kind(moved, moved)], given, [describe(mask.view("uint8"))], machine_of(given))
    ready = Ready(made, ("x", "mask", "out", "rest", KEPT), given)
    arrays = (x, mask, cupy.empty_like(x), cupy.empty_like(x), cupy.zeros(1, "int64"))
    pointers = tuple(one.data.ptr for one in arrays)
    return lambda: (ready(pointers, cupy.cuda.get_current_stream().ptr), arrays)[0]


def timed(
    cupy: Any, graphs: Mapping[str, Call], plain: Mapping[str, Call], rounds: int, launches: int
) -> dict[str, float]:
    """Return the median microseconds of each call: of those for graphs, and of plain ones, each in rounds of their own."""
    from measure import compare

    captured = compare({name: lambda i, call=call: call() for name, call in graphs.items()}, {}, launches, rounds)
    return {name: 1e6 * seconds for name, seconds in captured.items()} | measure(cupy, plain, rounds, launches)


def timed_alone(cupy: Any, graphs: Mapping[str, Call], plain: Mapping[str, Call], rounds: int) -> dict[str, float]:
    """Return the median microseconds of one call of each behind a product of cuBLAS, which the GPU is busy with.

    Of what takes a graph that is launched: the host may take longer for a call than the GPU for the product.
    """
    from measure import graph_of

    captured = {name: graph_of(lambda i, call=call: call(), 1) for name, call in graphs.items()}
    times: dict[str, list[float]] = {name: [] for name in (*graphs, *plain)}
    busy = cupy.ones((4096, 4096), "float16")
    for number in range(rounds + 1):
        for name in list(times)[:: 1 if number % 2 else -1]:
            graph, stream = captured[name] if name in captured else (None, cupy.cuda.get_current_stream())
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            cupy.cuda.Device().synchronize()
            with stream:
                busy @ busy
                begin.record(stream)
                if graph is None:
                    plain[name]()
                else:
                    graph.launch(stream)
                end.record(stream)
            end.synchronize()
            if number:
                times[name].append(cupy.cuda.get_elapsed_time(begin, end) * 1000)
    return {name: statistics.median(values) for name, values in times.items()}


def measure(cupy: Any, calls: Mapping[str, Call], rounds: int, launches: int) -> dict[str, float]:
    """Return the median microseconds of each call, as a plain one."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name in list(calls)[:: 1 if number % 2 else -1]:
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            cupy.cuda.Device().synchronize()
            begin.record()
            for _ in range(launches):
                calls[name]()
            end.record()
            end.synchronize()
            if number:
                times[name].append(cupy.cuda.get_elapsed_time(begin, end) * 1000 / launches)
    return {name: statistics.median(values) for name, values in times.items()}


if __name__ == "__main__":
    main()
