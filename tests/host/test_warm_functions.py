"""The second call of a kind decides nothing, describes nothing, and only launches: of each function that has a quick way.

Tests of prism/host/repeat.py, of calls whose results are cut, cast, or of lazy arrays of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prism import lib
from prism.host import call
from tests.host.stand_ins import Gpu, array, stand_in


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        found.count = 5
        yield found


X, TABLE, MASK, PLACES = array(1000), array(64), array(1000, "bool"), array(1000, "int64")
WHOLE = array(1000, "int32")
LIMIT = 0.5
CALLS: dict[str, Callable[[], Any]] = {
    "searchsorted": lambda: lib.searchsorted(TABLE, X, out=array(1000, "int64")),
    "diff": lambda: lib.diff(X, out=array(999)),
    "take": lambda: lib.take(X, PLACES, out=array(1000)),
    "take_along_axis": lambda: lib.take_along_axis(X, PLACES, 0, out=array(1000)),
    "split": lambda: lib.split(X, MASK),
    "split by a function": lambda: lib.split(X, lambda e: e > 0),
    "split, counted": lambda: lib.split(X, MASK, count=True),
    "select by a number": lambda: lib.select(X, lambda e: e > LIMIT, count=True),
    "select, counted": lambda: lib.select(X, MASK, count=True),
    "argmax into int32": lambda: lib.argmax(X, out=array((), "int32")),
    "minmax": lambda: lib.minmax(X),
    "argminmax": lambda: lib.argminmax(X),
    "run_length_encode": lambda: lib.run_length_encode(X, count=True),
    "find": lambda: lib.find(X, MASK),
    "find by a function": lambda: lib.find(X, lambda e: e > 0),
    "histogram": lambda: lib.histogram(X, 10, (0.0, 1.0)),
    "bincount": lambda: lib.bincount(WHOLE),
    "bincount, its length known": lambda: lib.bincount(WHOLE, length=7),
}


@pytest.mark.parametrize("name", CALLS)
def test_only_the_first_call_is_decided(name: str, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    CALLS[name]()
    launched = len(gpu.launched)
    monkeypatch.setattr(call, "_make", lambda *given, **more: pytest.fail("it is described again"))
    found = CALLS[name]()
    assert len(gpu.launched) == 2 * launched > 0
    if name == "split":
        assert [part.shape for part in found] == [(5,), (995,)]
    if name == "bincount":
        assert found.shape == (5,)
