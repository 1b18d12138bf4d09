"""Positions in arrays whose shards lie on many ranks, as of the whole array: of extremes, and of what is not zero."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from prism import lib
from prism.dist._again import agreed_again, comes_again, keep, key_of, take
from prism.dist._agree import Mine, Told, agree
from prism.dist._arrays import Post, scalar_in, scalar_of
from prism.dist._engines import engine_of
from prism.dist._exchange import move_to
from prism.dist._reduce import document, shard
from prism.dist._sort import even, line
from prism.dist._totals import dtype_in_words, wide_of
from prism.host import memory
from prism.host.axes import normal_axis
from prism.runtime.arrays import describe


@document("position, in the whole array, of the first largest element")
def argmax(a: Any, axis: int | None = None, *, comm: Any, keepdims: bool = False) -> Any:
    return _extreme("argmax", a, comm, axis, keepdims)


@document("position, in the whole array, of the first smallest element")
def argmin(a: Any, axis: int | None = None, *, comm: Any, keepdims: bool = False) -> Any:
    return _extreme("argmin", a, comm, axis, keepdims)


def _extreme(name: str, a: Any, comm: Any, axis: int | None, keepdims: bool) -> Any:
    """Find the extreme of a shard, and the first among the ranks'; NaN counts as the extreme, as NumPy has it."""
    post, function = Post(engine_of(comm)), getattr(lib, name)

    def work() -> Mine:
        info = shard(post, a, "a")
        along = None if axis is None else normal_axis(axis, len(info.shape))
        words = f"{name}({dtype_in_words(info, None)}, axis={along}, rest={list(info.shape[1:])}, keepdims={bool(keepdims)})"
        size = info.size if along is None else info.shape[0]
        rows = a if size else memory.empty(info, (1, *(max(1, n) for n in info.shape[1:])), info.dtype)
        if along not in (None, 0):
            return Mine(words, (size,), b"", (info, along, None, None))
        at = function(rows, axis=along, keepdims=along is not None)
        wide = wide_of(info, None)
        if along is None:
            place = int(at)
            value = rows.reshape(-1)[place : place + 1]
        else:
            value = lib.take_along_axis(rows, at, 0)
        value = value if wide is None else lib.evaluate(lib.lazy.cast(value, wide))
        element = scalar_of(value.reshape(())).tobytes() if along is None else b""
        return Mine(words, (size, int(at) if along is None else 0), element, (info, along, at, value))

    told = agree(post, work)
    info, along, at, value = told.kept
    having = [rank for rank, size in enumerate(told.lengths) if size]
    if along not in (None, 0) or not having:
        return function(a, axis=axis, keepdims=keepdims)
    starts = np.cumsum([0, *told.lengths])
    if along is None:
        best = having[int(getattr(np, name)(told.values(describe(value).dtype)[having]))]
        found = scalar_in(info, int(starts[best] + told.facts[best, 1]), np.dtype(np.int64))
        return found.reshape((1,) * len(info.shape)) if keepdims else found
    rest = tuple(value.shape)
    values = post.all_gather(info, value, rest, describe(value).dtype)[having]
    spots = post.all_gather(info, at + int(starts[post.rank]), rest, np.dtype(np.int64))[having]
    found = lib.take_along_axis(spots, function(values, axis=0, keepdims=True), 0)[0]
    return found if keepdims else found[0]


def flatnonzero(x: Any, *, comm: Any) -> Any:
    """Return the positions, in the whole array, of this rank's elements that are not zero.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        This rank's shard: the array is the shards of all ranks, in their order, one behind the other along axis 0.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.

    Returns
    -------
    array of int64
        In rising order. Those of all ranks, in their order, are `numpy.flatnonzero` of the whole array.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.flatnonzero`, on all ranks, if it is raised on one; `comm` is none that is known; ranks disagree.
    """
    key = key_of(x, comm, "flatnonzero")
    if (again := take(key)) is not None:
        info, rest = again.told.kept
        begun = again.begin()  # while the positions are looked for as they were among the ranks then
        found = _positions_from(x, _before(again.told, again.post.rank, rest))
        if again.finish(begun) is not None:
            keep(key, again)
            return found
        told = again.judge()
        return _positions_from(x, _before(told, again.post.rank, rest))
    post = Post(engine_of(comm))

    def work() -> Mine:
        info = shard(post, x)
        lib.flatnonzero(x[:0])  # which raises what is wrong
        words = f"flatnonzero({dtype_in_words(info, None)}, rest={list(info.shape[1:])})"
        return Mine(words, (info.shape[0],), b"", (info, info.shape[1:]))

    told = agree(post, work)
    if comes_again(key, told):
        keep(key, agreed_again(post, told))
    return _positions_from(x, _before(told, post.rank, told.kept[1]))


def _before(told: Told, rank: int, rest: tuple[int, ...]) -> int:
    """Return how many elements are before a rank's, of rows of such extents."""
    return sum(told.lengths[:rank]) * math.prod(rest)


def _positions_from(x: Any, first: int) -> Any:
    """Return the positions of elements that are not zero, of which the first has one."""
    if not first:
        return lib.flatnonzero(x)
    return lib.select(_places(first, first + math.prod(x.shape)), x if len(x.shape) == 1 else x.reshape(-1))


@functools.lru_cache(maxsize=64)
def _places(first: int, end: int) -> Any:
    """Return the positions from the first one on, as a lazy array, which is described once."""
    return lib.lazy.arange(first, end)


def nonzero(x: Any, *, comm: Any) -> Any:
    """Return the indices, in the whole array, of this rank's elements that are not zero: an array for each axis.

    Parameters, errors: as of `flatnonzero`. Those of all ranks, in their order, are `numpy.nonzero` of the whole array.
    """
    post = Post(engine_of(comm))

    def work() -> Mine:
        info = shard(post, x)
        words = f"nonzero({dtype_in_words(info, None)}, rest={list(info.shape[1:])})"
        return Mine(words, (info.shape[0],), b"", lib.nonzero(x))

    told = agree(post, work)
    found = told.kept
    found[0][...] += sum(told.lengths[: post.rank])
    return found


def select(x: Any, condition: Any, *, comm: Any, shards: str = "ragged") -> Any:
    """Return this rank's shard of the elements of an array that a mask, or a function of them, says to keep.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        This rank's shard, of one dimension; it may be empty.
    condition : array, lazy array, device function or lambda
        As of `prism.lib.select`, for this rank's shard.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.
    shards : str, default "ragged"
        "ragged": what is kept of a shard stays on its rank, and no element is sent; "even": each rank has as many, up to one.

    Returns
    -------
    array
        Those of all ranks, in their order, are `prism.lib.select` of the whole array.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.select`, on all ranks, if it is raised on one; `shards` is none of the two; `comm` is none that is known;
        ranks disagree.
    """
    made: list[Any] = []
    key = key_of(x, comm, "select") if isinstance(shards, str) and shards == "ragged" else None
    if (again := take(key)) is not None:
        try:
            made.append(lib.select(x, condition))
        except Exception:  # which all ranks are told, as in a first call
            again = None
        if again is not None:
            if again.finish(again.begin()) is None:
                again.judge()
            else:
                keep(key, again)
            return made[0]
    post = Post(engine_of(comm))

    def work() -> Mine:
        info = line(post, x, "x")
        if shards not in ("ragged", "even"):
            raise ValueError(f"`shards` must be ragged or even, not {shards!r}")
        made.append(lib.select(x, condition))
        words = f"select({dtype_in_words(info, None)}, shards={shards})"
        many = int(made[0].shape[0]) if shards == "even" else 0
        return Mine(words, (many,), b"", (info,))

    told = agree(post, work)
    info, found = told.kept[0], made[0]
    if comes_again(key, told):
        keep(key, agreed_again(post, told))
    if shards == "even":
        have = told.lengths
        (found,) = move_to(post, info, have, even(sum(have), post.size), found)
    return found
