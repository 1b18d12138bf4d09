"""What products of matrices ask of their arguments; each error names the argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from prism.host import arguments
from prism.lang.types import SCALARS
from prism.lib.views import MOST, View
from prism.runtime.arrays import ArrayInfo


def require_operands(function: str, a: View, b: View, kinds: Sequence[str]) -> None:
    """Check the matrices that a function multiplies; axes may stand before the last two.

    Raises:
        TypeError: a dtype is none of `kinds`; dtypes differ.
        ValueError: too few axes; the last two don't fit; an extent is too large.
    """
    for name, info in (("a", a), ("b", b)):
        if info.scalar not in kinds:
            raise TypeError(f"`{name}` has dtype {info.scalar}, and {function} takes {' or '.join(kinds)}")
        if len(info.shape) < 2:
            raise ValueError(f"`{name}` must have 2 axes or more, not {len(info.shape)}: shape {info.shape}")
    require_alike(function, a, b)
    if a.shape[-1] != b.shape[-2]:
        ends = f"k is {a.shape[-1]} or {b.shape[-2]}"
        raise ValueError(f"shapes don't fit: `a` is {a.shape} and `b` is {b.shape}, so {ends}")
    require_extents(a, b)


def require_extents(a: View, b: View) -> None:
    """Check that kernels can count what they multiply.

    Raises:
        ValueError: m, n or k is too large.
    """
    if max(*a.shape[-2:], b.shape[-1]) > MOST:
        raise ValueError(f"an extent is too large: {a.shape} times {b.shape}; up to {MOST} fit")


def eight_bits(scalar: str) -> bool:
    """Whether a dtype is a float of 8 bits."""
    return scalar in SCALARS and SCALARS[scalar].stored


def require_k_inside(info: View, axis: int) -> None:
    """Check that a matrix of 8-bit floats has its elements along K, its axis `axis` of the last two, one after the other.

    Raises:
        ValueError: it has not.
    """
    if 0 not in info.shape and info.shape[axis] > 1 and info.strides[axis] != info.size:
        how = "row-major" if axis == -1 else "the transpose of a row-major n x k array, as `w.T`"
        raise ValueError(
            f"`{info.name}` of {info.scalar} must be {how}: the tensor cores take 8-bit floats that lie one after the other "
            f"along k; its shape is {info.shape}, its strides {info.strides} bytes"
        )


def require_alike(function: str, a: View, b: View) -> None:
    """Check that two operands are of one dtype, or both of 8-bit floats.

    Raises:
        TypeError: they are not.
    """
    if a.scalar != b.scalar and not (eight_bits(a.scalar) and eight_bits(b.scalar)):
        raise TypeError(f"`a` has dtype {a.scalar} and `b` {b.scalar}: {function} multiplies matrices of one dtype")


def require_like_result(info: ArrayInfo | None, name: str, shape: tuple[int, ...], kind: str) -> None:
    """Check an array, if there is one, that has the result's shape and dtype.

    Raises:
        TypeError: another dtype.
        ValueError: another shape.
    """
    if info is not None:
        arguments.require_scalar(info, kind, name)
        arguments.require_shape(info, shape, name)


def batch_of(a: View, b: View) -> tuple[int, ...]:
    """Return the extents that stand before the last two, broadcast.

    Raises:
        ValueError: they don't fit.
    """
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        remapped = "".join(
            f"{_spell_shape(x.shape)}->{_spell_shape((*x.shape[:-2], 'newaxis', 'newaxis'))} " for x in (a, b)
        )
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: {remapped}"
            f" and requested shape {_spell_shape((a.shape[-2], b.shape[-1]))}"
        ) from None


def _spell_shape(shape: tuple[Any, ...]) -> str:
    return f"({','.join(map(str, shape))})"
