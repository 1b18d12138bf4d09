"""The second call of a kind decides nothing, describes nothing, and only launches: of each function that has a quick way.

Tests of prism/host/repeat.py, of calls whose results are cut, cast, or of lazy arrays of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prism import lang, lib
from prism.host import call
from prism.kernels.lookup import FALLS, NEITHER, RISES
from prism.lib.algorithms.sort_rows import pairs
from tests.host.stand_ins import Array, Gpu, array, stand_in


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        found.count = 5
        yield found


X, TABLE, MASK, PLACES = array(1000), array(64), array(1000, "bool"), array(1000, "int64")
WHOLE = array(1000, "int32")
ROWS, MORE = array((20, 50)), array((20, 50))
NATURALS, WORDS = array(1000, "uint16"), array(1000, "uint64")
LIMIT = 0.5
CALLS: dict[str, Callable[[], Any]] = {
    "searchsorted": lambda: lib.searchsorted(TABLE, X, out=array(1000, "int64")),
    "digitize": lambda: lib.digitize(X, TABLE),
    "digitize into an array": lambda: lib.digitize(X, TABLE, out=array(1000, "int64")),
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
    "sort by bits": lambda: lib.sort(WORDS, bits=(0, 1)),
    "sort by bits into an array": lambda: lib.sort(WORDS, bits=(0, 1), out=array(1000, "uint64")),
    "sort by a key": lambda: lib.sort(X, key=lambda e: lang.uint32(e * LIMIT)),
    "sort by a key into an array": lambda: lib.sort(X, key=lambda e: lang.uint32(e * LIMIT), out=array(1000)),
    "sort of columns": lambda: lib.sort(ROWS, 0),
    "sort of columns into an array": lambda: lib.sort(ROWS, 0, out=MORE),
    "sort of columns in place": lambda: lib.sort(ROWS, 0, out=ROWS),
    "sort of columns by a key": lambda: lib.sort(ROWS, 0, key=lambda e: lang.uint32(e * LIMIT), out=MORE),
    "argsort of columns": lambda: lib.argsort(ROWS, 0),
    "argsort of columns into an array": lambda: lib.argsort(ROWS, 0, out=array((20, 50), "int64")),
    "argsort by a key": lambda: lib.argsort(NATURALS, key=lang.uint32),
    "argsort by a key into an array": lambda: lib.argsort(NATURALS, key=lang.uint32, out=array(1000, "int64")),
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


@pytest.mark.parametrize("place", ["new", "other", "same", "columns"])
def test_columns_are_brought_side_by_side_and_back(gpu: Gpu, place: str) -> None:
    """By launches alone: the array, its rows in scratch memory, sorted there, and the result."""
    x = array((20, 50))
    out = {"new": None, "other": array((20, 50)), "same": x, "columns": array((50, 20)).transpose((1, 0))}[place]
    for number in range(3):
        began, gpu.stream = len(gpu.launched), 70 + number
        found = lib.sort(x, 0, out=out)
        first, *_, last = gpu.launched[began:]
        assert out is None or found is out
        assert first[4][0] == x.data.ptr and {launch[3] for launch in gpu.launched[began:]} == {70 + number}
        assert found.data.ptr in last[4] and len(gpu.launched) - began == (2 if place == "columns" else 3)
    with pytest.raises(TypeError, match="`out` must be of float32"):
        lib.sort(x, 0, out=array((20, 50), "uint32"))
    with pytest.raises(ValueError, match="`out` must have shape"):
        lib.sort(x, 0, out=array((20, 49)))


def test_what_a_sort_is_by_decides(gpu: Gpu) -> None:
    """Other bits, another key, another number in a key, another axis are other calls; each is decided once."""
    out, limit = array(1000, "uint64"), 3
    key = lambda e: lang.uint32(e % limit)
    how: dict[str, Any]
    for how in (
        {"bits": (0, 1)},
        {"bits": (0, 2)},
        {"bits": (0, 1), "descending": True},
        {"axis": 0, "bits": (0, 1)},
        {"key": key},
    ):
        decided = gpu.decided
        lib.sort(WORDS, **how, out=out)
        lib.sort(WORDS, **how, out=out)
        assert gpu.decided == decided + 1, how
    limit = 5
    lib.sort(WORDS, key=key, out=out)
    assert gpu.decided == decided + 2
    with pytest.raises(TypeError, match="`axis`"):
        lib.sort(WORDS, 0.0, bits=(0, 1), out=out)


def test_which_way_edges_run_is_asked_each_time(gpu: Gpu) -> None:
    """They may have changed since: edges that rise, that fall, and that are in no order, by what the kernel says.

    While it says nothing they are taken to rise.
    """
    out, ways = array(1000, "int64"), {RISES: set(), FALLS: set()}
    for _ in range(3):
        for gpu.count in (RISES, FALLS, RISES):
            began = len(gpu.launched)
            assert lib.digitize(X, TABLE, out=out) is out
            first, *searches = gpu.launched[began:]
            assert first[0].kernel.__name__ == "order_of_edges" and first[4][0] == TABLE.data.ptr
            assert len(searches) == (1 if gpu.count == RISES else 2)
            assert all(one[0].kernel.__name__.startswith("lookup") for one in searches)
            ways[gpu.count].add(searches[-1][0])
        gpu.count = NEITHER
        with pytest.raises(ValueError, match="monotonically"):
            lib.digitize(X, TABLE, out=out)
        assert gpu.decided == 3
    assert len(ways[RISES]) == len(ways[FALLS]) == 1 and ways[RISES] != ways[FALLS]
    gpu.count, began = FALLS, len(gpu.launched)
    assert lib.digitize(X, array(1), out=out) is out and len(gpu.launched) == began + 1  # of one edge nobody asks
    gpu.capturing = True
    with pytest.raises(RuntimeError, match="it can't while a CUDA graph is captured"):
        lib.digitize(X, TABLE)


def test_results_are_as_long_as_the_kernels_say(gpu: Gpu) -> None:
    """However long they were before: while the host waits they are made as long as last time."""
    for many in (5, 5, 7, 7, 0, 5, 1000):
        gpu.count = many
        assert lib.unique_consecutive(X).shape == (many,)
        keys, sums = lib.reduce_by_key(X, X)
        assert keys.shape == sums.shape == (many,)
        kept, rest = lib.split(X, MASK)
        assert (kept.shape, rest.shape) == ((many,), (1000 - many,))
