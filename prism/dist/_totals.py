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
from prism.lib.operators import Operator
from prism.runtime.arrays import BFLOAT16, ArrayInfo, describe

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


def combine_apart(
    post: Post, like: ArrayInfo, operator: Operator, mine: Any, having: Sequence[int], initial: Any
) -> Any:
    """Return the combination, element by element, of an array of each of the ranks `having` one, in their order.

    Each rank combines a share of the elements, and all gather the shares: twice the array is sent and held, however many ranks.
    """
    info = describe(mine)
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
