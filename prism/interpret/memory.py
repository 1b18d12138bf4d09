"""Memory on the reference machine: regions, pointers into them, and what memory intrinsics ask of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.interpret.clocks import Conflict, Shadow, Site
from prism.interpret.errors import BoundsError, MisalignedError, RaceError, SpaceError, UninitialisedError
from prism.interpret.frame import Frame
from prism.interpret.lanes import both
from prism.lang.diagnostics import Span
from prism.lang.shorts import bf16_bits, bf16_values
from prism.lang.types import BFLOAT16, Mailbox, Pointer, Scalar, Vector


@dataclass(slots=True)
class Region:
    """An object in memory: `data` has one entry an element (vectors: one row), mailboxes one record of value and tag."""

    name: str
    data: Any
    address: int
    shared: bool
    shadow: Shadow | None = None
    first: int = 0  # the first element's location in the shadow
    width: int = 1  # locations an element

    @property
    def extent(self) -> int:
        """Number of elements."""
        return len(self.data)


@dataclass(slots=True)
class Address:
    """A pointer's value: a region, and for a view passed to a function the map of its indices."""

    region: Region
    map: Callable[[Any, Any], Any] | None = None


@dataclass(slots=True)
class Mixed:
    """A pointer's value where threads that run in step hold different ones: each part's mask, and its address."""

    parts: list[tuple[Any, Address]]


def mixed(*parts: tuple[Any, Any]) -> Any:
    """Return the pointer that each mask's threads hold."""
    flat: list[tuple[Any, Address]] = []
    for mask, value in parts:
        if isinstance(value, Mixed):
            flat.extend((inside, address) for m, address in value.parts if (inside := both(mask, m)) is not False)
        elif value is not None and mask is not False:
            flat.append((mask, value))
    return flat[0][1] if len(flat) == 1 else Mixed(flat)


@dataclass(slots=True)
class Reference:
    """An element operand of an intrinsic: for each active thread an address."""

    region: Region
    index: Any


def typed(data: Any, element: Scalar | Vector | Mailbox) -> Any:
    """Return bytes as elements."""
    match element:
        case Vector():
            return stored(data.view(element.element.numpy).reshape(-1, element.length), element.element)
        case Mailbox():
            if element.bytes == 8:
                return data.view(np.dtype([("value", "u4"), ("tag", "u4")]))
            return data.view(np.dtype([("value", "u8"), ("tag", "u8")]))
        case _:
            return stored(data.view(element.numpy), element)


def stored(data: Any, scalar: Scalar) -> Any:
    """Return stored elements as what they mean: bfloat16 is kept as bits."""
    return BrainArray(data) if scalar == BFLOAT16 else data


class BrainArray:
    """Memory that holds the bits of bfloat16 numbers: elements are read and written as float32."""

    __slots__ = ("bits", "ndim", "shape")
    dtype = np.dtype(np.float32)
    itemsize = 2

    def __init__(self, bits: Any) -> None:
        self.bits, self.ndim, self.shape = bits, bits.ndim, bits.shape

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, index: Any) -> Any:
        found = bf16_values(self.bits[index])
        return found if found.ndim else found[()]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.bits[index] = bf16_bits(value)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.bits.nbytes)


def region_of(name: str, array: Any, pointer: Pointer) -> Region:
    """Return an argument's array as the region that its parameter's type says."""
    element = pointer.element
    if not isinstance(array, np.ndarray):
        raise TypeError(f"`{name}` takes a NumPy array, not {type(array).__name__}")
    if not array.flags.c_contiguous:
        raise ValueError(f"`{name}` takes a contiguous array")
    if not pointer.const and not array.flags.writeable:
        raise ValueError(f"`{name}` is written, but its array is read-only")
    scalar = None if isinstance(element, Mailbox) else element.element if isinstance(element, Vector) else element
    if scalar == BFLOAT16 and array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    if scalar is not None and array.dtype != np.dtype(scalar.numpy):
        raise TypeError(f"`{name}` takes an array of {scalar}, not {array.dtype}")
    data = typed(array.reshape(-1), element)
    return Region(name, data, array.__array_interface__["data"][0], shared=False)


class Checker:
    """One place in the program that accesses memory, in a checked run."""

    def __init__(self, span: Span, perspective: object) -> None:
        self.span, self.perspective = span, perspective
        self._sites: dict[tuple[str, bool], Site] = {}

    def access(self, frame: Frame, region: Region, index: Any, lanes: Any, kind: str, atomic: bool = False) -> None:
        """Check an access of `lanes`: bounds, initialisation, races."""
        self.bounds(frame, region, index, lanes)
        shadow = region.shadow
        if shadow is None:
            return
        machine = frame.block.machine
        at = np.broadcast_to(np.asarray(index, np.int64) * region.width + region.first, lanes.shape)
        by = lanes + frame.block.number * machine.threads
        if region.width > 1:
            at = (at[:, None] + np.arange(region.width)).ravel()
            by = np.repeat(by, region.width)
        site = self._site(shadow, kind, atomic)
        if kind != "write" and shadow.initialised is not None and not shadow.initialised[at].all():
            lane = int(by[int(np.argmin(shadow.initialised[at]))]) % machine.threads
            self._uninitialised(frame, region, lane)
        note = shadow.read if kind == "read" else shadow.write
        found = note(at, by, site, atomic)
        if found is not None:
            element = (int(at[found.index]) - region.first) // region.width
            self._race(shadow, found, int(by[found.index]), machine.threads, f"{region.name}[{element}]", kind)

    def _site(self, shadow: Shadow, kind: str, atomic: bool) -> int:
        site = self._sites.get((kind, atomic))
        if site is None:
            name = f"atomic {kind}" if atomic else kind
            site = self._sites[kind, atomic] = Site(self.span, name, self.perspective)
        return shadow.clocks.site(site)

    def bounds(self, frame: Frame, region: Region, index: Any, lanes: Any) -> None:
        """Report an index outside the region."""
        values = np.broadcast_to(np.asarray(index), lanes.shape)
        bad = (values < 0) | (values >= region.extent)
        if bad.any():
            at = int(bad.argmax())
            self.outside(frame, region.name, int(values[at]), region.extent, int(lanes[at]))

    def outside(self, frame: Frame, name: str, index: int, extent: int, lane: int) -> None:
        """Raise the error of an index outside an extent."""
        raise BoundsError(
            f"index {index} is outside `{name}`, which has {extent} elements",
            self.span,
            here=f"index {index}",
            perspective=self.perspective,
            thread=lane,
            block=frame.block.number,
        )

    def _uninitialised(self, frame: Frame, region: Region, lane: int) -> None:
        raise UninitialisedError(
            f"`{region.name}` is read where nothing was written",
            self.span,
            here="read here",
            perspective=self.perspective,
            thread=lane,
            block=frame.block.number,
        )

    def _race(self, shadow: Shadow, found: Conflict, thread: int, threads: int, what: str, kind: str) -> None:
        before = shadow.clocks.sites[found.site]
        block, lane = divmod(thread, threads)
        other_block, other = divmod(found.thread, threads)
        raise RaceError(
            f"`{what}` is accessed by two threads, and nothing orders them",
            self.span,
            here=f"{kind} by thread {lane} of block {block}",
            other=before.span,
            there=f"{before.kind} by thread {other} of block {other_block}",
            perspective=self.perspective,
            thread=lane,
            block=block,
            barrier=_remedy(block == other_block, lane, other, before.span == self.span),
        )


def _remedy(same_block: bool, one: int, two: int, same_line: bool) -> str:
    if same_line:
        return "one access by two threads, which no barrier can part: give each thread elements of its own"
    if not same_block:
        return (
            "no barrier joins two blocks: let one kernel write and the next read, or pass the value through a mailbox"
        )
    size = 32
    while one // size != two // size:
        size *= 2
    if size == 32:
        return "a warp barrier between the two accesses would order them (thread[32])"
    return f"a barrier of thread[{size}], or of the whole block, between the two accesses would order them"


class IntrinsicMemory:
    """What a memory intrinsic's meaning works on: `prism.lang.intrinsics.memory.Memory` for the threads that run it now."""

    def __init__(self, frame: Frame, lanes: Any, checker: Checker | None, dtype: np.dtype[Any]) -> None:
        self.frame, self.lanes, self.checker, self.dtype = frame, lanes, checker, dtype

    def _at(self, reference: Reference, offset: Any, kind: str, atomic: bool, where: Any = None) -> Any:
        index, lanes = reference.index + np.asarray(offset, np.int64), self.lanes
        if where is not None:
            index, lanes = index[where], lanes[where]
        if self.checker is not None:
            self.checker.access(self.frame, reference.region, index, lanes, kind, atomic)
        return index

    def load(self, reference: Reference, offset: Any = 0, atomic: bool = False, where: Any = None) -> Any:
        """Read one element a thread."""
        index = self._at(reference, offset, "read", atomic, where)
        if atomic:
            self._meet(reference.region, index, "saw")
        found = reference.region.data[index]
        if where is None:
            return found
        result = np.zeros(len(where), found.dtype)
        result[where] = found
        return result

    def store(self, reference: Reference, value: Any, offset: Any = 0, atomic: bool = False, where: Any = None) -> None:
        """Write one element a thread."""
        index = self._at(reference, offset, "write", atomic, where)
        if atomic:
            self._meet(reference.region, index, "show")
            self.frame.block.machine.progress += 1
        reference.region.data[index] = value if where is None or np.ndim(value) == 0 else np.asarray(value)[where]

    def update(self, reference: Reference, step: Callable[[Any, int], Any], order: str) -> Any:
        """Replace each thread's element by `step(element, k)`, thread after thread, and return the values before."""
        index, data = self._at(reference, 0, "update", True), reference.region.data
        before = np.empty(index.shape, data.dtype)
        self._meet(reference.region, index, "saw")
        self._meet(reference.region, index, "show")
        self._order(reference.region, index, order)
        changed = False
        for k, at in enumerate(index):
            before[k] = data[at]
            data[at] = step(before[k], k)
            changed = changed or data[at] != before[k]
        self.frame.block.machine.progress += bool(changed)
        return before

    def order(self, reference: Reference, order: str) -> None:
        """Order what these threads did before (release), or do next (acquire), by their elements."""
        self._order(reference.region, reference.index, order)

    def fence(self, order: str) -> None:
        """Order by the atomic accesses that stand before it (acquire) or come after it (release)."""
        clocks = self.frame.block.machine.clocks
        if clocks is None:
            return
        for lane in self.lanes:
            clocks.fence(self._thread(lane), order)

    def _thread(self, lane: Any) -> int:
        return self.frame.block.number * self.frame.block.machine.threads + int(lane)

    def _meet(self, region: Region, index: Any, how: str) -> None:
        """Note what relaxed accesses saw or showed, which fences of their threads make an order."""
        if region.shadow is None or not region.shadow.clocks.fences(how):
            return
        meet = getattr(region.shadow.clocks, how)
        for lane, at in zip(self.lanes, index, strict=False):
            meet(region.shadow.number, region.first + int(at) * region.width, self._thread(lane))

    def _order(self, region: Region, index: Any, order: str) -> None:
        if region.shadow is None or order == "relaxed":
            return
        clocks, number = region.shadow.clocks, region.shadow.number
        for lane, at in zip(self.lanes, index, strict=True):
            location, thread = region.first + int(at) * region.width, self._thread(lane)
            if order in ("acquire", "acq_rel"):
                clocks.acquire(number, location, thread)
            if order in ("release", "acq_rel"):
                clocks.release(number, location, thread)

    def require(self, reference: Reference, space: str) -> None:
        """Report memory of another space."""
        region = reference.region
        if self.checker is not None and region.shared != (space == "shared"):
            raise SpaceError(
                f"`{region.name}` is {'shared' if region.shared else 'global'} memory, and this access needs {space} memory",
                self.checker.span,
                here="accessed here",
                perspective=self.checker.perspective,
                thread=int(self.lanes[0]),
                block=self.frame.block.number,
            )

    def align(self, reference: Reference, elements: int, where: Any = None) -> None:
        """Report an address that is no multiple of `elements` elements."""
        if self.checker is None:
            return
        region = reference.region
        size = region.data.itemsize
        bad = (region.address + reference.index * size) % (elements * size) != 0
        if where is not None:
            bad &= where
        if bad.any():
            at = int(bad.argmax())
            raise MisalignedError(
                f"a vector of {elements} elements at `{region.name}[{int(reference.index[at])}]` is not aligned to "
                f"{elements * size} bytes",
                self.checker.span,
                here="vector access here",
                perspective=self.checker.perspective,
                thread=int(self.lanes[at]),
                block=self.frame.block.number,
            )

    def publish(self, reference: Reference, value: Any, epoch: Any) -> None:
        """Write value and tag as one word."""
        index, data = self._box(reference, 0, None), reference.region.data
        bits = np.asarray(value)
        word = data.dtype["value"]
        if bits.dtype.kind == "f":
            bits = bits.view(f"u{bits.dtype.itemsize}")
        data["value"][index] = bits.astype(word)
        data["tag"][index] = np.asarray(epoch).astype(word)
        self.frame.block.machine.progress += 1

    def ready(self, reference: Reference, offset: Any, epoch: Any, mask: Any) -> Any:
        """Return, a thread, whether the word's tag is `epoch`; True, and nothing is read, where `mask` is False."""
        index = self._box(reference, offset, mask)
        tags = reference.region.data["tag"][index]
        return (tags == np.asarray(epoch).astype(tags.dtype)) | ~np.asarray(mask)

    def take(self, reference: Reference, offset: Any, mask: Any) -> Any:
        """Return the words' values; anything, and nothing is read, where `mask` is False."""
        bits = reference.region.data["value"][self._box(reference, offset, mask)]
        if self.dtype.kind == "f":
            return bits.astype(f"u{self.dtype.itemsize}").view(self.dtype)
        return bits.astype(self.dtype)

    def _box(self, reference: Reference, offset: Any, mask: Any) -> Any:
        index = reference.index + np.asarray(offset, np.int64)
        if mask is not None:
            index = np.where(mask, index, 0)
        if self.checker is not None:
            self.checker.bounds(self.frame, reference.region, index, self.lanes)
        return index
