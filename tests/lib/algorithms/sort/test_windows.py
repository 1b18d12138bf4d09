"""Plans of sorts by windows, run by the reference machine as they are for a GPU, but for smaller windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.kernels import sort as kernels
from prism.lib import sort, sort_by_key
from prism.lib.algorithms.sort import plan as plans
from prism.lib.algorithms.sort import windows
from prism.lib.algorithms.sort_rows import axis as along
from prism.lib.algorithms.sort_rows import pairs
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from tests.kernels.test_sort_windows import keys
from tests.lib.algorithms.sort.test_api import Device

LAUNCHED = {"count_digits", "sample_windows", "sort_digit", "find_windows", "sort_windows"}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plans of a GPU of few multiprocessors, that sort short arrays by windows of 512."""

    def rows(kind: Kind, many: int, n: int, machine: Any, *, names: Names | None = None, **how: bool) -> Any:
        return plans.radix(kind, many, n, Device(), names or Names(), **how)

    monkeypatch.setattr(windows, "_FEWEST", {(4, 0): 1000, (4, 4): 1000})
    monkeypatch.setattr(kernels, "window_of", lambda *_: kernels.Window(128, 4, 2, 1, 9))
    monkeypatch.setattr(along, "rows", rows)
    monkeypatch.setattr(pairs, "rows", rows)
    prism.host.call.forget()
    yield
    prism.host.call.forget()


def test_calls(small: Any) -> None:
    x = keys("int32", 2500)
    order = np.argsort(x, kind="stable")
    values = np.arange(len(x), dtype=np.float32)
    found = sort_by_key(x, values)
    assert np.array_equal(found[0], x[order]) and np.array_equal(found[1], order)
    assert np.array_equal(sort(x), x[order])


def test_which_arrays_are() -> None:
    def launched(kind: Kind, n: int, **how: bool) -> set[str]:
        steps = plans.radix(kind, 1, n, Device(), Names(), aligned=True, **how).steps
        return {step.instance.kernel.__name__ for step in steps if hasattr(step, "instance")}

    for kind, n in (
        (Kind("uint32"), 1 << 28),
        (Kind("int32", descending=True), 1 << 27),
        (Kind("int64"), 1 << 24),
        (Kind("uint32", values="float32"), 1 << 24),
        (Kind("uint32", values="uint32"), 1 << 28),
        (Kind("uint32", elements=False, places="int64"), 1 << 27),
        (Kind("uint64", values="uint32"), 1 << 24),
        (Kind("int64", elements=False, places="int64"), 1 << 28),
    ):
        assert launched(kind, n) == LAUNCHED
    for kind, n in (
        (Kind("float32"), 1 << 28),
        (Kind("uint32"), (1 << 27) - 1),
        (Kind("uint32"), 1 << 29),
        (Kind("uint16", values="uint32"), 1 << 28),
        (Kind("uint32", values="uint64"), 1 << 27),
        (Kind("uint64", values="uint64"), 1 << 27),
        (Kind("uint64", values="uint32"), (1 << 24) - 1),
        (Kind("uint32", elements=False, places="int64"), (1 << 27) - 1),
        (Kind("float32", elements=False, places="int64"), 1 << 28),
    ):
        assert "sort_windows" not in launched(kind, n)
    assert "sort_windows" not in launched(Kind("uint32"), 1 << 28, in_place=True)
