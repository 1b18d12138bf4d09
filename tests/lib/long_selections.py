"""Selections of arrays that are cut into tiles as long ones are, by the kernels that those take, with what they must give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from prism import lib
from prism.kernels import select as kernels

DTYPES = ("uint8", "uint16", "float32", "int64")


class Long(NamedTuple):
    """A call: `longest` says whether arrays are taken for long enough for the largest tiles, or for long ones only."""

    text: str
    function: Callable[..., Any]
    given: tuple[Any, ...]
    wanted: Any
    longest: bool = True


def long_selections(size: int = 100_003) -> Iterator[Long]:
    """Yield the calls of each type; of bytes those of two sizes of tiles, by masks and by functions, of many runs and few."""
    for dtype in DTYPES:
        for longest in (True, False) if dtype == "uint8" else (True,):
            for one in _of(dtype, size if longest else size - 20_000):  # a plan is kept by sizes: another is made
                yield one._replace(text=f"{one.text} of {dtype}, {'longest' if longest else 'long'}", longest=longest)


def limits(longest: bool) -> dict[str, int]:
    """Return what to set `kernels`' numbers of tiles to, from which on arrays are long."""
    return {"FEW_TILES": 1, "LONG_TILES": 1, "LONGER_TILES": 1 if longest else kernels.LONGER_TILES}


def _of(dtype: str, size: int) -> Iterator[Long]:
    random = np.random.default_rng(0)
    flags, others = random.random(size) < 0.3, random.random(size) < 0.5
    x = random.integers(0, 100, size).astype(dtype)
    low, middle = x < 30, (x >= 30) & (x < 60)
    rest = ~flags & ~others
    yield Long("compress", lib.compress, (flags, x), x[flags])
    yield Long("select", lambda x: lib.select(x, lambda v: v < 30), (x,), x[low])
    yield Long(
        "select by a function that no interval is of",
        lambda x: lib.select(x, lambda v: v % 2 == 1),
        (x,),
        x[x % 2 == 1],
    )
    yield Long("split", lib.split, (x, flags), np.concatenate([x[flags], x[~flags]]))
    yield Long("split by a function", lambda x: lib.split(x, lambda v: v < 30), (x,), np.concatenate([x[low], x[~low]]))
    yield Long("split3", lib.split3, (x, flags, others), np.concatenate([x[flags], x[others & ~flags], x[rest]]))
    yield Long(
        "split3 by functions", lambda x: lib.split3(x, lambda v: v < 30, lambda v: v < 60), (x,),
        np.concatenate([x[low], x[middle], x[x >= 60]]),
    )  # fmt: skip
    yield Long("flatnonzero", lib.flatnonzero, (x,), np.flatnonzero(x))
    for text, share in (("many runs", 0.5), ("few runs", 0.02)):
        runs = (np.cumsum(random.random(size) < share) % 50).astype(dtype)
        begins = np.append(True, runs[1:] != runs[:-1])
        lengths = np.diff(np.flatnonzero(begins), append=size)
        yield Long(f"unique_consecutive, {text}", lib.unique_consecutive, (runs,), runs[begins])
        yield Long(
            f"run_length_encode, {text}", lib.run_length_encode, (runs,), np.concatenate([runs[begins], lengths])
        )
