"""Tensor maps: what the tensor copy engine is told of an array, encoded by the driver, once for each array and tile."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from prism.lang.types import SCALARS, TensorMap, tiles
from prism.runtime.arrays import ArrayInfo
from prism.runtime.driver import DeviceError, check, driver
from prism.runtime.entry import EntryParameter

BYTES, ALIGNMENT = 128, 64
PIECE = 16
"""Bytes: where an array begins, and its strides but the last, are multiples of it."""
SECTOR = 32
"""Bytes that the L2 reads at once."""
LARGEST_EXTENT, LARGEST_STRIDE = 1 << 32, 1 << 40

# The engine moves bits: what has no type of its own goes as the unsigned integer of its size. Only reductions ask which type it
# is; of signed integers of 64 bits it has no sum and no operation of bits, of unsigned ones it has.
_TYPES = {
    "bool": "UINT8", "int8": "UINT8", "uint8": "UINT8", "int16": "UINT16", "uint16": "UINT16", "int32": "INT32",
    "uint32": "UINT32", "int64": "UINT64", "uint64": "UINT64", "float16": "FLOAT16", "bfloat16": "BFLOAT16",
    "float32": "FLOAT32", "float64": "FLOAT64", "float8_e4m3fn": "UINT8", "float8_e5m2": "UINT8",
}  # fmt: skip
_SINCE = 12000
_SWIZZLES = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}


def encode(parameter: EntryParameter, info: ArrayInfo) -> bytes:
    """Return the tensor map that a kernel's parameter is, for an array.

    Raises:
        ValueError: the array's extents, strides or address are not what the copy engine takes.
        DeviceError: the driver refuses.
    """
    return _encode(parameter, info.pointer, info.shape, info.strides)


def _check(parameter: EntryParameter, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    name, size = parameter.name, parameter.numpy.itemsize
    if 0 in shape:
        raise ValueError(f"`{name}` is empty: there is no tensor map of shape {shape}")
    if max(shape) > LARGEST_EXTENT:
        raise ValueError(f"`{name}` has shape {shape}: a tensor map's extents are at most 2^32")
    if pointer % PIECE:
        raise ValueError(f"`{name}` begins at an address that is no multiple of {PIECE} bytes, as tensor copies need")
    if shape[-1] > 1 and strides[-1] != size:
        raise ValueError(
            f"`{name}` must have its last axis's elements one after the other, as tensor copies need; "
            f"its strides are {strides} bytes"
        )
    for stride in _strides(shape, strides, size)[:-1]:
        # An axis that is broadcast has a stride of 0, which the driver takes; `bind` refuses it where the kernel writes.
        if stride % PIECE or not 0 <= stride < LARGEST_STRIDE:
            raise ValueError(
                f"`{name}` must have strides that are multiples of {PIECE} bytes (but the last), as tensor copies need; "
                f"they are {strides}: pad its rows"
            )


def _strides(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> list[int]:
    """Return the strides in bytes; of an extent of 1, which are never used, some that the engine takes."""
    found = [size]
    for extent, stride, inner in zip(shape[-2::-1], strides[-2::-1], shape[:0:-1], strict=True):
        packed = -(-found[0] * inner // PIECE) * PIECE
        found.insert(0, stride if extent > 1 else packed)
    return found


@functools.lru_cache(maxsize=4096)
def _encode(parameter: EntryParameter, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    _check(parameter, pointer, shape, strides)
    cuda: Any = driver()
    scalar, swizzle = SCALARS[parameter.dtype], _SWIZZLES[parameter.swizzle]
    rank, one_copy = len(shape), tiles.box(TensorMap(scalar, parameter.box, parameter.swizzle))
    outer = _strides(shape, strides, scalar.bytes)[:-1]
    brought = _brought(parameter.box[-1], one_copy[-1], shape[-1], (pointer, *outer))
    room = ctypes.create_string_buffer(BYTES + ALIGNMENT)
    place = ctypes.addressof(room) + -ctypes.addressof(room) % ALIGNMENT
    status = _encoder()(
        place,
        int(getattr(cuda.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_TYPES[scalar.name]}")),
        rank,
        pointer,
        (ctypes.c_uint64 * rank)(*reversed(shape)),
        (ctypes.c_uint64 * rank)(*reversed(outer)),
        (ctypes.c_uint32 * rank)(*reversed(one_copy)),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        int(cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE),
        int(getattr(cuda.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}")),
        int(getattr(cuda.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_L2_{brought}B")),
        int(cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
    )
    doing = f"describing an array of shape {shape} and strides {strides} to the tensor copy engine"
    check((cuda.CUresult(status),), doing)
    return ctypes.string_at(place, BYTES)


def _brought(columns: int, of_a_copy: int, of_a_row: int, steps: tuple[int, ...]) -> int:
    """Return how many bytes a miss brings into the L2, of a tile of so many columns that takes copies of so many.

    By 256 bytes rows that begin inside a sector take up to a fifth longer (docs/hgemm.md), and whole rows, of which each copy has
    a part, 5 % longer: the next copy asks for what the one before brought (docs/measurements/attention.md).
    """
    whole = of_a_copy < of_a_row <= columns
    return 128 if whole or any(step % SECTOR for step in steps) else 256


@functools.cache
def _encoder() -> Any:
    """The driver's own function: that of cuda.bindings writes into a Python object, which is not aligned as a map must be."""
    word, long, address = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
    extents, lengths = ctypes.POINTER(long), ctypes.POINTER(word)
    enums = (ctypes.c_int,) * 4
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int, address, ctypes.c_int, word, address, extents, extents, lengths, lengths, *enums
    )
    doing = "looking for the driver's tensor maps"
    found, _ = check(driver().cuGetProcAddress(b"cuTensorMapEncodeTiled", _SINCE, 0), doing)
    if not found:
        raise DeviceError("this driver has no tensor maps: it is older than CUDA 12")
    return prototype(int(found))
