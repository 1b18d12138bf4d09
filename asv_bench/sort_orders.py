"""Sorts by keys of elements, by some bits, by comparators and in place: beside CUB's and CuPy's, where these have the like.

    PYTHONPATH=. python asv_bench/sort_orders.py [--logs 20,24,27] [--rounds 5] [--only "struct,large,bits,in place,values"]

Needs a GPU, CuPy 14 and nvcc. Graphs of rotating arrays, medians of alternating rounds; CuPy is timed by calls. Every result is
compared once. `struct`: two uint32, sorted by both; beside it CUB's sort of as many uint64, which is what its decomposer makes of
it. `large`: 16 bytes, sorted by one int32. `bits`: 16 of a uint32's. `in place`: `out=x`. `values`: complex128 beside uint32.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from measure import compare, peer, rows_of
from sort import cub_call

import prism
from prism.lang import dtype, requires, template, thread, uint32, uint64
from prism.lang import prism as mark

LIB = prism.lib
PAIR = np.dtype([("low", "u4"), ("high", "u4")])
LARGE = np.dtype([("x", "i4"), ("y", "i4"), ("z", "i4"), ("name", "i4")])


@mark("device")
@requires(thread[1])
@template(T=dtype)
def by_both(one: T @ thread[1]) -> uint64 @ thread[1]:
    """The key of a pair."""
    return uint64(one.high) << 32 | uint64(one.low)


@mark("device")
@requires(thread[1])
@template(T=dtype)
def before(a: T @ thread[1], b: T @ thread[1]) -> bool @ thread[1]:
    """Whether a pair stands before another."""
    return a.high < b.high or (a.high == b.high and a.low < b.low)


@mark("device")
@requires(thread[1])
@template(T=dtype)
def by_x(one: T @ thread[1]) -> uint32 @ thread[1]:
    """The key of a place."""
    return uint32(one.x) ^ 0x80000000


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", default="20,24,27")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(CASES))
    asked = parser.parse_args()
    cub = peer("cub_sort")
    for log in map(int, asked.logs.split(",")):
        for name in asked.only.split(","):
            calls, plain, rows = CASES[name](cub, 1 << log)
            found = {
                key: 1e6 * time
                for key, time in compare(calls, plain, 2 * rows if log > 24 else 10, asked.rounds).items()
            }
            print(f"{name:9} 2^{log}: " + "  ".join(f"{key} {us:9.1f}" for key, us in found.items()), flush=True)
            del calls, plain
            cupy.get_default_memory_pool().free_all_blocks()


def bits_of(n: int, size: int) -> tuple[list[Any], int]:
    """Return arrays of random bytes, as many as are taken in turn."""
    rows = rows_of(n * size)
    random = cupy.random.default_rng(0)
    return [random.integers(0, 256, n * size, dtype=cupy.uint8) for _ in range(rows)], rows


def structs(cub: Any, n: int) -> Any:
    """Structs of two fields by both."""
    given, rows = bits_of(n, 8)
    xs, ys = [x.view(PAIR) for x in given], [cupy.empty(n, PAIR) for _ in given]
    keys = [x.view(cupy.uint64) for x in given]
    assert bool((LIB.sort(xs[0], key=by_both).view(cupy.uint64) == cupy.sort(keys[0])).all())
    calls = {
        "key": lambda i: LIB.sort(xs[i % rows], key=by_both, out=ys[i % rows]),
        "less": lambda i: LIB.sort(xs[i % rows], less=before, out=ys[i % rows]),
        "keys alone": lambda i: LIB.sort(keys[i % rows], out=ys[i % rows].view(cupy.uint64)),
        "cub": cub_call(cub, "cub_sort_uint64", keys, [y.view(cupy.uint64) for y in ys]),
    }
    return calls, {"cupy": lambda i: xs[i % rows][cupy.argsort(keys[i % rows])]}, rows


def large(cub: Any, n: int) -> Any:
    """Structs of 16 bytes by one field."""
    given, rows = bits_of(n, 16)
    xs, ys = [x.view(LARGE) for x in given], [cupy.empty(n, LARGE) for _ in given]
    order = cupy.argsort(xs[0]["x"])
    assert bool((LIB.sort(xs[0], key=by_x).view(cupy.uint8) == xs[0][order].view(cupy.uint8)).all())
    calls = {"key": lambda i: LIB.sort(xs[i % rows], key=by_x, out=ys[i % rows])}
    return calls, {"cupy": lambda i: xs[i % rows][cupy.argsort(xs[i % rows]["x"])]}, rows


def bits(cub: Any, n: int) -> Any:
    """Some bits of unsigned integers, with and without values."""
    given, rows = bits_of(n, 4)
    xs, ys = [x.view(cupy.uint32) for x in given], [cupy.empty(n, cupy.uint32) for _ in given]
    values = [cupy.arange(n, dtype=cupy.uint32)] * rows
    moved = [cupy.empty(n, cupy.uint32) for _ in given]
    wanted = cupy.argsort(xs[0] & 0xFFFF)
    assert bool((LIB.sort_by_key(xs[0], values[0], bits=(0, 16))[1] == wanted).all())
    calls = {
        "sort": lambda i: LIB.sort(xs[i % rows], bits=(0, 16), out=ys[i % rows]),
        "all bits": lambda i: LIB.sort(xs[i % rows], out=ys[i % rows]),
        "pairs": lambda i: LIB.sort_by_key(
            xs[i % rows], values[i % rows], bits=(0, 16), out=(ys[i % rows], moved[i % rows])
        ),
        "pairs, all bits": lambda i: LIB.sort_by_key(
            xs[i % rows], values[i % rows], out=(ys[i % rows], moved[i % rows])
        ),
        "cub pairs, all bits": cub_call(cub, "cub_sort_pairs_uint32", xs, ys, values, moved),
    }
    return calls, {}, rows


def in_place(cub: Any, n: int) -> Any:
    """Results in the memory that is read; in the second round it is sorted."""
    given, rows = bits_of(n, 4)
    xs, ys = [x.view(cupy.uint32) for x in given], [cupy.empty(n, cupy.uint32) for _ in given]
    calls = {
        "in place": lambda i: LIB.sort(ys[i % rows], out=ys[i % rows]),
        "beside": lambda i: LIB.sort(xs[i % rows], out=ys[i % rows]),
    }
    return calls, {}, rows


def values(cub: Any, n: int) -> Any:
    """Large values beside keys, and orders of three keys."""
    given, rows = bits_of(n, 4)
    xs, moved = [x.view(cupy.uint32) for x in given], cupy.arange(n).astype(cupy.complex128)
    assert bool((LIB.sort_by_key(xs[0], moved)[1].real.astype(cupy.int64) == cupy.argsort(xs[0])).all())
    three = cupy.stack([x.view(cupy.int32) % 100 for x in (xs[0], xs[0][::-1], cupy.roll(xs[0], 7))])
    assert bool((LIB.lexsort(three) == cupy.lexsort(three)).all())
    calls = {"pairs": lambda i: LIB.sort_by_key(xs[i % rows], moved), "lexsort": lambda i: LIB.lexsort(three)}
    plain = {"cupy pairs": lambda i: moved[cupy.argsort(xs[i % rows])], "cupy lexsort": lambda i: cupy.lexsort(three)}
    return calls, plain, rows


CASES: dict[str, Callable[[Any, int], Any]] = {
    "struct": structs, "large": large, "bits": bits, "in place": in_place, "values": values,
}  # fmt: skip


if __name__ == "__main__":
    main()
