"""Scans of arrays whose shards lie on many ranks."""

from __future__ import annotations

from typing import Any

from prism import lib
from prism.dist._agree import Mine, agree
from prism.dist._arrays import Post, kind_of
from prism.dist._engines import engine_of
from prism.dist._reduce import shard
from prism.dist._totals import combine, dtype_in_words, operator_in_words, wide_of
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
        return Mine(words, (length,), total if line else b"", (info, operator, along, rest, line, total))

    told = agree(post, work)
    info, operator, along, rest, line, total = told.kept
    passed = range(post.rank + 1, post.size)[::-1] if reverse else range(post.rank)
    lengths = told.lengths
    before = [rank for rank in passed if lengths[rank]]
    how = {"axis": along, "exclusive": exclusive, "reverse": reverse, "dtype": dtype, "out": out}
    if line:
        kind = kind_of(total)
        return scan_here(x, operator, initial=combine(operator, told.values(kind)[before], info, initial), **how)
    found = scan_here(x, operator, initial=None if before else initial, **how)
    totals = post.all_gather(info, total, tuple(total.shape), describe(total).dtype)
    if not before or not info.size:
        return found
    first = reduce_here(totals[before], operator, axis=0, initial=initial)
    shape = (*rest[:along], 1, *rest[along:])
    return evaluate(lazy.cast(lazy.map(operator.function, first.reshape(shape), found), found.dtype), out=found)


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
