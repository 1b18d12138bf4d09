"""Calls made again, as over an engine on the GPU: they are queued by what was told before, and right whatever ranks say then.

Tests of prism/dist: _again; and of prism/lib/algorithms/reduce: messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.dist import _again, _merge
from prism.host.lazies import NumberInfo
from prism.host.machine import run_on_host
from prism.lib import operators
from prism.lib.algorithms.reduce import messages
from prism.lib.algorithms.scan.api import task_of
from prism.runtime.arrays import describe
from tests.dist.ranks import Queued, cut, results, run
from tests.dist.test_scan import FILL

RANDOM = np.random.default_rng(0)
TIMES = 4
LENGTHS = [(9, 0, 14), (0, 0, 23), (23,), (5, 6, 7, 5)]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many calls were made by what was known."""
    found, begin = [0], _again.Again.begin

    def counted(self: _again.Again, *given: Any) -> Any:
        found[0] += 1
        return begin(self, *given)

    monkeypatch.setattr(_again.Again, "begin", counted)
    _again.forget()
    yield found
    _again.forget()


def array(kind: str, shape: Any = 23) -> Any:
    return RANDOM.integers(0, 4, shape).astype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)


HOWS: list[dict[str, Any]] = [
    {},
    {"exclusive": True, "initial": 3},
    {"reverse": True},
    {"op": "maximum", "exclusive": True},
]


@pytest.mark.parametrize("how", HOWS, ids=str)
@pytest.mark.parametrize("kind", ["int32", "uint8", "float16", "bfloat16", "float64"])
def test_scans(kind: str, how: dict[str, Any], begun: list[int]) -> None:
    for lengths in LENGTHS:
        x = array(kind)
        shards, before, wanted = cut(x, lengths), begun[0], prism.lib.scan(x, **how)
        given = results(
            len(lengths),
            lambda c, s=shards: [prism.dist.scan(s[c.rank], comm=c, **how) for _ in range(TIMES)],
            Queued,
        )
        for time in range(TIMES):
            found = np.concatenate([one[time] for one in given])
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype
        assert begun[0] - before == (TIMES - 2) * len(lengths)  # the first two tell what there is to know


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "count_nonzero"])
@pytest.mark.parametrize("kind", ["int32", "float16", "bool"])
def test_reductions(kind: str, name: str, begun: list[int]) -> None:
    for lengths in LENGTHS:
        x = array(kind)
        shards, wanted = cut(x, lengths), getattr(prism.lib, name)(x)
        given = results(
            len(lengths),
            lambda c, s=shards: [getattr(prism.dist, name)(s[c.rank], comm=c) for _ in range(TIMES)],
            Queued,
        )
        for found in (one for rank in given for one in rank):
            np.testing.assert_array_equal(found, wanted)
            assert type(found) is type(wanted)
    assert begun[0] == (TIMES - 2) * sum(map(len, LENGTHS))


@pytest.mark.parametrize("shape", [23, (23, 3)])
def test_positions(shape: Any, begun: list[int]) -> None:
    x = array("int32", shape)
    shards = cut(x, (9, 0, 14))
    given = results(3, lambda c: [prism.dist.flatnonzero(shards[c.rank], comm=c) for _ in range(TIMES)], Queued)
    for time in range(TIMES):
        np.testing.assert_array_equal(np.concatenate([one[time] for one in given]), np.flatnonzero(x))
    assert begun[0] == (TIMES - 2) * 3


@pytest.mark.parametrize("short", [1 << 26, 0], ids=["gathered", "merged"])
@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_sorts(name: str, short: int, begun: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_merge, "_SHORT", short)
    for lengths in ((9, 0, 14), (20, 1, 2)):
        x, before = array("int32"), begun[0]
        shards, wanted = cut(x, lengths), getattr(prism.lib, name)(x)
        given = results(
            3, lambda c, s=shards: [getattr(prism.dist, name)(s[c.rank], comm=c) for _ in range(TIMES)], Queued
        )
        for time in range(TIMES):
            np.testing.assert_array_equal(np.concatenate([one[time] for one in given]), wanted)
        assert begun[0] - before == (TIMES - 2) * 3


def test_selections(begun: list[int]) -> None:
    """The condition may be another one each time; if it is wrong on one rank, all are told."""
    x = array("int32")
    shards = cut(x, (9, 0, 14))

    def work(c: Any) -> list[Any]:
        own = shards[c.rank]
        found = [prism.dist.select(own, own > least, comm=c) for least in range(TIMES)]
        with pytest.raises(ValueError, match="rank 2: "):
            prism.dist.select(own, (own > 1)[: 3 if c.rank == 2 else 99], comm=c)
        return [*found, prism.dist.select(own, own > 0, comm=c)]

    given = results(3, work, Queued)
    for time, least in enumerate((*range(TIMES), 0)):
        np.testing.assert_array_equal(np.concatenate([one[time] for one in given]), x[x > least])
    assert begun[0] >= (TIMES - 2) * 3


@pytest.mark.parametrize("density", [False, True])
def test_histograms(density: bool, begun: list[int]) -> None:
    x = array("float32", 200)
    shards = cut(x, (90, 0, 110))
    how: dict[str, Any] = {"bins": 7, "range": (0, 3), "density": density}
    for rank in results(
        3, lambda c: [prism.dist.histogram(shards[c.rank], comm=c, **how) for _ in range(TIMES)], Queued
    ):
        for counts, edges in rank:
            right, ends = prism.lib.histogram(x, **how)
            np.testing.assert_array_equal(counts, right)
            np.testing.assert_array_equal(edges, ends)
    assert begun[0] == (TIMES - 2) * 3


def test_an_operator_whose_order_counts(begun: list[int]) -> None:
    x = np.array([0, 3, 0, 0, 5, 0, 0, 7, 0])
    shards = cut(x, (1, 3, 0, 2, 3))
    given = results(5, lambda c: [prism.dist.scan(shards[c.rank], FILL, comm=c) for _ in range(TIMES)], Queued)
    for time in range(TIMES):
        np.testing.assert_array_equal(np.concatenate([one[time] for one in given]), [0, 3, 3, 3, 5, 5, 5, 7, 7])
    assert begun[0] == (TIMES - 2) * 5


def test_the_same_bits_as_at_first(begun: list[int]) -> None:
    """Floats of many sizes, whose sums depend on how they are grouped, of more ranks than two."""
    for kind in ("float32", "float64"):
        x = (RANDOM.random(35) * 10.0 ** RANDOM.integers(-6, 7, 35)).astype(kind)
        shards = cut(x, (5,) * 7)
        given = results(
            7,
            lambda c, s=shards: [
                (prism.dist.scan(s[c.rank], comm=c).tobytes(), prism.dist.sum(s[c.rank], comm=c).tobytes())
                for _ in range(TIMES)
            ],
            Queued,
        )
        assert all(len(set(one)) == 1 for one in given)
        assert len({one[0][1] for one in given}) == 1
    assert begun[0] == 2 * 2 * (TIMES - 2) * 7


def test_other_ranks_say_something_else(begun: list[int]) -> None:
    """A rank whose call is as before, while another one's shard is longer."""

    def work(c: Any) -> list[Any]:
        found = []
        for n in (3, 3, 3, 4, 4, 4, 3):
            x = np.arange(n if c.rank == 0 else 5, dtype=np.int32)
            last = prism.dist.scan(x, comm=c)[-1]
            found.append((int(last), int(prism.dist.sum(x, comm=c)), int(prism.dist.flatnonzero(x, comm=c)[0])))
        return found

    given = results(3, work, Queued)
    for time, n in enumerate((3, 3, 3, 4, 4, 4, 3)):
        total = n * (n - 1) // 2
        assert given[2][time] == (total + 20, total + 20, n + 5 + 1)
    assert begun[0] > 9


@pytest.mark.parametrize(
    "wrong", [lambda x: x.astype("i4"), lambda x: "abc", lambda x: x[0]], ids=["dtype", "text", "number"]
)
def test_a_rank_that_calls_otherwise(wrong: Any, begun: list[int]) -> None:
    def work(c: Any) -> None:
        x = np.ones(4, np.float32)
        for _ in range(TIMES):
            assert prism.dist.sum(x, comm=c) == 12
        prism.dist.sum(wrong(x) if c.rank == 1 else x, comm=c)

    found = [str(one) for one in run(3, work, Queued)]
    assert len(set(found)) == 1 and ("rank 1" in found[0]), found
    assert begun[0] >= 3 * (TIMES - 2)


def test_out(begun: list[int]) -> None:
    x = np.arange(10, dtype=np.int32)

    def work(c: Any) -> Any:
        own = x[5 * c.rank : 5 * c.rank + 5]
        rooms = [np.empty(5, np.int32) for _ in range(TIMES)]
        for room in rooms:
            assert prism.dist.scan(own, comm=c, out=room) is room
        return prism.dist.scan(own, comm=c, out=np.empty(4 if c.rank else 5, np.int32)), rooms

    found = run(2, work, Queued)
    assert all("rank 1: `out` must have shape (5,)" in str(one) for one in found), found
    assert begun[0] >= 2 * (TIMES - 2)


def test_a_shard_is_not_kept(begun: list[int]) -> None:
    """What is known of a call holds no memory of the caller's."""
    import gc
    import weakref

    held = []

    def work(c: Any) -> None:
        x = np.ones(4)
        held.append(weakref.ref(x))
        for _ in range(TIMES):
            prism.dist.sum(x, comm=c)

    results(2, work, Queued)
    gc.collect()
    assert begun[0] and all(one() is None for one in held)


@pytest.mark.parametrize("kind", ["int32", "bool", "float16", "int64"])
def test_a_plan_that_tells_and_combines(kind: str) -> None:
    """What ranks that share memory say, read and combined in one step: rank 1 of two, which has all elements."""
    x = np.array([1], kind)
    task = task_of(operators.maximum, describe(x), None)[0]
    plan = messages.hearing(task, None, 2, (0, 2), task.identity(), 1, 40)
    said, boxes, call = np.zeros((2, messages.MESSAGE), np.uint8), np.zeros((2, 2, 40), np.uint64), 3
    said[1, 24], said[:, messages.HEAD :] = 5, 0
    said[1, messages.HEAD : messages.HEAD + x.itemsize] = x.view(np.uint8)
    boxes[1, 0, :24] = np.uint64(call << 32) | said[0].view("<u4").astype(np.uint64)
    arrays = {
        "said": said[1],
        "boxes": boxes.reshape(-1),
        "told": np.zeros(48, np.uint32),
        "heard": np.zeros(1, np.int64),
    }
    arrays |= {"over": np.zeros(1, np.uint64), "known": said[:, : messages.HEAD].flatten(), "y": np.zeros(1, kind)}
    arrays["answer"] = np.full(2, -1)
    given = {name: describe(one) for name, one in arrays.items()} | {"call": NumberInfo(call)}
    run_on_host(plan, given)
    assert arrays["heard"][0] == call and arrays["answer"][0] & 1 and arrays["y"][0] == x[0]
