"""How arrays of CuPy and torch are read and made in warm calls: by the fewest attributes that say what they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias

Facts: TypeAlias = tuple[tuple[int, ...], int, tuple[Hashable, ...]]
"""Of arrays: where each begins, the first one's device, and all that a decision follows from."""


class Kind(NamedTuple):
    """What a result is: its shape as it lies in memory, its dtype and bytes; where its axes are in another order, that order."""

    shape: tuple[int, ...]
    dtype: Any
    nbytes: int
    axes: tuple[int, ...] | None


class Library(NamedTuple):
    """How a library's arrays are read, which stream is current on a device, and how a result is made.

    Two are read as `(x, out)`. `reserve(x, device, kind)` takes memory for a result beside `x`, and gives it with its address.
    `shape(room, kind, many)` makes the array there once the kernels are under way: of `many` elements, or all where that is -1.
    """

    read_two: Callable[[Any, Any], tuple[int, int, int, tuple[Hashable, ...]]]
    read: Callable[[Sequence[Any]], Facts]
    stream: Callable[[int], int]
    reserve: Callable[[Any, int, Kind], tuple[Any, int]]
    shape: Callable[[Any, Kind, int], Any]
    read_one: Callable[[Any], Facts]


def of_cupy() -> Library:
    """Return how CuPy's arrays are read and made; CuPy has been imported."""
    cupy = sys.modules["cupy"]
    current, allocate, make = cupy.cuda.get_current_stream, cupy.cuda.alloc, cupy.ndarray

    def reserve(x: Any, device: int, kind: Kind) -> tuple[Any, int]:
        room = allocate(kind[2])
        if room.device_id != device:  # another one is current
            with cupy.cuda.Device(device):
                room = allocate(kind[2])
        return room, room.ptr

    def shape(room: Any, kind: Kind, many: int) -> Any:
        extents, dtype, _, axes = kind
        found = make(extents if many < 0 else (many, *extents[1:]), dtype, room)
        return found if axes is None else found.transpose(axes)

    return Library(_two_of_cupy, _of_cupy, lambda device: current(device).ptr, reserve, shape, _one_of_cupy)


# Of CuPy's arrays a size is read sooner than a shape, which it makes anew, and so is whether strides follow from the shape.


def _one_of_cupy(x: Any) -> Facts:
    memory = x.data
    pointer, device = memory.ptr, memory.device_id
    shape = x.size if x.ndim == 1 else x.shape
    return (pointer,), device, (pointer & 15, device, x.dtype, shape, x._c_contiguous or x.strides)


def _two_of_cupy(x: Any, y: Any) -> tuple[int, int, int, tuple[Hashable, ...]]:
    """Read an array and a result; those of another library have no such attributes."""
    memory, room = x.data, y.data
    source, target, device = memory.ptr, room.ptr, memory.device_id
    low = (source | target) & 15 and (source & 15, target & 15)
    return (
        source, target, device,
        (
            low, device, room.device_id, x.dtype, y.dtype,
            x.size if x.ndim == 1 else x.shape, y.size if y.ndim == 1 else y.shape,
            x._c_contiguous or x.strides, y._c_contiguous or y.strides,
        ),
    )  # fmt: skip


def _of_cupy(arrays: Sequence[Any]) -> Facts:
    if (many := len(arrays)) == 1:
        return _one_of_cupy(arrays[0])
    if many == 2:
        source, target, device, both = _two_of_cupy(*arrays)
        return (source, target), device, both
    x, y, z = arrays if many == 3 else arrays[:3]  # as calls of several arrays have: a loop costs as much as a fact
    of_x, of_y, of_z = x.data, y.data, z.data
    first, second, third = of_x.ptr, of_y.ptr, of_z.ptr
    low, device = (first | second | third) & 15 and (first & 15, second & 15, third & 15), of_x.device_id
    places: tuple[int, ...] = (first, second, third)
    found: tuple[Hashable, ...] = (
        low, device, of_y.device_id, of_z.device_id, x.dtype, y.dtype, z.dtype,
        x.size if x.ndim == 1 else x.shape, y.size if y.ndim == 1 else y.shape, z.size if z.ndim == 1 else z.shape,
        x._c_contiguous or x.strides, y._c_contiguous or y.strides, z._c_contiguous or z.strides,
    )  # fmt: skip
    for x in arrays[3:] if many > 3 else ():
        place, _, facts = _one_of_cupy(x)
        places, found = places + place, found + facts
    return places, device, found


def of_torch() -> Library:
    """Return how torch's tensors are read and made; torch has been imported."""
    torch = sys.modules["torch"]
    # A handle, without the object around it: it is what kernels of torch.compile are launched with.
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    current = raw or (lambda device: torch.cuda.current_stream(device).cuda_stream)

    def reserve(x: Any, device: int, kind: Kind) -> tuple[Any, int]:
        room = x.new_empty(kind[0], dtype=kind[1])
        return room, room.data_ptr()

    def shape(room: Any, kind: Kind, many: int) -> Any:
        if many >= 0:
            return room[:many]
        return room if kind[3] is None else room.permute(kind[3])

    return Library(_two_of_torch, _of_torch, current, reserve, shape, _one_of_torch)


def _one_of_torch(x: Any) -> Facts:
    given = x.dtype
    if not x.is_cuda or x.is_neg() or (given.is_complex and x.is_conj()):
        raise TypeError("its memory alone does not say what it is")
    pointer, device = x.data_ptr(), x.get_device()
    return (pointer,), device, (pointer & 15, device, given, x.shape, x.stride())


def _two_of_torch(x: Any, y: Any) -> tuple[int, int, int, tuple[Hashable, ...]]:
    given, result = x.dtype, y.dtype
    if (
        not x.is_cuda or x.is_neg() or (given.is_complex and x.is_conj())
        or not y.is_cuda or y.is_neg() or (result.is_complex and y.is_conj())
    ):  # fmt: skip
        raise TypeError("its memory alone does not say what it is")
    source, target, device = x.data_ptr(), y.data_ptr(), x.get_device()  # a sparse one has no such pointer
    low = (source & 15) << 4 | target & 15
    return (
        source, target, device,
        (low, device, y.get_device(), given, result, x.shape, y.shape, x.stride(), y.stride()),
    )  # fmt: skip


def _of_torch(arrays: Sequence[Any]) -> Facts:
    if (many := len(arrays)) == 1:
        return _one_of_torch(arrays[0])
    if many == 2:
        source, target, device, both = _two_of_torch(*arrays)
        return (source, target), device, both
    x, y, z = arrays if many == 3 else arrays[:3]
    of_x, of_y, of_z = x.dtype, y.dtype, z.dtype
    strange = x.is_neg() or y.is_neg() or z.is_neg() or of_x.is_complex or of_y.is_complex or of_z.is_complex
    if strange or not (x.is_cuda and y.is_cuda and z.is_cuda):
        return _each_of_torch(arrays)
    first, second, third = x.data_ptr(), y.data_ptr(), z.data_ptr()
    low, device = (first | second | third) & 15 and (first & 15, second & 15, third & 15), x.get_device()
    places: tuple[int, ...] = (first, second, third)
    found: tuple[Hashable, ...] = (
        low, device, y.get_device(), z.get_device(), of_x, of_y, of_z,
        x.shape, y.shape, z.shape, x.stride(), y.stride(), z.stride(),
    )  # fmt: skip
    for x in arrays[3:] if many > 3 else ():
        place, _, facts = _one_of_torch(x)
        places, found = places + place, found + facts
    return places, device, found


def _each_of_torch(arrays: Sequence[Any]) -> Facts:
    places, devices, facts = zip(*map(_one_of_torch, arrays), strict=True)
    return sum(places, ()), devices[0], facts


__all__ = ["Facts", "Kind", "Library", "of_cupy", "of_torch"]
