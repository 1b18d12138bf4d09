"""Rows and segments sorted, and their first elements, beside torch, CuPy and a copy: graphs of arrays in turn, medians of rounds.

    PYTHONPATH=. python asv_bench/sort_rows.py [--log 24] [--rounds 5] [--tb 4.25] [--only rows] [--json FILE]

Rows of 24, 700, 3000 and 10^5 are of no size that anything was tuned for; segments `uneven` are of random lengths.

Needs a GPU, CuPy and torch; CUB's `DeviceSegmentedSort` stands beside segments, where it can be built. Every result is compared
with torch's, once. All but Prism are timed by calls, as they can't all be captured. torch has no sort of segments: it sorts rows
of that length.
"""

from __future__ import annotations

import argparse
import ctypes
from typing import Any

from measure import compare, peer, peer_if_built
from rows import Rows

import prism
from prism.lib.algorithms.sort_rows.axis import argsort_along, sort_along
from prism.lib.algorithms.sort_rows.pairs import sort_by_key_along

SETS = 3  # of arrays, past the L2 together


def main() -> None:
    """Measure, and print a line for each."""
    import cupy
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tb", type=float, default=4.25)
    parser.add_argument("--columns", default="4,16,24,64,256,700,1024,3000,4096,16384,100000")
    parser.add_argument("--dtypes", default="uint32,float32")
    parser.add_argument("--only", default="")
    parser.add_argument("--newest", help="the folder of another CUB's headers, or of it as it was built")
    rows = Rows("sort_rows", parser)
    asked = parser.parse_args()
    cubs = {"cub": peer_if_built("cub_orders")} | ({"newest": peer("cub_orders", asked.newest)} if asked.newest else {})
    cubs = {name: library for name, library in cubs.items() if library is not None}
    for dtype in asked.dtypes.split(","):
        for columns in map(int, asked.columns.split(",")):
            shape = ((1 << asked.log) // columns, columns)
            for name, calls, peers, moved in cases(cupy, torch, cubs, shape, dtype):
                if any(one in name for one in asked.only.split(",")):
                    found = {key: 1e6 * time for key, time in compare(calls, peers, 2 * SETS, asked.rounds).items()}
                    of = f" of {columns}" if columns & columns - 1 else ""
                    rows.add(f"{name} {dtype}{of}", columns.bit_length() - 1, found, moved / asked.tb / 1e6)
    if any(one in "columns" for one in asked.only.split(",")):
        calls, peers, moved = columns_of(cupy, torch, 1 << asked.log, 4)
        found = {key: 1e6 * time for key, time in compare(calls, peers, 2 * SETS, asked.rounds).items()}
        rows.add("columns uint8", asked.log, found, moved / asked.tb / 1e6)
    rows.write(asked.json)


def columns_of(cupy: Any, torch: Any, n: int, many: int) -> tuple[Any, Any, int]:
    """Return calls that sort the columns of a matrix of bytes, and the bytes that they move."""
    random = cupy.random.default_rng(0)
    xs = [random.integers(0, 256, (n, many), dtype=cupy.uint8) for _ in range(SETS)]
    ys = [cupy.empty_like(x) for x in xs]
    assert bool((prism.lib.sort(xs[0], axis=0, out=ys[0]) == cupy.sort(xs[0], axis=0)).all())
    plain = torch.as_tensor(xs[0], device="cuda")
    calls = {
        "prism": lambda k: prism.lib.sort(xs[k % SETS], axis=0, out=ys[k % SETS]),
        "copy": lambda k: cupy.copyto(ys[k % SETS], xs[k % SETS]),
    }
    peers = {"cupy": lambda k: cupy.sort(xs[k % SETS], axis=0), "torch": lambda _: torch.sort(plain, dim=0)}
    return calls, peers, 2 * xs[0].nbytes


def cases(
    cupy: Any, torch: Any, cubs: dict[str, Any], shape: tuple[int, int], dtype: str
) -> list[tuple[str, Any, Any, int]]:
    """Return calls by graphs and by themselves, and the bytes that they move; what they give is compared with torch's."""
    random = cupy.random.default_rng(0)
    xs = [random.integers(0, 1 << 32, shape, dtype=cupy.uint64).astype(cupy.uint32) for _ in range(SETS)]
    if dtype.startswith("float"):
        xs = [(x.astype(cupy.float64) / 1e5 - 2e4).astype(dtype) for x in xs]
    else:
        xs = [x.astype(dtype) for x in xs]
    ys = [cupy.empty_like(x) for x in xs]
    places = [cupy.empty(shape, cupy.int64) for _ in xs]
    signed = torch.as_tensor(xs[0].astype(cupy.int64) if dtype.startswith("u") else xs[0], device="cuda")
    wanted, first = torch.sort(signed, stable=True)
    got = sort_along(xs[0], out=ys[0])
    assert bool(
        (torch.as_tensor(got.astype(cupy.int64) if dtype.startswith("u") else got, device="cuda") == wanted).all()
    )
    assert bool((torch.as_tensor(argsort_along(xs[0], out=places[0]), device="cuda") == first).all())
    pairs = sort_by_key_along(xs[0], xs[1])
    assert bool((pairs[0] == got).all()) and bool((pairs[1] == cupy.take_along_axis(xs[1], places[0], 1)).all())
    offsets = cupy.arange(0, xs[0].size + 1, shape[1])
    flat, into = [x.ravel() for x in xs], [y.ravel() for y in ys]
    assert bool((prism.lib.segmented_sort(flat[0], offsets) == got.ravel()).all())
    uneven = cupy.sort(random.integers(0, xs[0].size, shape[0]))
    first = min(8, shape[1])
    got_first = prism.lib.segmented_top_k(flat[0], offsets, first, largest=False)
    assert bool((got_first[0] == got[:, :first]).all()) and bool((got_first[1] == places[0][:, :first]).all())
    n, size = shape[0] * shape[1], xs[0].dtype.itemsize
    plain = torch.as_tensor(xs[0].view(f"i{size}") if dtype.startswith("u") else xs[0], device="cuda")

    def copy(k: int) -> None:
        cupy.copyto(ys[k % SETS], xs[k % SETS])

    keys = {"prism": lambda k: sort_along(xs[k % SETS], out=ys[k % SETS]), "copy": copy}
    order = {"prism": lambda k: argsort_along(xs[k % SETS], out=places[k % SETS])}
    segments = {"prism": lambda k: prism.lib.segmented_sort(flat[k % SETS], offsets, out=into[k % SETS])}
    unequal = {"prism": lambda k: prism.lib.segmented_sort(flat[k % SETS], uneven, out=into[k % SETS])}
    pairs_of = {"prism": lambda k: prism.lib.segmented_sort_by_key(flat[k % SETS], flat[(k + 1) % SETS], offsets)}
    top = {"prism": lambda k: prism.lib.segmented_top_k(flat[k % SETS], offsets, first)}
    beside = [
        {name: cub_segments(cupy, cub, flat, into, one) for name, cub in cubs.items()} for one in (offsets, uneven)
    ]
    inside = slice(int(uneven[0]), int(uneven[-1]))  # what is in no segment stays with Prism, and is not written by CUB
    for peers, ours in zip(beside, (got.ravel(), prism.lib.segmented_sort(flat[0], uneven)), strict=True):
        for name, call in peers.items():
            into[0][...] = 0
            call(0)
            assert bool((into[0][inside] == ours[inside]).all()), name
    return [
        ("keys", keys, {"torch": lambda _: torch.sort(plain), "cupy": lambda k: cupy.sort(xs[k % SETS])}, 2 * n * size),
        ("argsort", order, {"torch": lambda _: torch.argsort(plain, stable=True)}, n * (size + 8)),
        ("segments", segments, {"torch": lambda _: torch.sort(plain), **beside[0]}, 2 * n * size),
        ("uneven", unequal, beside[1], 2 * n * size),
        ("by key", pairs_of, {}, 4 * n * size),
        ("top 8", top, {}, n * size),
    ]


def cub_segments(cupy: Any, library: ctypes.CDLL, xs: list[Any], ys: list[Any], offsets: Any) -> Any:
    """Return a call of CUB's sort of segments, on arrays in turn; it waits for the GPU, so no graph takes it."""
    function = getattr(library, f"cub_sort_segments_{xs[0].dtype.name}")
    size, many = ctypes.c_size_t(0), (ctypes.c_int64(offsets.size - 1), ctypes.c_int64(xs[0].size))
    assert function(ctypes.c_void_p(0), ctypes.byref(size), *[ctypes.c_void_p(0)] * 3, *many, ctypes.c_void_p(0)) == 0
    scratch = cupy.empty(size.value + 16, cupy.uint8)

    def call(k: int) -> None:
        pointers = [ctypes.c_void_p(one.data.ptr) for one in (xs[k % SETS], ys[k % SETS], offsets)]
        stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
        assert function(ctypes.c_void_p(scratch.data.ptr), ctypes.byref(size), *pointers, *many, stream) == 0

    return call


if __name__ == "__main__":
    main()
