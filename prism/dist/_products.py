"""Products of matrices whose shards lie on many ranks: what is sent travels while the GPU multiplies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from prism import lib
from prism.dist._again import Again, agreed_again, comes_again, keep, key_of, take
from prism.dist._agree import Mine, Told, agree
from prism.dist._arrays import Post
from prism.dist._aside import Aside
from prism.dist._engines import engine_of
from prism.dist._pull import windows_of
from prism.dist._reduce import shard
from prism.dist._totals import dtype_in_words, wide_of
from prism.host.memory import empty
from prism.host.pinned import refuse_capture
from prism.lib import operators
from prism.runtime.arrays import ArrayInfo
from prism.runtime.streams import current_stream

SPLITS = ("rows", "columns", "inner")
_FEW = 8  # parts that are added up in one pass
_KINDS = ("float32", "float16", "bfloat16")
_HALVED, _TILED = 4096, 128
"""Rows of a rank that are multiplied in two parts; and what the first part is a multiple of, so that no tile is cut."""
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
    if again is not None and _is_ready(again, split):
        found = _by_pulls(again.post, again.told, a, b, split, _agreement(again, a, split))
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
        windows, made = None if split == "rows" else windows_of(post, comm, info), 0
        if windows is not None:
            made = windows.room(_bytes_sent(post, info, split, n))
            if made and split == "columns":
                _put(windows, a)
        return Mine(words, (m, k, n, made), b"", (info, windows))

    return _finish(post, agree(post, work, behind=True), key, a, b, split)


def _finish(post: Post, told: Told, key: Hashable | None, a: Any, b: Any, split: str) -> Any:
    """Multiply, when all ranks have said how they call."""
    info, windows = told.kept
    if split == "rows" or post.size == 1:
        return lib.matmul(a, b)
    if windows is not None and windows.open(told.facts[:, 3].tolist()):
        if comes_again(key, told):
            keep(key, agreed_again(post, told, behind=_meeting(post, info) is None))
        return _by_pulls(post, told, a, b, split, lambda aside: True)
    # The same on all ranks: the most that one of them has to do for a row.
    operations = 2 * int(told.facts[:, 1].max()) * int(told.facts[:, 2].max())
    if split == "columns":
        return _columns(post, info, a, b, told.lengths, operations)
    return _inner(post, info, a, b, operations)


def _is_ready(again: Again, split: str) -> bool:
    """Whether windows are as they were in an earlier call."""
    (info, windows), facts = again.told.kept, again.told.facts
    mine = facts[again.post.rank]
    sent = _bytes_sent(again.post, info, split, int(mine[2]))
    return bool(windows.room(sent) == mine[3]) and windows.is_open(facts[:, 3].tolist())


def _put(windows: Any, a: Any) -> None:
    """Let others read a matrix, as soon as all have agreed."""
    if a.shape[0] and a.shape[1]:
        windows.put(a)


def _agreement(again: Again, a: Any, split: str) -> Callable[[Aside], bool]:
    """Return what tells whether ranks call as they did, when this one's window is ready; it comes behind a first product.

    What the host tells, it tells while the GPU multiplies. What a kernel tells goes first: it would wait for the product's end.

    Raises:
        RuntimeError: a CUDA graph is captured.
    """
    windows = again.told.kept[1]
    if not again.by_host:
        if split == "columns":
            _put(windows, a)
        begun = again.begin()
        return lambda aside: again.finish(begun) is not None

    if again.like.device is not None:
        refuse_capture(current_stream(again.like))

    def agreed(aside: Aside) -> bool:
        if split == "columns":
            with aside.sending():
                _put(windows, a)
            aside.wait(aside.mark())
        return again.finish(again.begin()) is not None

    return agreed


def _meeting(post: Post, like: ArrayInfo) -> Callable[[], object] | None:
    """Return what the host waits by until all ranks are here; None where they don't tell each other by the host."""
    boxes = None if like.device is None else post.boxes
    return None if boxes is None else lambda: boxes.tell(bytes(4))


def _by_pulls(post: Post, told: Told, a: Any, b: Any, split: str, agreed: Callable[[Aside], bool]) -> Any:
    """Multiply by what is read of other ranks' windows; None where ranks have not `agreed` on the call as it is told."""
    info, windows = told.kept
    if split == "columns":
        found = _columns_by_pulls(post, info, windows, a, b, told.lengths, agreed)
    else:
        found = _inner_by_pulls(post, info, windows, a, b, agreed)
    if found is not None:
        windows.turn()
    return found


def _bytes_sent(post: Post, like: ArrayInfo, split: str, columns: int) -> int:
    """Return the bytes that others read of what this rank has."""
    m, k = like.shape
    if split == "columns":
        return m * k * like.dtype.itemsize
    return (m - _rows(m, post.size, post.rank)) * columns * np.dtype(np.float32).itemsize


def _rows(m: int, size: int, rank: int) -> int:
    """Return how many rows of a result are a rank's."""
    return m * (rank + 1) // size - m * rank // size


def _columns_by_pulls(
    post: Post, like: ArrayInfo, windows: Any, a: Any, b: Any, lengths: Sequence[int], agreed: Callable[[Aside], bool]
) -> Any:
    """Return all rows of the product: this rank's first, and those of others, which are read while others are multiplied."""
    starts = [0, *itertools.accumulate(lengths)]
    inner, columns = int(a.shape[1]), int(b.shape[1])
    found = empty(like, (starts[-1], columns), like.dtype)
    with Aside(like) as aside:
        # A product is queued as soon as can be: all else has its time.
        if lengths[post.rank]:
            lib.matmul(a, b, out=found[starts[post.rank] : starts[post.rank + 1]])
        # No two ranks read one window at a time.
        others = [(post.rank + step) % post.size for step in range(1, post.size)]
        came = {rank: empty(like, (lengths[rank], inner), like.dtype) for rank in others if lengths[rank]}
        if not agreed(aside):
            return None
        marks = {}
        with aside.sending():
            for rank, room in came.items():
                windows.pull(rank, 0, room, aside.handle)
                marks[rank] = aside.mark()
        for rank, room in came.items():
            aside.join(marks[rank])
            lib.matmul(room, b, out=found[starts[rank] : starts[rank + 1]])
    return found


class _Inner:
    """A rank's part of a product along the inner axis: what it multiplies for others, and reads of what these do for it."""

    def __init__(self, post: Post, like: ArrayInfo, windows: Any, a: Any, b: Any, halved: bool) -> None:
        self.size, self.rank, self.like, self.a, self.b, self.halved = post.size, post.rank, like, a, b, halved
        self.m, columns = int(a.shape[0]), int(b.shape[1])
        self.own, self.each = _rows(self.m, self.size, self.rank), columns * np.dtype(np.float32).itemsize
        self.windows, rows = windows, self.m - self.own
        self.came = empty(like, (self.size, self.own, columns), np.dtype(np.float32))
        self.window = windows.mine(rows * self.each).view(self.came.dtype).reshape(rows, columns)

    def parts(self, rows: int) -> list[tuple[int, int]]:
        """Return where parts of so many rows begin and end."""
        middle = -(-rows // 2 // _TILED) * _TILED
        return [(0, middle), (middle, rows)] if self.halved else [(0, rows)]

    def rows_of(self, rank: int) -> Any:
        """Return what is multiplied for a rank."""
        begin = self.m * rank // self.size
        return self.a[begin : begin + _rows(self.m, self.size, rank)]

    def multiply(self, step: int, aside: Aside) -> list[Any]:
        """Queue the product of another rank's rows; return what stands for the ends of its parts."""
        ends, first = [], self._place(self.rank, step)
        rows = self.rows_of((self.rank + step) % self.size)
        for begin, end in self.parts(len(rows)):
            if end > begin:
                _multiply(rows[begin:end], self.b, self.window[first + begin : first + end], self.like)
            ends.append(aside.event())
        return ends

    def pull(self, step: int, begin: int, end: int, aside: Aside, after: Any = None) -> Any:
        """Read rows of another rank's product for this one; return what stands for their end."""
        source = (self.rank - step) % self.size
        if end > begin:
            start = (self._place(source, step) + begin) * self.each
            with aside.sending(after):
                self.windows.pull(source, start, self.came[source, begin:end], aside.handle)
        return aside.mark()

    def _place(self, rank: int, step: int) -> int:
        """Return the row in a rank's window where what it multiplies in a step begins."""
        return sum(_rows(self.m, self.size, (rank + before) % self.size) for before in range(1, step))


def _inner_by_pulls(post: Post, like: ArrayInfo, windows: Any, a: Any, b: Any, agreed: Callable[[Aside], bool]) -> Any:
    """Return this rank's rows of the sum of all ranks' products: its own are multiplied last, while others' parts are read."""
    size, meet = post.size, _meeting(post, like)
    # Of two ranks, parts of many rows are halved, and a half is added where this rank's own is multiplied.
    halved = meet is not None and size == 2 and like.scalar != "float32" and int(a.shape[0]) // size >= _HALVED
    work = _Inner(post, like, windows, a, b, halved)
    found, mine = empty(like, (work.own, int(b.shape[1])), like.dtype), work.rows_of(post.rank)
    with Aside(like) as aside:
        made = []
        for step in range(1, size):
            made.append(work.multiply(step, aside))
            if step == 1 and not agreed(aside):  # before the first message: all must come to that
                return None
            if meet is None:
                windows.meet()
                work.pull(step, 0, work.own, aside, aside.event())
        if work.own and not halved:
            _multiply(mine, b, work.came[post.rank], like)
        if meet is not None:
            _pull_parts(work, meet, made, aside, found)
    if work.own and not halved:
        _sum(work.came, like, found)
    post.settle()  # `meet` of windows waits for others, and all is queued behind it
    return found


def _pull_parts(work: _Inner, meet: Callable[[], object], made: list[list[Any]], aside: Aside, out: Any) -> None:
    """Read other ranks' parts as they are there, and if parts are halved, add them where this rank's own are multiplied."""
    mine = work.rows_of(work.rank)
    for step, ends in enumerate(made, 1):
        for (begin, end), ready in zip(work.parts(work.own), ends, strict=True):
            aside.wait(ready)
            meet()
            mark = work.pull(step, begin, end, aside)
            if work.halved and end > begin:
                aside.join(mark)
                more = work.came[(work.rank - step) % work.size, begin:end]
                lib.hgemm(mine[begin:end], work.b, epilogue=operators.add.function, extra=more, out=out[begin:end])


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
