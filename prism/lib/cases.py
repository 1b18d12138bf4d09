"""Calls of the library's functions, with what they must give: what tests, safety runs and benchmarks make of every algorithm.

Each algorithm has its own in the module `cases` of its folder. They are of NumPy, and say nothing of where arrays lie: who makes
the calls puts them on a machine, at any address and with any strides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism.lib import algorithms

INTEGERS = ("int32", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = (*INTEGERS, "float32", "float64", "float16")
ROWS = ((1000,), (0,), (1,), (2,), (33,), (255,), (257,), (4095,), (4097,), (16_385,))
"""Edges of warps, blocks and tiles, and none."""
LONG_ROWS = ((1,), (1000,), (1 << 14,), (100_003,), (1 << 20,), (3_000_001,))
"""For a GPU: one block, a block for each tile, and many tiles a block."""
PLANES = ((33, 129), (0, 5), (5, 0), (1, 1), (3, 70), (70, 3), (1, 1025), (1025, 1))
LONG_PLANES = ((300, 70), (3, 20_000), (20_000, 3), (3001, 33))


@dataclass(frozen=True)
class Case:
    """A way to call a function of `prism.lib`: `make(random, shape, dtype)` gives its arrays, `oracle(*arrays)` its results.

    The oracle gives an array, a number or a tuple, of the dtypes of the call's results; it raises ValueError where the call must.
    Of `dtypes` and `shapes` the first are the usual ones, and `large` are for GPUs alone. `peers` do the same by other libraries:
    they take the library, and the arrays.

    `out`: the call takes one. `planned`: it is launches alone, so that `prism.lib.plan` and CUDA graphs take it. `cut`: its last
    result says how many elements of the others count.
    """

    function: str
    make: Callable[[Any, tuple[int, ...], str], tuple[Any, ...]]
    oracle: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = NUMBERS
    shapes: tuple[tuple[int, ...], ...] = ROWS
    large: tuple[tuple[int, ...], ...] = LONG_ROWS
    peers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    out: bool = True
    planned: bool = True
    cut: bool = False

    def __str__(self) -> str:
        return " ".join([self.function, *(f"{name}={value}" for name, value in self.options.items())])

    def arrays(self, shape: tuple[int, ...], dtype: str = "", seed: int = 0) -> tuple[Any, ...]:
        """Return the arrays of a call, of NumPy."""
        return self.make(np.random.default_rng(seed), shape, dtype or self.dtypes[0])


def cases() -> list[Case]:
    """Return those of all algorithms."""
    return [case for _, module in algorithms.parts("cases") for case in module.CASES]


def usual_cases(functions: Sequence[str] = ()) -> list[Case]:
    """Return the first case of each algorithm, or all of some functions: of those that another process can make, and compare."""
    fitting = [[case for case in module.CASES if _is_plain(case)] for _, module in algorithms.parts("cases")]
    if functions:
        return [case for each in fitting for case in each if case.function in functions]
    return [each[0] for each in fitting if each]


def _is_plain(case: Case) -> bool:
    """Whether a case can be written down, options too, and all elements of its results count."""
    try:
        json.dumps(dict(case.options))
    except TypeError:
        return False
    return not case.cut


def numbers(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    """Return an array of small whole numbers: sums of floats are exact, in any order, as long as they are not too many."""
    least = 0 if np.dtype(dtype).kind in "bu" else -3
    return (random.integers(least, 2 if dtype == "bool" else 4, shape).astype(dtype),)


def exact(x: Any) -> Any:
    """Return an array in which sums of its elements are exact, or wrap as they must: floats as float64."""
    return x.astype(np.float64) if x.dtype.kind == "f" else x
