"""Every function of the library on lazy arrays: what it gives of the arrays that they stand for.

Tests of prism/host/lazies.py; prism/lib/lazy: array, facts, functions; prism/lib/algorithms/transform: api, cases.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from prism.host import lazies
from prism.lib.cases import Case, cases
from tests.lib.calls import check
from tests.lib.lazy.lazies import LAZIES, array_of
from tests.rarely import rarely

TAKEN_APART = {"histogramdd"}
"""Functions of an array of points that take each coordinate's lazy array: tests/lib/algorithms/histogram has them."""
PAIRS = [(case, name) for case in cases() if case.function not in TAKEN_APART for name in LAZIES]
MEMORY = {
    "attention", "attention_backward", "attention_decode", "attention_decode_latent",
    "quantized_matmul", "pack_weights", "unpack_weights",
    "matmul", "grouped_matmul", "sgemm", "hgemm", "digitize", "segmented_argmin", "segmented_argmax", "segmented_sort",
    "segmented_argsort", "sort",
    "argsort", "sort_by_key", "top_k", "topk", "kthvalue", "partition", "argpartition", "median", "percentile", "quantile",
    "nanmedian", "nanpercentile", "nanquantile",
}  # fmt: skip
"""Functions whose kernels take memory, as copies by bulk or bits of numbers, on a GPU at least, or that ask the host: lazy arrays
are evaluated for them."""


_FIRST = {case.function: case for case, _ in reversed(PAIRS)}
_TURNS = [*(f for f in _FIRST if f not in MEMORY), *[f for f in _FIRST if f in MEMORY][::4]]
OFTEN = [(_FIRST[function], list(LAZIES)[number % len(LAZIES)]) for number, function in enumerate(_TURNS)]
"""The usual call of each function, on one kind of lazy array, and of some that evaluate them."""


@pytest.mark.parametrize(("case", "name"), rarely(PAIRS, but=OFTEN), ids=str)
def test_lazy_arrays_are_as_good_as_arrays(case: Case, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if case.function not in MEMORY:

        def never(info: Any) -> Any:
            raise AssertionError(f"{case} writes the elements of a lazy array to memory")

        monkeypatch.setattr(lazies, "evaluators", [never])
    place = functools.partial(LAZIES[name], np.asarray)
    last = list(LAZIES).index(name) % 2  # the last dtype with each second kind of them, else the first
    dtype = case.dtypes[-last]
    for shape in case.shapes[:4]:
        check(case, case.arrays(shape, dtype), place, array_of)
