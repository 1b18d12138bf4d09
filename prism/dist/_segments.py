"""Segments of arrays whose shards lie on many ranks: one that begins on a rank may end on another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from prism import lib
from prism.dist._agree import Mine, Told, agree
from prism.dist._arrays import Post, bring, host_array, join, scalar_in
from prism.dist._engines import engine_of
from prism.dist._sort import line
from prism.dist._totals import combine, dtype_in_words, operator_in_words, wide_of
from prism.lib.operators import Operator, operator_of
from prism.runtime.arrays import ArrayInfo, describe


class _Kept(NamedTuple):
    info: ArrayInfo
    operator: Operator
    wide: np.dtype[Any] | None
    totals: Any


class _Edge(NamedTuple):
    """What a rank tells: how many segments begin there, the total of what is before them, if anything, and that of the last."""

    segments: int
    head: Any
    last: Any


def segmented_scan(x: Any, offsets: Any, op: str | Operator = "add", *, comm: Any) -> Any:
    """Return this rank's shard of the running combination of each segment of an array that lies on many ranks.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        This rank's shard, of one dimension; it may be empty.
    offsets : array of int32 or int64
        Where segments begin in this rank's shard, in rising order, from 0 up to its length; maybe none. A segment goes on, also
        on the ranks behind, until the next one begins. What is before the first of all is a segment, too.
    op : str or Operator, default "add"
        As of `prism.lib.segmented_scan`. It need not be commutative.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.

    Returns
    -------
    array
        As `x`.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.segmented_scan`, on all ranks, if it is raised on one, which is named; offsets are outside of the shard;
        `comm` is none that is known; ranks disagree.

    Examples
    --------
    >>> prism.dist.segmented_scan(np.array([3, 1, 4]), np.array([2]), comm=MPI.COMM_SELF)  # doctest: +SKIP
    array([3, 4, 4])
    """
    post = Post(engine_of(comm))
    told = _tell("segmented_scan", post, x, offsets, op)
    kept, first = told.kept, int(told.facts[post.rank, 2])
    found = lib.segmented_scan(x, offsets, op)
    before = _before(_edges(told), post.rank)
    if not first or not before:
        return found
    begin = combine(kept.operator, np.array(before), kept.info)
    kind = kept.info.dtype if kept.wide is None else kept.wide
    start = scalar_in(kept.info, begin, kind)
    start = np.full(1, start) if kept.info.library == "numpy" else start.reshape(1)
    head = found[:first]
    lib.evaluate(lib.lazy.cast(lib.lazy.map(kept.operator.function, start, head), head.dtype), out=head)
    return found


def segmented_reduce(x: Any, offsets: Any, op: str | Operator = "add", *, comm: Any) -> Any:
    """Return the combination of each segment that begins in this rank's shard of an array that lies on many ranks.

    Parameters, errors: as of `segmented_scan`. The result has an element for each of `offsets`; those of all ranks, in their
    order, are those of the whole array's segments. What is before the first segment of all is in none.
    """
    post = Post(engine_of(comm))
    told = _tell("segmented_reduce", post, x, offsets, op)
    kept, (size, segments, _, _) = told.kept, told.facts[post.rank].tolist()
    end = bring(kept.info, np.full(1, size, describe(offsets).dtype))
    found = lib.segmented_reduce(x, offsets, op, ends=join(kept.info, [offsets[1:], end]) if segments else offsets)
    edges = _edges(told)
    following = _after(edges, post.rank) if segments else []
    if following:
        whole = combine(kept.operator, np.array([edges[post.rank].last, *following]), kept.info)
        info = describe(found)
        found[-1] = (
            np.asarray(whole).astype(info.dtype) if info.library == "numpy" else scalar_in(info, whole, info.dtype)
        )
    return found


def _tell(name: str, post: Post, x: Any, offsets: Any, op: Any) -> Told:
    """Reduce what is before a shard's first segment, and the last one, and tell of them."""

    def work() -> Mine:
        info, starts, operator = line(post, x, "x"), line(post, offsets, "offsets"), operator_of(op)
        if starts.scalar not in ("int32", "int64"):
            raise TypeError(f"`offsets` must be of int32 or int64, not {starts.scalar}")
        lib.segmented_scan(x[:0], offsets[:0], op)  # which raises what is wrong
        first, last = info.size, info.size
        if starts.size:
            first, last = host_array(join(starts, [offsets[:1], offsets[-1:]])).tolist()
            if not 0 <= first <= last <= info.size:
                raise ValueError(f"`offsets` must rise from 0 to at most {info.size}, and go from {first} to {last}")
        wide = wide_of(info, None)
        bounds = [bring(info, np.array(ends, np.int64)) for ends in ((0, last), (first, info.size))]
        totals = lib.segmented_reduce(x, bounds[0], op, ends=bounds[1], dtype=wide)
        words = f"{name}({operator_in_words(operator)}, {dtype_in_words(info, None)}, offsets={starts.scalar})"
        return Mine(words, (info.size, starts.size, first), totals, _Kept(info, operator, wide, totals))

    return agree(post, work)


def _edges(told: Told) -> list[_Edge]:
    """Return what all ranks tell."""
    totals = told.values(describe(told.kept.totals).dtype, 2)
    rows = zip(told.facts.tolist(), totals, strict=True)
    return [_Edge(many, one[0] if first else None, one[1]) for (_, many, first, _), one in rows]


def _before(edges: list[_Edge], rank: int) -> list[Any]:
    """Return the totals of ranks before, in their order, that belong to the segment which a rank's shard begins in."""
    found: list[Any] = []
    for edge in reversed(edges[:rank]):
        if edge.segments:
            return [edge.last, *found]
        if edge.head is not None:
            found.insert(0, edge.head)
    return found


def _after(edges: list[_Edge], rank: int) -> list[Any]:
    """Return the totals of ranks behind, in their order, that belong to a rank's last segment."""
    found: list[Any] = []
    for edge in edges[rank + 1 :]:
        if edge.head is not None:
            found.append(edge.head)
        if edge.segments:
            break
    return found
