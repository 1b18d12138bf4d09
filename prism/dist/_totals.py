"""One element a rank: how it travels, and how those of several ranks are combined in their order."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from prism import lib
from prism.dist._arrays import Post, bring, scalar_of
from prism.host.arguments import dtype_of
from prism.host.memory import empty
from prism.lib import operators
from prism.lib.algorithms.reduce.messages import LANES
from prism.lib.operators import Operator
from prism.runtime.arrays import BFLOAT16, ArrayInfo, describe

_SHORT = 1 << 16  # bytes of all ranks' arrays
_ON_NUMBERS = {
    operators.add: np.add,
    operators.multiply: np.multiply,
    operators.minimum: np.minimum,
    operators.maximum: np.maximum,
    operators.bitwise_and: np.bitwise_and,
    operators.bitwise_or: np.bitwise_or,
    operators.bitwise_xor: np.bitwise_xor,
}


def wide_of(info: ArrayInfo, asked: Any) -> np.dtype[Any] | None:
    """Return what parts are computed in, where that is not the result's dtype: float32, of floats of 16 bits."""
    result = info.dtype if asked is None else dtype_of(asked)
    return np.dtype(np.float32) if result == BFLOAT16 or result == np.float16 else None


def combine(operator: Operator, elements: np.ndarray[Any, Any], like: ArrayInfo, initial: Any = None) -> Any:
    """Return the combination of elements in their order, `initial` on the left; None where there is nothing to combine.

    Of an operator of the user's by the library, where `like` is.
    """
    if not len(elements):
        return initial
    function = _ON_NUMBERS.get(operator)
    if function is None:
        return scalar_of(lib.reduce(bring(like, elements), operator, initial=initial))[()]
    with np.errstate(all="ignore"):
        found = function.reduce(elements, dtype=elements.dtype)
        return found if initial is None else function(np.asarray(initial).astype(elements.dtype), found)


def combine_span(
    operator: Operator,
    elements: np.ndarray[Any, Any],
    having: np.ndarray[Any, Any],
    like: ArrayInfo,
    initial: Any = None,
) -> Any:
    """Return what `combine` does of the elements of those ranks that are `having` one.

    Floats are grouped as by the kernel that does so on a GPU (`prism.kernels.ranks`): a call made again has the same bits.
    """
    function = _ON_NUMBERS.get(operator)
    if function is None or elements.dtype.kind != "f" or not having.any():
        return combine(operator, elements[having], like, initial)
    identity = operator.identity_of(elements.dtype)
    each = -(-len(elements) // LANES)
    lanes = np.full(LANES * each, identity)
    lanes[: len(elements)] = np.where(having, elements, identity)
    with np.errstate(all="ignore"):
        found = functools.reduce(function, lanes.reshape(LANES, each).T)
        while len(found) > 1:
            found = function(found[::2], found[1::2])
        return function(identity if initial is None else np.asarray(initial).astype(elements.dtype), found[0])


def combine_apart(
    post: Post, like: ArrayInfo, operator: Operator, mine: Any, having: Sequence[int], initial: Any
) -> Any:
    """Return the combination, element by element, of an array of each of the ranks `having` one, in their order.

    Each rank combines a share of the elements, and all gather the shares: twice the array is sent and held, however many ranks.
    What is short is gathered from all at once.
    """
    info = describe(mine)
    if info.size * info.dtype.itemsize * post.size <= _SHORT:
        rows = post.all_gather(like, mine, info.shape, info.dtype, wait=False)
        found = lib.reduce(rows if len(having) == post.size else rows[list(having)], operator, axis=0, initial=initial)
        post.settle()
        return found
    size, share = info.size, -(-info.size // post.size)
    flat = mine.reshape(-1)
    rows = [max(0, min(size, (rank + 1) * share) - rank * share) for rank in range(post.size)]
    own = rows[post.rank]
    parts = post.all_to_all(like, flat, rows, [own] * post.size).reshape(post.size, own)
    picked = parts if len(having) == post.size else parts[list(having)]
    room = empty(like, share, info.dtype)
    if own:
        room[:own] = lib.reduce(picked, operator, axis=0, initial=initial)
    return post.all_gather(like, room, (share,), info.dtype).reshape(-1)[:size].reshape(info.shape)


@functools.lru_cache(maxsize=1024)
def operator_in_words(operator: Operator) -> str:
    """Return what an operator is, the same on all ranks of one program."""
    if operator in _ON_NUMBERS:
        return f"op={operator.name}"
    text = inspect.getsource(operator.function.python) + repr(
        operator.identity if not callable(operator.identity) else ""
    )
    return f"op={operator.name}:{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def dtype_in_words(info: ArrayInfo, asked: Any) -> str:
    """Return an array's dtype, and which one is asked for."""
    return f"dtype={info.scalar}" + ("" if asked is None else f" to {dtype_of(asked)}")
