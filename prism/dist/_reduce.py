"""Reductions of arrays whose shards lie on many ranks: combined in the order of ranks, with the same bits on each of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from prism import lib
from prism.dist._again import again_of, comes_again, keep, key_of, take
from prism.dist._agree import Mine, Told, agree
from prism.dist._arrays import Post, kind_of, scalar_in
from prism.dist._engines import engine_of
from prism.dist._totals import combine_apart, combine_span, dtype_in_words, operator_in_words, wide_of
from prism.host import memory
from prism.host.arguments import dtype_of, facts_of
from prism.host.axes import normal_axes
from prism.lib import operators
from prism.lib.operators import Operator, operator_of
from prism.runtime.arrays import ArrayInfo

F = TypeVar("F", bound=Callable[..., Any])

_NAMED = """Return the {what} of an array that lies on many ranks, of all elements or along axes; the same on each of them.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch
        This rank's shard: the array is the shards of all ranks, in their order, one behind the other along axis 0; a shard may
        be empty.
    axis : int or tuple of int, optional
        What to reduce; all axes by default. Without axis 0 nothing is combined: the result is this rank's shard.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.
    keepdims : bool, default False
        Leave the reduced axes in the result, of extent 1.{more}

    Returns
    -------
    array or scalar
        As of `prism.lib.{name}`.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.{name}`, on all ranks, if it is raised on one, which is named; `comm` is none that is known; ranks disagree.
    """
_MORE = {
    "initial": "initial : number, optional\n        What to combine with each result, on the left; the result of no elements.",
    "dtype": "dtype : dtype, optional\n        As of `prism.lib.{name}`.",
}


def document(what: str, *more: str) -> Callable[[F], F]:
    """Give a function the documentation of a reduction: what it returns, and which parameters it has besides."""

    def decorate(function: F) -> F:
        name = function.__name__
        texts = "".join("\n    " + _MORE[one].format(name=name) for one in more)
        function.__doc__ = _NAMED.format(what=what, name=name, more=texts)
        return function

    return decorate


def reduce(
    x: Any,
    op: str | Operator = "add",
    *,
    comm: Any,
    axis: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    dtype: Any = None,
) -> Any:
    """Return the combination of the elements of an array that lies on many ranks, all of them or along axes.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        This rank's shard: the array is the shards of all ranks, in their order, one behind the other along axis 0; a shard may
        be empty.
    op : str or Operator, default "add"
        As of `prism.lib.reduce`. It need not be commutative: elements are combined in their order.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.
    axis : int or tuple of int, optional
        What to reduce; all axes by default. Without axis 0 nothing is combined: the result is this rank's shard.
    keepdims : bool, default False
        Leave the reduced axes in the result, of extent 1.
    initial : number, optional
        What to combine with each result, on the left.
    dtype : dtype, optional
        What to convert elements to, to compute in, and the result's.

    Returns
    -------
    array or scalar
        As of `prism.lib.reduce`; the same bits on all ranks, and in each run with the same shards.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.reduce`, on all ranks, if it is raised on one, which is named; `comm` is none that is known; ranks disagree
        in the operator, the dtype, the axes, the other extents or an option.

    Examples
    --------
    >>> prism.dist.reduce(np.array([3, 1, 4]), "maximum", comm=MPI.COMM_SELF)  # doctest: +SKIP
    4
    """

    return _reduce("reduce", op, x, comm, axis, keepdims, initial, dtype)


@document("sum", "initial", "dtype")
def sum(a: Any, axis: Any = None, dtype: Any = None, *, comm: Any, keepdims: bool = False, initial: Any = None) -> Any:
    return _reduce("sum", operators.add, a, comm, axis, keepdims, initial, dtype)


@document("product", "initial", "dtype")
def prod(a: Any, axis: Any = None, dtype: Any = None, *, comm: Any, keepdims: bool = False, initial: Any = None) -> Any:
    return _reduce("prod", operators.multiply, a, comm, axis, keepdims, initial, dtype)


@document("largest element", "initial")
def max(a: Any, axis: Any = None, *, comm: Any, keepdims: bool = False, initial: Any = None) -> Any:
    return _reduce("max", operators.maximum, a, comm, axis, keepdims, initial)


@document("smallest element", "initial")
def min(a: Any, axis: Any = None, *, comm: Any, keepdims: bool = False, initial: Any = None) -> Any:
    return _reduce("min", operators.minimum, a, comm, axis, keepdims, initial)


@document("truth of any element")
def any(a: Any, axis: Any = None, *, comm: Any, keepdims: bool = False) -> Any:
    return _reduce("any", operators.maximum, a, comm, axis, keepdims)


@document("truth of all elements")
def all(a: Any, axis: Any = None, *, comm: Any, keepdims: bool = False) -> Any:
    return _reduce("all", operators.minimum, a, comm, axis, keepdims)


@document("number of elements that are not zero")
def count_nonzero(a: Any, axis: Any = None, *, comm: Any, keepdims: bool = False) -> Any:
    return _reduce("count_nonzero", operators.add, a, comm, axis, keepdims)


def _reduce(
    name: str, op: Any, x: Any, comm: Any, axis: Any, keepdims: bool, initial: Any = None, dtype: Any = None
) -> Any:
    """Reduce a shard, and combine what the ranks have."""
    function, fixed = getattr(lib, name), {"op": op} if name == "reduce" else {}
    key = key_of(x, comm, name, fixed.get("op"), axis, keepdims, initial, dtype)
    if (again := take(key)) is not None:
        made, place = again.room()
        if again.finish(again.begin(x, made, place)) is None:
            return _finish(again.post, again.judge(), key, x, fixed, function, axis, keepdims, initial, dtype)
        keep(key, again)
        return made[()] if again.like.library == "numpy" else made
    post = Post(engine_of(comm))

    def work() -> Mine:
        info, operator = shard(post, x), operator_of(op)
        axes, wide = normal_axes(axis, len(info.shape)), wide_of(info, dtype)
        words = f"{name}({operator_in_words(operator)}, {dtype_in_words(info, dtype)}, axis={axes}, "
        words += f"rest={list(info.shape[1:])}, keepdims={bool(keepdims)}, initial={initial!r})"
        how = {"axis": axes, "keepdims": keepdims, **fixed}
        if name in ("reduce", "sum", "prod") and (wide is not None or dtype is not None):
            how["dtype"] = wide if wide is not None else dtype
        # Of no rows, what stands for them is read by nobody; it has the result's shape and dtype.
        rows = x if info.shape[0] else memory.empty(info, (1, *info.shape[1:]), info.dtype)
        mine = function(rows, **how) if 0 in axes else None
        element = b"" if mine is None or mine.shape else mine
        return Mine(words, (info.shape[0],), element, (info, operator, axes, wide, mine, how))

    return _finish(post, agree(post, work), key, x, fixed, function, axis, keepdims, initial, dtype)


def _finish(
    post: Post, told: Told, key: Hashable | None, x: Any, fixed: dict[str, Any], function: Any, axis: Any, keepdims: bool,
    initial: Any, dtype: Any,
) -> Any:  # fmt: skip
    """Combine what the ranks have, when all have said how they call."""
    info, operator, axes, wide, mine, how = told.kept
    name = function.__name__
    having = [rank for rank, rows in enumerate(told.lengths) if rows]
    halved = wide is not None and name in ("reduce", "sum", "prod")
    if 0 not in axes or not having:
        given = {"initial": initial, "dtype": dtype}
        return function(x, axis=axes, keepdims=keepdims, **fixed, **{k: v for k, v in given.items() if v is not None})
    if mine.shape:
        found = combine_apart(post, info, operator, mine, having, initial)
    else:
        result = (info.dtype if dtype is None else dtype_of(dtype)) if halved else None
        if comes_again(key, told):
            work = functools.partial(function, **how)
            span = (0, post.size)
            keep(key, again_of(post, told, mine, operator, span, initial, lambda x, place: work(x, out=place), result))
        some = np.array(told.lengths) > 0
        found = combine_span(operator, told.values(kind_of(mine)), some, info, initial)
        found = scalar_in(info, found, facts_of(mine, name).dtype)
    return lib.evaluate(lib.lazy.cast(found, info.dtype if dtype is None else dtype)) if halved else found


def shard(post: Post, x: Any, name: str = "x") -> ArrayInfo:
    """Return the facts of a shard, which has an axis to lie along, where the engine reaches.

    Raises:
        TypeError: it is no array, or where the engine does not reach.
        ValueError: it has no axis.
    """
    info = facts_of(x, name)
    post.require_reach(info)
    if not info.shape:
        raise ValueError(f"`{name}` must have an axis, along which shards lie")
    return info
