"""How arrays of CuPy and torch are read and made in warm calls: by the fewest attributes that say what they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias

Facts: TypeAlias = tuple[tuple[int, ...], int, tuple[Hashable, ...]]
"""Of an array: where it begins, its device, and all that a decision follows from."""
Read: TypeAlias = tuple[tuple[Hashable, ...], tuple[int, ...], int]
"""A key of what is asked of arrays and of all that a decision follows from; where each begins; the first one's device."""


class Kind(NamedTuple):
    """What a result is: its shape as it lies in memory, its dtype and bytes; where its axes are in another order, that order."""

    shape: tuple[int, ...]
    dtype: Any
    nbytes: int
    axes: tuple[int, ...] | None


class Library(NamedTuple):
    """How a library's arrays are read, which stream is current on a device, and how a result is made.

    `read_two(asked, x, out)` gives a key of what is asked and of all that a decision follows from, where the two begin, and the
    stream. `reserve(x, device, kind)` takes memory for a result beside `x`, and gives it with its address.
    `shape(room, kind, many)` makes the array there once the kernels are under way: of `many` elements, or all where that is -1.
    """

    read_two: Callable[[Hashable, Any, Any], tuple[tuple[Hashable, ...], int, int, int]]
    read: Callable[[Hashable, Sequence[Any]], Read]
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

    def read_two(asked: Hashable, x: Any, y: Any) -> tuple[tuple[Hashable, ...], int, int, int]:
        memory, room = x.data, y.data  # a result of another library has no such attributes
        source, target, device = memory.ptr, room.ptr, memory.device_id
        return (
            (
                asked, (source | target) & 15 and (source & 15, target & 15), device, room.device_id, x.dtype, y.dtype,
                x.size if x.ndim == 1 else x.shape, y.size if y.ndim == 1 else y.shape,
                x._c_contiguous or x.strides, y._c_contiguous or y.strides,
            ),
            source, target, current(device).ptr,
        )  # fmt: skip

    return Library(read_two, _of_cupy, lambda device: current(device).ptr, reserve, shape, _one_of_cupy)


# Of CuPy's arrays a size is read sooner than a shape, which it makes anew, and so is whether strides follow from the shape.


def _one_of_cupy(x: Any) -> Facts:
    memory = x.data
    pointer, device = memory.ptr, memory.device_id
    shape = x.size if x.ndim == 1 else x.shape
    return (pointer,), device, (pointer & 15, device, x.dtype, shape, x._c_contiguous or x.strides)


def _of_cupy(asked: Hashable, arrays: Sequence[Any]) -> Read:
    if (many := len(arrays)) < 3:
        return _more_of_cupy((asked,), (), arrays)
    x, y, z = arrays if many == 3 else arrays[:3]  # as calls of several arrays have: a loop costs as much as a fact
    of_x, of_y, of_z = x.data, y.data, z.data
    first, second, third = of_x.ptr, of_y.ptr, of_z.ptr
    device, places = of_x.device_id, (first, second, third)
    key: tuple[Hashable, ...] = (
        asked, (first | second | third) & 15 and (first & 15, second & 15, third & 15), device, of_y.device_id, of_z.device_id,
        x.dtype, y.dtype, z.dtype,
        x.size if x.ndim == 1 else x.shape, y.size if y.ndim == 1 else y.shape, z.size if z.ndim == 1 else z.shape,
        x._c_contiguous or x.strides, y._c_contiguous or y.strides, z._c_contiguous or z.strides,
    )  # fmt: skip
    if many == 3:
        return key, places, device
    return _more_of_cupy(key, places, arrays[3:])[:2] + (device,)


def _more_of_cupy(key: tuple[Hashable, ...], places: tuple[int, ...], arrays: Sequence[Any]) -> Read:
    device = arrays[0].data.device_id
    for x in arrays:
        memory = x.data
        pointer = memory.ptr
        shape = x.size if x.ndim == 1 else x.shape
        key = (*key, pointer & 15, memory.device_id, x.dtype, shape, x._c_contiguous or x.strides)
        places = (*places, pointer)
    return key, places, device


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

    def read_two(asked: Hashable, x: Any, y: Any) -> tuple[tuple[Hashable, ...], int, int, int]:
        given, result = x.dtype, y.dtype
        if (
            not x.is_cuda or x.is_neg() or (_COMPLEX[given] and x.is_conj())
            or not y.is_cuda or y.is_neg() or (_COMPLEX[result] and y.is_conj())
        ):  # fmt: skip
            raise TypeError("its memory alone does not say what it is")
        source, target, device = x.data_ptr(), y.data_ptr(), x.get_device()  # a sparse one has no such pointer
        key = (
            asked, (source | target) & 15 and (source & 15, target & 15), device, y.get_device(), given, result, x.shape,
            y.shape, x.is_contiguous() or x.stride(), y.is_contiguous() or y.stride(),
        )  # fmt: skip
        return key, source, target, current(device)

    return Library(read_two, _of_torch, current, reserve, shape, _one_of_torch)


class _Complex(dict[Any, bool]):
    """Whether a dtype is complex: what is known is read sooner than torch says it."""

    def __missing__(self, dtype: Any) -> bool:
        found = self[dtype] = bool(dtype.is_complex)
        return found


_COMPLEX = _Complex()


def _one_of_torch(x: Any) -> Facts:
    given = x.dtype
    if not x.is_cuda or x.is_neg() or (_COMPLEX[given] and x.is_conj()):
        raise TypeError("its memory alone does not say what it is")
    pointer, device = x.data_ptr(), x.get_device()
    return (pointer,), device, (pointer & 15, device, given, x.shape, x.is_contiguous() or x.stride())


def _of_torch(asked: Hashable, arrays: Sequence[Any]) -> Read:
    if len(arrays) != 3:
        return _each_of_torch(asked, arrays)
    x, y, z = arrays
    of_x, of_y, of_z = x.dtype, y.dtype, z.dtype
    strange = x.is_neg() or y.is_neg() or z.is_neg() or _COMPLEX[of_x] or _COMPLEX[of_y] or _COMPLEX[of_z]
    if strange or not (x.is_cuda and y.is_cuda and z.is_cuda):
        return _each_of_torch(asked, arrays)
    first, second, third = x.data_ptr(), y.data_ptr(), z.data_ptr()
    device = x.get_device()
    return (
        (
            asked, (first | second | third) & 15 and (first & 15, second & 15, third & 15), device, y.get_device(),
            z.get_device(), of_x, of_y, of_z, x.shape, y.shape, z.shape, x.is_contiguous() or x.stride(),
            y.is_contiguous() or y.stride(), z.is_contiguous() or z.stride(),
        ),
        (first, second, third), device,
    )  # fmt: skip


def _each_of_torch(asked: Hashable, arrays: Sequence[Any]) -> Read:
    places, devices, facts = zip(*map(_one_of_torch, arrays), strict=True)
    return (asked, *facts), sum(places, ()), devices[0]


__all__ = ["Facts", "Kind", "Library", "of_cupy", "of_torch"]
