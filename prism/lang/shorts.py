"""Floats of 16 bits, as numbers: how a value is rounded to `float16` or `bfloat16`, and its bits.

Rounding is to nearest, ties to even. An integer or a double becomes bfloat16 as if rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang.types import Scalar


def bf16_bits(values: Any) -> Any:
    """Return the bits, as uint16, of numbers rounded to bfloat16."""
    wide = np.asarray(values)
    with np.errstate(all="ignore"):
        single = wide.astype(np.float32)
        if wide.dtype == np.float64:
            single = _to_odd(wide, single)
    words = single.view(np.uint32)
    rounded = words + np.uint32(0x7FFF) + ((words >> np.uint32(16)) & np.uint32(1))
    return np.where(np.isnan(single), np.uint16(0x7FFF), (rounded >> np.uint32(16)).astype(np.uint16)).astype(np.uint16)


def _to_odd(wide: Any, single: Any) -> Any:
    """Return doubles as floats rounded to odd, after which a second rounding is as good as one."""
    over = np.abs(single) > np.abs(wide)
    single = np.where(over, np.nextafter(single, np.float32(0)), single)
    inexact = (single.astype(np.float64) != wide) & ~np.isnan(wide)
    return (single.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)


def bf16_values(bits: Any) -> Any:
    """Return the float32 numbers whose bfloat16 bits are given."""
    return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)


def round_bf16(values: Any) -> Any:
    """Return numbers rounded to bfloat16, as float32."""
    return bf16_values(bf16_bits(values))


def round_short(value: float, scalar: Scalar) -> float:
    """Return a number rounded to a float of 16 bits."""
    with np.errstate(all="ignore"):
        if scalar.name == "bfloat16":
            return float(round_bf16(np.float64(value)))
        return float(np.float16(value))


def short_bits(value: float, scalar: Scalar) -> int:
    """Return the bits of a number rounded to a float of 16 bits."""
    with np.errstate(all="ignore"):
        if scalar.name == "bfloat16":
            return int(bf16_bits(np.float64(value)))
        return int(np.float16(value).view(np.uint16))
