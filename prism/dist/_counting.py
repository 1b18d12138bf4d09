"""Histograms of arrays whose shards lie on many ranks: the same on each of them."""

from __future__ import annotations

import builtins
import hashlib
from typing import Any

import numpy as np

from prism import lib
from prism.dist._again import comes_again, counted_again, keep, key_of, take
from prism.dist._agree import Mine, agree
from prism.dist._arrays import Post, scalar_of
from prism.dist._engines import engine_of
from prism.dist._reduce import shard
from prism.dist._totals import combine_apart, dtype_in_words
from prism.lib import operators
from prism.runtime.arrays import ArrayInfo, is_array


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, comm: Any) -> Any:
    """Return how often each integer from 0 occurs in an array that lies on many ranks, or the sum of its weights.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        This rank's shard, of one dimension, of integers from 0; it may be empty.
    weights : array, optional
        What each element counts, of `x`'s shape: on all ranks or none.
    minlength : int, default 0
        The least length of the result.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.

    Returns
    -------
    array
        As of `prism.lib.bincount`, of the whole array; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.bincount`, on all ranks, if it is raised on one; `comm` is none that is known; ranks disagree.
    """
    post = Post(engine_of(comm))

    def work() -> Mine:
        info = shard(post, x)
        words = f"bincount({dtype_in_words(info, None)}, weights={weights is not None}, minlength={minlength})"
        counts = lib.bincount(x, weights, minlength)
        return Mine(words, (int(counts.shape[0]), info.size), b"", (info, counts))

    told = agree(post, work)
    info, counts = told.kept
    length = max(told.lengths)
    counts = counts if counts.shape[0] == length else lib.bincount(x, weights, length)
    if weights is not None and not info.size and told.facts[:, 1].any():
        counts = lib.evaluate(lib.lazy.cast(counts, np.float64))  # NumPy's counts of nothing are integers
    return combine_apart(post, info, operators.add, counts, range(post.size), None) if length else counts


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None, *, comm: Any
) -> tuple[Any, Any]:
    """Return how many elements of an array that lies on many ranks are in each bin, and the bins' edges.

    Parameters
    ----------
    a : array of NumPy, CuPy or torch
        This rank's shard; it may be empty.
    bins : int or array, default 10
        How many bins of equal width, or their edges.
    range : pair of numbers, optional
        Where bins of equal width begin and end; by default at the whole array's smallest and largest element.
    density : bool, optional
        Divide by the whole sum and the widths.
    weights : array, optional
        What each element counts, of `a`'s shape: on all ranks or none.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.

    Returns
    -------
    pair of arrays
        As of `prism.lib.histogram`, of the whole array; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.histogram`, on all ranks, if it is raised on one; `comm` is none that is known; ranks disagree.
    """
    looked_for = range is None and isinstance(bins, int | np.integer)
    key = (
        None
        if looked_for or weights is not None or is_array(bins)
        else key_of(a, comm, "histogram", bins, range, density)
    )
    if (again := take(key)) is not None:
        begun = None if again.bins else again.begin()
        found = lib.histogram(a, bins, range)  # before the host waits
        total = again.count(found[0]) if again.bins else None
        if total is None and (begun is None or again.finish(begun) is None):
            again.judge()
        else:
            keep(key, again)
        return _of_all(again.post, again.like, *found, density, total)
    post = Post(engine_of(comm))

    def work() -> Mine:
        info = shard(post, a, "a")
        words = f"histogram({dtype_in_words(info, None)}, bins={_in_words(bins)}, range={range!r}, "
        words += f"weights={weights is not None}, density={bool(density)})"
        both = b""
        if looked_for and info.size:
            both = b"".join(scalar_of(found).tobytes() for found in lib.minmax(a))
        return Mine(words, (info.size,), both, (info,))

    told = agree(post, work)
    info, within = told.kept[0], range
    if looked_for and any(told.lengths):
        ends = told.values(info.dtype, 2)[told.facts[:, 0] > 0]
        within = (ends.min(), ends.max())  # of the dtype: edges are computed in it, as without shards
    found = lib.histogram(a, bins, within, None, weights)
    if comes_again(key, told):
        keep(key, counted_again(post, told, found[0]))
    return _of_all(post, info, *found, density)


def _of_all(
    post: Post, like: ArrayInfo, counts: Any, edges: Any, density: bool | None, total: Any = None
) -> tuple[Any, Any]:
    """Return the counts of all ranks, by what each has, unless they are known, and the edges."""
    counts = (
        combine_apart(post, like, operators.add, counts, list(builtins.range(post.size)), None)
        if total is None
        else total
    )
    if density:
        widths = edges[1:] - edges[:-1]
        return counts / widths / counts.sum(), edges
    return counts, edges


def _in_words(bins: Any) -> str:
    """Return what bins are, as ranks must have them in common."""
    if isinstance(bins, int | np.integer):
        return str(int(bins))
    text = scalar_of(bins).tobytes() if is_array(bins) else repr(bins).encode()
    return f"{len(bins)} edges, {hashlib.sha256(text).hexdigest()[:8]}"
