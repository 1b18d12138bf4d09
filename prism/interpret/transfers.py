"""Asynchronous copies on the reference machine: what `cp_async`, bulk and tensor copies say they copy, as flights.

A copy is checked when it is issued: from then on, until somebody waits for it, its agent reads the source and writes the
destination. The bytes move when the flight takes effect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from prism.interpret.checker import Checker
from prism.interpret.errors import BoundsError, BytesError, FlightError, MachineError, MisalignedError, index_refused
from prism.interpret.flights import Effect, Flight, flights_of
from prism.interpret.frame import Block, Frame
from prism.interpret.lanes import anywhere, everywhere, unwrap
from prism.interpret.mbarriers import Phases, phases_of
from prism.interpret.objects import rounds_of
from prism.interpret.operands import Operand, operand_of
from prism.interpret.reach import note_reach
from prism.interpret.regions import Region
from prism.interpret.scope import Eval, Scope
from prism.interpret.tensors import Box, Tile, encode
from prism.lang.tree import Apply
from prism.lang.tree.bind import binding_of, operands_of
from prism.lang.tree.plan import Mbarrier
from prism.lang.types import Scalar
from prism.lang.types.shorts import bits_of, values_of
from prism.lang.types.tiles import ALIGNMENT

Step = Callable[[Any, Any], Any]
PIECE = 16
"""Bytes, of rows in memory: what the tensor copy engine begins at."""


@dataclass(slots=True)
class _Side:
    """One end of a copy: how its elements are got and set, and, checked, which elements of which region they are."""

    region: Region
    index: Any
    get: Callable[[], Any]
    put: Callable[[Any], None]


def compile_transfer(scope: Scope, node: Apply) -> Eval:
    """An asynchronous copy."""
    issue = _issuing(scope, node, scope.completes.get(node))
    return lambda frame: issue(frame, None)


def measure(scope: Scope, node: Apply) -> Callable[[Frame], Any]:
    """Return what says how many bytes each thread's load will bring, from its operands."""
    issue = _issuing(scope, node, None)

    def count(frame: Frame) -> Any:
        found: list[int] = []
        issue(frame, found)
        return np.array(found, np.int64)

    return count


def _issuing(scope: Scope, node: Apply, barrier: Mbarrier | None) -> Callable[[Frame, list[int] | None], None]:
    binding = binding_of(node)
    operands: list[Operand] = [operand_of(scope, parameter, argument) for parameter, argument in operands_of(node)]
    meaning, plain = node.intrinsic.meaning, scope.shop.mode.plain
    checker = Checker(node.span, node.code) if scope.check else None
    assert meaning is not None

    def issue(frame: Frame, measured: list[int] | None) -> None:
        lanes = frame.active()
        transfer = _Transfer(node, frame, lanes, checker, barrier, plain, measured)
        meaning(binding, transfer, *[operand(frame, lanes) for operand in operands])

    return issue


@dataclass(slots=True)
class _Transfer:
    """`prism.lang.intrinsics.asynchronous.Transfer` for the threads that issue a copy now; `measured`: or only ask its bytes."""

    node: Apply
    frame: Frame
    lanes: Any
    checker: Checker | None
    barrier: Mbarrier | None
    plain: bool
    measured: list[int] | None

    @property
    def kind(self) -> str:
        """How it is waited for: a store to another block as a load is."""
        return "load" if self.node.intrinsic.asynchronous == "remote" else self.node.intrinsic.asynchronous

    @property
    def generic(self) -> bool:
        """Whether it accesses memory as threads do."""
        return self.node.intrinsic.asynchronous in ("cp_async", "remote")

    @property
    def name(self) -> str:
        """What it is called."""
        return self.node.intrinsic.name

    def align(self, reference: Any, bytes: int) -> None:
        """Report an address that is no multiple of `bytes`."""
        if self.checker is None or self.measured is not None:
            return
        region = reference.region
        bad = (region.address + reference.index * region.bytes) % bytes != 0
        if anywhere(bad):
            at = int(bad.argmax())
            text = f"`{self.name}` needs an address that is a multiple of {bytes} bytes"
            where = f"`{region.name}[{region.element(int(reference.index[at]))}]` is at none"
            raise self._error(MisalignedError, text, where, at)

    def require(self, holds: Any, text: str) -> None:
        """Report `text` for the first thread where `holds` is False."""
        found = np.broadcast_to(np.asarray(holds), self.lanes.shape)
        if self.checker is not None and not everywhere(found):
            raise self._error(BoundsError, f"`{self.name}`: {text}", "applied here", int(np.argmin(found)))

    def copy(self, destination: Any, source: Any, elements: Any, valid: Any = None) -> None:
        """Copy elements that follow one another; zeros after the first `valid`."""
        count = np.broadcast_to(np.asarray(elements, np.int64), self.lanes.shape)
        size = destination.region.bytes
        if self.measured is not None:
            self.measured.extend(int(n) * size for n in count)
        elif self.kind == "cp_async":
            self._in_step(destination, source, int(count[0]), valid)
        else:
            for k, n in enumerate(count):
                ends = [_elements(end.region, end.index[k] + np.arange(n)) for end in (source, destination)]
                self._start(k, ends[0], ends[1:], int(n) * size)

    def load_tile(self, tile: Tile, tensor: Box, multicast: int = 0, relative: bool = False) -> None:
        """Copy a box of the tensor into shared memory."""
        count = prod(tensor.type.box) * tensor.type.element.bytes
        if self.measured is not None:
            self.measured.extend([count * max(1, multicast.bit_count())] * len(self.lanes))
            return
        for k in range(len(self.lanes)):
            into = self._rows(tile, tensor, k)
            blocks = self._blocks(multicast, relative)
            ends = [_elements(_of_block(tile.region, self.frame.block, block), into) for block in blocks]
            self._start(k, self._box(tensor, k), ends, count, blocks)

    def send(self, destination: Any, value: Any, shift: Any) -> None:
        """Store each thread's value in the block that is `shift` further on."""
        size, mine = destination.region.bytes, self.frame.block
        if self.measured is not None:
            self.measured.extend([size] * len(self.lanes))
            return
        blocks = mine.cluster.blocks
        values, shifts = (np.broadcast_to(np.asarray(a), self.lanes.shape) for a in (value, shift))
        for k in range(len(self.lanes)):
            other = blocks[(mine.rank + int(shifts[k])) % len(blocks)]
            end = _elements(_of_block(destination.region, mine, other), destination.index[k : k + 1])
            held = values[k : k + 1].copy()
            source = _Side(end.region, end.index, lambda held=held: held, end.put)  # type: ignore[misc]
            self._start(k, source, [end], size, [other], sent=other)

    def store_tile(self, tensor: Box, tile: Tile) -> None:
        """Copy the other way."""
        for k in range(len(self.lanes)):
            source = _elements(tile.region, self._rows(tile, tensor, k))
            self._start(k, source, [self._box(tensor, k, stored=True)], 0)

    def reduce(self, destination: Any, source: Any, elements: Any, step: Step) -> None:
        """Combine elements that follow one another."""
        count = np.broadcast_to(np.asarray(elements, np.int64), self.lanes.shape)
        for k, n in enumerate(count):
            out, into = (_elements(end.region, end.index[k] + np.arange(n)) for end in (source, destination))
            self._start(k, out, [_combining(into, self._scalar(), step)], 0, atomic=True)

    def reduce_tile(self, tensor: Box, tile: Tile, step: Step) -> None:
        """Combine a box of the tensor with the tile."""
        for k in range(len(self.lanes)):
            source = _elements(tile.region, self._rows(tile, tensor, k))
            into = _combining(self._box(tensor, k, stored=True), self._scalar(), step)
            self._start(k, source, [into], 0, atomic=True)

    def _rows(self, tile: Tile, tensor: Box, k: int) -> Any:
        """Return the indices of a box's elements in shared memory, where the engine can begin: at a multiple of 128 bytes."""
        if self.checker is not None:
            row, column = divmod(int(tile.index[k]), tile.shape[-1])
            size = tile.region.bytes
            begin = row * (tensor.type.swizzle or tile.shape[-1] * size) + column * size
            if begin % ALIGNMENT[0]:
                text = f"`{self.name}`: a box begins {begin} bytes into its tile, and that is no multiple of {ALIGNMENT[0]}"
                raise self._error(MisalignedError, text, f"row {row}", k)
        return tile.elements(k, tensor.type.box)

    def _box(self, tensor: Box, k: int, *, stored: bool = False) -> _Side:
        """Return a box, all of whose elements must be in memory; of a piece without any the engine touches the map's first one.

        A tile is copied in pieces, as wide as what is permuted is. It begins at a multiple of 16 bytes of its rows, and one that
        is stored at no negative index: else the engine stops the kernel, as at an illegal instruction.
        """
        found, of = _box(tensor, k), tensor.tensor
        if stored and tensor.starts[k].min() < 0:
            where = ", ".join(str(int(start)) for start in tensor.starts[k])
            text = f"`{self.name}`: a box that is stored begins at [{where}], before its map"
            raise self._error(BoundsError, text, f"`{of.name}[{where}]`", k)
        begin = int(tensor.starts[k][-1]) * tensor.type.element.bytes
        if self.checker is not None and begin % PIECE:
            where = ", ".join(str(int(start)) for start in tensor.starts[k])
            text = f"`{self.name}`: a box begins {begin} bytes into the rows of its map, and that is no multiple of {PIECE}"
            raise self._error(MisalignedError, text, f"`{of.name}[{where}]`", k)
        if of.memory is not None:
            begin, end = of.memory
            outside = not found.index.size or _has_piece_outside(tensor, k)
            touched = np.append(found.index, of.base) if outside else found.index
            if touched.min() < begin or touched.max() >= end:
                where = ", ".join(str(int(start)) for start in tensor.starts[k])
                what = "where the map begins, touched for a box outside" if outside else "some of this box"
                raise self._error(BoundsError, f"`{self.name}`: not in memory: {what}", f"`{of.name}[{where}]`", k)
        return found

    def _scalar(self) -> Scalar:
        (tile,) = binding_of(self.node).tiles.values()
        assert isinstance(tile.element, Scalar)
        return tile.element

    # -- how it starts ------------------------------------------------------------------------------------------------

    def _blocks(self, multicast: int, relative: bool) -> list[Block]:
        block = self.frame.block
        own = block.rank if relative else 0
        return [b for b in block.cluster.blocks if multicast >> (b.rank ^ own) & 1] if multicast else [block]

    def _start(
        self,
        k: int,
        source: _Side,
        destinations: list[_Side],
        count: int,
        blocks: list[Block] | None = None,
        sent: Block | None = None,
        atomic: bool = False,
    ) -> None:
        """Issue one thread's copy; or a value `sent` to another block, whose flight it is. `atomic`: it combines."""
        if self.plain or (self.kind == "load" and self.barrier is None and self.checker is None):
            self._within(_moving(source, destinations))(None)
            return
        load, flights, lane = self.kind == "load", flights_of(self.frame.block), self.lanes[k : k + 1]
        parts = (0,) if load else (0, 1)
        agents = tuple(
            flights.agents(self.kind, lane[:, None], self.name, part, generic=self.generic) for part in parts
        )
        if self.checker is not None:
            for block in blocks or [self.frame.block]:
                note_reach(self.frame, block.rank, self.node.span)
            if sent is None:
                self._check(lane, agents[0], source, "read")
            for end in destinations:
                self._check(lane, agents[-1], end, "update" if atomic else "write", atomic)
        known, flight = agents if self.checker is not None else (), (self.kind, self.name, self.node.span, lane)
        if load:
            targets = self._targets(blocks or [self.frame.block], k)
            effect = self._landing(k, source, destinations, targets, count, agents[0])
            into = flights if sent is None else flights_of(sent)
            into.issue(Flight(*flight, (effect,), known, whole=True, targets=targets))
        else:
            read, write = _storing(source, destinations)
            flights.issue(Flight(*flight, (self._within(read), self._within(write)), known, whole=True))

    def _landing(
        self, k: int, source: _Side, destinations: list[_Side], targets: tuple[Phases, ...], count: int, agent: Any
    ) -> Effect:
        """Return what a load does when it ends."""
        clocks, move = self.frame.block.machine.clocks, _moving(source, destinations)

        def effect(_: Any) -> None:
            move(None)
            row = clocks.gather(agent) if clocks is not None else None
            for phases in targets:
                phases.deliver(count, row, lambda kind, what, here: self._error(BytesError, what, here, k))

        return self._within(effect)

    def _targets(self, blocks: list[Block], k: int) -> tuple[Phases, ...]:
        if self.barrier is None:
            raise self._error(
                FlightError, f"nothing can wait for this `{self.name}`: no mbarrier counts its bytes", "here", k
            )
        cycle = self.barrier.cycle
        copy = rounds_of(self.frame.block, cycle).get(self.frame, cycle.name) % cycle.copies
        return tuple(phases_of(block, self.barrier, copy) for block in blocks)

    def _in_step(self, destination: Any, source: Any, count: int, valid: Any) -> None:
        """Issue the copies of all threads, each of a few elements."""
        into = destination.index[:, None] + np.arange(count)
        out = source.index[:, None] + np.arange(count)
        read = np.ones(out.shape, bool)
        if valid is not None:
            read &= np.arange(count) < np.broadcast_to(np.asarray(valid), self.lanes.shape)[:, None]
        here, there = encode(destination.region.data), encode(source.region.data)

        def move(chosen: Any) -> None:
            found = np.zeros((*into[chosen].shape, *there.shape[1:]), there.dtype)
            wanted = read[chosen]
            found[wanted] = there[unwrap(out[chosen][wanted])]
            here[unwrap(into[chosen])] = found

        effect = self._within(move)
        if self.plain:
            effect(np.ones(len(self.lanes), bool))
            return
        flights = flights_of(self.frame.block)
        agents = flights.agents("cp_async", self.lanes[:, None], self.name)
        if self.checker is not None:
            lanes, by = (np.repeat(x, count).reshape(into.shape) for x in (self.lanes, agents))
            self.checker.access(self.frame, source.region, out[read], lanes[read], "read", by=by[read])
            self.checker.access(self.frame, destination.region, into.ravel(), lanes.ravel(), "write", by=by.ravel())
        known = (agents,) if agents is not None else ()
        flights.issue(Flight("cp_async", self.name, self.node.span, self.lanes, (effect,), known))

    def _check(self, lane: Any, agent: Any, end: _Side, kind: str, atomic: bool = False) -> None:
        assert self.checker is not None
        lanes, by = np.full(len(end.index), lane[0]), np.full(len(end.index), agent[0])
        self.checker.access(self.frame, end.region, end.index, lanes, kind, atomic, by=by, proxy=not self.generic)

    def _within(self, effect: Effect) -> Effect:
        """Return the effect that says where NumPy finds an index out of bounds: all that is looked at in a run without checks."""

        def run(chosen: Any) -> None:
            try:
                effect(chosen)
            except IndexError as error:
                raise index_refused(self.name, error, self.node.span, self.node.code, self.frame.block.number) from None

        return run

    def _error(self, kind: type[MachineError], text: str, here: str, k: int) -> MachineError:
        block = self.frame.block.number
        return kind(text, self.node.span, here=here, perspective=self.node.code, thread=int(self.lanes[k]), block=block)


def _moving(source: _Side, destinations: list[_Side]) -> Effect:
    """Return what copies at once."""

    def move(_: Any) -> None:
        for end in destinations:
            end.put(source.get())

    return move


def _storing(source: _Side, destinations: list[_Side]) -> tuple[Effect, Effect]:
    """Return what a store does: it reads, then it writes."""
    held: list[Any] = []

    def read(_: Any) -> None:
        held.append(source.get())

    def write(_: Any) -> None:
        for end in destinations:
            end.put(held[0])

    return read, write


def _has_piece_outside(tensor: Box, k: int) -> bool:
    """Whether all columns of a piece of a box are outside of the map: of the first one, or of the last one."""
    type_, first = tensor.type, int(tensor.starts[k][-1])
    each = type_.swizzle // type_.element.bytes if type_.swizzle else type_.box[-1]
    return first + (type_.box[-1] - 1) // each * each >= tensor.tensor.array.shape[-1] or first + each <= 0


def _combining(end: _Side, scalar: Scalar, step: Step) -> _Side:
    """Return an end of which each element becomes what `step` makes of it and what comes."""

    def put(values: Any) -> None:
        before = end.get()
        values = values.reshape(before.shape)
        if scalar.coded:
            end.put(bits_of(step(values_of(before, scalar), values_of(values, scalar)), scalar))
        else:
            end.put(step(before, values))

    return replace(end, put=put)


# -- the two ends ---------------------------------------------------------------------------------------------------------


def _elements(region: Region, index: Any) -> _Side:
    data = encode(region.data)

    def put(values: Any) -> None:
        data[unwrap(index)] = values.reshape(data[index].shape)

    return _Side(region, index, lambda: data[unwrap(index)], put)


def _of_block(region: Region, mine: Block, block: Block) -> Region:
    """Return the same place in the shared memory of another block of the cluster."""
    if block is mine:
        return region
    shift, data = block.first - mine.first, encode(region.data)
    first = region.address + shift
    other = block.cluster.shared[first : first + data.nbytes].view(data.dtype).reshape(data.shape)
    granules = 0 if region.shadow is None else shift // region.shadow.granule
    return replace(region, data=other, address=first, first=region.first + granules)


def _box(box: Box, k: int) -> _Side:
    """Return a box of a tensor: what is outside reads as zeros, and is not written."""
    array, extents = box.tensor.array, box.type.box
    positions = [int(start) + np.arange(extent) for start, extent in zip(box.starts[k], extents, strict=True)]
    inside = [(at >= 0) & (at < n) for at, n in zip(positions, array.shape, strict=True)]
    here = np.ix_(*[np.flatnonzero(ok) for ok in inside])
    there = np.ix_(*[at[ok] for at, ok in zip(positions, inside, strict=True)])
    index: Any = np.int64(box.tensor.base)
    for at, ok, step in zip(positions, inside, box.tensor.steps, strict=True):
        index = np.add.outer(index, at[ok] * step)

    def get() -> Any:
        found = np.zeros(extents, array.dtype)
        found[here] = array[there]
        return found

    def put(values: Any) -> None:
        array[there] = values.reshape(extents)[here]

    return _Side(box.tensor.region, index.ravel(), get, put)
