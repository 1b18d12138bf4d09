"""Merges, and sorts by merging, beside CuPy and torch, and beside what a copy takes: graphs, medians of rounds.

    PYTHONPATH=. python asv_bench/merge.py [--sizes 24,28,100000007] [--rounds 5] [--tb 4.25] [--only merge] [--json FILE]

A size is a logarithm to base 2, or, above 64, the number of elements: for the last one nothing was tuned. `any` is an order that
the library knows nothing of: that of numbers, as a lambda that compares no two keys.
Needs a GPU, CuPy and torch; CUB's `DeviceMerge` and `DeviceMergeSort` are left out where they can't be built. Every result is
compared with CuPy's sort, once. CuPy and torch have no merge: they are timed at a sort of both arrays.
"""

from __future__ import annotations

import argparse
from typing import Any

from measure import compare, peer, peer_if_built
from rows import Rows
from sort import cub_call

import prism
from prism.lib import sort, sort_by_key

before, unknown = (lambda a, b: a < b), (lambda a, b: not b <= a)
"""Whether a number stands before another: `sort` goes by digits for the first, and by merging for the second."""


def main() -> None:
    """Measure, and print a line for each."""
    import cupy
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="24,28,100000007")
    parser.add_argument("--dtypes", default="uint32,uint64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tb", type=float, default=4.25)
    parser.add_argument("--only", default="")
    parser.add_argument("--newest", help="the folder of another CUB's headers, or of it as it was built")
    rows = Rows("merge", parser)
    asked = parser.parse_args()
    cubs = {"cub": peer_if_built("cub_orders")} | ({"newest": peer("cub_orders", asked.newest)} if asked.newest else {})
    cubs = {name: library for name, library in cubs.items() if library is not None}
    for size in map(int, asked.sizes.split(",")):
        n = size if size > 64 else 1 << size
        for kind in asked.dtypes.split(","):
            for name, calls, peers, moved in cases(cupy, torch, cubs, n, kind):
                if asked.only in name:
                    found = compare(calls, peers, 2 if n > 1 << 24 else 8, asked.rounds)
                    times = {key: 1e6 * seconds for key, seconds in found.items()}
                    of = "" if size <= 64 else f" of {n}"
                    rows.add(f"{name} {kind}{of}", n.bit_length() - 1, times, moved / asked.tb / 1e6)
    rows.write(asked.json)


def cases(
    cupy: Any, torch: Any, cubs: dict[str, Any], n: int, kind: str
) -> list[tuple[str, dict[str, Any], dict[str, Any], int]]:
    """Return calls by graphs and by themselves, and the bytes that they move at least."""
    random = cupy.random.default_rng(0)
    x = random.integers(0, 1 << 32, n, dtype=cupy.uint64).astype(kind)
    a, b = cupy.sort(x[: n // 2]), cupy.sort(x[n // 2 :])
    values = cupy.arange(n, dtype=cupy.int32)
    wanted, y = cupy.sort(x), cupy.empty_like(x)
    assert bool((prism.lib.merge(a, b) == wanted).all()) and bool((sort(x, less=before) == wanted).all())
    assert bool((sort(x, less=unknown) == wanted).all())
    keys, places = sort_by_key(x, values, less=unknown)
    assert bool((keys == wanted).all()) and bool((places == cupy.argsort(x)).all())
    both, moved = cupy.concatenate((a, b)), cupy.empty_like(values)
    peers = {
        name: {which: cub_call(cub, f"cub_{name}_{kind}", *([one] for one in arrays)) for which, cub in cubs.items()}
        for name, arrays in (
            ("merge", (both, y)), ("merge_pairs", (both, y, values, moved)), ("merge_sort", (x, y)),
        )
    }  # fmt: skip
    for name, calls in peers.items():
        for which, call in calls.items():
            y[...] = 0
            call(0)
            assert bool((y == wanted).all()), (name, which)
    del keys, places, wanted
    halves, size = (values[: n // 2], values[n // 2 :]), x.dtype.itemsize
    plain = torch.as_tensor(x.view(f"i{size}"), device="cuda")
    return [
        ("merge", {"prism": lambda _: prism.lib.merge(a, b, out=y), "copy": lambda _: cupy.copyto(y, x), **peers["merge"]},
         {"cupy": lambda _: cupy.sort(x)}, 2 * n * size),
        ("merge_by_key", {"prism": lambda _: prism.lib.merge_by_key(a, halves[0], b, halves[1]), **peers["merge_pairs"]}, {},
         2 * n * (size + 4)),
        ("sort", {"prism": lambda _: sort(x, less=before, out=y), **peers["merge_sort"]}, {"torch": lambda _: torch.sort(plain)},
         2 * n * size),
        ("sort any", {"prism": lambda _: sort(x, less=unknown, out=y), **peers["merge_sort"]}, {}, 2 * n * size),
        ("sort_pairs", {"prism": lambda _: sort_by_key(x, values, less=unknown)}, {}, 2 * n * (size + 4)),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
