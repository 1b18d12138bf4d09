"""Who reaches into the shared memory of another block of the cluster, and whether that one is there: begun, and not ended.

A block's memory is there from when the block begins to when its last thread ends. Where a cluster does not meet before the
kernel's body (`Plan.begins`), who reaches must know of a step of the other block. Where it does not meet behind it
(`Plan.ends`), some thread of the other block must know of the access when it ends. Who has only been lucky in this order of
threads is found out so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.interpret.errors import RaceError
from prism.interpret.frame import Block, Cluster, Frame
from prism.interpret.lanes import anywhere
from prism.lang.diagnostics import Span

MISSING = "a cluster's blocks begin one by one: no barrier of the cluster is known to stand before this"
GONE = "a block's shared memory goes when its last thread ends: no barrier of the cluster is known to stand behind this"


class Reaches:
    """The last access, or arrival, of each thread of a cluster in the memory of each of its blocks; of a checked run.

    `met`: which threads are known to know that a block has begun: what a thread knows only grows.
    """

    __slots__ = ("last", "met", "numbers", "sites", "spans")

    def __init__(self, blocks: int, threads: int) -> None:
        self.last = np.zeros((blocks, blocks * threads), np.int64)
        self.sites = np.zeros((blocks, blocks * threads), np.int64)
        self.met = np.zeros((blocks, blocks * threads), bool)
        self.spans: list[Span] = []
        self.numbers: dict[int, int] = {}  # by a span's identity: `spans` keeps each

    def note(self, rank: int, places: Any, steps: Any, span: Span) -> None:
        """Note that threads of the cluster reach into a block's memory, each at its step."""
        number = self.numbers.setdefault(id(span), len(self.spans))
        if number == len(self.spans):
            self.spans.append(span)
        self.last[rank, places], self.sites[rank, places] = steps, number


def note_reach(frame: Frame, ranks: Any, span: Span) -> None:
    """Note that the threads that run now reach into the memory of blocks of their cluster: `ranks`, one or one a thread."""
    block = frame.block
    if block.machine.clocks is None:
        return
    lanes = frame.active()
    if isinstance(ranks, np.ndarray) and ranks.ndim:
        ranks = ranks[lanes] if len(ranks) == block.machine.threads else ranks
        if not anywhere(ranks != block.rank):
            return
        for rank in np.unique(ranks):
            _note(block, int(rank), lanes[ranks == rank], span)
    else:
        _note(block, int(ranks), lanes, span)


def note_gather(frame: Frame, span: Span) -> None:
    """Note that the threads that run now send to all blocks of their cluster, which wait for it: they must have begun."""
    block = frame.block
    if block.machine.clocks is None or block.machine.tells:
        return
    for rank in range(block.cluster.size):
        if rank != block.rank:
            _look_for_begun(block, rank, frame.active(), span)


def _note(block: Block, rank: int, lanes: Any, span: Span) -> None:
    cluster, machine = block.cluster, block.machine
    if rank == block.rank or not 0 <= rank < cluster.size:
        return
    clocks = machine.clocks
    assert clocks is not None
    reaches = _look_for_begun(block, rank, lanes, span)
    if not machine.ends:
        reaches.note(rank, lanes + block.rank * machine.threads, clocks.own(block.numbers(lanes)), span)


def _look_for_begun(block: Block, rank: int, lanes: Any, span: Span) -> Reaches:
    """Report the first of some threads that is not known to know that a block has begun."""
    cluster, machine = block.cluster, block.machine
    clocks = machine.clocks
    assert clocks is not None
    if cluster.reaches is None:
        cluster.reaches = Reaches(cluster.size, machine.threads)
    reaches: Reaches = cluster.reaches
    places = lanes + block.rank * machine.threads
    new = lanes[~reaches.met[rank, places]]
    if not machine.begins and len(new):
        there = (block.number - block.rank + rank) * machine.threads + np.arange(machine.threads)
        known = clocks.steps(block.numbers(new)[:, None], there[None, :]).max(axis=1)
        if anywhere(known < 1):
            raise _fault(block, rank, int(new[int((known < 1).argmax())]), span, "may not have begun", MISSING)
        reaches.met[rank, places] = True
    return reaches


def look_for_ended(cluster: Cluster) -> None:
    """Report who reached into a block of which no thread knew of it when it ended. All blocks have ended."""
    reaches, first = cluster.reaches, cluster.blocks[0]
    if reaches is None:
        return
    machine = first.machine
    clocks = machine.clocks
    assert clocks is not None
    start = first.number * machine.threads
    for rank in range(cluster.size):
        places = np.flatnonzero(reaches.last[rank])
        if not len(places):
            continue
        there = start + rank * machine.threads + np.arange(machine.threads)
        known = clocks.steps(there[:, None], (start + places)[None, :]).max(axis=0)
        late = known < reaches.last[rank, places]
        if anywhere(late):
            place = int(places[int(late.argmax())])
            block = cluster.blocks[place // machine.threads]
            span = reaches.spans[int(reaches.sites[rank, place])]
            raise _fault(block, rank, place % machine.threads, span, "may have ended", GONE)


def _fault(block: Block, rank: int, lane: int, span: Span, what: str, why: str) -> RaceError:
    there = block.number - block.rank + rank
    return RaceError(
        f"this reaches into the shared memory of block {there}, which {what}", span,
        here=f"of block {there}, by block {block.number}", thread=lane, block=block.number, notes=(why,),
    )  # fmt: skip
