"""Sorts, the first elements, medians and sets of arrays whose shards lie on many ranks."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from prism import lib
from prism.dist._again import Again, agreed_again, comes_again, keep, key_of, take
from prism.dist._agree import Mine, Told, agree
from prism.dist._arrays import Post, bring, host_array, join, kind_of
from prism.dist._engines import engine_of
from prism.dist._exchange import exchange, move_to, split_by_sample
from prism.dist._merge import (
    bytes_for,
    cut_runs,
    is_moved,
    is_short,
    merge_by_windows,
    merge_runs,
    position_kind,
    positions,
    sort_beside,
    sort_by_gathers,
    widen,
)  # fmt: skip
from prism.dist._reduce import shard
from prism.dist._totals import dtype_in_words
from prism.dist._windows import windows_of
from prism.host import memory
from prism.runtime.arrays import ArrayInfo, describe

SHARDS = ("ragged", "even", "same")
_known: set[str] = set()
"""Calls, in words, that were made: their arrays can be sorted."""
_SORT = """Return this rank's shard of {what}.

    Parameters
    ----------
    {name} : array of NumPy, CuPy or torch
        This rank's shard, of one dimension; it may be empty.{more}
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.
    descending : bool, default False
        The largest first; equal elements stay in their order.
    shards : str, default "ragged"
        Which lengths the result's shards have: "ragged", what the sample gives: about the same on each rank; "even": as many on
        each, up to one; "same": those of the arguments. The last two cost a second exchange.

    Returns
    -------
    {returns}

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.{function}`, on all ranks, if it is raised on one, which is named; `comm` is none that is known; ranks
        disagree; the array has other than one dimension; `shards` is none of the three.

    Notes
    -----
    Stable: elements that compare equal stay in the order of ranks, and as they lay. A shard is sorted, samples of all shards give
    each rank's limits, every element is sent once, and what comes, a sorted run of each rank, is merged; of more than 16 ranks
    it is sorted. Equal elements are divided among ranks.
    """


def sort(a: Any, *, comm: Any, descending: bool = False, shards: str = "ragged") -> Any:
    return _sorted("sort", a, (), comm, descending, shards)[0]


def sort_by_key(
    keys: Any, values: Any, *, comm: Any, descending: bool = False, shards: str = "ragged"
) -> tuple[Any, Any]:
    found = _sorted("sort_by_key", keys, (values,), comm, descending, shards, "keys")
    return found[0], found[1]


def argsort(a: Any, *, comm: Any, descending: bool = False, shards: str = "ragged") -> Any:
    return _sorted("argsort", a, None, comm, descending, shards)[1]


sort.__doc__ = _SORT.format(
    what="a sorted copy of an array that lies on many ranks", name="a", more="", function="sort",
    returns="array\n        Sorted. Those of all ranks, in their order, are the whole.",
)  # fmt: skip
sort_by_key.__doc__ = _SORT.format(
    what="keys in rising order, and of their values, of arrays that lie on many ranks", name="keys", function="sort_by_key",
    more="\n    values : array\n        What belongs to each key: rows, as many as `keys` has elements.",
    returns="pair of arrays\n        Keys and values.",
)  # fmt: skip
argsort.__doc__ = _SORT.format(
    what="the positions that sort an array that lies on many ranks", name="a", more="", function="argsort",
    returns="array of int64\n        Positions in the whole array.",
)  # fmt: skip


def _sorted(name: str, a: Any, values: Any, comm: Any, descending: bool, shards: str, keyed: str = "a") -> list[Any]:
    """Return the shard of the sorted keys, and of what goes along; None: their positions go along."""
    key = None if values else key_of(a, comm, name, descending, shards)
    if (again := take(key)) is not None and (early := _begin_again(again, a, descending)) is not None:
        if again.finish(again.begin()) is None:  # other positions, it may be: what is sorted is not used
            return _finish(again.post, again.judge(), None, a, values, descending, shards)
        keep(key, again)
        return _finish(again.post, again.told, early[0], a, values, descending, shards, placed=True)
    post, found = Post(engine_of(comm)), None

    def work() -> Mine:
        nonlocal found
        info = line(post, a, keyed)
        if shards not in SHARDS:
            raise ValueError(f"`shards` must be one of {', '.join(SHARDS)}, not {shards!r}")
        kinds = []
        for one in values or ():
            given = shard(post, one, "values")
            if given.shape[0] != info.size:
                raise ValueError(f"`values` must have {info.size} rows, as many as `keys`, not {given.shape[0]}")
            kinds.append(f"{given.scalar} {list(given.shape[1:])}")
        words = f"{name}({dtype_in_words(info, None)}, values={kinds}, descending={bool(descending)}, shards={shards})"
        beside = (positions(0, info.size, [info.size] * post.size),) if values is None else values
        windows = windows_of(post, comm, info)
        moved = windows is not None and len(beside) <= 1 and all(map(is_moved, beside))
        found = _begin(moved, info, a, beside, descending)
        if found is None and words not in _known:
            sort_beside(a[:0], [lib.lazy.arange(0)] if values is None else [one[:0] for one in values], descending)
            _known.add(words)  # nothing is wrong with such arrays
        return Mine(words, (info.size, int(moved)), b"", (info, beside, windows))

    told = agree(post, work)
    if _opened(told, values) and comes_again(key, told):
        kept = told if values is not None else told._replace(kept=_placed(post, told))
        keep(key, agreed_again(post, kept))
    return _finish(post, told, found, a, values, descending, shards)


def _opened(told: Told, values: Any) -> bool:
    """Whether elements go by windows, which are opened for that: called by all ranks, and the same on all."""
    _, _, windows = told.kept
    lengths = told.lengths
    if not told.facts[:, 1].all():
        return False
    if values is None and len({position_kind(one, len(lengths)) for one in lengths}) > 1:
        return False  # positions that are sorted already are not of one dtype on all
    return bool(windows.open(bytes_for(lengths, _dtypes_of(told, values))))


def _dtypes_of(told: Told, values: Any) -> list[np.dtype[Any]]:
    """Return the dtypes of keys and of what goes along, the same on all ranks."""
    info, beside, _ = told.kept
    return [
        info.dtype,
        *([position_kind(max(told.lengths), len(told.lengths))] if values is None else map(kind_of, beside)),
    ]


def _placed(post: Post, told: Told) -> tuple[Any, ...]:
    """Return what is kept of a call, with a shard's positions in the whole."""
    info, _, windows = told.kept
    return info, (positions(sum(told.lengths[: post.rank]), info.size, told.lengths),), windows


def _begin_again(again: Again, a: Any, descending: bool) -> tuple[list[Any] | None] | None:
    """Return what is sorted already of a call that comes again; None where its windows are not as they were."""
    info, beside, windows = again.told.kept
    if not windows.is_open(bytes_for(again.told.lengths, [info.dtype, *map(kind_of, beside)])):
        return None
    try:
        return (_begin(True, info, a, beside, descending),)
    except Exception:  # which all ranks are told, as in a first call
        return None


def _begin(moved: bool, like: ArrayInfo, a: Any, beside: Sequence[Any], descending: bool) -> list[Any] | None:
    """Return what is long, sorted before all have agreed; `moved`: it goes to others by windows."""
    if not moved or is_short([like.size], [like.dtype, *map(kind_of, beside)]):  # else all together are long, too
        return None
    return sort_beside(a, beside, descending)


def _finish(
    post: Post, told: Told, found: list[Any] | None, a: Any, values: Any, descending: bool, shards: str, placed: bool = False
) -> list[Any]:  # fmt: skip
    """Do what `_sorted` does, when all have said how they call; what is `found` is sorted already.

    `placed`: positions that went along are those in the whole.
    """
    info, beside, windows = told.kept
    lengths, opened = told.lengths, _opened(told, values)
    before = sum(lengths[: post.rank])
    if values is None:
        kind = position_kind(max(lengths), post.size)
        beside = _placed(post, told)[1]
        if position_kind(info.size, post.size) != kind:
            found = None
    if found is None and opened and is_short(lengths, _dtypes_of(told, values)):
        return sort_by_gathers(post, info, windows, lengths, descending, shards == "same", a, values)
    keys, *along = sort_beside(a, beside, descending) if found is None else found
    if values is None and found is not None and before and not placed:
        lib.evaluate(lib.lazy.map(lambda place, start: place + start, along[0], kind.type(before)), out=along[0])
    if post.size > 1:
        if opened:
            keys, *along = merge_by_windows(post, info, windows, lengths, descending, values is None, keys, *along)
        else:
            rows = split_by_sample(post, info, keys, lengths, descending)
            parts, arrays = exchange(post, info, rows, keys, *along)
            keys, *along = merge_runs(info, cut_runs(parts, arrays), descending)
        if shards != "ragged":
            have = post.lengths(int(keys.shape[0]))
            want = lengths if shards == "same" else even(sum(lengths), post.size)
            keys, *along = move_to(post, info, have, want, keys, *along)
    return [keys, *(map(widen, along) if values is None else along)]


def even(count: int, size: int) -> list[int]:
    """Return the lengths of as many shards, which differ by one at most."""
    return [count * (rank + 1) // size - count * rank // size for rank in range(size)]


def line(post: Post, x: Any, name: str) -> ArrayInfo:
    """Return the facts of a shard of one dimension. Raises TypeError, ValueError."""
    info = shard(post, x, name)
    if len(info.shape) != 1:
        raise ValueError(f"`{name}` must have one dimension, not {len(info.shape)}")
    return info


def top_k(x: Any, k: int, *, comm: Any, largest: bool = True) -> tuple[Any, Any]:
    """Return the `k` largest elements of an array that lies on many ranks, the largest first, and their positions in it.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        This rank's shard, of one dimension; it may be empty.
    k : int
        How many, at most as many as the whole array has.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.
    largest : bool, default True
        False: the smallest, the smallest first.

    Returns
    -------
    pair of arrays
        Values, and positions as int64; of equal elements the first come first. The same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.top_k`, on all ranks, if it is raised on one; the whole array has fewer elements; ranks disagree.

    Notes
    -----
    Each rank sends its own `k` first elements, of which all take the first.
    """
    post = Post(engine_of(comm))

    def work() -> Mine:
        info, many = line(post, x, "x"), operator.index(k)
        if many < 0:
            raise ValueError(f"`k` must not be negative, and is {many}")
        values, spots = lib.top_k(x, min(many, info.size), largest=largest)
        words = f"top_k({dtype_in_words(info, None)}, k={many}, largest={bool(largest)})"
        return Mine(words, (info.size,), b"", (info, many, values, spots))

    told = agree(post, work)
    info, many, values, spots = told.kept
    lengths = told.lengths
    if many > sum(lengths):
        raise ValueError(f"`k` is {many}, and the whole array has {sum(lengths)} elements")
    counts = [min(many, n) for n in lengths]
    taken = []
    for one in (values, spots + int(sum(lengths[: post.rank]))):
        room = memory.empty(info, max(counts), describe(one).dtype)
        room[: counts[post.rank]] = one
        taken.append(post.all_gather(info, room, tuple(room.shape), describe(one).dtype))
    values, spots = (join(info, [rows[rank][:count] for rank, count in enumerate(counts)]) for rows in taken)
    # What a rank sends is by value, and then by position: equal elements of all ranks stand in the order of positions.
    found, at = lib.top_k(values, many, largest=largest)
    return found, lib.take(spots, at)


def unique(ar: Any, return_counts: bool = False, *, comm: Any) -> Any:
    """Return this rank's shard of the different elements of an array that lies on many ranks, in rising order.

    Parameters
    ----------
    ar : array of NumPy, CuPy or torch
        This rank's shard, of one dimension; it may be empty.
    return_counts : bool, default False
        Also how often each occurs in the whole array.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.

    Returns
    -------
    array, or pair of arrays
        Those of all ranks, in their order, are `prism.lib.unique` of the whole array; NaN occurs once.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.unique`, on all ranks, if it is raised on one; `comm` is none that is known; ranks disagree.

    Notes
    -----
    Each rank sends what is different among its own elements, each to the one rank that gets all that are equal.
    """
    post = Post(engine_of(comm))

    def work() -> Mine:
        info = line(post, ar, "ar")
        values, counts = lib.unique(ar, return_counts=True)
        words = f"unique({dtype_in_words(info, None)}, return_counts={bool(return_counts)})"
        return Mine(words, (int(values.shape[0]),), b"", (info, values, counts))

    told = agree(post, work)
    info, values, counts = told.kept
    if post.size > 1:
        rows = split_by_sample(post, info, values, told.lengths, False, together=True)
        _, (values, counts) = exchange(post, info, rows, values, counts)
        values, index, inverse = lib.unique(values, return_index=True, return_inverse=True)
        counts = lib.bincount(inverse, counts, int(values.shape[0])) if values.shape[0] else counts
        counts = lib.evaluate(lib.lazy.cast(counts, np.int64))
    return (values, counts) if return_counts else values


def kthvalue(x: Any, k: int, *, comm: Any) -> Any:
    """Return the `k`-th smallest element of an array that lies on many ranks, from 1; the same on all ranks.

    NaN is larger than any number. Parameters and errors: as of `top_k`; `k` is from 1 to the number of all elements.
    """
    found = _at(x, "x", f"kthvalue, k={operator.index(k)}", comm, lambda whole: [operator.index(k) - 1])
    if found is None:
        raise ValueError(f"`k` must be from 1 to the number of all elements, and is {k}")
    return found[0][0]


def median(a: Any, *, comm: Any) -> Any:
    """Return the median of an array that lies on many ranks; the same on all ranks.

    Parameters and errors: as of `top_k`. The mean of the two in the middle, of an even number of elements; NaN, if there is one
    or there are no elements, as by `numpy.median`.
    """
    found = _at(a, "a", "median", comm, lambda whole: [(whole - 1) // 2, whole // 2, whole - 1])
    if found is None:
        return lib.median(a)
    middle, numbers = found
    return lib.median(middle[:2] if numbers[2] == numbers[2] else middle)


def _at(
    x: Any, name: str, words: str, comm: Any, places: Callable[[int], list[int]]
) -> tuple[Any, np.ndarray[Any, Any]] | None:
    """Return elements at places of the sorted whole, in the library of `x` and on the host; None where there is no such place."""
    post = Post(engine_of(comm))
    ordered = _sorted(words, x, (), comm, False, "ragged", name)[0]
    info, have = describe(ordered), post.lengths(int(ordered.shape[0]))
    wanted, ends = places(sum(have)), np.cumsum([0, *have])
    if not all(0 <= place < ends[-1] for place in wanted):
        return None
    begin, end = int(ends[post.rank]), int(ends[post.rank + 1])
    size = info.dtype.itemsize
    own = b"".join(
        host_array(ordered[place - begin : place - begin + 1]).tobytes() if begin <= place < end else bytes(size)
        for place in wanted
    )
    told = post.tell(own).reshape(post.size, len(wanted), size)
    owners = np.searchsorted(ends, wanted, "right") - 1
    numbers = told[owners, np.arange(len(wanted))].reshape(-1).view(info.dtype)
    return bring(info, numbers), numbers
