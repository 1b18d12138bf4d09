"""Differences, searches and elements at indices beside CUB, CuPy, torch, and a copy: one process, alternating rounds, medians.

    PYTHONPATH=. python asv_bench/searching.py [--sizes 20,24,28] [--rounds 7] [--only diff]
                                   [--newest FOLDER] [--json FILE]

Needs a GPU, CuPy and torch; for CUB, and Thrust's searches, nvcc, as `measure.py`: else they are left out. Prism's calls and
CUB's are timed as CUDA graphs, CuPy's and torch's as plain calls. Then all are timed `alone`, each behind a product of cuBLAS.
Every result is compared with CuPy's, once. `floor`: what a copy of as many bytes takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from rows import Rows
from selection import measure, timed, timed_alone

import prism

Row = tuple[str, dict[str, Callable[[], Any]], int]
"""What is measured, the calls by the library's name, and the bytes that ours moves, or 0."""
LIBRARIES: dict[str, Any] = {}
"""CUB's entry points, by the names of `measure.peers_if_built`."""


def main() -> None:
    """Measure, and print a line for each."""
    import cupy
    import torch
    from measure import peers_if_built

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="20,24,28")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--newest", help="the folder of another CUB's headers, or of it as it was built")
    table = Rows("searching", parser)
    asked = parser.parse_args()
    LIBRARIES.update(peers_if_built("cub_counting", asked.newest))
    for log in map(int, asked.sizes.split(",")):
        for rows in ROWS:
            for name, calls, moved in rows(cupy, torch, 1 << log, asked.only):
                launches = 3 if log > 24 else 20
                graphs = {key: call for key, call in calls.items() if key in ("prism", *LIBRARIES)}
                plain = {key: call for key, call in calls.items() if key not in graphs}
                found = timed(cupy, graphs, plain, asked.rounds, launches)
                alone = timed_alone(cupy, graphs, plain, asked.rounds)
                floor = None
                if moved:
                    half = cupy.empty(max(moved // 8, 1), cupy.int32)
                    other = cupy.empty_like(half)
                    copied = measure(cupy, {"copy": lambda a=other, b=half: cupy.copyto(a, b)}, asked.rounds, 3)
                    floor = copied["copy"]
                table.add(name, log, found, floor)
                table.add(f"{name}, alone", log, alone, floor)
    table.write(asked.json)


def same(cupy: Any, found: Any, wanted: Any, name: str) -> None:
    """Check a result against that of CuPy."""
    assert found.shape == wanted.shape and bool((found == wanted).all()), name


def cub_calls(name: str, x: Any, *given: Any) -> dict[str, Callable[[], Any]]:
    """Return each CUB's call, by its name. It has been made once."""
    from segments import cub

    found: dict[str, Callable[[], Any]] = {}
    for key, library in LIBRARIES.items():
        made = cub(getattr(library, f"cub_{name}_{x.dtype.name}"), x, *given)
        made(0)
        found[key] = lambda made=made: made(0)
    return found


def differences(cupy: Any, torch: Any, n: int, only: str) -> Iterator[Row]:
    """Yield the calls of `diff`."""
    for dtype in ("float32", "int32", "uint8", "float64"):
        name = f"diff {dtype}"
        if only not in name:
            continue
        x = (cupy.random.default_rng(0).random(n, dtype=cupy.float32) * 100).astype(dtype)
        of_torch = torch.as_tensor(x, device="cuda")
        same(cupy, prism.lib.diff(x), cupy.diff(x), name)
        calls = {
            "prism": lambda x=x: prism.lib.diff(x), "cupy": lambda x=x: cupy.diff(x),
            "torch": lambda x=of_torch: torch.diff(x),
        }  # fmt: skip
        room = cupy.empty_like(x)
        calls |= cub_calls("diff", x, room, x.size)
        assert not LIBRARIES or bool((room[1:] == cupy.diff(x)).all()), ("CUB", name)
        yield name, calls, 2 * x.nbytes
    if only in "diff rows float32":
        x = cupy.random.default_rng(0).random((n // 1000, 1000), dtype=cupy.float32)
        of_torch = torch.as_tensor(x, device="cuda")
        same(cupy, prism.lib.diff(x), cupy.diff(x), "diff rows")
        calls = {
            "prism": lambda: prism.lib.diff(x),
            "cupy": lambda: cupy.diff(x),
            "torch": lambda: torch.diff(of_torch),
        }
        yield "diff rows float32", calls, 2 * x.nbytes


def transforms(cupy: Any, torch: Any, n: int, only: str) -> Iterator[Row]:
    """Yield the calls of `3 * x + y`: an expression of lazy arrays that is evaluated, and one kernel of each peer."""
    lib, lazy = prism.lib, prism.lib.lazy
    fused = cupy.ElementwiseKernel("T x, T y", "T z", "z = 3 * x + y", "three_x_plus_y")
    for dtype in ("float32", "int8"):
        name = f"axpy {dtype}"
        if only not in name:
            continue
        random = cupy.random.default_rng(0)
        x, y = ((random.random(n, dtype=cupy.float32) * 30).astype(dtype) for _ in range(2))
        room, one, other = cupy.empty_like(x), *(torch.as_tensor(each, device="cuda") for each in (x, y))
        same(cupy, lib.evaluate(lazy.of(x) * 3 + lazy.of(y)), fused(x, y), name)
        calls = {
            "prism": lambda x=x, y=y, room=room: lib.evaluate(lazy.of(x) * 3 + lazy.of(y), out=room),
            "cupy": lambda x=x, y=y, room=room: fused(x, y, room),
            "torch": lambda one=one, other=other: torch.add(other, one, alpha=3),
        }
        calls |= cub_calls("axpy", x, y, cupy.empty_like(x), n)
        yield name, calls, 3 * x.nbytes


def searches(cupy: Any, torch: Any, n: int, only: str) -> Iterator[Row]:
    """Yield the calls of `searchsorted`: `n` values, in any order and sorted, in tables of several sizes."""
    random = cupy.random.default_rng(0)
    for dtype in ("float32", "int32", "int64"):
        for log in (10, 16, 20, 24):
            name = f"searchsorted {dtype} in 2^{log}"
            if only not in name:
                continue
            table = cupy.sort((random.random(1 << log, dtype=cupy.float32) * (1 << 30)).astype(dtype))
            values = (random.random(n, dtype=cupy.float32) * (1 << 30)).astype(dtype)
            for order in ("", " sorted"):
                sought = cupy.sort(values) if order else values
                of_torch = [torch.as_tensor(one, device="cuda") for one in (table, sought)]
                same(cupy, prism.lib.searchsorted(table, sought), cupy.searchsorted(table, sought), name)
                calls = {
                    "prism": lambda a=table, v=sought: prism.lib.searchsorted(a, v),
                    "cupy": lambda a=table, v=sought: cupy.searchsorted(a, v),
                    "torch": lambda both=of_torch: torch.searchsorted(*both),
                }
                room = cupy.empty(n, "int64")
                calls |= cub_calls("search", table, sought, room, table.size, n)
                assert not LIBRARIES or bool((room == cupy.searchsorted(table, sought)).all()), ("Thrust", name)
                yield name + order, calls, n * (values.itemsize + 8)


def indices(cupy: Any, torch: Any, n: int, only: str) -> Iterator[Row]:
    """Yield the calls of `take`: at indices in any order, and at sorted ones."""
    random = cupy.random.default_rng(0)
    for dtype in ("float32", "int64", "uint8"):
        for order in ("", " sorted"):
            name = f"take {dtype}{order}"
            if only not in name:
                continue
            x, at = (random.random(n, dtype=cupy.float32) * 100).astype(dtype), random.integers(0, n, n // 4)
            at = cupy.sort(at) if order else at
            of_torch = [torch.as_tensor(one, device="cuda") for one in (x, at)]
            same(cupy, prism.lib.take(x, at), cupy.take(x, at), name)
            calls = {
                "prism": lambda x=x, at=at: prism.lib.take(x, at), "cupy": lambda x=x, at=at: cupy.take(x, at),
                "torch": lambda both=of_torch: torch.take(*both),
            }  # fmt: skip
            yield name, calls, at.size * (8 + 2 * x.itemsize)


def splits(cupy: Any, torch: Any, n: int, only: str) -> Iterator[Row]:
    """Yield the calls of `split`, that wait for nothing: CuPy and torch take two masks."""
    random = cupy.random.default_rng(0)
    for dtype in ("float32", "uint8", "int64"):
        for share in (0.5, 0.05):
            name = f"split {dtype} {share}"
            if only not in name:
                continue
            x, mask = (
                (random.random(n, dtype=cupy.float32) * 100).astype(dtype),
                random.random(n, dtype=cupy.float32) < share,
            )
            one, other = (torch.as_tensor(each, device="cuda") for each in (x, mask))
            same(cupy, prism.lib.split(x, mask, count=True)[0], cupy.concatenate([x[mask], x[~mask]]), name)
            calls = {
                "prism": lambda x=x, mask=mask: prism.lib.split(x, mask, count=True),
                "cupy": lambda x=x, mask=mask: (x[mask], x[~mask]),
                "torch": lambda one=one, other=other: (one[other], one[~other]),
            }
            yield name, calls, n * (1 + 2 * x.itemsize)


def repeats(cupy: Any, torch: Any, n: int, only: str) -> Iterator[Row]:
    """Yield the calls of `repeat` of a known size: of runs of 4 elements, and of 256, on average."""
    random = cupy.random.default_rng(0)
    for dtype in ("float32", "uint8", "int64"):
        for length in (4, 256):
            name = f"repeat {dtype} runs of {length}"
            if only not in name:
                continue
            counts = random.integers(0, 2 * length + 1, max(n // length, 1))
            x, total = (random.random(counts.size, dtype=cupy.float32) * 100).astype(dtype), int(counts.sum())
            one, other = (torch.as_tensor(each, device="cuda") for each in (x, counts))
            wanted = cupy.asarray(torch.repeat_interleave(one, other, output_size=total))
            same(cupy, prism.lib.repeat(x, counts, size=total), wanted, name)
            calls = {
                "prism": lambda x=x, counts=counts, total=total: prism.lib.repeat(x, counts, size=total),
                "torch": lambda one=one, other=other, total=total: torch.repeat_interleave(
                    one, other, output_size=total
                ),
            }
            yield name, calls, counts.size * (8 + x.itemsize) + total * x.itemsize


ROWS = (differences, transforms, searches, indices, splits, repeats)

if __name__ == "__main__":
    main()
