"""Calls like an earlier one, over an engine that works on the GPU: all is queued there before the host waits.

What ranks have in common is known from before, and so is what each of them said. So a call reduces its shard into a message
that lies ready, and lets the engine gather; a kernel tells whether all ranks say the same as then, and what their elements come
to. Those are two numbers, which the host reads as soon as they are there. If a rank says something else, its message is read as
in a first call.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from prism.dist._agree import MESSAGE, Told, judge
from prism.dist._arrays import Post, bring, kind_of, on_host, put
from prism.dist._boxes import WORDS, words_of
from prism.dist._engines import address_of
from prism.host import pinned, repeat
from prism.host.libraries import Kind, exactly
from prism.host.machine import Ready, run_on_host
from prism.host.memory import empty
from prism.host.plan import Plan
from prism.host.warm import number_of_bits
from prism.lib import operators
from prism.lib.algorithms.reduce.messages import COUNTED, HEAD, NAMES, TOLD, combining, counting, hearing
from prism.lib.algorithms.scan.api import SUPPORTED, initial_of, task_of
from prism.lib.algorithms.scan.plan import Task
from prism.lib.operators import Operator
from prism.runtime.arrays import ArrayInfo, describe

_MOST = 256
_NOTHING = np.dtype(np.int32)
_UNKNOWN = (AttributeError, TypeError, RuntimeError)
"""What is asked for, or an array, can't be looked up."""
_kept: dict[Hashable, Again] = {}
_seen: dict[Hashable, Any] = {}


class Again:
    """A call that was made before, with what all ranks said then.

    `work(x, out)` reduces a shard into the message, on the current stream; None: there are no elements, and nothing is said of
    them. `combined`: a rank whose element is asked for has some. `apart`: ranks of one host tell each other by the host, without
    a wait for what is queued. `bins`: so many counts, int64, are told behind the message: `count`.
    """

    def __init__(
        self, post: Post, told: Told, total: Any, plan: Plan, work: Callable[[Any, Any], Any] | None, result: np.dtype[Any],
        combined: bool, apart: bool = False, bins: int = 0,
    ) -> None:  # fmt: skip
        info = told.kept[0]
        self.bins = bins
        self.post, self.combined, self._boxes = post, combined, None if info.device is None else post.boxes
        self._words = self._wanted = None
        if apart and self._boxes is not None:
            self._words = words_of(told.head.ljust(MESSAGE, b"\0"))
            every = np.zeros((post.size, MESSAGE), np.uint8)
            every[:, :HEAD] = told.heads
            self._wanted = every.view("<u4").astype(np.uint64)
        self.sent, self.came = (empty(info, n, np.dtype(np.uint8)) for n in (MESSAGE, post.size * MESSAGE))
        self.like = like = replace(info, owner=self.sent)  # the shard itself is not kept
        self.known = bring(like, told.heads.flatten())
        put(self.sent[:HEAD], np.frombuffer(bytearray(told.head), np.uint8))
        self.kind, self.result, self.element = _NOTHING if total is None else kind_of(total), result, None
        if total is not None:
            self.element = self.sent[HEAD : HEAD + self.kind.itemsize].view(total.dtype).reshape(())
        kept = tuple(
            like if one is info else self.element if one is total and one is not None else one for one in told.kept
        )
        self.told = told._replace(kept=kept, elements=told.elements[:0])
        self._work, self._plan = work, plan
        self._gather = gather_of(post, like, self.sent, self.came)
        self._nowhere = empty(like, (), result)
        self._spare: Any = None
        self._stacked: tuple[Any, ...] = (None,)
        if like.device is not None:
            self._stream, *self._make = repeat.library_named(like.library)[2:5]
            self._made = Kind((), self._nowhere.dtype, result.itemsize, None)
        if like.device is not None and self._words is None:
            names = COUNTED if bins else NAMES if self._boxes is None else (*TOLD, *NAMES[1:])
            self._ready = Ready(plan, names, like, waited=True)
            self._launch = self._ready.launch()
            self._said, self._told = describe(self.sent).pointer, describe(self.came).pointer
            self._known, self._place = describe(self.known).pointer, describe(self._nowhere).pointer

    def room(self) -> tuple[Any, int]:
        """Return an array without axes for what the elements come to, and its address."""
        if self.like.device is None:
            return np.empty((), self.result), 0
        spare, self._spare = self._spare, None
        if spare is not None and spare[0] == self._stream(self.like.device):
            return spare[1]  # type: ignore[no-any-return]
        return self._reserve(self._made)

    def room_like(self, x: Any) -> Any:
        """Return an array of one dimension like a shard's, for a result; None where NumPy makes it."""
        if self.like.device is None or not self.like.size:
            return None
        return self._reserve(Kind((self.like.size,), x.dtype, self.like.size * self.like.dtype.itemsize, None))[0]

    def _reserve(self, kind: Kind) -> tuple[Any, int]:
        reserve, shape = self._make
        room, place = reserve(self.sent, self.like.device, kind)
        return shape(room, kind, -1), place

    def count(self, mine: Any) -> Any:
        """Return the sums of all ranks' counts, int64 without gaps; None: a rank says something else: then `judge` looks.

        Raises:
            RuntimeError: a rank of this host has ended, or does not answer.
        """
        boxes, stream = self._boxes, self._stream(self.like.device)
        assert boxes is not None
        if self._stacked[0] != stream:  # else the one before is behind what read it
            rows = empty(self.like, (self.post.size, self.bins), np.dtype(np.int64))
            self._stacked = stream, rows, describe(rows).pointer
        total, place = self._reserve(Kind((self.bins,), mine.dtype, 8 * self.bins, None))
        told = boxes.arguments(self._said, self._told, boxes.begin(MESSAGE + 8 * self.bins, stream))
        asked = *told, self._known, address_of(mine), boxes.place_behind(MESSAGE), self._stacked[2], place
        return (
            None
            if self.finish((pinned.begin(self._launch, asked, stream, self._ready.ordinal), stream)) is None
            else total
        )

    def begin(self, x: Any = None, made: Any = None, place: int = 0) -> Any:
        """Queue all of a message: what a shard is reduced to, if that is asked for; the gather; and what reads it.

        `made`, `place`: what `room` gave, where what the elements come to is put. Returns what `finish` waits for.

        Raises:
            RuntimeError: a rank of this host has ended, or did not answer.
        """
        if self._words is not None:
            return self._boxes.say(self._words)  # type: ignore[union-attr]
        if self._work is not None:
            self._work(x, self.element)
        like = self.like
        if like.device is None:
            self._gather()
            answer = np.zeros(2, np.int64)
            arrays = (self.came, self.known, (self._nowhere if made is None else made).reshape(1), answer)
            run_on_host(self._plan, dict(zip(NAMES, map(describe, arrays), strict=True)))
            return answer
        stream = self._stream(like.device)
        place = place or self._place
        if self._boxes is None:
            self._gather()
            asked: tuple[int, ...] = self._told, self._known, place
        else:
            call = self._boxes.begin(MESSAGE, stream)
            asked = *self._boxes.arguments(self._said, self._told, call), self._known, place
        begun = pinned.begin(self._launch, asked, stream, self._ready.ordinal), stream
        if made is not None:  # while the GPU works: the next call's room
            self._spare = stream, self._reserve(self._made)
        return begun

    def finish(self, begun: Any) -> int | None:
        """Return the bits of what the ranks' elements come to; None: one says something else than it did: then `judge` looks.

        Raises:
            RuntimeError: a rank of this host has ended, or does not answer.
        """
        if self._wanted is not None:
            return 0 if self._boxes.hears(self._wanted) else None  # type: ignore[union-attr]
        if self.like.device is None:
            low, high = begun.tolist()
        else:
            words, stream = begun
            wait = None if self._boxes is None else self._boxes.wait
            low, high = pinned.finish(words, stream, self._ready.ordinal, 2, wait)
            if self._boxes is not None:
                self._boxes.end()
        return high << 32 | low >> 1 if low & 1 else None

    def value(self, bits: int) -> Any:
        """Return the number that bits are, as the ranks' elements are."""
        return number_of_bits(bits, self.kind)

    def judge(self) -> Told:
        """Return what ranks say that was not known. Raises as `agree`."""
        came = on_host(self.came) if self._words is None else self._boxes.hear()  # type: ignore[union-attr]
        said = came.view(np.uint8).reshape(-1)
        return judge(self.post, self.told.call, self.told.head, said, self.told.kept)


def agreed_again(post: Post, told: Told) -> Again | None:
    """Return what makes calls like this one whose messages have no elements; None where the engine works on the host."""
    if not post.queues(told.kept[0]):
        return None
    task = Task(operators.add, _NOTHING.name, _NOTHING.name)
    plan = _plan_of(post, told, task, None, (0, 0), task.identity())
    return Again(post, told, None, plan, None, _NOTHING, False, True)


def counted_again(post: Post, told: Told, counts: Any) -> Again | None:
    """Return what makes calls like this one, whose counts go with the message; where none tells so many, as `agreed_again`."""
    bins, info = int(counts.shape[0]), told.kept[0]
    fits = post.boxes is not None and info.device is not None and post.boxes.fits(MESSAGE + 8 * bins)
    if not bins or not fits or describe(counts).scalar != "int64" or not post.queues(info):
        return agreed_again(post, told)
    plan = counting(8 * bins, post.rank, post.size, WORDS)
    return Again(post, told, None, plan, None, _NOTHING, False, bins=bins)


def _plan_of(
    post: Post, told: Told, task: Task, result: np.dtype[Any] | None, span: tuple[int, int], begin: Any
) -> Plan:
    """Return the plan of a message's end: how it is told, where ranks share memory for that, and how elements are combined."""
    if post.boxes is None or told.kept[0].device is None:
        return combining(task, result, post.size, span, begin)
    return hearing(task, result, post.size, span, begin, post.rank, WORDS)


def again_of(
    post: Post, told: Told, total: Any, operator: Operator, span: tuple[int, int], initial: Any,
    work: Callable[[Any, Any], Any], result: np.dtype[Any] | None = None,
) -> Again | None:  # fmt: skip
    """Return what makes calls like this one; None where the engine works on the host, or no kernel combines such elements.

    `total`: what a shard was reduced to. `result`: the dtype of what is made of the elements; by default theirs.
    """
    like: ArrayInfo = told.kept[0]
    if not post.queues(like):
        return None
    given = describe(np.asarray(total) if isinstance(total, np.generic) else total)
    if given.scalar not in (*SUPPORTED, "bool"):
        return None
    try:
        task = task_of(operator, given, None)[0]
        begin = task.identity() if initial is None else initial_of(initial, task)
    except (TypeError, ValueError):
        return None
    plan = _plan_of(post, told, task, result, span, begin)
    end = given.dtype if result is None else result
    combined = any(told.lengths[slice(*sorted(span))])
    return Again(post, told, total, plan, work if told.facts[post.rank, 0] else None, end, combined)


def key_of(x: Any, comm: Any, *asked: Any) -> Hashable | None:
    """Return what a call is known by: the communicator, what is asked, and all of the array that a decision follows from."""
    known = (
        id(comm),
        *[one if one is None else exactly(one) if type(one) is float else (type(one), one) for one in asked],
    )
    try:
        hash(known)
        if (library := repeat.library_of(type(x))) is not None:
            found: Hashable = library[1][1](known, (x,))[0]
            return found
        return (known, x.dtype, x.shape, x.strides) if type(x) is np.ndarray else None
    except _UNKNOWN:
        return None


def take(key: Hashable | None) -> Again | None:
    """Return what makes a call known by a key, if it was made before. Who makes it gives it back by `keep`."""
    return None if key is None else _kept.pop(key, None)


def keep(key: Hashable | None, again: Again | None) -> None:
    """Keep a call for the next like it."""
    if key is None or again is None:
        return
    if len(_kept) >= _MOST:
        _kept.clear()
    _kept[key] = again


def comes_again(key: Hashable | None, told: Told) -> bool:
    """Whether a call was made before, and all ranks said the same: memory is taken for those alone."""
    if key is None:
        return False
    if len(_seen) >= _MOST:
        _seen.clear()
    before, _seen[key] = _seen.get(key), told.heads
    return before is not None and np.array_equal(before, told.heads)


def gather_of(post: Post, like: ArrayInfo, sent: Any, came: Any) -> Callable[[], None]:
    """Return what gathers a message, queued behind what makes it: by boxes, or by the engine's own way to do so often."""
    boxes, engine = post.boxes, cast(Any, post.engine)
    if boxes is not None and boxes.fits(len(sent)):
        places, stream_of = (
            (describe(sent).pointer, describe(came).pointer, len(sent)),
            repeat.library_named(like.library)[2],
        )
        return lambda: boxes.gather(like, *places, stream_of(like.device))
    if hasattr(engine, "gather_again"):
        return engine.gather_again(sent, came)  # type: ignore[no-any-return]
    return lambda: engine.all_gather(sent, came)


def forget() -> None:
    """Forget all calls, and give back what they hold."""
    _kept.clear()
    _seen.clear()


atexit.register(forget)  # communicators go before the libraries that they are of
