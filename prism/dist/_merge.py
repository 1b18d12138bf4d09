"""Sorted shards of the ranks of one host, merged while they are read: each rank's part comes in pieces, one after the other.

All of the way to where shards are cut is queued behind their sorts: samples of a shard, a message with those of all, the cuts of
this rank's shard, a message with those of all. The host waits once, for that.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from prism import lib
from prism.dist._arrays import Post, host_array, join
from prism.dist._aside import Aside
from prism.dist._exchange import samples_of
from prism.host.lazies import NumberInfo
from prism.host.machine import Ready, run_on_host
from prism.host.memory import empty
from prism.host.plan import Plan
from prism.lib.algorithms.merge import shards as plans
from prism.lib.algorithms.merge.api import merge_by_key_into
from prism.lib.algorithms.merge.order import kind_of
from prism.runtime.arrays import ArrayInfo, describe
from prism.runtime.streams import current_stream

_MERGED = 16
"""Runs that are merged; more are sorted."""
_ALIGNED = 256  # bytes
_SAMPLES, _OF_A_PIECE = 1024, 16
"""Samples of all ranks together, and of each piece, at least."""
_PIECE, _PIECES = 32 << 20, 8
"""Bytes that come of other ranks for a piece at least, and the most pieces of a rank: the merge of the last one hides nothing."""
_UNITS = 4
"""Parts of a piece that the last ones are made of."""
_SHORT = 1 << 26
"""Bytes of all ranks together that each of them sorts."""
_SPARE = 32
"""The part of a share that room is taken for besides it: shares differ by less, as they are cut by samples of all."""
_NARROW = 1 << 32
"""Elements whose positions travel in 4 bytes."""
_BYTES, _WIDE = np.dtype(np.uint8), np.dtype(np.int64)


def places(many: int, dtypes: Sequence[np.dtype[Any]]) -> list[int]:
    """Return where arrays of so many elements begin in a window, in bytes, and where the last one ends."""
    found = [0]
    for dtype in dtypes:
        found.append(-(-(found[-1] + many * dtype.itemsize) // _ALIGNED) * _ALIGNED)
    return found


def rooms_in(windows: Any, like: ArrayInfo, dtypes: Sequence[np.dtype[Any]]) -> list[Any]:
    """Return arrays of a shard's length in this rank's window, as `places` says."""
    starts = places(like.size, dtypes)
    window = windows.mine(starts[-1])
    return [
        window[start : start + like.size * dtype.itemsize].view(empty(like, 0, dtype).dtype)
        for start, dtype in zip(starts, dtypes, strict=False)
    ]


def positions(begin: int, many: int, lengths: Sequence[int]) -> Any:
    """Return positions in the whole from one on, as a lazy array: of 4 bytes where ranks of such lengths need no more."""
    return _positions(begin, begin + many, position_kind(max(lengths), len(lengths)))


def position_kind(length: int, size: int) -> np.dtype[Any]:
    """Return what positions travel as, of so many shards, the longest of which has a length; of one they are the result."""
    return _WIDE if size == 1 or length * size > _NARROW else np.dtype(np.uint32)


@functools.lru_cache(maxsize=64)
def _positions(begin: int, end: int, kind: np.dtype[Any]) -> Any:
    return lib.lazy.arange(begin, end, dtype=kind)  # which is described once


def widen(one: Any, out: Any = None) -> Any:
    """Return positions as of the result, in `out`."""
    return one if describe(one).dtype == _WIDE else lib.evaluate(lib.lazy.cast(one, _WIDE), out=out)


def merge_by_pulls(
    post: Post, like: ArrayInfo, windows: Any, lengths: Sequence[int], descending: bool, placed: bool, *arrays: Any
) -> list[Any]:
    """Return this rank's part of what all ranks have in their windows: sorted keys, and what goes along.

    What is in the windows may be read when all ranks have said where they cut it: their sorts are before that. `placed`: what
    goes along are positions, which are widened piece by piece.
    """
    whole = sum(lengths)
    if not whole:
        return [lib.copy(one) for one in arrays]
    dtypes = [describe(one).dtype for one in arrays]
    steps = _steps_of(_pieces_of(post, lengths, dtypes))
    pieces = len(steps) - 1
    # Room is taken while the GPU sorts: mostly enough. What is known of the cuts is waited for, and then all is queued at once.
    share = [-(-n // post.size) for n in lengths]
    rooms = [[] if rank == post.rank else _rooms(like, n + n // _SPARE, dtypes) for rank, n in enumerate(share)]
    most, wide = sum(share) + sum(share) // _SPARE, None
    made = _rooms(like, most, dtypes) if pieces > 1 else None
    if placed and made is not None and dtypes[-1] != _WIDE:
        wide = _rooms(like, most, [_WIDE])
    with Aside(like) as aside:
        ends = cut_together(post, like, arrays[0], lengths, post.size * steps[-1], descending)
        mine = ends[:, [post.rank * steps[-1] + step for step in steps]]
        parts = [
            [one[begin:end] for one in arrays]
            if rank == post.rank
            else _fitting(like, rooms[rank], end - begin, dtypes)
            for rank, (begin, end) in enumerate(mine[:, [0, -1]].tolist())
        ]
        whole = int((mine[:, -1] - mine[:, 0]).sum())
        made = None if made is None else _fitting(like, made, whole, dtypes)
        wide = None if wide is None else _fitting(like, wide, whole, [_WIDE])

        def pull(piece: int) -> Any:
            aside.begin()
            _pull(post, windows, lengths, cuts[piece], firsts, parts, dtypes, aside.handle)
            return aside.mark()

        cuts = [list(zip(row, following, strict=True)) for row, following in itertools.pairwise(mine.T.tolist())]
        firsts = [begin for begin, _ in cuts[0]]
        coming, at = pull(0), 0
        for piece in range(pieces):
            came, coming = coming, pull(piece + 1) if piece + 1 < pieces else None
            aside.join(came)
            spans = [(begin - first, end - first) for (begin, end), first in zip(cuts[piece], firsts, strict=True)]
            runs = [[one[begin:end] for one in part] for part, (begin, end) in zip(parts, spans, strict=True)]
            end = at + sum(b - a for a, b in spans)
            found = merge_runs(like, runs, descending, None if made is None else [one[at:end] for one in made])
            if wide is not None and end > at:
                widen(found[-1], wide[0][at:end])
            at = end
    windows.turn()
    found = found if made is None else made
    return [*found[:-1], wide[0]] if wide is not None else found


def _rooms(like: ArrayInfo, many: int, dtypes: Sequence[np.dtype[Any]]) -> list[Any]:
    return [empty(like, many, dtype) for dtype in dtypes]


def _fitting(like: ArrayInfo, rooms: list[Any], many: int, dtypes: Sequence[np.dtype[Any]]) -> list[Any]:
    """Return the first elements of arrays, so many; of new ones, where these are shorter."""
    return [one[:many] for one in (rooms if many <= rooms[0].shape[0] else _rooms(like, many, dtypes))]


def is_short(lengths: Sequence[int], dtypes: Sequence[np.dtype[Any]]) -> bool:
    """Whether it takes less time to sort all on each rank than to find out what is whose."""
    return sum(lengths) * sum(dtype.itemsize for dtype in dtypes) <= _SHORT


def sort_by_gathers(
    post: Post, like: ArrayInfo, windows: Any, lengths: Sequence[int], descending: bool, same: bool, keys: Any,
    beside: Sequence[Any] | None,
) -> list[Any]:  # fmt: skip
    """Return this rank's share of what all ranks have, which is short: each reads all of it, and sorts that.

    A share is an even one; or where it is to be the `same`, as long as the shard. `beside`: what goes along; None: positions in
    the whole.
    """
    whole, ends = sum(lengths), [0, *itertools.accumulate(lengths)]
    given = [keys, *(beside or ())]
    dtypes = [describe(one).dtype for one in given]
    mine, stream = slice(ends[post.rank], ends[post.rank + 1]), 0 if like.device is None else current_stream(like)
    made = [empty(like, whole, dtype) for dtype in dtypes]
    if like.size:
        for one, start in zip(given, places(like.size, dtypes), strict=False):
            windows.put(one, start)
    windows.meet()
    if like.size:
        for one, target in zip(given, made, strict=True):
            target[mine] = one
    for step in range(1, post.size):  # no two ranks read one window at a time
        rank = (post.rank + step) % post.size
        if lengths[rank]:
            for target, start in zip(made, places(lengths[rank], dtypes), strict=False):
                windows.pull(rank, start, target[ends[rank] : ends[rank + 1]], stream)
    windows.turn()
    found = sort_beside(made[0], made[1:] if beside is not None else [lib.lazy.arange(whole)], descending)
    share = mine if same else slice(whole * post.rank // post.size, whole * (post.rank + 1) // post.size)
    made = [lib.copy(one[share]) for one in found]
    post.settle()  # behind what is queued: `meet` waits for others
    return made


def cut_together(
    post: Post, like: ArrayInfo, keys: Any, lengths: Sequence[int], parts: int, descending: bool
) -> np.ndarray[Any, Any]:
    """Return where each rank's sorted keys are cut for so many parts of all: a row for each rank, from 0 to its length.

    Elements are in the order of their keys, then of ranks, then as they lie: so equal keys are divided, too, and merges stable.
    """
    kind = kind_of(like, "", None, descending, "keys", "sort")
    counts = samples_of(lengths, max(_SAMPLES, _OF_A_PIECE * parts))
    most = 1 << (max(counts) - 1).bit_length()  # of few lengths there is a plan
    row, mine = plans.row_of(kind, most), counts[post.rank]
    said, told = (empty(like, shape, _BYTES) for shape in ((row,), (post.size, row)))
    cuts = empty(like, max(1, parts - 1), np.dtype(np.int64))
    given = keys if lengths[post.rank] else empty(like, 1, like.dtype)
    numbers = {"n": lengths[post.rank], "many": mine, "rank": post.rank, "whole": sum(counts)}
    stream = None if like.device is None else current_stream(like)
    _run("sampling", (kind,), plans.SAMPLED, {"x": given, "message": said, **numbers}, like, stream)
    post.all_gather(like, said, (row,), _BYTES, told, wait=False)
    asked = kind, post.size, most, parts
    _run("cutting", asked, plans.CUT, {"x": given, "told": told, "cuts": cuts, **numbers}, like, stream)
    found = host_array(post.all_gather(like, cuts, (max(1, parts - 1),), np.dtype(np.int64)).reshape(-1))
    ends = np.zeros((post.size, parts + 1), np.int64)
    ends[:, 1:-1], ends[:, -1] = found.reshape(post.size, -1)[:, : parts - 1], lengths
    return ends


def _run(
    name: str,
    asked: tuple[Any, ...],
    names: Sequence[str],
    given: Mapping[str, Any],
    like: ArrayInfo,
    stream: int | None,
) -> None:
    """Run a plan, on the arrays and numbers that it is given by their names, where `like` is."""
    if stream is None:
        arrays = {one: NumberInfo(value) if isinstance(value := given[one], int) else describe(value) for one in names}
        run_on_host(_plan(name, *asked, True), arrays)
        return
    launch = _launch(name, asked, tuple(names), like.library, like.device, like)
    launch(tuple(value if isinstance(value := given[one], int) else describe(value).pointer for one in names), stream)


def _plan(name: str, *asked: Any) -> Plan:
    plan: Plan = getattr(plans, name)(*asked)
    return plan


_launches: dict[Any, Callable[[tuple[int, ...], int], None]] = {}


def _launch(
    name: str, asked: tuple[Any, ...], names: tuple[str, ...], library: str, device: int | None, like: ArrayInfo
) -> Callable[[tuple[int, ...], int], None]:  # fmt: skip
    key = name, asked, library, device
    if key not in _launches:
        _launches[key] = Ready(_plan(name, *asked), names, like, waited=True).launch()
    return _launches[key]


def _pieces_of(post: Post, lengths: Sequence[int], dtypes: Sequence[np.dtype[Any]]) -> int:
    """Return in how many pieces each rank's part comes, the same on all ranks."""
    others = sum(lengths) * sum(dtype.itemsize for dtype in dtypes) * (post.size - 1) // (post.size * post.size)
    return max(1, min(_PIECES, others // _PIECE))


def _steps_of(pieces: int) -> list[int]:
    """Return where a rank's pieces begin and end, in units; the last ones are shorter, as their merges hide nothing."""
    if pieces == 1:
        return [0, 1]
    units = pieces * _UNITS
    return [*range(0, units - _UNITS + 1, _UNITS), *(units - _UNITS // step for step in (2, 4)), units]


def _pull(
    post: Post, windows: Any, lengths: Sequence[int], cuts: Sequence[Sequence[int]], firsts: Sequence[int],
    parts: Sequence[Sequence[Any]], dtypes: Sequence[np.dtype[Any]], stream: int,
) -> None:  # fmt: skip
    """Read a piece of each other rank's arrays, between its cuts, to where it belongs in that rank's part."""
    for step in range(1, post.size):  # no two ranks read one window at a time
        rank = (post.rank + step) % post.size
        (begin, end), first = cuts[rank], firsts[rank]
        for one, dtype, start in zip(parts[rank], dtypes, places(lengths[rank], dtypes), strict=False):
            if end > begin:
                windows.pull(rank, start + begin * dtype.itemsize, one[begin - first : end - first], stream)


def sort_beside(keys: Any, beside: Sequence[Any], descending: bool, rooms: Any = None) -> list[Any]:
    """Return keys sorted, and what goes along: rows, or elements that are moved with their keys; in `rooms`, where there are."""
    if not beside:
        return [lib.sort(keys, descending=descending, out=None if rooms is None else rooms[0])]
    if len(beside) == 1 and is_moved(beside[0]):
        return list(
            lib.sort_by_key(keys, beside[0], descending=descending, out=None if rooms is None else tuple(rooms))
        )
    order = lib.argsort(keys, descending=descending)
    return [lib.take(keys, order), *(lib.take(one, order, 0) for one in beside)]


def merge_runs(like: ArrayInfo, runs: Sequence[list[Any]], descending: bool, out: Any = None) -> list[Any]:
    """Return keys sorted, and what goes along, of sorted runs: of each its keys, and what goes along with these; in `out`.

    A merge reads and writes all once for each doubling; a sort of 4 bytes takes about as long as four of them.
    """
    some = [run for run in runs if run[0].shape[0]]
    if len(some) < 2:
        found = some[0] if some else runs[0]
        if out is None:
            return [lib.copy(one) for one in found]
        for one, target in zip(found, out, strict=True):
            target[...] = one
        return list(out)
    _, *beside = some[0]
    if len(some) > _MERGED or len(beside) > 1 or not all(map(is_moved, beside)):
        keys, *along = (join(like, parts) for parts in zip(*some, strict=True))
        return sort_beside(keys, along, descending, out)
    while len(some) > 1:
        pairs = zip(some[::2], some[1::2], strict=False)
        made = [_merged(*pair, descending, out if len(some) == 2 else None) for pair in pairs]
        some = made + some[2 * len(made) :]
    return some[0]


def _merged(a: list[Any], b: list[Any], descending: bool, out: Any) -> list[Any]:
    if len(a) == 1:
        return [lib.merge(a[0], b[0], descending=descending, out=None if out is None else out[0])]
    return list(
        lib.merge_by_key(*a, *b, descending=descending) if out is None else merge_by_key_into(out, a, b, descending)
    )


def is_moved(one: Any) -> bool:
    """Whether elements of an array can be moved with their keys."""
    info = describe(one)
    return len(info.shape) == 1 and info.dtype.itemsize in (1, 2, 4, 8, 16)


def cut_runs(lengths: Sequence[int], arrays: Sequence[Any]) -> list[list[Any]]:
    """Return arrays that lie one behind the other as runs of such lengths: of each its part of every array."""
    ends = itertools.pairwise([0, *itertools.accumulate(lengths)])
    return [[one[begin:end] for one in arrays] for begin, end in ends]
