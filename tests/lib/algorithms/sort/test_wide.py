"""Plans of sorts by wide digits, run by the reference machine as they are for a GPU, but for shorter tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.kernels import sort as kernels
from prism.lib import argsort, lazy, sort, sort_by_key
from prism.lib.algorithms.sort import plan as plans
from prism.lib.algorithms.sort import wide
from prism.lib.algorithms.sort_rows import axis as along
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from tests.lib.algorithms.sort.test_api import Device

LAUNCHED = {"count_wide", "begin_wide", "sort_wide", "count_digits", "sort_digit"}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plans of a GPU of few multiprocessors, that sort short arrays by wide digits."""

    def rows(kind: Kind, many: int, n: int, machine: Any, *, names: Names | None = None, **how: bool) -> Any:
        return plans.radix(kind, many, n, Device(), names or Names(), **how)

    monkeypatch.setattr(wide, "_FEWEST", 1000)
    monkeypatch.setattr(wide, "_COUNTING", kernels.Counting(256, 16, 1))
    monkeypatch.setattr(kernels, "wide_of", lambda n, values: kernels.Configuration(256, 4, 2, 1, 1))
    monkeypatch.setattr(along, "rows", rows)
    prism.host.call.forget()
    yield
    prism.host.call.forget()


@pytest.mark.parametrize("descending", [False, True])
def test_calls(small: Any, descending: bool) -> None:
    """Numbers of few exponents, and such as are left to passes by bytes: of all exponents, with -0.0, and with NaN."""
    random = np.random.default_rng(0)
    normal = random.standard_normal(2500).astype(np.float32)
    bits = random.integers(0, 1 << 32, 2500, dtype=np.uint64).astype(np.uint32).view(np.float32)
    zeros, nans = normal.copy(), normal.copy()
    zeros[::7], zeros[3::11], nans[::9] = -0.0, 0.0, np.nan
    for x in (normal, bits, zeros, nans):
        order = np.argsort(-x if descending else x, kind="stable")
        found, there = sort(x, descending=descending), x[order] == x[order]
        assert np.array_equal(found[there].view(np.uint32), x[order][there].view(np.uint32))
        assert np.isnan(found[~there]).all()
        values = random.integers(0, 1 << 32, x.size, dtype=np.uint64).astype(np.uint32)
        assert np.array_equal(argsort(x, descending=descending), order)
        for given, wanted in (
            (values, values[order]),
            (lazy.map(lambda v: v ^ 77, values), (values ^ np.uint32(77))[order]),
        ):
            keys, moved = sort_by_key(x, given, descending=descending)
            assert np.array_equal(keys.view(np.uint32), x[order].view(np.uint32)) and np.array_equal(moved, wanted)


def test_which_arrays_are() -> None:
    def launched(kind: Kind, n: int, many: int = 1, **how: bool) -> set[str]:
        steps = plans.radix(kind, many, n, Device(), Names(), aligned=True, **how).steps
        return {step.instance.kernel.__name__ for step in steps if hasattr(step, "instance")}

    for kind, n in (
        (Kind("float32"), 1 << 24),
        (Kind("float32", descending=True), (1 << 31) - 1),
        (Kind("float32", values="uint32"), 1 << 28),
        (Kind("float32", elements=False, places="int64"), 1 << 28),
    ):
        assert launched(kind, n) == LAUNCHED
    for kind, n in (
        (Kind("float32"), (1 << 24) - 1),
        (Kind("float32", elements=False, places="int64"), (1 << 24) - 1),
        (Kind("float32"), 1 << 31),
        (Kind("float64"), 1 << 28),
        (Kind("uint32"), 1 << 28),
        (Kind("float32", values="uint64"), 1 << 28),
        (Kind("float32", values="uint16"), 1 << 28),
        (Kind("uint32", values="uint32"), 1 << 28),
    ):
        assert "sort_wide" not in launched(kind, n)
    assert "sort_wide" not in launched(Kind("float32"), 1 << 24, 3)
    assert "sort_wide" not in launched(Kind("float32"), 1 << 28, in_place=True)
