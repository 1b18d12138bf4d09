"""prism.dist's scans, by ranks that are threads: beside the library's of the whole array.

Tests of prism/dist: _scan, _agree, _totals, _arrays.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import prism
from prism.dist._agree import MESSAGE
from prism.lang import dtype, requires, template, thread
from prism.lib import Operator
from tests.dist.ranks import cut, results, run


@prism.device
@requires(thread[1])
@template(T=dtype)
def last(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    return b if b != 0 else a


FILL = Operator(last, identity=0)
HOWS: list[dict[str, Any]] = [
    {},
    {"exclusive": True, "initial": 3},
    {"reverse": True},
    {"op": "maximum", "exclusive": True},
]


@pytest.mark.parametrize("how", HOWS, ids=str)
@pytest.mark.parametrize("kind", ["int32", "float16", "uint8"])
def test_of_a_line(kind: str, how: dict[str, Any]) -> None:
    x = np.random.default_rng(0).integers(0, 4, 23).astype(kind)
    for lengths in ((9, 0, 14), (0, 0, 23), (23,)):
        shards = cut(x, lengths)
        given = results(len(lengths), lambda c, shards=shards: prism.dist.scan(shards[c.rank], comm=c, **how))
        wanted = prism.lib.scan(x, **how)
        np.testing.assert_array_equal(np.concatenate(given), wanted)
        assert all(one.dtype == wanted.dtype for one in given)


def test_of_bools_and_bfloat16() -> None:
    for x in (np.arange(9) % 4 == 3, np.arange(9).astype(ml_dtypes.bfloat16)):
        shards = cut(x, (4, 5))
        given = results(2, lambda c, shards=shards: prism.dist.scan(shards[c.rank], comm=c))
        np.testing.assert_array_equal(np.concatenate(given), prism.lib.scan(x))


@pytest.mark.filterwarnings("ignore:overflow encountered")  # as NumPy says of a product of floats
@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_what_is_no_number_and_what_is_too_large(op: str) -> None:
    """As on one GPU: NaN and infinities go on over all ranks behind, and integers wrap."""
    floats = np.array([1, 2, np.inf, 3, -np.inf, 5, np.nan, 4, 1], np.float32)
    for x in (floats, floats[:4], floats[4:6], np.full(9, 100, np.int8), np.arange(3, 12, dtype=np.uint8) * 9):
        lengths = (1, len(x) // 2 - 1, 0, len(x) - len(x) // 2)
        shards = cut(x, lengths)
        given = results(4, lambda c, s=shards: prism.dist.scan(s[c.rank], op, comm=c))
        np.testing.assert_array_equal(np.concatenate(given), prism.lib.scan(x, op))
        for total in results(4, lambda c, s=shards: prism.dist.reduce(s[c.rank], op, comm=c)):
            np.testing.assert_array_equal(total, prism.lib.reduce(x, op))


def test_halves_are_carried_in_float32() -> None:
    # 2048 ones and more: in float16 a sum would stay at 2048, since 2049 is none of its numbers.
    x = np.ones(4200, np.float16)
    shards = cut(x, (2047, 2, 51, 2100))
    given = np.concatenate(results(4, lambda c: prism.dist.scan(shards[c.rank], comm=c)))
    np.testing.assert_array_equal(given[2100:], np.arange(2101, 4201).astype(np.float16))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_of_rows(axis: int | None) -> None:
    x = np.random.default_rng(1).integers(0, 9, (12, 3), dtype=np.int32)
    along = 0 if axis is None else axis
    for how in ({}, {"exclusive": True}, {"reverse": True, "initial": 2}):
        shards = cut(x, (5, 0, 7) if along == 0 else (1, 0, 2), along)
        given = results(3, lambda c, s=shards, how=how: prism.dist.scan(s[c.rank], comm=c, axis=axis, **how))
        np.testing.assert_array_equal(np.concatenate(given, along), prism.lib.scan(x, axis=axis, **how))


def test_an_operator_whose_order_counts() -> None:
    x = np.array([0, 3, 0, 0, 5, 0, 0, 7, 0])
    shards = cut(x, (1, 3, 0, 2, 3))
    given = results(5, lambda c: prism.dist.scan(shards[c.rank], FILL, comm=c))
    np.testing.assert_array_equal(np.concatenate(given), [0, 3, 3, 3, 5, 5, 5, 7, 7])


def test_cumulative_functions_and_out() -> None:
    x = np.random.default_rng(2).integers(1, 4, 10, dtype=np.int8)
    shards = cut(x, (6, 4))
    for name in ("cumsum", "cumprod", "cummax", "cummin"):
        given = results(2, lambda c, name=name: getattr(prism.dist, name)(shards[c.rank], comm=c))
        wanted = getattr(prism.lib, name)(x)
        np.testing.assert_array_equal(np.concatenate(given), wanted)
        assert given[0].dtype == wanted.dtype
    results(2, lambda c: prism.dist.scan(shards[c.rank], comm=c, out=shards[c.rank]))
    np.testing.assert_array_equal(np.concatenate(shards), np.cumsum(x, dtype=np.int8))


def test_one_message_of_one_size() -> None:
    def sent(length: int) -> list[int]:
        found = run(4, lambda c: (prism.dist.scan(np.ones(length, np.int32), comm=c), c.world.sent[c.rank])[1])
        return list(found)

    assert sent(5) == sent(400) == [MESSAGE] * 4 and MESSAGE <= 96


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        (lambda c: (np.zeros(3, "i4"), {}), ValueError, "ranks disagree: rank 0 calls scan(op=add, dtype=float32"),
        (lambda c: (np.zeros(3, "f4"), {"op": "maximum"}), ValueError, "and rank 2 calls scan(op=maximum"),
        (lambda c: (np.zeros((3, 1), "f4"), {"axis": 1}), ValueError, "ranks disagree"),
        (lambda c: (np.zeros(3, "f4"), {"exclusive": True}), ValueError, "exclusive=True"),
        (lambda c: ("abc", {}), TypeError, "rank 2: `x` must be an array"),
        (lambda c: (np.zeros(3, "f4"), {"op": "foo"}), ValueError, "rank 2: `op` must be one of"),
        (lambda c: (np.float32(3), {}), ValueError, "rank 2: `x` must have an axis"),
        (lambda c: (np.zeros(3, "f4"), {"axis": 1}), ValueError, "rank 2: axis 1 is out of bounds"),
        (lambda c: (np.zeros(3, "f4"), {"out": np.zeros(2, "f4")}), ValueError, "rank 2: `out` must have shape (3,)"),
    ],
)
def test_the_same_error_on_all_ranks(wrong: Any, kind: type[Exception], text: str) -> None:
    """Whatever one rank does otherwise: none waits for a message that does not come."""

    def call(c: Any) -> Any:
        x, how = (np.zeros(3, "f4"), {}) if c.rank != 2 else wrong(c)
        return prism.dist.scan(x, comm=c, **how)

    found = run(4, call)
    assert all(type(one) is kind for one in found), found
    assert len({str(one) for one in found}) == 1 and text in str(found[0]), found[0]


def test_different_functions() -> None:
    found = run(2, lambda c: prism.dist.sum(np.ones(3), comm=c) if c.rank else prism.dist.scan(np.ones(3), comm=c))
    assert all("ranks disagree: rank 0 calls scan(" in str(one) for one in found)


def test_what_is_no_communicator() -> None:
    with pytest.raises(TypeError, match="`comm` must be a torch ProcessGroup, an mpi4py Comm"):
        prism.dist.scan(np.ones(3), comm=3)
    with pytest.raises(TypeError, match="must be an mpi4py Comm, not int"):
        prism.dist.cuda_aware(3)
