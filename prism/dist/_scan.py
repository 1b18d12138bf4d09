"""Scans of arrays whose shards lie on many ranks."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from prism import lib
from prism.dist._again import again_of, comes_again, keep, key_of, take
from prism.dist._agree import Mine, Told, agree
from prism.dist._arrays import Post, kind_of
from prism.dist._engines import engine_of
from prism.dist._reduce import shard
from prism.dist._totals import combine_span, dtype_in_words, operator_in_words, wide_of
from prism.host import memory
from prism.host.arguments import describe_result, require_shape
from prism.host.axes import normal_axis
from prism.lib import evaluate, lazy
from prism.lib import reduce as reduce_here
from prism.lib import scan as scan_here
from prism.lib.operators import Operator, operator_of
from prism.runtime.arrays import describe, is_array


def scan(
    x: Any,
    op: str | Operator = "add",
    *,
    comm: Any,
    axis: int | None = 0,
    exclusive: bool = False,
    reverse: bool = False,
    initial: Any = None,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    """Return this rank's shard of the running combination of an array that lies on many ranks: by default its cumulative sum.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        This rank's shard. The array is the shards of all ranks, in their order, one behind the other along `axis`; a shard may
        have any length there, or be empty. What `prism.lib.scan` takes.
    op : str or Operator, default "add"
        As of `prism.lib.scan`. It need not be commutative: elements are combined in their order.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.
    axis : int, optional, default 0
        The axis that is scanned, along which shards lie. None: all elements in C order.
    exclusive, reverse : bool, default False
        As of `prism.lib.scan`, for the whole array.
    initial : number, optional
        What the first element of the whole array is combined with, on its left.
    dtype : dtype, optional
        What to convert elements to, and to compute in.
    out : array, optional
        Where to put this rank's shard; it may be `x`.

    Returns
    -------
    array
        This rank's shard of the result, of `x`'s library, on its device, of its shape.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.scan`, on all ranks, if it is raised on one, which is named; `comm` is none that is known; ranks disagree
        in the operator, the dtype, the axis, the other extents or an option.

    Notes
    -----
    Called by all ranks. A shard is reduced, one element a rank is gathered, and the shard is scanned from what comes before it:
    two reads and one write, and one message of less than 512 bytes. Of rows (other axes longer than 1) a second message has one
    row a rank, and results are combined with it in a pass of its own. Calls wait for the first message. Sums of floats are
    grouped by shards: they are the same whenever shards are.

    Examples
    --------
    >>> prism.dist.scan(np.array([3, 1, 4]), comm=MPI.COMM_SELF)  # doctest: +SKIP
    array([3, 4, 8])
    """
    key = key_of(x, comm, "scan", op, axis, exclusive, reverse, initial, dtype)
    how = {"axis": axis, "exclusive": exclusive, "reverse": reverse, "dtype": dtype}
    again = take(key) if out is None or _fits(out, x, axis) else None
    if again is not None:
        begun = again.begin(x)
        room = again.room_like(x) if out is None and dtype is None and len(x.shape) == 1 else out  # while the GPU works
        bits = again.finish(begun)
        if bits is None:
            return _finish(again.post, again.judge(), key, out, initial, x, how)
        keep(key, again)
        return scan_here(x, op, initial=again.value(bits) if again.combined else initial, out=room, **how)
    post = Post(engine_of(comm))

    def work() -> Mine:
        info, operator = shard(post, x), operator_of(op)
        along = None if axis is None else normal_axis(axis, len(info.shape))
        rest = info.shape[:along] + info.shape[along + 1 :] if along is not None else ()
        line = along is None or all(extent == 1 for extent in rest)
        if out is not None:
            require_shape(describe_result(out, {"x": info}, {}), info.shape if along is not None else (info.size,))
        wide, empty = wide_of(info, dtype) or dtype, 0 in info.shape
        # Of no elements, what stands for them is read by nobody.
        given = memory.empty(info, tuple(max(1, n) for n in info.shape), info.dtype) if empty else x
        total = reduce_here(given, operator, axis=None if line else along, dtype=wide)
        words = f"scan({operator_in_words(operator)}, {dtype_in_words(info, dtype)}, axis={along}, rest={list(rest)}, "
        words += f"exclusive={bool(exclusive)}, reverse={bool(reverse)}, initial={initial!r})"
        length = info.size if along is None else info.shape[along]
        return Mine(words, (length,), total if line else b"", (info, operator, along, rest, line, total, wide))

    return _finish(post, agree(post, work), key, out, initial, x, how)


def _finish(post: Post, told: Told, key: Hashable | None, out: Any, initial: Any, x: Any, how: dict[str, Any]) -> Any:
    """Scan a shard, when all ranks have said how they call, and what their shards come to."""
    info, operator, along, rest, line, total, wide = told.kept
    span = (post.size, post.rank + 1) if how["reverse"] else (0, post.rank)
    passed = slice(*sorted(span))
    having = np.array(told.lengths)[passed] > 0
    how = {**how, "out": out}
    if line:
        if comes_again(key, told):
            keep(key, again_of(
                post, told, total, operator, span, initial, lambda x, place: reduce_here(x, operator, dtype=wide, out=place)
            ))  # fmt: skip
        elements = told.values(kind_of(total))[passed]
        if how["reverse"]:
            elements, having = elements[::-1], having[::-1]
        return scan_here(x, operator, initial=combine_span(operator, elements, having, info, initial), **how)
    found = scan_here(x, operator, initial=None if having.any() else initial, **how)
    totals = post.all_gather(info, total, tuple(total.shape), describe(total).dtype)
    if not having.any() or not info.size:
        return found
    order = np.flatnonzero(having) + passed.start
    before = (order[::-1] if how["reverse"] else order).tolist()
    first = reduce_here(totals[before], operator, axis=0, initial=initial)
    shape = (*rest[:along], 1, *rest[along:])
    return evaluate(lazy.cast(lazy.map(operator.function, first.reshape(shape), found), found.dtype), out=found)


def _fits(out: Any, x: Any, axis: Any) -> bool:
    """Whether the result of a shard, of which there is an earlier call, may go to `out`."""
    try:
        info = describe(x)
        require_shape(describe_result(out, {"x": info}, {}), info.shape if axis is not None else (info.size,))
    except (TypeError, ValueError):
        return False  # which is told on all ranks
    return True


def cumsum(a: Any, axis: int | None = 0, dtype: Any = None, out: Any = None, *, comm: Any) -> Any:
    """Return this rank's shard of the cumulative sum of an array that lies on many ranks.

    Parameters, errors: as of `scan`; the dtype of the result is that of `prism.lib.cumsum`: of small integers
    64 bits.
    """
    return _cumulative("cumsum", "add", a, axis, dtype, out, comm)


def cumprod(a: Any, axis: int | None = 0, dtype: Any = None, out: Any = None, *, comm: Any) -> Any:
    """Return this rank's shard of the cumulative product of an array that lies on many ranks.

    Parameters, errors: as of `scan`; the dtype of the result is that of `prism.lib.cumprod`.
    """
    return _cumulative("cumprod", "multiply", a, axis, dtype, out, comm)


def cummax(a: Any, axis: int | None = 0, dtype: Any = None, out: Any = None, *, comm: Any) -> Any:
    """Return this rank's shard of the running maximum of an array that lies on many ranks. Parameters, errors: as of `scan`."""
    return _cumulative("cummax", "maximum", a, axis, dtype, out, comm)


def cummin(a: Any, axis: int | None = 0, dtype: Any = None, out: Any = None, *, comm: Any) -> Any:
    """Return this rank's shard of the running minimum of an array that lies on many ranks. Parameters, errors: as of `scan`."""
    return _cumulative("cummin", "minimum", a, axis, dtype, out, comm)


def _cumulative(name: str, op: str, a: Any, axis: int | None, dtype: Any, out: Any, comm: Any) -> Any:
    """Scan, in the dtype that the library's function of that name has."""
    if dtype is None and is_array(a):
        info = describe(a)
        dtype = describe(getattr(lib, name)(memory.empty(info, 0, info.dtype))).dtype
        dtype = None if dtype == info.dtype else dtype
    return scan(a, op, comm=comm, axis=axis, dtype=dtype, out=out)
