"""Calls of `lexsort` and `sort_complex`: keys, and parts, of which many are equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case


def _keys(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    return (random.integers(0, 9, (3, *shape)).astype(dtype),)


def _complex(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    return ((random.integers(0, 9, shape) + 1j * random.integers(0, 9, shape)).astype(dtype),)


CASES = (
    Case(
        "lexsort", _keys, np.lexsort, dtypes=("int32", "float32"), shapes=((1000,), (0,), (1,)),
        large=((1,), (1 << 14,), (1 << 20,)), out=False, planned=False, peers={"cupy": lambda cupy, keys: cupy.lexsort(keys)},
    ),
    Case(
        "sort_complex", _complex, np.sort_complex, dtypes=("complex64", "complex128"), shapes=((1000,), (0,), (1,)),
        large=((1,), (1 << 14,), (1 << 20,)), out=False, planned=False,
        peers={"cupy": lambda cupy, x: cupy.sort_complex(x)},
    ),
)  # fmt: skip
