"""The first elements of an order, along an axis: `top_k`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import repeat
from prism.host.arguments import require_integer, require_pair
from prism.host.axes import normal_axis
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Machine
from prism.lib.algorithms.scan.api import past
from prism.lib.algorithms.topk.calls import copy_to, flat_axis, rows_along
from prism.lib.algorithms.topk.many import top_rows
from prism.lib.algorithms.topk.plan import INDICES, Task, is_ordered
from prism.runtime.arrays import ArrayInfo

_MOST = (1 << 31) - (
    1 << 20
)  # elements of a run that is merged are counted in 32 bits, and so are those of the blocks around it


def top_k(
    x: Any,
    k: int,
    *,
    axis: Any = -1,
    largest: bool = True,
    sorted: bool = True,
    mode: str | None = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the `k` largest elements along an axis, or the smallest, in their order, and their positions.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape and strides; of bool, an integer type or a float type of 16 bits or more.
    k : int
        How many, from 0 to the size of the axis.
    axis : int or None, default -1
        Along which axis; None: `x` is taken in C order, as one axis.
    largest : bool, default True
        The largest elements; else the smallest.
    sorted : bool, default True
        Accepted, as NumPy and torch have it. The result is in order either way.
    mode : {"largest", "smallest"}, optional
        The same as `largest`, as NumPy 2.6 and the array API call it.
    out : pair of arrays, optional
        Where to put the values and the positions, by copies: of their shapes and dtypes, with any strides.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    values, indices : array
        Of the shape of `x`, but `k` along the axis: the elements, of the dtype of `x`, and their positions along the axis, int64.
        `out`, if given.

    Raises
    ------
    TypeError
        `x` is no array, or of a dtype without an order; `k` is no integer; `out` is no pair of arrays of these dtypes.
    ValueError
        `k` is negative, or larger than the axis; `mode` is another; `out` has other shapes; `stream` for arrays on the host.
        Of an axis that `x` does not have: `numpy.exceptions.AxisError`.

    Notes
    -----
    The same result in every run. Of equal elements the one at the lower position comes first, and is taken first; -0.0 equals
    0.0. NaN stands last, as in NumPy's `top_k` and `sort`, whatever its sign and whether the largest or the smallest are asked
    for: it is in the result only where there are fewer than `k` numbers. (torch's `topk` takes NaN for the largest.)

    Each element is read from memory once, where `k` is at most 4096, or of 8 bytes 2048: some elements say a bound that hardly
    more than `k` come before, and what does is kept, and sorted; by a block for each row, or, of rows of 2^19 elements and
    more, by all of them. Of more elements the last one is found first, as by `prism.lib.kthvalue`, and what comes before it is
    sorted in parts, which are merged. Nothing waits for the host.

    Examples
    --------
    >>> prism.lib.top_k(np.array([3, 1, 4, 1, 5]), 2)
    (array([5, 4]), array([4, 2]))
    >>> prism.lib.top_k(np.array([[3, 1], [1, 5]]), 1, axis=0, largest=False)
    (array([[1, 1]]), array([[1, 0]]))
    """
    return _top_k("top_k", x, k, axis, largest, mode, out, stream)


def topk(
    x: Any,
    k: int,
    *,
    axis: Any = -1,
    largest: bool = True,
    sorted: bool = True,
    mode: str | None = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return the `k` largest elements along an axis, or the smallest: `prism.lib.top_k`, as torch calls it.

    Examples
    --------
    >>> prism.lib.topk(np.array([3, 1, 4, 1, 5]), 2)
    (array([5, 4]), array([4, 2]))
    """
    return _top_k("topk", x, k, axis, largest, mode, out, stream)


def _top_k(name: str, x: Any, k: Any, axis: Any, largest: bool, mode: str | None, out: Any, stream: Any) -> Any:
    if mode is not None:
        if mode not in ("largest", "smallest"):
            raise ValueError(f"`mode` must be 'largest' or 'smallest', not {mode!r}")
        largest = mode == "largest"
    require_pair(out)
    asked = (name, require_integer(k, "k", bools=False), axis, type(axis), bool(largest))
    if stream is None and out is None and (known := repeat.run(asked, x)) is not None:
        return known
    return _top_k_anew(asked, name, x, axis, largest, out, stream)


def _top_k_anew(asked: tuple[Any, ...], name: str, x: Any, axis: Any, largest: bool, out: Any, stream: Any) -> Any:
    """Do what `_top_k` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        if not is_ordered(given.scalar):
            raise TypeError(f"`x` has dtype {given.dtype}, whose elements have no order here")
        shape, along = (given.shape, normal_axis(axis, len(given.shape))) if axis is not None else flat_axis(given)
        _require_room(asked[1], shape[along], along)
        results = Result((*shape[:along], asked[1], *shape[along + 1 :]), given.dtype.newbyteorder("="))
        positions = Result(results.shape, np.dtype(np.int64))
        if 0 in results.shape:
            return Decision((results, positions), (OUT, INDICES))
        if (view := rows_along(given, shape, along, machine)) is None:
            return Decision(copied=("x",))
        behind = int(np.prod(shape[along + 1 :], dtype=np.int64))
        plan = top_rows(Task(given.scalar, bool(largest)), view, behind, asked[1], max(past(given), 0), machine)
        return Decision((results, positions), (OUT, INDICES), plan)

    found = call(name, asked, {"x": x}, decide, None, stream)
    return found if out is None else copy_to(name, found, tuple(out), stream)


def _require_room(k: int, n: int, along: int) -> None:
    """Check how many elements are asked for, of so many."""
    if not 0 <= k <= n:
        raise ValueError(f"`k` must be between 0 and {n}, the size of axis {along}, not {k}")
    if k >= _MOST:
        raise ValueError(f"`k` must be less than {_MOST}, not {k}")


__all__ = ["top_k", "topk"]
