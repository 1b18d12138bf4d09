"""Sorts beside CUB, CuPy and torch, and beside what a copy takes: graphs of rotating arrays, medians of alternating rounds.

    PYTHONPATH=. python asv_bench/sort.py [--sizes 16,20,24,28] [--dtypes uint32,float32] [--data uniform,skewed] [--only pairs]
                              [--newest FOLDER] [--alone] [--json FILE]

A size is a logarithm to base 2, or, above 64, the number of elements: for 777777, 10000019 and 100000007 nothing was tuned.

Needs a GPU, CuPy, torch and nvcc. `keys`: sorted; `pairs`: with values of 4 bytes; `argsort`: positions of 8 bytes. Data:
`uniform`; `skewed`, half of it one value; `equal`; `sorted`; `reversed`; `few`, 16 values; `narrow`, below 2^24. `--newest`: as
of `measure.py`; `--alone`: one by one, each behind a product of cuBLAS. Every result is compared with CuPy's, once. CuPy
and torch are timed by calls, as they can't all be captured. `floor`: what reading all once and moving all once a digit takes.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
from collections.abc import Mapping
from typing import Any

import cupy
import torch
from benchmarks.tables import DATA, SORTED
from measure import compare, peer, rows_of
from rows import Rows
from selection import timed_alone

import prism

LIB = prism.lib


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="16,20,24,28,777777,10000019,100000007")
    parser.add_argument("--dtypes", default=",".join(SORTED))
    parser.add_argument(
        "--data", default="", help="default: uniform, and all others of 2^28 keys of uint32 and float32"
    )
    parser.add_argument("--only", default="keys,pairs,argsort")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tb", type=float, default=4.25)
    parser.add_argument("--no-peers", action="store_true", help="CUB alone beside Prism")
    parser.add_argument("--newest", help="the folder of another CUB's headers, or of it as it was built")
    rows = Rows("sort", parser)
    asked = parser.parse_args()
    cubs = {"cub": peer("cub_sort")} | ({"newest": peer("cub_sort", asked.newest)} if asked.newest else {})
    for dtype in asked.dtypes.split(","):
        for size in map(int, asked.sizes.split(",")):
            n = size if size > 64 else 1 << size
            for what in asked.only.split(","):
                all_data = what == "keys" and dtype in ("uint32", "float32") and size == 28
                for kind in asked.data.split(",") if asked.data else DATA if all_data else DATA[:1]:
                    found, floor = measure_one(cubs, what, dtype, n, kind, asked)
                    of = (f" {kind}" if kind != "uniform" else "") + (f" of {n}" if size > 64 else "")
                    of += " alone" if asked.alone else ""
                    rows.add(f"{what} {dtype}{of}", n.bit_length() - 1, found, floor)
                    cupy.get_default_memory_pool().free_all_blocks()
                    torch.cuda.empty_cache()
    rows.write(asked.json)


def measure_one(
    cubs: Mapping[str, Any], what: str, dtype: str, n: int, kind: str, asked: argparse.Namespace
) -> tuple[dict[str, float], float]:
    """Return the microseconds of one operation on one kind of data, and the least that it can take."""
    size = cupy.dtype(dtype).itemsize
    rows = rows_of(n * size)
    xs = [data(dtype, n, kind, seed) for seed in range(rows)]
    values = [cupy.arange(n, dtype=cupy.uint32)] * rows
    calls: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    if what == "keys":
        ys = [cupy.empty_like(x) for x in xs]
        calls["prism"] = lambda i: LIB.sort(xs[i % rows], out=ys[i % rows])
        calls |= {name: cub_call(cub, f"cub_sort_{dtype}", xs, ys) for name, cub in cubs.items()}
        plain = {"cupy": lambda i: cupy.sort(xs[i % rows]), "torch": lambda i: torch.sort(tensor(xs[i % rows]))}
        moved = n * size * (1 + 2 * size)
        assert bool((LIB.sort(xs[0]) == cupy.sort(xs[0])).all())
    elif what == "pairs":
        ys, moved_to = [cupy.empty_like(x) for x in xs], [cupy.empty_like(v) for v in values]
        calls["prism"] = lambda i: LIB.sort_by_key(xs[i % rows], values[i % rows])
        for name, cub in cubs.items():
            calls[name] = cub_call(cub, f"cub_sort_pairs_{dtype}", xs, ys, values, moved_to)
        moved = n * (size + 2 * size * (size + 4))
        got, order = LIB.sort_by_key(xs[0], values[0])
        assert bool((got == cupy.sort(xs[0])).all()) and bool((xs[0][order] == got).all())
    else:
        places = [cupy.empty(n, cupy.int64) for _ in xs]
        calls["prism"] = lambda i: LIB.argsort(xs[i % rows], out=places[i % rows])
        plain = {"cupy": lambda i: cupy.argsort(xs[i % rows]), "torch": lambda i: torch.argsort(tensor(xs[i % rows]))}
        moved = n * (size + 2 * size * (size + 4) + 4 - size - 4)
        assert bool((LIB.argsort(xs[0]) == cupy.argsort(xs[0])).all())
    if asked.no_peers or dtype in ("uint16", "uint64"):  # torch sorts few unsigned types
        plain.pop("torch", None)
    if asked.no_peers:
        plain = {}
    if asked.alone:
        once, others = ({name: functools.partial(call, 0) for name, call in of.items()} for of in (calls, plain))
        return timed_alone(cupy, once, others, asked.rounds), moved / asked.tb / 1e6
    found = {
        key: 1e6 * time for key, time in compare(calls, plain, 2 * rows if n > 1 << 24 else 20, asked.rounds).items()
    }
    return found, moved / asked.tb / 1e6


def data(dtype: str, n: int, kind: str, seed: int) -> Any:
    """Return an array."""
    random, of = cupy.random.default_rng(seed), cupy.dtype(dtype)
    if of.kind == "f":
        x = random.standard_normal(n, dtype=cupy.float64 if of.itemsize == 8 else cupy.float32).astype(of)
        x += of.type(0)  # no -0.0: CuPy does not take it for 0.0
    else:
        x = random.integers(0, 256, n * of.itemsize, dtype=cupy.uint8).view(of)
    if kind == "skewed":
        x = cupy.where(random.random(n, dtype=cupy.float32) < 0.5, x[0], x)
    elif kind == "equal":
        x = cupy.full(n, x[0])
    elif kind in ("sorted", "reversed"):
        x = cupy.sort(x)
        x = x if kind == "sorted" else cupy.ascontiguousarray(x[::-1])
    elif kind == "few":
        x = (random.integers(0, 16, n, dtype=cupy.uint32)).astype(of)
    elif kind == "narrow":
        x = random.integers(0, 1 << 24, n, dtype=cupy.uint32).astype(of)
    return x


def tensor(x: Any) -> Any:
    """Return a tensor of the same memory, of a type that torch has."""
    return torch.as_tensor(
        x if x.dtype.kind == "f" or x.dtype.itemsize == 1 else x.view(f"i{x.dtype.itemsize}"), device="cuda"
    )


def cub_call(library: ctypes.CDLL, name: str, *arrays: list[Any]) -> Any:
    """Return a call of one of CUB's entry points on arrays, in turn."""
    function, n = getattr(library, name), arrays[0][0].size
    size = ctypes.c_size_t(0)
    nothing = [ctypes.c_void_p(0)] * len(arrays)
    assert function(ctypes.c_void_p(0), ctypes.byref(size), *nothing, ctypes.c_int64(n), ctypes.c_void_p(0)) == 0
    scratch = cupy.empty(size.value + 16, cupy.uint8)

    def call(i: int) -> None:
        pointers = [ctypes.c_void_p(row[i % len(row)].data.ptr) for row in arrays]
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        status = function(ctypes.c_void_p(scratch.data.ptr), ctypes.byref(size), *pointers, ctypes.c_int64(n), stream)
        assert status == 0, status

    return call


if __name__ == "__main__":
    main()
