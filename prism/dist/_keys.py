"""Runs of equal keys of arrays whose shards lie on many ranks: a run may begin on one rank and end on another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from prism import lib
from prism.dist._agree import Mine, Told, agree
from prism.dist._arrays import Post, host_array, scalar_in
from prism.dist._engines import engine_of
from prism.dist._reduce import shard
from prism.dist._sort import line
from prism.dist._totals import combine, dtype_in_words, operator_in_words, wide_of
from prism.lib.operators import Operator, operator_of
from prism.runtime.arrays import ArrayInfo, describe


class Edge(NamedTuple):
    """What a rank tells of its runs: how many there are, and of the first and the last their keys and totals."""

    runs: int
    keys: np.ndarray[Any, Any]
    totals: np.ndarray[Any, Any]


def reduce_by_key(keys: Any, values: Any, op: str | Operator = "add", *, comm: Any) -> tuple[Any, Any]:
    """Return the runs of equal keys that begin in this rank's shard, and the combination of each run's values.

    Parameters
    ----------
    keys, values : arrays of NumPy, CuPy or torch
        This rank's shards, of one dimension and of one length; they may be empty. Elements of up to 8 bytes.
    op : str or Operator, default "add"
        As of `prism.lib.reduce_by_key`. It need not be commutative.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.

    Returns
    -------
    pair of arrays
        The keys, one of each run, and the totals. Those of all ranks, in their order, are `prism.lib.reduce_by_key` of the whole.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.reduce_by_key`, on all ranks, if it is raised on one, which is named; `comm` is none that is known; ranks
        disagree; an element is longer than 8 bytes.

    Notes
    -----
    One message of less than 512 bytes: each rank tells of its first and its last run.
    """
    post = Post(engine_of(comm))
    told, kept = _tell("reduce_by_key", post, keys, values, op)
    info, operator, heads, totals = kept
    edges = _edges(told, heads, totals)
    begin = int(bool(_before(edges, post.rank)))  # whether the first run began on a rank before
    if edges[post.rank].runs > begin:
        following = [edges[post.rank].totals[1], *_after(edges, post.rank)]
        if len(following) > 1:
            whole = combine(operator, np.array(following), info)
            totals[-1] = (
                whole if info.library == "numpy" else scalar_in(describe(totals), whole, describe(totals).dtype)
            )
    return heads[begin:], totals[begin:]


def scan_by_key(keys: Any, values: Any, op: str | Operator = "add", *, comm: Any) -> Any:
    """Return this rank's shard of the running combination of values within each run of equal keys.

    Parameters, errors: as of `reduce_by_key`. The result is of `values`' dtype; those of all ranks, in their order, are
    `prism.lib.scan_by_key` of the whole.
    """
    post = Post(engine_of(comm))
    told, kept = _tell("scan_by_key", post, keys, values, op)
    info, operator, heads, totals = kept
    edges = _edges(told, heads, totals)
    found = lib.scan_by_key(keys, values, op)
    before = _before(edges, post.rank)
    if not before:
        return found
    # The first run goes on from ranks before: how long it is here, the first other key says.
    many = describe(keys).size
    first = int(lib.argmax(lib.lazy.map(lambda a, b: a != b, keys, keys[:1]))) if edges[post.rank].runs > 1 else many
    begin = combine(operator, np.array(before), info)
    rest = scalar_in(describe(values), begin, describe(totals).dtype)
    rest = np.full(1, rest) if info.library == "numpy" else rest.reshape(1)
    lib.evaluate(lib.lazy.cast(lib.lazy.map(operator.function, rest, found[:first]), found.dtype), out=found[:first])
    return found


def _tell(name: str, post: Post, keys: Any, values: Any, op: Any) -> tuple[Told, tuple[ArrayInfo, Operator, Any, Any]]:
    """Reduce a shard's runs, and tell of the first and the last."""

    def work() -> Mine:
        info, given, operator = line(post, keys, "keys"), shard(post, values, "values"), operator_of(op)
        if max(info.dtype.itemsize, given.dtype.itemsize) > 8:
            raise ValueError("`keys` and `values` must have elements of up to 8 bytes")
        wide = wide_of(given, None)
        heads, totals = lib.reduce_by_key(keys, values, op, dtype=wide)
        words = f"{name}({dtype_in_words(info, None)}, values={given.scalar}, {operator_in_words(operator)})"
        runs = int(heads.shape[0])
        ends = b""
        if runs:
            places = [0, runs - 1]
            ends = b"".join(
                host_array(one[k : k + 1]).tobytes().ljust(8, b"\0") for one in (heads, totals) for k in places
            )
        return Mine(words, (runs,), ends, (info, operator, heads, totals))

    told = agree(post, work)
    return told, told.kept


def _edges(told: Told, heads: Any, totals: Any) -> list[Edge]:
    """Return what all ranks tell."""
    kinds = describe(heads).dtype, describe(totals).dtype
    room = told.elements.reshape(-1, 2, 2, 8)
    parts = [room[:, k, :, : kind.itemsize].copy().view(kind)[..., 0] for k, kind in enumerate(kinds)]
    return [Edge(runs, parts[0][rank], parts[1][rank]) for rank, runs in enumerate(told.lengths)]


def _before(edges: list[Edge], rank: int) -> list[Any]:
    """Return the totals of those ranks before, in their order, that have a part of the run that begins a rank's shard."""
    found: list[Any] = []
    if not edges[rank].runs:
        return found
    for edge in reversed(edges[:rank]):
        if edge.runs and edge.keys[1] != edges[rank].keys[0]:
            break
        if edge.runs:
            found.insert(0, edge.totals[1])
        if edge.runs > 1:
            break
    return found


def _after(edges: list[Edge], rank: int) -> list[Any]:
    """Return the totals of those ranks behind, in their order, that have a part of the run that ends a rank's shard."""
    found: list[Any] = []
    for edge in edges[rank + 1 :]:
        if edge.runs and edge.keys[0] != edges[rank].keys[1]:
            break
        if edge.runs:
            found.append(edge.totals[0])
        if edge.runs > 1:
            break
    return found
