"""Floats of 16 and of 8 bits, as numbers: how a value is rounded to them, and their bits.

Rounding is to nearest, ties to even. An integer or a double is rounded as if once.

The floats of 8 bits are OCP's (8-bit Floating Point Specification, 1.0): float8_e4m3fn has 4 bits of exponent, of bias 7, and 3
of mantissa, no infinity, and one NaN a sign, 0x7F; its largest number is 448. float8_e5m2 is the upper byte of a float16; its
largest is 57344. What is rounded to them saturates, infinity too, as by the GPU's conversions (PTX ISA, cvt, .satfinite); NaN
becomes 0x7F.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from prism.lang.types import Scalar


def bf16_bits(values: Any) -> Any:
    """Return the bits, as uint16, of numbers rounded to bfloat16."""
    single = _single(values)
    words = single.view(np.uint32)
    rounded = words + np.uint32(0x7FFF) + ((words >> np.uint32(16)) & np.uint32(1))
    return np.where(np.isnan(single), np.uint16(0x7FFF), (rounded >> np.uint32(16)).astype(np.uint16)).astype(np.uint16)


def _single(values: Any) -> Any:
    """Return numbers as float32 that round further as they would; doubles are rounded to odd."""
    wide = np.asarray(values)
    with np.errstate(all="ignore"):
        if wide.dtype.kind in "iu" and wide.dtype.itemsize > 2:
            wide = wide.astype(np.float64)
        single = wide.astype(np.float32)
        return _to_odd(wide, single) if wide.dtype == np.float64 else single


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


# -- 8 bits ---------------------------------------------------------------------------------------------------------------


def _format(scalar: Scalar) -> tuple[int, int, int]:
    """Return the bits of the mantissa, the exponent's bias, and the pattern of the largest number."""
    return (3, 7, 0x7E) if scalar.name == "float8_e4m3fn" else (2, 15, 0x7B)


def _bits_of_8(values: Any, scalar: Scalar) -> Any:
    mantissa, bias, largest = _format(scalar)
    single = _single(values)
    size, words = np.abs(single), single.view(np.uint32)
    shift = np.uint32(23 - mantissa)
    magnitude = words & np.uint32(0x7FFFFFFF)
    rounded = magnitude + np.uint32((1 << 22 - mantissa) - 1) + (magnitude >> shift & np.uint32(1))
    unit = np.float32(2.0 ** (24 - bias - mantissa))  # whose last place is that of the least numbers
    with np.errstate(all="ignore"):
        normal = (rounded >> shift) - np.uint32(127 - bias << mantissa)
        small = (size + unit).view(np.uint32) - unit.view(np.uint32)
    code = np.minimum(np.where(size < 2.0 ** (1 - bias), small, normal), np.uint32(largest))
    code = np.where(np.isnan(single), np.uint32(0x7F), code | words >> np.uint32(24) & np.uint32(0x80))
    return code.astype(np.uint8)


@functools.cache
def _values_of_8(scalar: Scalar) -> Any:
    """Return the number that each of the 256 patterns is."""
    mantissa, bias, largest = _format(scalar)
    pattern = np.arange(128)
    exponent, fraction = pattern >> mantissa, (pattern & (1 << mantissa) - 1) / (1 << mantissa)
    found = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    found[largest + 1 :] = np.nan
    if scalar.name == "float8_e5m2":
        found[largest + 1] = np.inf
    return np.concatenate([found, -found]).astype(np.float32)


# -- any of them ----------------------------------------------------------------------------------------------------------


def bits_of(values: Any, scalar: Scalar) -> Any:
    """Return the bits, as unsigned integers, of numbers rounded to a float that NumPy hasn't."""
    return bf16_bits(values) if scalar.bits == 16 else _bits_of_8(values, scalar)


def values_of(bits: Any, scalar: Scalar) -> Any:
    """Return the float32 numbers whose bits, of a float that NumPy hasn't, are given."""
    return bf16_values(bits) if scalar.bits == 16 else _values_of_8(scalar)[np.asarray(bits)]


def round_to(values: Any, scalar: Scalar) -> Any:
    """Return numbers rounded to a float that NumPy hasn't, as float32."""
    return values_of(bits_of(values, scalar), scalar)


def round_short(value: float, scalar: Scalar) -> float:
    """Return a number rounded to a float of 16 bits or fewer."""
    with np.errstate(all="ignore"):
        return float(round_to(np.float64(value), scalar)) if scalar.coded else float(np.float16(value))


def short_bits(value: float, scalar: Scalar) -> int:
    """Return the bits of a number rounded to a float of 16 bits or fewer."""
    with np.errstate(all="ignore"):
        return int(bits_of(np.float64(value), scalar)) if scalar.coded else int(np.float16(value).view(np.uint16))
