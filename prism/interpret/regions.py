"""Pieces of memory on the reference machine: regions, pointers into them, and how their elements are stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from prism.interpret.lanes import both
from prism.interpret.shadow import Shadow
from prism.lang.types import Mailbox, Pointer, Scalar, Vector
from prism.lang.types.perspective import Perspective
from prism.lang.types.shorts import bits_of, values_of
from prism.lang.types.structs import Struct

Parts = tuple[tuple[Perspective, bool], ...]
"""The partitions that a name is of, outermost first: the unit, and whether it says `races="allow"`. See shares.py."""


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
    stamp: int = 1  # what the shadow has where an element was written: a ring's copy, its round; see `Shadow`
    shape: tuple[int, ...] | None = None
    parts: Parts = ()  # those of the argument that a function was given
    axes: tuple[tuple[int, ...], tuple[int, ...], int] | None = None  # an array's extents, strides, and first element

    @property
    def extent(self) -> int:
        """Number of elements."""
        return len(self.data)

    def part(self, *, stamp: int | None = None, parts: Parts = ()) -> Region:
        """Return the same with another stamp, and these partitions besides: a third of the time of `replace`."""
        stamp = self.stamp if stamp is None else stamp
        return Region(
            self.name, self.data, self.address, self.shared, self.shadow, self.first, self.width, stamp, self.shape,
            self.parts + parts, self.axes,
        )  # fmt: skip

    @property
    def bytes(self) -> int:
        """Bytes of an element: a vector's are all of its numbers'."""
        return int(self.data.itemsize * prod(self.data.shape[1:]))

    def element(self, index: int) -> str:
        """Return the indices of an element, as they are written."""
        if self.axes is not None and 0 <= index < self.extent:
            return _indices(*self.axes, index)
        if self.shape is None or not 0 <= index < self.extent:
            return str(index)
        return ", ".join(str(int(k)) for k in np.unravel_index(index, self.shape))


def _indices(shape: tuple[int, ...], strides: tuple[int, ...], begin: int, place: int) -> str:
    """Return the indices of an array's element, from the axis with the longest steps on."""
    found, rest = [0] * len(shape), place
    for axis in sorted(range(len(shape)), key=lambda k: -abs(strides[k])):
        step, most = abs(strides[axis]), shape[axis] - 1
        steps = min(rest // step, most) if step else 0
        rest -= steps * step
        found[axis] = most - steps if strides[axis] < 0 else steps
    return ", ".join(map(str, found))


@dataclass(slots=True)
class Address:
    """A pointer's value: a region, and for a view passed to a function the map of its indices."""

    region: Region
    map: Callable[[Any, Any], Any] | None = None


@dataclass(slots=True)
class Mixed:
    """A pointer's value where threads that run in step hold different ones: each part's mask, and its address."""

    parts: list[tuple[Any, Address]]


def mix_pointers(*parts: tuple[Any, Any]) -> Any:
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
    parts: Parts = field(default=(), kw_only=True)


def as_elements(data: Any, element: Scalar | Vector | Mailbox) -> Any:
    """Return bytes as elements."""
    match element:
        case Vector():
            return decode(data.view(element.element.numpy).reshape(-1, element.length), element.element)
        case Mailbox():
            if element.bytes == 8:
                return data.view(np.dtype([("value", "u4"), ("tag", "u4")]))
            words = (2,) if element.bytes == 32 else ()  # of 16 bytes each
            return data.view(np.dtype([("value", "u8"), ("tag", "u8")])).reshape(-1, *words)
        case _:
            return decode(data.view(element.numpy), element)


def decode(data: Any, scalar: Scalar) -> Any:
    """Return stored elements as what they mean: floats that NumPy hasn't are kept as bits, and bools as bytes."""
    if scalar.kind == "bool":
        return Truths(data.view(np.uint8), scalar)
    return CodedArray(data, scalar) if scalar.coded else data


class CodedArray:
    """Memory that holds the bits of floats that NumPy hasn't: elements are read and written as float32."""

    __slots__ = ("bits", "itemsize", "ndim", "scalar", "shape")
    dtype: np.dtype[Any] = np.dtype(np.float32)

    def __init__(self, bits: Any, scalar: Scalar) -> None:
        self.bits, self.scalar, self.itemsize, self.ndim, self.shape = bits, scalar, scalar.bytes, bits.ndim, bits.shape

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, index: Any) -> Any:
        found = values_of(self.bits[index], self.scalar)
        return found if found.ndim else found[()]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.bits[index] = bits_of(value, self.scalar)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.bits.nbytes)


class Truths(CodedArray):
    """Memory that holds bools: each byte that is not zero is read as true, and true is written as 1."""

    __slots__ = ()
    dtype: np.dtype[Any] = np.dtype(np.bool_)

    def __getitem__(self, index: Any) -> Any:
        found = self.bits[index] != 0
        return found if found.ndim else found[()]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.bits[index] = np.not_equal(value, 0)


def array_region(name: str, array: Any, pointer: Pointer) -> tuple[Region, int, tuple[int, ...]]:
    """Return an array of any strides as a region, from its lowest element to its highest; where its first is; and its axes.

    Of the axes the extents, then the strides in elements.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"`{name}` takes a NumPy array, not {type(array).__name__}")
    if array.ndim != pointer.axes:
        raise ValueError(f"`{name}` takes an array of {pointer.axes} axes, not of {array.ndim}")
    size = array.itemsize
    if any(stride % size for stride in array.strides):
        raise ValueError(f"`{name}`: its strides are no multiples of its elements' size")
    strides = tuple(stride // size for stride in array.strides)
    axes = (*array.shape, *strides)
    lowest = array[tuple(slice(None, None, -1) if stride < 0 else slice(None) for stride in strides)]
    span, begin = 0, 0
    if array.size:
        reaches = [(extent - 1) * stride for extent, stride in zip(array.shape, strides, strict=True)]
        span, begin = 1 + sum(map(abs, reaches)), -sum(r for r in reaches if r < 0)
    flat = np.lib.stride_tricks.as_strided(lowest, (span,), (size,), writeable=array.flags.writeable)
    region = region_of(name, flat, pointer)
    region.axes = (array.shape, strides, begin)
    return region, begin, axes


def region_of(name: str, array: Any, pointer: Pointer) -> Region:
    """Return an argument's array as the region that its parameter's type says."""
    element = pointer.element
    if not isinstance(array, np.ndarray):
        raise TypeError(f"`{name}` takes a NumPy array, not {type(array).__name__}")
    if not array.flags.c_contiguous:
        raise ValueError(f"`{name}` takes a contiguous array")
    if not pointer.const and not array.flags.writeable:
        raise ValueError(f"`{name}` is written, but its array is read-only")
    array = np.asarray(array)  # what is read of a subclass is one too, and no number
    scalar = None if isinstance(element, Mailbox) else element.element if isinstance(element, Vector) else element
    if scalar is not None and scalar.coded and array.dtype.name == scalar.name:
        array = array.view(scalar.numpy)
    if isinstance(scalar, Struct) and scalar.dtype == array.dtype:
        array = array.view(scalar.numpy)  # complex numbers
    if scalar is not None and array.dtype != np.dtype(scalar.numpy):
        raise TypeError(f"`{name}` takes an array of {scalar}, not {array.dtype}")
    data = as_elements(array.reshape(-1), element)
    return Region(name, data, array.__array_interface__["data"][0], shared=False)
