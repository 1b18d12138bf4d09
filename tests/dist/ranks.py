"""A communicator of threads, one a rank: what `prism.dist` asks of an engine, without an engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

STACK = 1 << 18
"""Bytes: enough for a rank, so that thousands fit."""


class World:
    """So many ranks, who meet in each collective. Who comes with another collective is told, and so is who dies."""

    def __init__(self, size: int) -> None:
        self.size, self.slots = size, [None] * size
        self.barrier = threading.Barrier(size, timeout=max(600, size))
        self.sent = [0] * size  # bytes

    def meet(self, rank: int, given: Any, joined: bool = False) -> Any:
        """Return what all ranks give, in their order; `joined`: as one array, which nobody writes to."""
        self.slots[rank] = given
        if self.barrier.wait() == 0:  # one of them
            assert not joined or len({len(one) for one in self.slots}) == 1, "ranks send messages of different lengths"
            self.found = np.concatenate(self.slots) if joined else list(self.slots)
        self.barrier.wait()
        found = self.found
        self.barrier.wait()  # until all have it: then the next may come
        return found


class Rank:
    """A rank's end."""

    on_host, library = True, "cupy"

    def __init__(self, world: World, rank: int) -> None:
        self.world, self.rank, self.size = world, rank, world.size

    def all_gather(self, part: Any, made: Any) -> None:
        self.world.sent[self.rank] += part.nbytes
        made[:] = self.world.meet(self.rank, part, joined=True)

    def all_to_all(self, parts: Any, made: Any, sent: Sequence[int], received: Sequence[int]) -> None:
        assert sum(sent) == len(parts) and sum(received) == len(made)
        self.world.sent[self.rank] += sum(sent) - sent[self.rank]
        everyone = self.world.meet(self.rank, (parts, np.cumsum([0, *sent])))
        taken = [theirs[starts[self.rank] : starts[self.rank + 1]] for theirs, starts in everyone]
        assert [len(one) for one in taken] == list(received), "a rank expects other lengths than are sent"
        made[:] = np.concatenate(taken) if taken else made
        self.world.barrier.wait()


class Queued(Rank):
    """A rank's end of an engine that takes messages where shards lie: calls that come again are made as on a GPU."""

    on_host, library = None, "numpy"

    def __init__(self, world: World, rank: int) -> None:
        super().__init__(world, rank)
        self.windows = Windows(world, rank)


class Windows:
    """What `prism.dist._windows` has, of ranks that are threads: who sends waits here, and not on a stream.

    What nobody must read any more is overwritten.
    """

    LENGTH = 1 << 16

    def __init__(self, world: World, rank: int) -> None:
        self.world, self.rank, self.sent, self.parts, self.uses, self.closed = world, rank, 0, 0, 0, False
        self.said, self.heard = [0] * world.size, [0] * world.size
        with world.barrier._cond:
            if not hasattr(world, "counts"):
                world.counts, world.changed = {}, threading.Condition()
                world.windows = [np.full(self.LENGTH, 0xAA, np.uint8) for _ in range(world.size)]

    def open(self, nbytes: int) -> bool:
        return nbytes <= self.LENGTH

    is_open = open

    def room(self, like: Any, nbytes: int, offset: int = 0) -> Any:
        return self.world.windows[self.rank][offset : offset + nbytes]

    def begin(self, like: Any) -> None:
        self.using = True

    def mark(self) -> None:
        assert self.using

    def send(
        self, rank: int, parts: Sequence[Any], places: Sequence[int], after: Any = None, aside: bool = True
    ) -> None:
        assert self.using and len(parts) in (0, len(places))
        if rank != self.rank:
            self._reach(("free", self.rank, rank), self.uses)
        for array, place in zip(parts, places, strict=False):
            assert array.flags.c_contiguous
            raw = array.reshape(-1).view(np.uint8)
            self.world.windows[rank][place : place + raw.size] = raw
            self.sent += raw.size if rank != self.rank else 0
        if rank != self.rank:
            self.said[rank] += 1
            self.parts += 1
            self._count(("sent", rank, self.rank), self.said[rank])

    def hear(self, *ranks: int) -> None:
        for rank in ranks:
            self.heard[rank] += 1
            self._reach(("sent", self.rank, rank), self.heard[rank])

    def end(self, aside: bool = True) -> None:
        self.world.windows[self.rank][:] = 0xAA
        self.uses += 1
        self.using = False
        for rank in range(self.world.size):
            self._count(("free", rank, self.rank), self.uses)

    def _count(self, key: Any, many: int) -> None:
        with self.world.changed:
            self.world.counts[key] = many
            self.world.changed.notify_all()

    def _reach(self, key: Any, many: int) -> None:
        with self.world.changed:
            while self.world.counts.get(key, 0) < many:
                if self.world.barrier.broken or not self.world.changed.wait(20):
                    raise threading.BrokenBarrierError


def run(size: int, work: Callable[[Any], Any], kind: type[Rank] = Rank) -> list[Any]:
    """Return what each rank's work returns, or the error that it raises."""
    world, found = World(size), [None] * size

    def body(rank: int) -> None:
        try:
            found[rank] = work(kind(world, rank))
        except threading.BrokenBarrierError:
            found[rank] = found[rank] or RuntimeError("another rank died")
        except Exception as error:
            found[rank] = error

    before = threading.stack_size(STACK if size > 64 else 0)
    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(size)]
    threading.stack_size(before)
    for thread in threads:
        thread.start()
    while living := [thread for thread in threads if thread.is_alive()]:
        living[0].join(0.01)
        if len(living) < size and world.barrier.n_waiting == len(living) == sum(t.is_alive() for t in threads):
            world.barrier.abort()  # somebody is gone, and the others wait for him
    return found


def results(size: int, work: Callable[[Any], Any], kind: type[Rank] = Rank) -> list[Any]:
    """Return what each rank's work returns. Raises the first error."""
    found = run(size, work, kind)
    for one in found:
        if isinstance(one, Exception):
            raise one
    return found


def cut(x: np.ndarray[Any, Any], lengths: Sequence[int], axis: int = 0) -> list[Any]:
    """Return an array as shards of such lengths along an axis, each an array of its own."""
    assert sum(lengths) == x.shape[axis]
    return [one.copy() for one in np.split(x, np.cumsum(lengths)[:-1], axis)]
