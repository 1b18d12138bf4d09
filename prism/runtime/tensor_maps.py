"""Tensor maps: what the tensor copy engine is told of an array, encoded by the driver, once for each array and tile."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from prism.lang import tiles
from prism.lang.types import SCALARS, TensorMap
from prism.runtime.arrays import ArrayInfo
from prism.runtime.driver import checked, driver
from prism.runtime.entry import EntryParameter

BYTES, ALIGNMENT = 128, 64
PIECE = 16
"""Bytes: where an array begins, and its strides but the last, are multiples of it."""
LARGEST_EXTENT, LARGEST_STRIDE = 1 << 32, 1 << 40

# The engine moves bits: what has no type of its own goes as the unsigned integer of its size.
_TYPES = {
    "bool": "UINT8", "int8": "UINT8", "uint8": "UINT8", "int16": "UINT16", "uint16": "UINT16", "int32": "INT32",
    "uint32": "UINT32", "int64": "INT64", "uint64": "UINT64", "float16": "FLOAT16", "bfloat16": "BFLOAT16",
    "float32": "FLOAT32", "float64": "FLOAT64",
}  # fmt: skip
_SWIZZLES = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}


def encoded(parameter: EntryParameter, info: ArrayInfo) -> bytes:
    """Return the tensor map that a kernel's parameter is, for an array.

    Raises:
        ValueError: the array's extents, strides or address are not what the copy engine takes.
        DeviceError: the driver refuses.
    """
    check(parameter, info)
    strides = tuple(_strides(info))
    return _encoded(info.pointer, info.shape, strides, parameter.dtype, parameter.box, parameter.swizzle)


def check(parameter: EntryParameter, info: ArrayInfo) -> None:
    """Check that the copy engine can move tiles of an array.

    Raises:
        ValueError: it can't; the message says why.
    """
    name, size = parameter.name, info.dtype.itemsize
    if info.size == 0:
        raise ValueError(f"`{name}` is empty: there is no tensor map of shape {info.shape}")
    if max(info.shape) > LARGEST_EXTENT:
        raise ValueError(f"`{name}` has shape {info.shape}: a tensor map's extents are at most 2^32")
    if info.pointer % PIECE:
        raise ValueError(f"`{name}` begins at an address that is no multiple of {PIECE} bytes, as tensor copies need")
    if info.shape[-1] > 1 and info.strides[-1] != size:
        raise ValueError(
            f"`{name}` must have its last axis's elements one after the other, as tensor copies need; "
            f"its strides are {info.strides} bytes"
        )
    for stride in list(_strides(info))[:-1]:
        if stride % PIECE or not 0 < stride < LARGEST_STRIDE:
            raise ValueError(
                f"`{name}` must have strides that are multiples of {PIECE} bytes (but the last), as tensor copies need; "
                f"they are {info.strides}: pad its rows"
            )


def _strides(info: ArrayInfo) -> list[int]:
    """Return the strides in bytes; of an extent of 1, which are never used, some that the engine takes."""
    found = [info.dtype.itemsize]
    for extent, stride, inner in zip(info.shape[-2::-1], info.strides[-2::-1], info.shape[:0:-1], strict=True):
        packed = -(-found[0] * inner // PIECE) * PIECE
        found.insert(0, stride if extent > 1 else packed)
    return found


@functools.lru_cache(maxsize=4096)
def _encoded(
    pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, box: tuple[int, ...], swizzle: int
) -> bytes:
    cuda: Any = driver()
    one_copy = tiles.box(TensorMap(SCALARS[dtype], box, swizzle))
    wide, word = cuda.cuuint64_t, cuda.cuuint32_t
    found = checked(
        cuda.cuTensorMapEncodeTiled(
            getattr(cuda.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_TYPES[dtype]}"),
            len(shape),
            pointer,
            [wide(n) for n in reversed(shape)],
            [wide(n) for n in reversed(strides[:-1])] or [wide(PIECE)],  # of one axis it has none, but looks
            [word(n) for n in reversed(one_copy)],
            [word(1)] * len(shape),
            cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            getattr(cuda.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{_SWIZZLES[swizzle]}"),
            cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        ),
        f"describing an array of shape {shape} and strides {strides} to the tensor copy engine",
    )
    return ctypes.string_at(int(found.getPtr()), BYTES)
