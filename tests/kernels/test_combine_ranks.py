"""What ranks say, compared and combined on the reference machine: in the order of ranks, by any operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism import interpret
from prism.kernels.ranks import HEAD, MESSAGE, combine_ranks
from prism.lang import dtype, requires, template, thread
from prism.lib.thread import operators

RANDOM = np.random.default_rng(0)


@prism.device
@requires(thread[1])
@template(T=dtype)
def last(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    return b if b != 0 else a


def answer(
    lengths: list[int], values: Any, first: int, last: int, initial: Any = 0, *, changed: int = -1, reverse: bool = False,
    op: Any = operators.add, identity: Any = 0, lanes: int = 32,
) -> tuple[Any, bool, Any]:  # fmt: skip
    """Return the combination, whether ranks agree, and what the words say; one word is `changed`."""
    values = np.asarray(values)
    kind, size, bits = values.dtype.name, len(lengths), 8 * values.itemsize
    told = RANDOM.integers(0, 1 << 40, (size, MESSAGE)).astype(np.uint64)
    told[:, 3] = lengths
    told.view(values.dtype).reshape(size, -1)[:, HEAD * 8 // values.itemsize] = values
    known = told[:, :HEAD].flatten()
    if changed >= 0:
        known[changed] ^= np.uint64(1)
    shape = {"TI": kind, "T": kind, "TO": kind, "B": f"uint{bits}", "THREADS": lanes, "REVERSE": reverse}
    code = prism.check(combine_ranks, {**shape, "APART": MESSAGE * 8 // values.itemsize, "OP": op})
    y, words, room = np.zeros(1, values.dtype), np.full(2, -1), told.reshape(-1)
    elements = room.view(values.dtype)[HEAD * 8 // values.itemsize :]
    interpret.run(code, 1, lanes, (room, known, elements, y, words, size, first, last, identity, initial), check=True)
    agreed = bool(words[0] & 1)
    assert (room.reshape(size, MESSAGE)[:, :HEAD] == 0).all() == agreed
    assert (words >= 0).all()
    said = np.array([int(words[0]) >> 1 | int(words[1]) << 32], np.uint64).view(values.dtype)[0]
    np.testing.assert_array_equal(said, y[0])
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


@pytest.mark.parametrize("word", [0, 1, 2, 3, 6, 7, 8, 23])
def test_a_word_that_differs(word: int) -> None:
    assert not answer([1, 2, 3], np.zeros(3, np.int32), 0, 3, changed=word)[1]
