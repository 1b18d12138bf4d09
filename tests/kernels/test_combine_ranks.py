"""What ranks say, compared and combined on the reference machine: in the order of ranks, by any operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.kernels.ranks import HEAD, MESSAGE, combine_ranks, hear_ranks
from prism.lang import dtype, requires, template, thread
from prism.lib.thread import operators

RANDOM = np.random.default_rng(0)


@prism.device
@requires(thread[1])
@template(T=dtype)
def last(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    return b if b != 0 else a


def template_of(kind: str, op: Any, lanes: int, reverse: bool) -> dict[str, Any]:
    bits = f"uint{8 * np.dtype(kind).itemsize}"
    shape = {"TI": kind, "T": kind, "TO": kind, "B": bits, "BI": bits, "OP": op}
    return {**shape, "THREADS": lanes, "LANES": min(lanes, 32), "REVERSE": reverse}


def messages(lengths: list[int], values: Any) -> Any:
    """Return what ranks say: a row of words for each."""
    told = RANDOM.integers(0, 1 << 32, (len(lengths), MESSAGE)).astype(np.uint32)
    told[:, 6], told[:, 7] = lengths, 0
    told.view(values.dtype)[:, HEAD * 4 // values.itemsize] = values
    return told


def number(words: Any, kind: Any) -> Any:
    """Return the number that an answer says."""
    return np.array([int(words[0]) >> 1 | int(words[1]) << 32], np.uint64).view(kind)[0]


def answer(
    lengths: list[int], values: Any, first: int, last: int, initial: Any = 0, *, changed: int = -1, reverse: bool = False,
    op: Any = operators.add, identity: Any = 0, lanes: int = 32,
) -> tuple[Any, bool, Any]:  # fmt: skip
    """Return the combination, whether ranks agree, and what the words say; one word is `changed`."""
    values = np.asarray(values)
    size, told = len(lengths), messages(lengths, values)
    known = told[:, :HEAD].flatten()
    if changed >= 0:
        known[changed] ^= np.uint32(1)
    code = prism.check(combine_ranks, template_of(values.dtype.name, op, lanes, reverse))
    y, words, room = np.zeros(1, values.dtype), np.full(2, -1), told.reshape(-1)
    interpret.run(code, 1, lanes, (room, known, y, words, size, first, last, identity, initial), check=True)
    agreed = bool(words[0] & 1)
    assert (room.reshape(size, MESSAGE)[:, :HEAD] == 0).all() == agreed
    assert (words >= 0).all()
    np.testing.assert_array_equal(number(words, values.dtype), y[0])
    return y[0], agreed, words


@pytest.mark.parametrize("kind", ["int32", "uint8", "int64", "float32", "float64"])
def test_sums(kind: str) -> None:
    values = RANDOM.integers(-9 if kind[0] != "u" else 0, 9, 5).astype(kind)
    for lengths in ([1, 2, 3, 4, 5], [0, 2, 0, 4, 0], [0] * 5):
        some = np.array(lengths) > 0
        for first, last_ in ((0, 5), (0, 0), (0, 3), (2, 5)):
            found, agreed, _ = answer(lengths, values, first, last_, 7)
            assert agreed and found == 7 + values[first:last_][some[first:last_]].sum()


def test_the_order_of_ranks() -> None:
    values = np.array([3, 0, 5, 0, 7, 0], np.int32)
    assert answer([1] * 6, values, 0, 4, 2, op=last)[0] == 5
    assert answer([1] * 6, values, 0, 6, 2, op=last, reverse=True)[0] == 3
    assert answer([0, 1, 1, 1, 1, 1], values, 0, 6, 2, op=last, reverse=True)[0] == 5
    assert answer([1, 0, 0, 0, 0, 0], values, 1, 6, 2, op=last)[0] == 2


def test_more_ranks_than_lanes() -> None:
    values = RANDOM.integers(0, 3, 100).astype(np.int32)
    lengths = RANDOM.integers(0, 2, 100).tolist()
    having = values[np.array(lengths) > 0]
    found, agreed, _ = answer(lengths, values, 0, 100, 0, op=last)
    assert agreed and found == having[having != 0][-1]


@pytest.mark.parametrize("word", [0, 1, 2, 3, 6, 7, 15, 16, 47])
def test_a_word_that_differs(word: int) -> None:
    assert not answer([1, 2, 3], np.zeros(3, np.int32), 0, 3, changed=word)[1]


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("kind", ["int32", "float64", "float16"])
@pytest.mark.parametrize("said", ["known", "other", "missing"])
def test_what_is_heard(said: str, kind: str, lanes: int) -> None:
    """Rank 1 tells its message and hears those of others, in one kernel with what combines them."""
    values = np.array([3, 4, 5]).astype(kind)
    told, boxes, call, room = messages([1, 1, 1], values), np.zeros((2, 3, 40), np.uint64), 7, 40
    known = told[:, :HEAD].flatten()
    for rank in (0, 2):
        boxes[1, rank, :MESSAGE] = np.uint64(call << 32) | told[rank].astype(np.uint64)
    boxes[1, 2, 5] ^= np.uint64({"known": 0, "other": 1, "missing": 1 << 33}[said])
    code = prism.check(hear_ranks, template_of(kind, operators.add, lanes, False))
    heard, over, y, words = np.full(1, -1), np.full(1, said == "missing", np.uint64), np.zeros(1, kind), np.full(2, -1)
    came = np.zeros(3 * MESSAGE, np.uint32)
    numbers = 1, 3, room, call, 0, 3, np.zeros((), kind)[()], np.ones((), kind)[()]
    interpret.run(
        code, 1, lanes, (told[1].copy(), boxes.reshape(-1), came, heard, over, known, y, words, *numbers), check=True
    )
    np.testing.assert_array_equal(boxes[1, 1, :MESSAGE] & np.uint64(0xFFFFFFFF), told[1])
    assert heard[0] == (0 if said == "missing" else call) and bool(words[0] & 1) == (said == "known")
    if said == "known":
        assert y[0] == 13 == number(words, y.dtype)
        np.testing.assert_array_equal(came.reshape(3, MESSAGE), told)
