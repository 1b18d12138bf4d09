"""Calls that are like an earlier one: what was decided then is looked up, and only pointers and the stream are new.

A call decides much: of which kind its arguments are, which kernels they take, cut up how. All of that follows from what is asked
for, and from the arrays' types, dtypes, shapes, strides, devices and alignment. For arrays of CuPy and torch it is kept under
these, so that a warm call costs the host little more than the launch itself, and the result's allocation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeAlias

Facts: TypeAlias = tuple[int, int, int, tuple[Hashable, ...]]
"""Of an array and its result: where each begins, the array's device, and all that a decision follows from."""
Launch: TypeAlias = Callable[[int, int, int], None]
"""Launches on two arrays that begin at these addresses, on a stream."""

_MOST = 4096
_kept: dict[Hashable, tuple[Launch, int, int, int, bool]] = {}
_results: dict[Hashable, tuple[tuple[int, ...], Any]] = {}
_libraries: dict[type, tuple[Any, Any, Any]] = {}


class Library(NamedTuple):
    """How a library's arrays are read, which stream is current on a device, and how a result is made for an array."""

    read: Callable[[Any, Any], Facts]
    stream: Callable[[int], int]
    empty: Callable[[Any, tuple[int, ...], Any], Any]


class Recipe(NamedTuple):
    """What a call came to. Its array takes so many bytes before and behind where it begins, its result `room`.

    `in_place`: the result may be the very memory of the array.
    """

    launch: Launch
    before: int
    behind: int
    room: int
    in_place: bool


def run(x: Any, out: Any, asked: tuple[Any, ...]) -> Any:
    """Do what an earlier call did for such arrays, asked for the same; None where there was none, and nothing was done.

    Returns:
        The result: `out`, or a new array where that is None.

    Raises:
        RuntimeError: scratch memory must be allocated inside the capture of a CUDA graph.
        DeviceError: the driver refuses the launch.
    """
    library = _libraries.get(type(x))
    if library is None:
        return None
    read, stream, empty = library
    try:
        if out is None:
            made = _results.get((asked, read(x, x)[3]))
            if made is None:
                return None
            out = empty(x, *made)
        elif type(out) is not type(x):
            return None
        source, target, device, facts = read(x, out)
        found = _kept.get((asked, facts))
    except (TypeError, RuntimeError):  # what is asked for, or an array, can't be looked up, or has no place in memory
        return None
    if found is None:
        return None
    launch, before, behind, room, in_place = found
    if target < source + behind and source - before < target + room and not (in_place and source == target):
        return None  # they overlap: one of them must be copied
    launch(source, target, stream(device))
    return out


def keep(
    name: str,
    x: Any,
    out: Any,
    asked: tuple[Any, ...],
    launch: Launch,
    spans: tuple[int, int, int],
    *,
    in_place: bool,
    made: bool,
) -> None:
    """Keep what a call came to that copied nothing; `spans` and `in_place` as in a `Recipe`, `made`: it made `out`."""
    library = _libraries.get(type(x)) or _library(name)
    if library is None or type(out) is not type(x):
        return
    if len(_kept) >= _MOST:
        forget()
    read = library[0]
    try:
        _kept[asked, read(x, out)[3]] = (launch, *spans, in_place)
    except (TypeError, RuntimeError):  # what is asked for, or an array, can't be looked up
        return
    _libraries[type(x)] = tuple(library)  # these are taken apart at each call: plain tuples are the fastest
    if made:
        _results[asked, read(x, x)[3]] = (tuple(out.shape), out.dtype)


def forget() -> None:
    """Forget all calls, for who changes how they are decided."""
    for known in (_kept, _results, _libraries):
        known.clear()


# -- Libraries ------------------------------------------------------------------------------------------------------------


def _library(name: str) -> Library | None:
    return {"cupy": _cupy_library, "torch": _torch_library}.get(name, lambda: None)()


def _cupy_library() -> Library:
    cupy = sys.modules["cupy"]
    current, get_device = cupy.cuda.get_current_stream, cupy.cuda.runtime.getDevice

    def empty(x: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        device = x.data.device_id
        if get_device() == device:
            return cupy.empty(shape, dtype)
        with cupy.cuda.Device(device):
            return cupy.empty(shape, dtype)

    return Library(_cupy, lambda device: current(device).ptr, empty)


def _cupy(x: Any, out: Any) -> Facts:
    memory, room = x.data, out.data
    source, target, device = memory.ptr, room.ptr, memory.device_id
    low = (source & 15) << 4 | target & 15
    return (
        source, target, device,
        (low, device, room.device_id, x.dtype, out.dtype, x.shape, out.shape, x.strides, out.strides),
    )  # fmt: skip


def _torch_library() -> Library:
    torch = sys.modules["torch"]
    # A handle, without the object around it: it is what kernels of torch.compile are launched with.
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    current = raw or (lambda device: torch.cuda.current_stream(device).cuda_stream)

    def read(x: Any, out: Any) -> Facts:
        given, result = x.dtype, out.dtype
        if (
            not x.is_cuda or x.is_neg() or (given.is_complex and x.is_conj())
            or not out.is_cuda or out.is_neg() or (result.is_complex and out.is_conj())
        ):  # fmt: skip
            raise TypeError("its memory alone does not say what it is")
        source, target, device = x.data_ptr(), out.data_ptr(), x.get_device()  # a sparse one has no such pointer
        low = (source & 15) << 4 | target & 15
        return (
            source, target, device,
            (low, device, out.get_device(), given, result, x.shape, out.shape, x.stride(), out.stride()),
        )  # fmt: skip

    def empty(x: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        return torch.empty(shape, dtype=dtype, device=x.device)

    return Library(read, current, empty)
