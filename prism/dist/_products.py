"""Products of matrices whose shards lie on many ranks: what is sent travels while the GPU multiplies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from prism import lib
from prism.dist._again import agreed_again, comes_again, keep, key_of, take
from prism.dist._agree import Mine, Told, agree
from prism.dist._arrays import Post
from prism.dist._aside import Aside
from prism.dist._engines import engine_of
from prism.dist._reduce import shard
from prism.dist._totals import dtype_in_words, wide_of
from prism.dist._windows import windows_of
from prism.host.memory import empty
from prism.lib import operators
from prism.runtime.arrays import ArrayInfo, describe

SPLITS = ("rows", "columns", "inner")
_FEW = 8  # parts that are added up in one pass
_WIDE = np.dtype(np.float32)
_KINDS = ("float32", "float16", "bfloat16")
_PARTS, _SHORT, _TILE, _WAVE = (2, 3), 6144, (128, 256), 128
"""Parts in which a product's columns are sent, at most, and with a shorter k, as what is sent takes more of its time then; each
part of whole waves: tiles of a size, so many at a time."""
_ROWS, _OPERATIONS, _CHUNKS = 1024, 3e11, 4
"""Of a rank: the least rows and operations that a product of a message has, and the most messages that rows go in.

So many operations take half a millisecond, in which the host can queue what comes next.
"""


def matmul(a: Any, b: Any, *, comm: Any, split: str = "rows") -> Any:
    """Return this rank's shard of the product of two matrices that lie on many ranks.

    Parameters
    ----------
    a, b : arrays of NumPy, CuPy or torch
        This rank's shards, of two axes, both of float32, float16 or bfloat16. By `split`:
        "rows": rows of A, and the whole of B, the same on all ranks; the result has A's rows.
        "columns": rows of A, and columns of B; the result has all rows, and B's columns.
        "inner": columns of A, and as many rows of B; the result has an even share of the rows.
        Shards may have any lengths, and be empty.
    comm : communicator
        A torch ProcessGroup, an mpi4py Comm, an nccl4py Communicator or a CuPy NcclCommunicator.
    split : str, default "rows"
        Along which axis the matrices are cut: A's rows; A's rows and B's columns; or the axis that is summed over.

    Returns
    -------
    array
        This rank's shard of the product, of `a`'s library and dtype, on its device. Of "rows" and "inner" those of all ranks, in
        their order, below each other are the product; of "columns" beside each other.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.matmul`, on all ranks, if it is raised on one, which is named; `a` or `b` has not two axes; `split` is none
        of the three; `comm` is none that is known; ranks disagree in the dtype, `split`, or an extent that they must share.

    Notes
    -----
    "rows" sends nothing. "columns" sends each row of A to all ranks, "inner" each share of the result to the rank that has it, as
    float32: sums of all ranks are added up in their order, and rounded once. Rows go in up to four messages, each while others
    are multiplied, on a stream beside the current one.

    Examples
    --------
    >>> prism.dist.matmul(a, b, comm=MPI.COMM_SELF, split="inner")  # doctest: +SKIP
    """
    key = None if split == "rows" else key_of(a, comm, "matmul", split, key_of(b, comm))
    again = take(key)
    if again is not None and again.told.kept[1].is_open(again.told.kept[2]):
        found = _by_windows(again.post, again.told, a, b, split, lambda: again.finish(again.begin()) is not None)
        if found is not None:
            keep(key, again)
            return found
        return _finish(again.post, again.judge(), None, a, b, split)
    post = Post(engine_of(comm))

    def work() -> Mine:
        info, other = shard(post, a, "a"), shard(post, b, "b")
        if split not in SPLITS:
            raise ValueError(f"`split` must be one of {', '.join(SPLITS)}, not {split!r}")
        for name, one in (("a", info), ("b", other)):
            if one.scalar not in _KINDS:
                raise TypeError(
                    f"`{name}` has dtype {one.dtype}, and products of many ranks are of {', '.join(_KINDS)}"
                )
            if len(one.shape) != 2:
                raise ValueError(f"`{name}` must have two axes, not {len(one.shape)}")
        lib.matmul(a[:0], b)  # which raises what is wrong
        (m, k), n = info.shape, other.shape[1]
        shared = {"rows": f"inner={k}, columns={n}", "columns": f"inner={k}", "inner": f"rows={m}, columns={n}"}
        words = f"matmul({dtype_in_words(info, None)}, split={split}, {shared[split]})"
        windows = None if split == "rows" else windows_of(post, comm, info)
        return Mine(words, (m, k, n, int(windows is not None)), b"", (info, windows))

    return _finish(post, agree(post, work), key, a, b, split)


def _finish(post: Post, told: Told, key: Hashable | None, a: Any, b: Any, split: str) -> Any:
    """Multiply, when all ranks have said how they call."""
    info, windows, *_ = told.kept
    if split == "rows" or post.size == 1:
        return lib.matmul(a, b)
    if told.facts[:, 3].all() and windows.open(nbytes := _bytes_for(told, split)):
        told = told._replace(kept=(info, windows, nbytes))
        if comes_again(key, told):
            keep(key, agreed_again(post, told))
        return _by_windows(post, told, a, b, split, lambda: True)
    # The same on all ranks: the most that one of them has to do for a row.
    operations = 2 * int(told.facts[:, 1].max()) * int(told.facts[:, 2].max())
    if split == "columns":
        return _columns(post, info, a, b, told.lengths, operations)
    return _inner(post, info, a, b, operations)


def _bytes_for(told: Told, split: str) -> int:
    """Return how long each rank's window must be: for all rows of A, or for all ranks' parts of a rank's rows of the result."""
    info, *_ = told.kept
    m, k, n, _ = told.facts[0].tolist()
    if split == "columns":
        return sum(told.lengths) * int(k) * int(info.dtype.itemsize)
    size = len(told.lengths)
    return size * -(-int(m) // size) * int(n) * _WIDE.itemsize


def _by_windows(post: Post, told: Told, a: Any, b: Any, split: str, agreed: Callable[[], bool]) -> Any:
    """Multiply by what ranks write into each other's windows; None where they have not `agreed` on the call as it is told."""
    info, windows, _ = told.kept
    windows.begin(info)  # what is behind a product's first launch has its time
    if split == "columns":
        return _columns_by_windows(post, info, windows, a, b, told.lengths, agreed)
    return _inner_by_windows(post, info, windows, a, b, int(told.facts[:, 1].min()), agreed)


def _rows(m: int, size: int, rank: int) -> int:
    """Return how many rows of a result are a rank's."""
    return m * (rank + 1) // size - m * rank // size


def _columns_by_windows(
    post: Post, like: ArrayInfo, windows: Any, a: Any, b: Any, lengths: Sequence[int], agreed: Callable[[], bool]
) -> Any:
    """Return all rows of the product: this rank's first, and those of others, which come while others are multiplied."""
    starts = [0, *itertools.accumulate(lengths)]
    inner, columns = int(a.shape[1]), int(b.shape[1])
    found = empty(like, (starts[-1], columns), like.dtype)
    a = a if describe(a).contiguous else lib.copy(a)
    there = windows.mark()
    if lengths[post.rank]:
        lib.matmul(a, b, out=found[starts[post.rank] : starts[post.rank + 1]])
    if not agreed():
        return None
    each = inner * like.dtype.itemsize
    others = [(post.rank + step) % post.size for step in range(1, post.size)]
    for rank in others:  # no two ranks write into one window at a time
        windows.send(rank, [a] if lengths[post.rank] and inner else [], [starts[post.rank] * each], there)
    for rank in reversed(others):  # who wrote first
        windows.hear(rank)
        if many := lengths[rank]:
            came = windows.room(like, many * each, starts[rank] * each).view(a.dtype).reshape(many, inner)
            lib.matmul(came, b, out=found[starts[rank] : starts[rank + 1]])
    windows.end()
    return found


class _Inner:
    """A rank's part of a product along the inner axis: what it multiplies for others, and what these send it.

    `added`: of two ranks the other one's part is added where this rank's own is multiplied, by parts of the columns, so many
    at the `most`.
    """

    def __init__(self, post: Post, like: ArrayInfo, windows: Any, a: Any, b: Any, most: int) -> None:
        self.size, self.rank, self.like, self.windows, self.b = post.size, post.rank, like, windows, b
        self.columns, self.added = int(b.shape[1]), post.size == 2 and like.scalar != "float32"
        ends = [int(a.shape[0]) * one // self.size for one in range(self.size + 1)]
        self.rows = [a[begin:end] for begin, end in itertools.pairwise(ends)]
        self.own = int(self.rows[self.rank].shape[0])
        self._most = most
        self._kept: list[Any] = []  # until the call's end

    def cuts(self, rank: int) -> list[tuple[int, int]]:
        """Return where the parts of a rank's product begin and end."""
        if not self.added:
            return [(0, self.columns)]
        return _parts_of(int(self.rows[rank].shape[0]), self.columns, self._most)

    def multiply(self, to: int) -> list[tuple[int, Any, Any]]:
        """Queue the product of a rank's rows; return where each part goes in its window, and what stands for its end."""
        found, many = [], int(self.rows[to].shape[0])
        for begin, end in self.cuts(to):
            part = empty(self.like, (many, end - begin), _WIDE)
            if many and end > begin:
                _multiply(self.rows[to], self.b[:, begin:end], part, self.like)
            # What ranks have for one lies in its window in the order of ranks; of each its parts.
            found.append((many * (self.rank * self.columns + begin), part, self.windows.mark()))
            self._kept.append(part)
        return found

    def send(self, to: int, parts: Sequence[tuple[int, Any, Any]]) -> None:
        """Send a rank its parts, each when it is there."""
        for place, part, mark in parts:
            some = part.shape[0] and part.shape[1]
            self.windows.send(to, [part] if some else [], [place * _WIDE.itemsize], mark)

    def add(self, out: Any) -> None:
        """Multiply this rank's own rows, and add what others have for them, in the order of ranks."""
        own, columns = self.own, self.columns
        came = self.windows.room(self.like, self.size * own * columns * _WIDE.itemsize)
        came = came.view(empty(self.like, 0, _WIDE).dtype)
        if not self.added:
            came = came.reshape(self.size, own, columns)
            if own:
                _multiply(self.rows[self.rank], self.b, came[self.rank], self.like)
            self.windows.hear(*[(self.rank - step) % self.size for step in range(1, self.size)])
            if own:
                _sum(came, self.like, out)
            return
        other = 1 - self.rank
        for begin, end in self.cuts(self.rank):
            self.windows.hear(other)
            if own and end > begin:
                more = came[own * (other * columns + begin) :][: own * (end - begin)].reshape(own, end - begin)
                how: dict[str, Any] = {"epilogue": operators.add.function, "extra": more}
                lib.hgemm(self.rows[self.rank], self.b[:, begin:end], out=out[:, begin:end], **how)


def _inner_by_windows(
    post: Post, like: ArrayInfo, windows: Any, a: Any, b: Any, least: int, agreed: Callable[[], bool]
) -> Any:
    """Return this rank's rows of the sum of all ranks' products: its own are multiplied last, while others' parts come.

    `least`: the shortest k of all ranks.
    """
    work = _Inner(post, like, windows, a, b, _PARTS[least < _SHORT])
    for step in range(1, post.size):  # no two ranks write into one window at a time
        to = (post.rank + step) % post.size
        parts = work.multiply(to)
        if step == 1 and not agreed():
            return None
        work.send(to, parts)
    found = empty(like, (work.own, work.columns), like.dtype)
    work.add(found)
    windows.end()
    return found


def _parts_of(rows: int, columns: int, most: int) -> list[tuple[int, int]]:
    """Return where at most so many parts of a product's columns begin and end: of whole waves, so that none is cut."""
    high, wide = _TILE
    each = wide * (_WAVE // math.gcd(_WAVE, max(1, -(-rows // high))))  # columns of whole waves
    waves = columns // each
    parts = max(1, min(most, waves))
    ends = [-(-waves * part // parts) * each for part in range(parts)]
    return list(itertools.pairwise([*ends, columns]))


def _sum(parts: Any, like: ArrayInfo, out: Any) -> Any:
    """Put the sum of ranks' parts, in their order, into an array of their result's dtype, in one pass; return it."""
    first, *others = parts if len(parts) <= _FEW else [lib.reduce(parts, axis=0)]
    for one in others:
        first = lib.lazy.map(operators.add.function, first, one)
    return lib.evaluate(lib.lazy.cast(first, like.dtype), out=out)


def _columns(post: Post, like: ArrayInfo, a: Any, b: Any, lengths: Sequence[int], operations: int) -> Any:
    """Return all rows of the product: this rank's first, and those of others as they come."""
    starts = [0, *itertools.accumulate(lengths)]
    (mine, inner), columns = a.shape, int(b.shape[1])
    found = empty(like, (starts[-1], columns), like.dtype)
    each, chunks = _cut(max(lengths), operations)
    # Memory is the current stream's, and kept until that has waited for what is sent.
    sent = a = lib.copy(a)
    if mine < each * chunks:  # all ranks send as much
        sent = empty(like, (each * chunks, inner), like.dtype)
        sent[:mine] = a
    came = [empty(like, (post.size, each, inner), like.dtype) for _ in range(chunks)]
    with Aside(like) as aside:

        def send(chunk: int) -> Any:
            with aside.sending():
                rows = sent[chunk * each : (chunk + 1) * each]
                post.all_gather(like, rows, (each, inner), like.dtype, came[chunk])
                return aside.mark()

        # What blocks is called when the GPU has work; what does not, before, so that it need not wait for a place there.
        marks = [send(chunk) for chunk in range(chunks)] if post.engine.on_host is False else []
        if mine:
            lib.matmul(a, b, out=found[starts[post.rank] : starts[post.rank + 1]])
        for chunk, room in enumerate(came):
            aside.join(marks[chunk] if marks else send(chunk))
            for rank, length in enumerate(lengths):
                many = min(each, length - chunk * each)
                if rank != post.rank and many > 0:
                    begin = starts[rank] + chunk * each
                    lib.matmul(room[rank, :many], b, out=found[begin : begin + many])
    return found


def _inner(post: Post, like: ArrayInfo, a: Any, b: Any, operations: int) -> Any:
    """Return this rank's rows of the sum of all ranks' products: some of each rank's rows go while the next are multiplied."""
    (m, _), columns = a.shape, int(b.shape[1])
    starts = [m * rank // post.size for rank in range(post.size + 1)]
    kind = wide_of(like, None) or like.dtype
    found = empty(like, (starts[post.rank + 1] - starts[post.rank], columns), like.dtype)
    each, chunks = _cut(-(-m // post.size), operations)
    cuts = [[max(0, min(each, b - a - chunk * each)) for a, b in itertools.pairwise(starts)] for chunk in range(chunks)]
    # Memory is the current stream's, and kept until that has waited for what is sent.
    parts = [empty(like, (sum(rows), columns), kind) for rows in cuts]
    came = [empty(like, (post.size, rows[post.rank], columns), kind) for rows in cuts]
    with Aside(like) as aside:

        def multiply(chunk: int) -> Any:
            """Queue the product of what a message has; return what stands for its end."""
            ends = [0, *itertools.accumulate(cuts[chunk])]
            for rank, (begin, end) in enumerate(itertools.pairwise(ends)):
                if end > begin:
                    first = starts[rank] + chunk * each
                    _multiply(a[first : first + end - begin], b, parts[chunk][begin:end], like)
            return aside.event()

        made, marks = multiply(0), []
        for chunk, rows in enumerate(cuts):
            # The next product is queued first: an engine on the host blocks while it sends.
            following = multiply(chunk + 1) if chunk + 1 < chunks else None
            with aside.sending(made):
                post.all_to_all(like, parts[chunk], rows, [rows[post.rank]] * post.size, came[chunk])
                marks.append(aside.mark())
            made = following
        for chunk, (room, mark) in enumerate(zip(came, marks, strict=True)):
            aside.join(mark)
            if many := cuts[chunk][post.rank]:
                _sum(room, like, found[chunk * each : chunk * each + many])
    return found


def _cut(rows: int, operations: int) -> tuple[int, int]:
    """Return how many rows a message has of each rank, and how many messages there are; `operations`: of each row's product."""
    least = max(_ROWS, math.ceil(_OPERATIONS / max(1, operations)))
    chunks = max(1, min(_CHUNKS, rows // least))
    return max(1, math.ceil(rows / chunks)), chunks


def _multiply(a: Any, b: Any, out: Any, like: ArrayInfo) -> None:
    """Put a product into an array of float32."""
    if like.scalar == "float32":
        lib.matmul(a, b, out=out)
    else:
        lib.hgemm(a, b, out=out, out_dtype="float32")
