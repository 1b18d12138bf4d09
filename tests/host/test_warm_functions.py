"""The second call of a kind decides nothing, describes nothing, and only launches: of each function that has a quick way.

Tests of prism/host/repeat.py, of calls whose results are cut, cast, or of lazy arrays of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prism import lib
from prism.host import call
from prism.lib.algorithms.sort_rows import pairs
from tests.host.stand_ins import Array, Gpu, array, stand_in


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        found.count = 5
        yield found


X, TABLE, MASK, PLACES = array(1000), array(64), array(1000, "bool"), array(1000, "int64")
WHOLE = array(1000, "int32")
ROWS = array((20, 50))
LIMIT = 0.5
CALLS: dict[str, Callable[[], Any]] = {
    "searchsorted": lambda: lib.searchsorted(TABLE, X, out=array(1000, "int64")),
    "diff": lambda: lib.diff(X, out=array(999)),
    "cumulative_sum behind 0": lambda: lib.cumulative_sum(WHOLE, include_initial=True),
    "cumulative_sum behind 0, of rows": lambda: lib.cumulative_sum(
        ROWS, axis=0, include_initial=True, out=array((21, 50))
    ),
    "take": lambda: lib.take(X, PLACES, out=array(1000)),
    "take_along_axis": lambda: lib.take_along_axis(X, PLACES, 0, out=array(1000)),
    "split": lambda: lib.split(X, MASK),
    "split by a function": lambda: lib.split(X, lambda e: e > 0),
    "split, counted": lambda: lib.split(X, MASK, count=True),
    "select by a number": lambda: lib.select(X, lambda e: e > LIMIT, count=True),
    "split3 by numbers": lambda: lib.split3(X, lambda e: e < LIMIT, lambda e: e < -LIMIT),
    "split3 by numbers, counted": lambda: lib.split3(X, lambda e: e < LIMIT, lambda e: e < -LIMIT, count=True),
    "unique_by_key": lambda: lib.unique_by_key(WHOLE, WHOLE),
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
    "nanmedian": lambda: lib.nanmedian(X),
    "nanquantile into an array": lambda: lib.nanquantile(X, 0.25, out=array(())),
    "nanpercentile of rows": lambda: lib.nanpercentile(ROWS, 25, 1),
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


def test_a_pair_that_is_given_is_looked_at_once_for_each_place(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, values = array(1000, "int32"), array(1000)
    out, other = [(array(1000, "int32"), array(1000)) for _ in range(2)]
    first = lib.sort_by_key(keys, values, out=out)
    assert (first[0] is out[0], first[1] is out[1]) == (True, True)
    described = pairs.arguments.describe_all
    looked: list[int] = []
    monkeypatch.setattr(pairs.arguments, "describe_all", lambda *given: looked.append(1) or described(*given))
    for number, given in enumerate((out, other, other, out)):
        found = lib.sort_by_key(keys, values, out=given)
        assert (found[0] is given[0], found[1] is given[1]) == (True, True)
        assert len(looked) == min(number, 1)
    assert len({launch[4] for launch in gpu.launched}) == 2 and len({launch[0] for launch in gpu.launched}) == 1
    with pytest.raises(ValueError, match="share memory"):
        lib.sort_by_key(keys, values, out=(out[0], Array.at(out[0].data.ptr + 4, (1000,), "float32")))


@pytest.mark.parametrize(("shape", "axis", "first"), [((1000,), None, 8), ((20, 50), 0, 400), ((1, 20, 5), 1, 40)])
def test_sums_behind_zeros_are_one_launch(gpu: Gpu, shape: tuple[int, ...], axis: int | None, first: int) -> None:
    along, gpu.launched = axis or 0, []
    for number in range(3):
        gpu.stream = 70 + number
        x = array(shape, "int32")
        out = array((*shape[:along], shape[along] + 1, *shape[along + 1 :]), "int64") if number else None
        found = lib.cumulative_sum(x, axis=axis, include_initial=True, out=out)
        assert found.dtype == "int64" and (out is None or found is out)
        assert gpu.addresses[number] == (70 + number, x.data.ptr, found.data.ptr + first)
        assert gpu.cleared[number] == (found.data.ptr, first, 70 + number)
    assert len(gpu.launched) == len(gpu.cleared) == 3
