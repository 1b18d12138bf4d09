"""What an array is, whose library made it, where it lies: without copying it or importing its library."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import field
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from prism.lang.keep.bases import Value
from prism.lang.types import SCALARS
from prism.lang.types.structs import struct_of
from prism.runtime.driver import cuda_core

_KINDS = "an array of NumPy, CuPy or torch, or one with __cuda_array_interface__ or DLPack"
CODED = {scalar.name: np.dtype([(scalar.name, scalar.numpy)]) for scalar in SCALARS.values() if scalar.coded}
"""What NumPy calls a library's bfloat16 and floats of 8 bits, which it has not: words of so many bits that are no integers."""
BFLOAT16 = CODED["bfloat16"]
_DLPACK_CPU, _DLPACK_CUDA, _DLPACK_MANAGED = 1, 2, 13


class ArrayInfo(Value):
    """An array's facts. `kind` is `numpy` or `cuda`; `strides` are in bytes; `device` is None on the host.

    `library` is `numpy`, `cupy`, `torch`, `cai` or `dlpack`. `producer` is the stream that its contents may still be
    under way on, where its library says so (see `order`). `owner` keeps the memory alive.
    """

    library: str
    kind: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    pointer: int
    readonly: bool
    device: int | None
    producer: int | None = None
    owner: Any = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def scalar(self) -> str:
        """The name of its dtype, also of `CODED`; a struct's key."""
        if self.dtype.names is None:
            return _name(self.dtype)
        if CODED.get(self.dtype.names[0]) == self.dtype:
            return self.dtype.names[0]
        found = struct_of(self.dtype)
        return self.dtype.name if found is None else found.key

    @property
    def contiguous(self) -> bool:
        """Whether elements lie one after the other, the last axis innermost; true of empty arrays."""
        if 0 in self.shape:
            return True
        expected = self.dtype.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True

    @property
    def natural(self) -> bool:
        """Whether elements are in this machine's byte order, and lie at multiples of their size, as kernels read them."""
        return self.dtype.isnative and self.pointer % max(1, self.dtype.itemsize) == 0

    @property
    def place(self) -> str:
        """Where it lies, in words."""
        return "the host" if self.device is None else f"GPU {self.device}"


@functools.lru_cache(maxsize=64)
def _name(dtype: np.dtype[Any]) -> str:
    """Return a dtype's name, which NumPy makes anew each time, in 2 us."""
    return str(dtype.name)


def describe(obj: Any, name: str = "x") -> ArrayInfo:
    """Return the facts of an array; `name` is the argument's, for errors. Nothing is copied or synchronised.

    Raises:
        TypeError: it is no array, its dtype is none of NumPy's, or it is a torch tensor that is not on a GPU.
        ValueError: its library can't share it (as a CuPy array that spans devices).
    """
    cls = type(obj)
    describer = _DESCRIBERS.get(cls)
    if describer is None:
        describer = _describer(cls, obj, name)
        _DESCRIBERS[cls] = describer
    return describer(obj, name)


def is_array(obj: Any) -> bool:
    """Whether an object looks like an array of any library, and is no number of NumPy's."""
    return hasattr(obj, "shape") and hasattr(obj, "dtype") and not isinstance(obj, np.generic | type | ModuleType)


def one_place(arrays: Mapping[str, ArrayInfo]) -> int | None:
    """Return the ordinal of the one device that all arrays are on, or None where all are on the host.

    Raises:
        TypeError: some are on the host and some on a GPU.
        ValueError: they are on different GPUs, both of which are named.
    """
    first: tuple[str, ArrayInfo] | None = None
    for name, info in arrays.items():
        if first is None:
            first = (name, info)
        elif info.device != first[1].device:
            text = f"arrays must be in one place: `{first[0]}` is on {first[1].place}, `{name}` on {info.place}"
            if info.device is None or first[1].device is None:
                raise TypeError(f"{text}; Prism copies nothing between host and GPU")
            raise ValueError(text)
    return None if first is None else first[1].device


def require_writable(info: ArrayInfo, name: str) -> None:
    """Check that a kernel may write into the array.

    Raises:
        ValueError: it is read-only.
    """
    if info.readonly:
        raise ValueError(f"`{name}` is read-only")


def require_contiguous(info: ArrayInfo, name: str) -> None:
    """Check that the array is C-contiguous.

    Raises:
        ValueError: it isn't.
    """
    if not info.contiguous:
        raise ValueError(f"`{name}` must be C-contiguous; its shape is {info.shape}, its strides {info.strides} bytes")


def require_aligned(info: ArrayInfo, name: str, align: int) -> None:
    """Check that an array on a GPU begins at a multiple of `align` bytes, as structs that are moved as one word must.

    Raises:
        ValueError: it doesn't.
    """
    if info.device is not None and info.pointer % align:
        raise ValueError(
            f"`{name}` must be aligned to {align} bytes, as its elements are moved; its address is {info.pointer:#x}"
        )


def require_axes(info: ArrayInfo, name: str, axes: int) -> None:
    """Check an array's number of axes.

    Raises:
        ValueError: it has another.
    """
    if len(info.shape) != axes:
        raise ValueError(
            f"`{name}` must have {axes} ax{'i' if axes == 1 else 'e'}s, not {len(info.shape)}: shape {info.shape}"
        )


# -- One function a library -------------------------------------------------------------------------------------------


def _numpy(obj: Any, name: str) -> ArrayInfo:
    if isinstance(obj, np.ma.MaskedArray):
        raise TypeError(f"`{name}` is a masked array, whose mask Prism would ignore: pass `{name}.filled()`")
    if isinstance(obj, np.matrix):
        raise TypeError(f"`{name}` is a numpy.matrix, which has two axes whatever is done to it: pass `{name}.A`")
    pointer = obj.__array_interface__["data"][0]
    readonly = not obj.flags.writeable
    return ArrayInfo("numpy", "numpy", obj.dtype, obj.shape, obj.strides, pointer, readonly, None, owner=obj)


def _cupy(obj: Any, name: str) -> ArrayInfo:
    memory = obj.data
    return ArrayInfo("cupy", "cuda", obj.dtype, obj.shape, obj.strides, memory.ptr, False, memory.device_id, owner=obj)


def _torch(obj: Any, name: str) -> ArrayInfo:
    if not obj.is_cuda:
        raise TypeError(f"`{name}` is a torch tensor on {obj.device}: pass `{name}.numpy()` or `{name}.cuda()`")
    if obj.layout is not _module("torch").strided or obj.is_conj() or obj.is_neg():
        raise TypeError(f"`{name}` is a torch tensor that is not plain memory: pass a dense one, resolved")
    dtype = _dtype(str(obj.dtype).removeprefix("torch."), name)
    strides = tuple(s * dtype.itemsize for s in obj.stride())
    shape, pointer = tuple(obj.shape), obj.data_ptr()
    return ArrayInfo("torch", "cuda", dtype, shape, strides, pointer, False, obj.device.index, owner=obj)


def _interface(obj: Any, name: str) -> ArrayInfo:
    facts = getattr(obj, "__cuda_array_interface__", None)
    if facts is None:  # as others of its type have it, which are on a GPU
        return _dlpack(obj, name) if _has_dlpack(obj) else _no_array(obj, name)
    if facts.get("mask") is not None:
        raise TypeError(f"`{name}` has a mask, which Prism would ignore")
    try:
        kind, (address, readonly) = _record(facts) or facts["typestr"], facts["data"]
        pointer, shape = int(address or 0), tuple(int(n) for n in facts["shape"])
        strides = None if facts.get("strides") is None else tuple(int(s) for s in facts["strides"])
        stream = None if facts.get("stream") is None else int(facts["stream"])
        if any(n < 0 for n in shape) or len(strides or shape) != len(shape):
            raise ValueError(f"shape {shape}, strides {strides}")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TypeError(f"`{name}`: its __cuda_array_interface__ is not of that form: {error}") from error
    if stream is not None and stream <= 0:
        what = "0, which is ambiguous: 1 or 2 is meant" if stream == 0 else f"{stream}, which is none"
        raise ValueError(f"`{name}`: its __cuda_array_interface__ gives stream {what}")
    dtype, where = _dtype(kind, name), _device_of(pointer)
    layout = _c_strides(shape, dtype.itemsize) if strides is None else strides
    return ArrayInfo("cai", "cuda", dtype, shape, layout, pointer, bool(readonly), where, stream, obj)


def _record(facts: Mapping[str, Any]) -> Any:
    """Return the structured dtype that an interface describes, with its padding; None where elements are no records.

    Padding is what has no name in `descr`, as NumPy writes it.
    """
    fields = facts.get("descr")
    if not facts["typestr"].startswith("|V") or not fields or fields == [("", facts["typestr"])]:
        return None
    names, titles, formats, offsets, at = [], [], [], [], 0
    for name, kind, *shape in fields:
        field = (kind, shape[0]) if shape else kind
        if name:
            title, name = name if isinstance(name, tuple) else (None, name)
            titles.append(title)
            names.append(name)
            formats.append(field)
            offsets.append(at)
        at += np.dtype(field).itemsize
    found = {"names": names, "formats": formats, "offsets": offsets, "itemsize": int(facts["typestr"][2:])}
    return {**found, "titles": titles} if any(titles) else found


def _dlpack(obj: Any, name: str) -> ArrayInfo:
    kind, ordinal = obj.__dlpack_device__()
    if int(kind) == _DLPACK_CPU:
        try:
            return _numpy(np.from_dlpack(obj), name)
        except (BufferError, RuntimeError) as error:
            raise ValueError(f"`{name}` can't be shared through DLPack: {error}") from error
    if int(kind) not in (_DLPACK_CUDA, _DLPACK_MANAGED):
        raise TypeError(f"`{name}` is on a device neither the host nor an NVIDIA GPU (DLPack's type {int(kind)})")
    views = cuda_core("cuda.core.utils").StridedMemoryView
    try:  # its library makes it ready on the legacy default stream
        view = views.from_dlpack(obj, stream_ptr=1)
    except (BufferError, RuntimeError) as error:
        raise ValueError(f"`{name}` can't be shared through DLPack: {error}") from error
    dtype = _dtype(view.dtype, name)
    shape = tuple(view.shape)
    size = dtype.itemsize
    strides = _c_strides(shape, size) if view.strides is None else tuple(s * size for s in view.strides)
    return ArrayInfo("dlpack", "cuda", dtype, shape, strides, int(view.ptr), bool(view.readonly), int(ordinal), 1, view)


# -- Dispatch: by type, then by the names of its bases, then by what it can do ----------------------------------------

_DESCRIBERS: dict[type, Callable[[Any, str], ArrayInfo]] = {np.ndarray: _numpy}
_BY_NAME = {("numpy", "ndarray"): _numpy, ("cupy", "ndarray"): _cupy, ("torch", "Tensor"): _torch}


def register(cls: type, describer: Callable[[Any, str], ArrayInfo]) -> None:
    """Say how arrays of a type of Prism's own are described."""
    _DESCRIBERS[cls] = describer


def _describer(cls: type, obj: Any, name: str) -> Callable[[Any, str], ArrayInfo]:
    for base in cls.__mro__:
        found = _DESCRIBERS.get(base) or _BY_NAME.get((base.__module__.partition(".")[0], base.__name__))
        if found is not None:
            return found
    if not isinstance(obj, np.generic | type):
        if hasattr(obj, "__cuda_array_interface__"):
            return _interface
        if _has_dlpack(obj):
            return _dlpack
    return _no_array(obj, name)


def _has_dlpack(obj: Any) -> bool:
    return hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__")


def _no_array(obj: Any, name: str) -> NoReturn:
    cls = type(obj)
    raise TypeError(f"`{name}` must be {_KINDS}, not {cls.__module__}.{cls.__qualname__}".replace("builtins.", ""))


def _dtype(found: Any, name: str) -> np.dtype[Any]:
    if str(found) in CODED:
        return CODED[str(found)]
    try:
        dtype: np.dtype[Any] = np.dtype(found)
        return dtype
    except TypeError:
        raise TypeError(f"`{name}` has dtype {found}, which Prism doesn't have") from None


def _c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _device_of(pointer: int) -> int:
    """The device that a pointer's memory is on; the current one for an empty array's null pointer."""
    from prism.runtime.device import current_device
    from prism.runtime.driver import check, driver

    if pointer == 0:
        return current_device()
    cuda = driver()
    kind = cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(check(cuda.cuPointerGetAttribute(kind, pointer), "asking which GPU a pointer belongs to"))


def _module(name: str) -> Any:
    import sys

    return sys.modules[name]
