"""Arithmetic on lazy arrays of one type, which is put together at once, beside that of any: prism/lib/lazy/expressions.py."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism.lib import evaluate, lazy
from prism.lib.lazy import array

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.lt, operator.ge,
    operator.eq, operator.and_, operator.or_,
]  # fmt: skip
KINDS = ("bool", "uint8", "int32", "int64", "float32", "complex64")


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a lazy array is, or the kind of error."""
    try:
        found = call()
    except (TypeError, OverflowError) as error:
        return type(error)
    return found.value, found.scalar, found.dtype, found.shape, found.numbers, [leaf.pointer for leaf in found.leaves]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_the_general_way_makes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_x, of_y = lazy.of(np.arange(5).astype(kind)), lazy.of(np.ones(5, kind))
    pairs = [
        (of_x, of_y),
        (of_x, of_x),
        (of_x, 3),
        (3, of_x),
        (of_x, True),
        (of_x, 1.5),
        (of_x + of_y, of_x * of_y),
        (of_x, -1),
    ]
    pairs += [(of_x == of_y, of_y == of_x), (of_x + 1, of_y + 1), (of_x + of_y, of_x)]
    calls = [lambda op=op, a=a, b=b: op(a, b) for op in OPERATORS for a, b in pairs]
    at_once = [outcome(call) for call in calls]
    monkeypatch.setattr(array, "_arithmetic_at_once", lambda *_: None)
    assert at_once == [outcome(call) for call in calls]


def test_memory_that_is_the_same_is_read_once() -> None:
    x, y = np.arange(4.0), np.ones(4)
    found = (lazy.of(x) + lazy.of(y)) * (lazy.of(y) - lazy.of(x)) + 2 * lazy.of(x)
    assert len(found.leaves) == 2
    assert evaluate(found).tolist() == ((x + y) * (y - x) + 2 * x).tolist()


def test_arrays_of_two_types_take_the_general_way() -> None:
    assert array._arithmetic_at_once("+", lazy.of(np.arange(3)), lazy.of(np.arange(3.0))) is None
    assert array._arithmetic_at_once("+", lazy.of(np.arange(3)), lazy.of(np.arange(1))) is None
    assert array._arithmetic_at_once("//", lazy.of(np.arange(3)), 2) is None
    assert array._arithmetic_at_once("+", lazy.of(np.arange(3)), 1.5) is None
    with pytest.raises(OverflowError):
        lazy.of(np.arange(3, dtype=np.uint8)) + 300
