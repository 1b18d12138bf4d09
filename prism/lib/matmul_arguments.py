"""What products of matrices ask of their arguments; each error names the argument."""

from __future__ import annotations

from collections.abc import Sequence

from prism.host import arguments, memory
from prism.lang.types import SCALARS
from prism.runtime.arrays import ArrayInfo

MOST = 2**31 - 2**10
"""The largest extent: kernels' sizes are 32-bit, and tiles stick out."""


def require_operands(
    function: str, a: ArrayInfo, b: ArrayInfo, kinds: Sequence[str], *, batched: bool = False
) -> None:  # fmt: skip
    """Check the matrices that a function multiplies; `batched`: axes may stand before the last two.

    Raises:
        TypeError: a dtype is none of `kinds`; dtypes or libraries differ, or none that results can be made in.
        ValueError: too few axes, or too many; the last two don't fit.
    """
    for name, info in (("a", a), ("b", b)):
        memory.require_known(info, name)
        if info.scalar not in kinds:
            raise TypeError(f"`{name}` has dtype {info.scalar}, and {function} takes {' or '.join(kinds)}")
        if len(info.shape) < 2 or (len(info.shape) > 2 and not batched):
            axes = "2 axes or more" if batched else "2 axes"
            raise ValueError(f"`{name}` must have {axes}, not {len(info.shape)}: shape {info.shape}")
    require_alike(function, a, b)
    if a.shape[-1] != b.shape[-2]:
        ends = f"k is {a.shape[-1]} or {b.shape[-2]}"
        raise ValueError(f"shapes don't fit: `a` is {a.shape} and `b` is {b.shape}, so {ends}")


def require_extents(a: ArrayInfo, b: ArrayInfo) -> None:
    """Check that kernels can count what they multiply.

    Raises:
        ValueError: m, n or k is too large.
    """
    if max(*a.shape[-2:], b.shape[-1]) > MOST:
        raise ValueError(f"an extent is too large: {a.shape} times {b.shape}; up to {MOST} fit")


def eight_bits(scalar: str) -> bool:
    """Whether a dtype is a float of 8 bits."""
    return scalar in SCALARS and SCALARS[scalar].stored


def require_k_inside(info: ArrayInfo, name: str, axis: int) -> None:
    """Check that a matrix of 8-bit floats has its elements along K, its axis `axis` of the last two, one after the other.

    Raises:
        ValueError: it has not.
    """
    if info.size and info.shape[axis] > 1 and info.strides[axis] != info.dtype.itemsize:
        how = "row-major" if axis == -1 else "the transpose of a row-major n x k array, as `w.T`"
        raise ValueError(
            f"`{name}` of {info.scalar} must be {how}: the tensor cores take 8-bit floats that lie one after the other along k; "
            f"its shape is {info.shape}, its strides {info.strides} bytes"
        )


def require_alike(function: str, a: ArrayInfo, b: ArrayInfo) -> None:
    """Check that two operands are of one dtype, or both of 8-bit floats, and of one library.

    Raises:
        TypeError: they are not.
    """
    if a.scalar != b.scalar and not (eight_bits(a.scalar) and eight_bits(b.scalar)):
        raise TypeError(f"`a` has dtype {a.scalar} and `b` {b.scalar}: {function} multiplies matrices of one dtype")
    arguments.require_library(b, "b", "a", a)


def require_like_result(info: ArrayInfo, name: str, a: ArrayInfo, shape: tuple[int, ...], kind: str) -> None:
    """Check an array that has the result's shape, dtype and library.

    Raises:
        TypeError: another dtype or library.
        ValueError: another shape.
    """
    arguments.require_library(info, name, "a", a)
    arguments.require_scalar(info, kind, name)
    arguments.require_shape(info, shape, name)
