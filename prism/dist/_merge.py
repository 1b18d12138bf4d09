"""Sorted shards of the ranks of one host, merged while they are sent: each rank's part comes in pieces, one after the other.

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
from prism.dist._arrays import Post, join
from prism.dist._exchange import exchange, samples_of
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
_PIECE, _PIECES = 64 << 20, 3
"""Bytes that come of other ranks for a piece at least, and the most pieces of a rank: each costs the links some 11 us."""
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


def bytes_for(lengths: Sequence[int], dtypes: Sequence[np.dtype[Any]]) -> int:
    """Return how long each rank's window must be for a sort of shards of such lengths: its share, or all of what is short."""
    whole = sum(lengths)
    share = whole if is_short(lengths, dtypes) else _room_of(whole, len(lengths))
    return places(share, dtypes)[-1]


def _room_of(whole: int, size: int) -> int:
    """Return how many elements room is taken for on each rank."""
    share = -(-whole // size)
    return share + share // _SPARE + size


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


def merge_by_windows(
    post: Post, like: ArrayInfo, windows: Any, lengths: Sequence[int], descending: bool, placed: bool, *arrays: Any
) -> list[Any]:
    """Return this rank's part of what all ranks have sorted: keys, and what goes along; each sends the others what is theirs.

    `placed`: what goes along are positions, which are widened piece by piece.
    """
    if not sum(lengths):
        return [lib.copy(one) for one in arrays]
    dtypes = [describe(one).dtype for one in arrays]
    steps = _steps_of(_pieces_of(post, lengths, dtypes))
    pieces, most = len(steps) - 1, _room_of(sum(lengths), post.size)
    # Room is taken while the GPU sorts: mostly enough.
    made, wide = _rooms(like, most, dtypes) if pieces > 1 else None, None
    if placed and made is not None and dtypes[-1] != _WIDE:
        wide = _rooms(like, most, [_WIDE])
    ends = cut_together(post, like, arrays[0], lengths, post.size * steps[-1], descending)
    # From here on nothing is under way until a piece is sent: that goes first.
    work = _Parts(post, windows, ends, steps, dtypes, arrays)
    if not all(windows.is_open(places(many, dtypes)[-1]) for many in work.coming):
        rows = np.diff(ends[post.rank, :: steps[-1]]).tolist()
        parts, found = exchange(post, like, rows, *arrays)
        return merge_runs(like, cut_runs(parts, found), descending)
    windows.begin(like)
    work.send(0)
    made = None if made is None else _fitting(like, made, work.share, dtypes)
    wide = None if wide is None else _fitting(like, wide, work.share, [_WIDE])
    at, found = 0, list(arrays)
    for piece in range(pieces):
        if piece + 1 < pieces:
            work.send(piece + 1)
        runs = work.hear(piece, like)
        end = at + sum(int(run[0].shape[0]) for run in runs)
        found = merge_runs(like, runs, descending, None if made is None else [one[at:end] for one in made])
        if wide is not None and end > at:
            widen(found[-1], wide[0][at:end])
        at = end
    windows.end()
    found = found if made is None else made
    return [*found[:-1], wide[0]] if wide is not None else found


class _Parts:
    """The parts that ranks have of each other's sorted elements, in pieces.

    `ends`: where each rank's elements are cut; `steps`: at which of these cuts a part's pieces begin and end, of the last one of
    which the next rank's part begins. `coming`: how many elements of others each rank's part has; `share`: all of this one's.
    """

    def __init__(
        self, post: Post, windows: Any, ends: np.ndarray[Any, Any], steps: Sequence[int], dtypes: Sequence[np.dtype[Any]],
        arrays: Sequence[Any],
    ) -> None:  # fmt: skip
        self._rank, self._windows, self._dtypes, self._arrays = post.rank, windows, dtypes, arrays
        self._cuts, ranks, units = ends.tolist(), range(post.size), steps[-1]
        self._steps = [[to * units + step for step in steps] for to in ranks]
        counts = [[row[(to + 1) * units] - row[to * units] for row in self._cuts] for to in ranks]
        self.share = sum(counts[self._rank])
        self.coming = [sum(many) - many[to] for to, many in enumerate(counts)]
        # In a rank's window the parts of the others lie in their order.
        self._starts = [
            [sum(many[r] for r in range(rank) if r != to) for rank in ranks] for to, many in enumerate(counts)
        ]
        self._others = [(self._rank + step) % post.size for step in range(1, post.size)]
        self._came: list[Any] = []

    def send(self, piece: int) -> None:
        """Send a piece of each other rank's part, and tell it so."""
        cuts = self._cuts[self._rank]
        for to in self._others:  # no two ranks write into one window at a time
            first, begin, end = (cuts[self._steps[to][step]] for step in (0, piece, piece + 1))
            at, starts = self._starts[to][self._rank] + begin - first, places(self.coming[to], self._dtypes)
            spots = [start + at * dtype.itemsize for start, dtype in zip(starts, self._dtypes, strict=False)]
            self._windows.send(to, [one[begin:end] for one in self._arrays] if end > begin else [], spots)

    def hear(self, piece: int, like: ArrayInfo) -> list[list[Any]]:
        """Let what is queued next wait for a piece of this rank's part; return its runs, one of each rank."""
        self._windows.hear(*self._others)
        if not self._came:
            many = self.coming[self._rank]
            for one, dtype, start in zip(self._arrays, self._dtypes, places(many, self._dtypes), strict=False):
                self._came.append(self._windows.room(like, many * dtype.itemsize, start).view(one.dtype))
        found, steps = [], self._steps[self._rank]
        for rank, cuts in enumerate(self._cuts):
            first, begin, end = (cuts[steps[step]] for step in (0, piece, piece + 1))
            shift = 0 if rank == self._rank else self._starts[self._rank][rank] - first
            whose = self._arrays if rank == self._rank else self._came
            found.append([one[shift + begin : shift + end] for one in whose])
        return found


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
    """Return this rank's share of what all ranks have, which is short: each gets all of it, and sorts that.

    A share is an even one; or where it is to be the `same`, as long as the shard. `beside`: what goes along; None: positions in
    the whole.
    """
    whole, ends = sum(lengths), [0, *itertools.accumulate(lengths)]
    given = [one if describe(one).contiguous else lib.copy(one) for one in (keys, *(beside or ()))]
    dtypes = [describe(one).dtype for one in given]
    starts, mine = places(whole, dtypes), slice(ends[post.rank], ends[post.rank + 1])
    spots = [start + ends[post.rank] * dtype.itemsize for start, dtype in zip(starts, dtypes, strict=False)]
    parts, others = given if like.size else [], [(post.rank + step) % post.size for step in range(1, post.size)]
    windows.begin(like)
    for rank in (*others, post.rank):  # no two ranks write into one window at a time
        windows.send(rank, parts, spots, aside=False)
    windows.hear(*others)
    made = [
        windows.room(like, whole * dtype.itemsize, start).view(one.dtype)
        for dtype, start, one in zip(dtypes, starts, given, strict=False)
    ]
    found = sort_beside(made[0], made[1:] if beside is not None else [lib.lazy.arange(whole)], descending)
    share = mine if same else slice(whole * post.rank // post.size, whole * (post.rank + 1) // post.size)
    made = [lib.copy(one[share]) for one in found]
    windows.end(aside=False)
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
    found = post.gather_to_host(like, cuts, max(1, parts - 1), np.dtype(np.int64))
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
