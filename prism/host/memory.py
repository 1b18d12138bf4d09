"""Arrays in the caller's own library: a result is what the argument was, made on the stream that the work goes to."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import Any

import numpy as np

from prism.host.overlap import span
from prism.lang.types.structs import dtype_called
from prism.runtime.arrays import BFLOAT16, CODED, ArrayInfo, describe
from prism.runtime.scratch import capture_of
from prism.runtime.streams import LEGACY, current_stream


def flat(info: ArrayInfo, dtype: np.dtype[Any]) -> Any:
    """Return the elements in C order as a contiguous array of one dimension, copied only where they aren't one already."""
    if info.library == "torch":
        return info.owner.to(_torch_dtype(dtype)).contiguous().reshape(-1)
    return info.owner.astype(dtype, order="C", copy=False).ravel()


def copy(info: ArrayInfo, columns: bool = False, pad: int = 1, dtype: np.dtype[Any] | None = None) -> Any:
    """Return a copy of an array in C order, in the machine's byte order, at an address that its elements' size divides.

    Or with the last two axes exchanged in memory, where `columns`. Rows (columns) begin at multiples of `pad` bytes; then what is
    repeated along the axes before is copied once, and repeated. With a `dtype` elements are converted, as by NumPy, and axes lie
    in memory in the order in which they did.
    """
    if dtype is not None:
        found = empty_as(info, info.shape, dtype)
        _convert(found, info.owner, info.dtype.kind, dtype.kind)
        return found
    native = info.dtype if info.dtype.names else info.dtype.newbyteorder("=")
    shape, source = info.shape, info.owner
    if pad > 1 and 0 in info.strides[:-2]:
        source = source[tuple(slice(0, 1 if step == 0 else None) for step in info.strides[:-2])]
        shape = (
            *(1 if step == 0 else extent for extent, step in zip(shape, info.strides[:-2], strict=False)),
            *shape[-2:],
        )
    if columns:
        shape, source = (*shape[:-2], shape[-1], shape[-2]), source.swapaxes(-1, -2)
    if pad == 1:
        found = empty(info, shape, native)
    else:
        room = -(-shape[-1] * native.itemsize // pad) * pad // native.itemsize
        found = empty(info, (*shape[:-1], room), native)[..., : shape[-1]]
    found[...] = source
    found = found.swapaxes(-1, -2) if columns else found
    return found if tuple(found.shape) == info.shape else broadcast(info, found)


def empty_as(info: ArrayInfo, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return a new array whose axes lie in memory in the order in which those of an array do that has as many."""
    if len(info.shape) != len(shape):
        return empty(info, shape, dtype)
    axes = memory_order(info.shape, info.strides)
    found = empty(info, tuple(shape[k] for k in axes), dtype)
    return transpose(info, found, tuple(int(k) for k in np.argsort(axes)))


def memory_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """Return axes as they lie in memory, the outermost first, whichever way they run; those of extent 1 stay where they are."""
    moving = [k for k, extent in enumerate(shape) if extent != 1]
    lying = iter(sorted(moving, key=lambda k: -abs(strides[k])))
    return tuple(next(lying) if k in moving else k for k in range(len(shape)))


def assign(target: Any, source: Any) -> None:
    """Write an array into another of its library, converted as NumPy does; of complex numbers the real part.

    Warns:
        ComplexWarning: complex numbers become real ones.
    """
    _convert(target, source, describe(source).dtype.kind, describe(target).dtype.kind)


def _convert(target: Any, source: Any, given: str, wanted: str) -> None:
    """Write an array of a kind of dtypes into one of another kind."""
    if given == "c" and wanted == "b":
        source = source != 0
    elif given == "c" and wanted != "c":
        text = "Casting complex values to real discards the imaginary part"
        warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=3)
        source = source.real
    target[...] = source


def broadcast(info: ArrayInfo, array: Any) -> Any:
    """Return a view of an array of `info`'s library, repeated to the shape of `info`."""
    if info.library == "torch":
        return array.expand(info.shape)
    return (np if info.library == "numpy" else sys.modules["cupy"]).broadcast_to(array, info.shape)


def plain(info: ArrayInfo, scalar: str) -> Any:
    """Return a NumPy array's elements in memory order as one axis of a kernel's type of the same size."""
    axes = np.argsort([-stride for stride in info.strides], kind="stable")
    lying = info.owner if info.contiguous else info.owner.transpose(axes)
    return lying.reshape(-1).view(dtype_called(scalar))


def reach(info: ArrayInfo, scalar: str, offset: int) -> Any:
    """Return a NumPy array's memory as one axis of a kernel's type, from byte `offset` of its first element to its last byte."""
    (before, behind), kind = span(info), dtype_called(scalar)
    interface = {
        "data": (info.pointer - before, info.readonly),
        "shape": (before + behind,),
        "typestr": "|u1",
        "version": 3,
    }
    return np.asarray(_Memory(interface, info.owner))[before + offset :][
        : (before + behind - before - offset) // kind.itemsize * kind.itemsize
    ].view(kind)


def view_of(array: Any, shape: tuple[int, ...], strides: tuple[int, ...], before: int) -> Any:
    """Return a view of a NumPy array's memory that begins `before` bytes before it. Who touches what lies there is wrong."""
    interface = dict(array.__array_interface__)
    address, fixed = interface["data"]
    first = np.asarray(_Memory({**interface, "data": (address - before, fixed), "shape": (1,), "strides": None}, array))
    return np.lib.stride_tricks.as_strided(first.view(array.dtype), shape, strides)


class _Memory:
    """Memory that NumPy is told of, and whose it is."""

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__, self.base = interface, owner


def empty(info: ArrayInfo, size: int | tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return a new array of so many elements, or of such a shape, in the library, and on the device, of `info`."""
    if info.library == "torch":
        return sys.modules["torch"].empty(size, dtype=_torch_dtype(dtype), device=info.owner.device)
    return (np if info.library == "numpy" else sys.modules["cupy"]).empty(size, _numpy_dtype(dtype))


_captured: dict[tuple[int, int], list[tuple[Any, int, int]]] = {}


def scratch(info: ArrayInfo, nbytes: int, stream: int) -> tuple[Any, int]:
    """Return memory for a call's work on a stream, from the library of a GPU's `info`, and its address.

    Whoever drops it gives it back. What the capture of a graph is given is kept for good, since the graph writes there when it is
    launched, and is the same for all calls of that capture on that stream.
    """
    capture = None if stream <= LEGACY else capture_of(stream)
    kept = [] if capture is None else _captured.setdefault((stream, capture), [])
    if kept and kept[-1][2] >= nbytes:
        return kept[-1][:2]
    current = stream == current_stream(info)
    # torch allocates on the current stream of the device that is named, whichever device is current.
    with (
        contextlib.nullcontext() if current and info.library == "torch" else working(info, None if current else stream)
    ):
        if info.library == "torch":
            torch = sys.modules["torch"]
            found = torch.empty(nbytes, dtype=torch.uint8, device=torch.device("cuda", info.device))
            pointer = int(found.data_ptr())
        else:
            found = sys.modules["cupy"].cuda.alloc(nbytes)
            pointer = int(found.ptr)
    if capture is not None:
        kept.append((found, pointer, nbytes))
    return found, pointer


def transpose(info: ArrayInfo, array: Any, axes: tuple[int, ...]) -> Any:
    """Return a view of an array of `info`'s library with its axes in another order."""
    return array.permute(axes) if info.library == "torch" else array.transpose(axes)


def working(info: ArrayInfo, stream: int | None) -> contextlib.AbstractContextManager[Any]:
    """Return the context in which the library allocates and copies on `stream`; None: its current one, on the device."""
    if info.library == "cupy":
        cuda = sys.modules["cupy"].cuda
        if cuda.runtime.getDevice() == info.device:  # as mostly
            return contextlib.nullcontext() if stream is None else _cupy_stream(stream, info.device)
        found = contextlib.ExitStack()
        found.enter_context(cuda.Device(info.device))
        if stream is not None:
            found.enter_context(_cupy_stream(stream, info.device))
        return found
    found = contextlib.ExitStack()
    if info.library == "torch":
        cuda = sys.modules["torch"].cuda
        found.enter_context(cuda.device(info.device))
        if stream is not None:
            found.enter_context(cuda.stream(_torch_stream(stream, info.device)))
    return found


def _cupy_stream(stream: int, device: int | None) -> Any:
    """Return CuPy's object for a stream's handle, by the protocol where CuPy has it (14 and later)."""
    cuda = sys.modules["cupy"].cuda
    if hasattr(cuda.Stream, "from_external"):
        return cuda.Stream.from_external(_Handle(stream))
    return cuda.ExternalStream(stream, device)


def _torch_stream(stream: int, device: int | None) -> Any:
    """Return torch's object for a stream's handle; for 0 its `ExternalStream` would be one of its pool, unordered with it."""
    cuda = sys.modules["torch"].cuda
    return cuda.ExternalStream(stream, device) if stream else cuda.default_stream(device)


class _Handle:
    """A stream's handle, as CUDA's stream protocol has it."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)


def require_known(info: ArrayInfo, name: str) -> None:
    """Check that results can be made in the array's library.

    Raises:
        TypeError: it is none of NumPy, CuPy and torch.
    """
    if info.library not in ("numpy", "cupy", "torch"):
        raise TypeError(f"`{name}` must be an array of NumPy, CuPy or torch: wrap it, as by cupy.asarray({name})")


def _numpy_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype as NumPy's and CuPy's arrays have it: bfloat16 is that of `ml_dtypes`.

    Raises:
        TypeError: it is bfloat16, and `ml_dtypes` was not imported.
    """
    if dtype != BFLOAT16:
        return dtype
    try:
        return np.dtype("bfloat16")
    except TypeError:
        raise TypeError("NumPy has no bfloat16 of its own: import ml_dtypes, which adds it") from None


def _torch_dtype(dtype: np.dtype[Any]) -> Any:
    coded = dtype.names is not None and CODED.get(dtype.names[0]) == dtype  # what NumPy has not, by its name here
    return getattr(sys.modules["torch"], dtype.names[0] if coded and dtype.names else dtype.name)
