"""Unique elements and sets beside CuPy and torch: calls that wait for their number, medians of rounds that alternate.

    PYTHONPATH=. python asv_bench/sets.py [--sizes 20,24,28,50000017] [--rounds 5] [--tb 4.25] [--only unique] [--json FILE]

A size is a logarithm to base 2, or, above 64, the number of elements. Random int32; `few`: numbers below 2^20; `inverse`: with
`return_inverse`; `isin` and `union1d`: beside 2^16 numbers. Needs a GPU, CuPy and torch. Every result is compared with CuPy's, or
torch's, once. `floor`: reading and writing all once, which no sort can do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rows import Rows
from selection import measure

import prism


def main() -> None:
    """Measure, and print a line for each."""
    import cupy
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="20,24,28,50000017")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tb", type=float, default=4.25)
    parser.add_argument("--only", default="")
    rows = Rows("sets", parser)
    asked = parser.parse_args()
    for size in map(int, asked.sizes.split(",")):
        n = size if size > 64 else 1 << size
        for name, calls in cases(cupy, torch, n).items():
            if asked.only in name:
                ours, *others = [call() for call in calls.values()]
                assert all(same(cupy, ours, other) for other in others), name
                del ours, others
                found = measure(cupy, calls, asked.rounds, 2 if n > 1 << 24 else 8)
                rows.add(
                    f"{name} int32" + (f" of {n}" if size > 64 else ""),
                    n.bit_length() - 1,
                    found,
                    8 * n / asked.tb / 1e6,
                )
                cupy.get_default_memory_pool().free_all_blocks()
                torch.cuda.empty_cache()
    rows.write(asked.json)


def same(cupy: Any, one: Any, other: Any) -> bool:
    """Whether two results are equal: arrays, or tuples of them."""
    if isinstance(one, tuple):
        return all(same(cupy, mine, its) for mine, its in zip(one, other, strict=True))
    one, other = cupy.asarray(one), cupy.asarray(other)
    return one.size == other.size and bool((one.ravel() == other.ravel()).all())


def cases(cupy: Any, torch: Any, n: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return the calls of each case, by who makes them."""
    random, lib = cupy.random.default_rng(0), prism.lib
    x = random.integers(0, 256, 4 * n, dtype=cupy.uint8).view(cupy.int32)
    few, table = x & 0xFFFFF, random.integers(-(1 << 31), 1 << 31, 1 << 16, dtype=cupy.int64).astype(cupy.int32)
    of, of_few, of_table = (torch.as_tensor(one, device="cuda") for one in (x, few, table))
    found: dict[str, dict[str, Callable[[], Any]]] = {
        "unique": {"prism": lambda: lib.unique(x), "torch": lambda: torch.unique(of), "cupy": lambda: cupy.unique(x)},
        "unique few": {
            "prism": lambda: lib.unique(few), "torch": lambda: torch.unique(of_few), "cupy": lambda: cupy.unique(few),
        },
        "isin": {
            "prism": lambda: lib.isin(x, table), "torch": lambda: torch.isin(of, of_table), "cupy": lambda: cupy.isin(x, table),
        },
        "union1d": {"prism": lambda: lib.union1d(x, table), "cupy": lambda: cupy.union1d(x, table)},
    }  # fmt: skip
    if n <= 1 << 24:  # CuPy's and torch's take more memory, and time, than there is
        found["unique inverse"] = {
            "prism": lambda: lib.unique(x, return_inverse=True),
            "torch": lambda: torch.unique(of, return_inverse=True),
            "cupy": lambda: cupy.unique(x, return_inverse=True),
        }
    return found


if __name__ == "__main__":
    main()
