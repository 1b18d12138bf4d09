"""The arguments of histograms: as NumPy takes them, and with its errors."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from prism.host import arguments, memory
from prism.lib.algorithms.histogram.rules import limits_of
from prism.runtime.arrays import BFLOAT16, ArrayInfo

_NUMBERS = "biuf"


def array_of(x: Any) -> Any:
    """Return an array; of what NumPy takes for one, a list or a number, NumPy's."""
    return np.asarray(x) if isinstance(x, list | tuple | int | float | np.generic) else x


def dtype_of(info: ArrayInfo, name: str) -> np.dtype[Any]:
    """Return the dtype that numbers of an array are taken for: of bfloat16 that they are computed in.

    Raises:
        TypeError: they are no numbers, or complex.
    """
    if info.dtype == BFLOAT16:
        return np.dtype(np.float32)
    if info.dtype.kind not in _NUMBERS or info.dtype.itemsize > 8:
        raise TypeError(f"`{name}` has dtype {info.dtype}, which is not supported")
    return np.dtype(np.uint8) if info.dtype.kind == "b" else info.dtype.newbyteorder("=")


def scalar_of(info: ArrayInfo) -> str:
    """Return the kernels' type of an array's elements; of bools their bytes."""
    return "uint8" if info.scalar == "bool" else info.scalar


def to_host(x: Any) -> Any:
    """Return an array of any library as NumPy's; waits for it."""
    if isinstance(x, np.ndarray | np.generic):
        return x
    if type(x).__module__.partition(".")[0] == "torch":
        found = x.detach().cpu()
        return (found.float() if str(x.dtype) == "torch.bfloat16" else found).numpy()
    return x.get()


def like(info: ArrayInfo, x: Any) -> Any:
    """Return a NumPy array as one of the library of `info`, where that is."""
    if info.library == "torch":
        return sys.modules["torch"].as_tensor(np.ascontiguousarray(x), device=info.owner.device)
    return x if info.library == "numpy" else sys.modules["cupy"].asarray(x)


def number_of_bins(bins: Any, name: str = "`bins`") -> int | None:
    """Return how many even bins are asked for; None where it is their edges.

    Raises:
        TypeError: it is no integer, or names an estimator.
        ValueError: it is not positive.
    """
    if isinstance(bins, str):
        raise TypeError(
            f"{name} is {bins!r}: numbers of bins are not estimated here; pass numpy.histogram_bin_edges(a, {bins!r})"
        )
    if len(getattr(bins, "shape", ())) > 0 or isinstance(bins, list | tuple):
        return None
    try:
        found = operator.index(bins)
    except TypeError:
        raise TypeError(f"{name} must be an integer, a string, or an array") from None
    if found < 1:
        raise ValueError(f"{name} must be positive, when an integer")
    if found >= 1 << 30:
        raise ValueError(f"{name} must be less than 2^30, not {found}")
    return found


def edges_of(bins: Any, info: ArrayInfo, name: str = "`bins`") -> tuple[Any, np.dtype[Any]]:
    """Return edges as an array of the library of `info`, and their dtype. Those on a GPU are waited for, and looked at.

    Raises:
        TypeError: they are no real numbers.
        ValueError: they have more than one axis, or don't increase; one is NaN.
    """
    edges = array_of(bins)
    found = arguments.facts_of(edges, name.strip("`"))
    dtype = dtype_of(found, name.strip("`"))
    if len(found.shape) != 1:
        raise ValueError(f"{name} must be 1d, when an array")
    here = to_host(edges)
    if not np.all(here[:-1] <= here[1:]) or np.any(here != here):
        raise ValueError(f"{name} must increase monotonically, when an array")
    if found.library == info.library and found.device == info.device:
        return edges, dtype
    return like(info, here), dtype


def outer_edges(x: Any, info: ArrayInfo, range: Any) -> tuple[Any, Any]:
    """Return the outermost edges, as NumPy finds them: of a range, or of the elements, which it waits for.

    Raises:
        TypeError, ValueError: the range is no two numbers, is turned round or not finite; an element is not finite.
    """
    if range is not None:
        low, high = range
        return limits_of(low, high)
    if not info.size:
        return 0, 1
    low, high = extremes(x, info)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"autodetected range of [{low}, {high}] is not finite")
    return limits_of(low, high)


def extremes(x: Any, info: ArrayInfo) -> tuple[Any, Any]:
    """Return the smallest and the largest element, as NumPy's; waits for them."""
    from prism import lib

    kind = dtype_of(info, "a")
    found = lib.min(x), lib.max(x)
    low, high = (to_host(one) for one in found)
    return kind.type(low), kind.type(high)


def require_shape(weights: ArrayInfo, info: ArrayInfo, said: str) -> None:
    """Check that weights are as many as elements.

    Raises:
        ValueError: they are not.
    """
    if weights.shape != info.shape:
        raise ValueError(said)


def cast(x: Any, info: ArrayInfo, dtype: np.dtype[Any]) -> Any:
    """Return a result in another dtype, converted by its library."""
    result = memory.empty(info, tuple(x.shape), dtype)
    result[...] = x
    return result


__all__ = [
    "array_of", "cast", "dtype_of", "edges_of", "extremes", "like", "number_of_bins", "outer_edges", "require_shape", "scalar_of",
    "to_host",
]  # fmt: skip
