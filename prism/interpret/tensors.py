"""Operands of asynchronous operations: tiles in shared memory, and boxes of tensors in global memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from prism.interpret.frame import Frame
from prism.interpret.pointers import address_of, locate_name
from prism.interpret.regions import CodedArray, Reference, Region
from prism.interpret.scope import Scope
from prism.lang.tree import Element, Expr, Pointer, TensorMap, Var
from prism.lang.tree.parts import tile_around
from prism.lang.types.tiles import extents_in

Operand = Callable[[Frame, Any], Any]


@dataclass(slots=True)
class Tensor:
    """A tensor map's value: an array of any strides, as it is stored, and the region that a checked run knows it by.

    An element is `sum(index * step) + base` in the region, whose data is not used. `memory`: between which of the region's
    elements there is memory, where not all of them have some.
    """

    name: str
    array: Any
    region: Region
    base: int
    steps: tuple[int, ...]
    memory: tuple[int, int] | None = None


@dataclass(slots=True)
class Box:
    """A tensor operand: where a box begins, an array of (active threads, extents)."""

    tensor: Tensor
    type: TensorMap
    starts: Any


@dataclass(slots=True)
class Tile(Reference):
    """A tile operand: an element reference that knows the shape of its tile."""

    shape: tuple[int, ...] = ()

    def elements(self, lane: int, box: tuple[int, ...]) -> Any:
        """Return the indices in the region of the box's rows, from where a thread says, flat."""
        extents = extents_in(self.shape, box) or box
        shape = (1,) * (len(extents) - len(self.shape)) + self.shape
        shape = shape[len(shape) - len(extents) :]
        steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        found = np.asarray(self.index[lane], np.int64)
        for extent, step in zip(extents, steps, strict=True):
            found = np.add.outer(found, np.arange(extent) * step)
        return found.ravel()


def encode(data: Any) -> Any:
    """Return elements as they are stored: of floats that NumPy hasn't, the bits."""
    return data.bits if isinstance(data, CodedArray) else data


def tile_operand(scope: Scope, argument: Expr) -> Operand:
    """A tile by its name, or what begins at an element of it."""
    assert isinstance(argument, Var | Element) and isinstance(argument.symbol.type, Pointer)
    locate = address_of(scope, argument) if isinstance(argument, Element) else locate_name(scope, argument.symbol)
    around = tile_around(argument.symbol).type
    shape = around.shape if isinstance(around, Pointer) else None

    def tile(frame: Frame, lanes: Any) -> Tile:
        region, index = locate(frame)
        picked = index[lanes] if isinstance(index, np.ndarray) else np.full(len(lanes), index)
        return Tile(region, picked.astype(np.int64), shape or region.shape or (region.extent,))

    return tile


def tensor_operand(scope: Scope, argument: Expr) -> Operand:
    """The box that begins at an element of a tensor map; the map alone, for what only prepares its use."""
    assert isinstance(argument, Var | Element) and isinstance(argument.symbol.type, TensorMap)
    slot, type_ = scope.slot(argument.symbol), argument.symbol.type
    indices = [scope.evaluate(index) for index in argument.indices] if isinstance(argument, Element) else []

    def box(frame: Frame, lanes: Any) -> Box:
        found = [index(frame) for index in indices]
        columns = [k[lanes] if isinstance(k, np.ndarray) else np.full(len(lanes), k) for k in found]
        starts = np.stack(columns, axis=1).astype(np.int64) if columns else np.zeros((len(lanes), 0), np.int64)
        return Box(frame.values[slot], type_, starts)

    return box


def tensor_of(name: str, array: Any, type_: TensorMap) -> Tensor:
    """Return an argument's array as the tensor that its parameter's type says."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"`{name}` takes a NumPy array, not {type(array).__name__}")
    if array.ndim != len(type_.box):
        raise ValueError(f"`{name}` takes an array of {len(type_.box)} dimensions, not {array.ndim}")
    array = np.asarray(array)  # as of regions
    if type_.element.coded and array.dtype.name == type_.element.name:
        array = array.view(type_.element.numpy)
    if array.dtype != np.dtype(type_.element.numpy):
        raise TypeError(f"`{name}` takes an array of {type_.element}, not {array.dtype}")
    size = array.itemsize
    if any(step % size for step in array.strides):
        raise ValueError(f"`{name}` takes an array whose strides are multiples of its elements' {size} bytes")
    steps = tuple(step // size for step in array.strides)
    base = -sum(min(0, (n - 1) * step) for n, step in zip(array.shape, steps, strict=True) if n)
    extent = base + 1 + sum(max(0, (n - 1) * step) for n, step in zip(array.shape, steps, strict=True) if n)
    address = array.__array_interface__["data"][0] - base * size
    room = np.lib.stride_tricks.as_strided(
        np.zeros(1, array.dtype), (extent if array.size else 0,), (0,), writeable=False
    )
    begin, end = memory_of(array)
    memory = (begin - address) // size, (end - address) // size
    whole = not array.size or (memory[0] <= 0 and extent <= memory[1])
    return Tensor(name, array, Region(name, room, address, shared=False), base, steps, None if whole else memory)


def memory_of(array: Any) -> tuple[int, int]:
    """Return between which addresses the memory lies that an array is a view of: it may lead out, as `as_strided` makes it."""
    owner, found = array, array
    while owner is not None:
        found = owner if isinstance(owner, np.ndarray) else found
        owner = getattr(owner, "base", None)
    begin, end = np.lib.array_utils.byte_bounds(found)
    return begin, end
