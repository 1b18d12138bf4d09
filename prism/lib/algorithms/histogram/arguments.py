"""The arguments of histograms: as NumPy takes them, and with its errors."""

from __future__ import annotations

import contextlib
import operator
import sys
from typing import Any

import numpy as np

from prism.host import arguments, memory
from prism.host.arguments import require_integer
from prism.host.lazies import LazyArray
from prism.lib.algorithms.histogram.rules import limits_of
from prism.runtime import scratch
from prism.runtime.arrays import BFLOAT16, ArrayInfo, is_array
from prism.runtime.streams import choose_stream, current_stream

_NUMBERS = "biuf"
_MOST = 1 << 30


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


def working(info: ArrayInfo, stream: Any) -> contextlib.AbstractContextManager[Any]:
    """Return the context in which a library works on the stream that the caller names, if it does."""
    if info.device is None or stream is None:
        return contextlib.nullcontext()
    return memory.working(info, choose_stream(stream, (info,)))


def to_host(x: Any, instead: str) -> Any:
    """Return an array of any library as NumPy's; waits for it. `instead`: what the caller may do not to wait.

    Raises:
        RuntimeError: a CUDA graph is being captured. Nothing was asked of the driver that would invalidate the capture.
    """
    if isinstance(x, np.ndarray | np.generic):
        return x
    require_no_capture(arguments.facts_of(x, "x"), instead)
    if type(x).__module__.partition(".")[0] == "torch":
        found = x.detach().cpu()
        return (found.float() if str(x.dtype) == "torch.bfloat16" else found).numpy()
    return x.get()


def require_no_capture(info: ArrayInfo, instead: str) -> None:
    """Check that a call may wait, or send what lies in the host's memory.

    Raises:
        RuntimeError: a CUDA graph is being captured.
    """
    if info.device is not None and scratch.capturing(current_stream(info)):
        raise RuntimeError(f"the call waits for the GPU, and a CUDA graph is being captured: {instead}")


def like(info: ArrayInfo, x: Any) -> Any:
    """Return a NumPy array as one of the library of `info`, where that is.

    Raises:
        RuntimeError: a CUDA graph is being captured.
    """
    require_no_capture(info, "edges on the host are sent to the GPU; pass a number of bins, and range=")
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
    if found >= _MOST:
        raise ValueError(f"{name} must be less than {_MOST}, not {found}")
    return found


def are_checked_later(bins: Any, info: ArrayInfo) -> bool:
    """Whether edges are of the library and the GPU of `info`, at least two, so that a kernel can look at them."""
    if (
        info.device is None
        or isinstance(bins, LazyArray)
        or not is_array(bins)
        or len(bins.shape) != 1
        or bins.shape[0] < 2
    ):
        return False
    found = arguments.facts_of(bins, "bins")
    return found.library == info.library and found.device == info.device


def edges_of(bins: Any, info: ArrayInfo, name: str = "`bins`", *, looked_at: bool = True) -> tuple[Any, np.dtype[Any]]:
    """Return edges as an array of the library of `info`, and their dtype. Those on a GPU are waited for, if `looked_at`.

    Raises:
        TypeError: they are no real numbers.
        ValueError: they have more than one axis, or don't increase; one is NaN.
    """
    edges = array_of(bins)
    found = arguments.facts_of(edges, name.strip("`"))
    dtype = dtype_of(found, name.strip("`"))
    if len(found.shape) != 1:
        raise ValueError(f"{name} must be 1d, when an array")
    if not looked_at:
        require_no_capture(info, "edges are looked at on the host; pass a number of bins, and range=")
        return edges, dtype
    here = to_host(edges, "edges are looked at on the host; pass a number of bins, and range=")
    if not np.all(here[:-1] <= here[1:]) or np.any(here != here):
        raise ValueError(f"{name} must increase monotonically, when an array")
    if found.library == info.library and found.device == info.device:
        return edges, dtype
    return like(info, here), dtype


def outer_edges(x: Any, info: ArrayInfo, where: ArrayInfo, range: Any) -> tuple[Any, Any]:
    """Return the range of bins: as it is given, or of the elements, which it waits for.

    Raises:
        TypeError, ValueError: it is no two numbers; an element is not finite.
    """
    if range is not None:
        try:
            low, high = range
        except (TypeError, ValueError) as error:
            raise type(error)("`range` must be a pair of numbers, the lowest and the highest") from None
        return low, high
    if not info.size:
        return 0, 1
    low, high = extremes(x, info, where, "pass range=")
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"autodetected range of [{low}, {high}] is not finite")
    return low, high


def extremes(x: Any, info: ArrayInfo, where: ArrayInfo, instead: str) -> tuple[Any, Any]:
    """Return the smallest and the largest element, as NumPy's; waits for them.

    Raises:
        RuntimeError: see `to_host`.
    """
    from prism import lib

    require_no_capture(where, instead)

    kind = dtype_of(info, "a")
    low, high = (to_host(one, instead) for one in lib.minmax(x))
    return kind.type(low), kind.type(high)


def require_shape(weights: Any, info: ArrayInfo, said: str) -> None:
    """Check that weights are as many as elements.

    Raises:
        ValueError: they are not.
    """
    if arguments.facts_of(weights, "weights").shape != info.shape:
        raise ValueError(said)


def require_real(weights: ArrayInfo) -> None:
    """Check that weights are real numbers.

    Raises:
        TypeError: they are not.
    """
    if weights.dtype.kind == "c":
        raise TypeError(
            f"Cannot cast array data of `weights` from {weights.dtype} to float64 according to the rule 'safe'"
        )
    dtype_of(weights, "weights")


def parts_of(weights: Any) -> tuple[Any, Any]:
    """Return the real and the imaginary parts of complex weights."""
    if not isinstance(weights, LazyArray):
        return weights.real, weights.imag
    from prism.lib import lazy

    return lazy.map(lambda w: w.real, weights), lazy.map(lambda w: w.imag, weights)


def join_parts(real: Any, imaginary: Any, info: ArrayInfo, dtype: np.dtype[Any]) -> Any:
    """Return complex numbers of their parts."""
    result = memory.empty(info, tuple(real.shape), dtype)
    result.real[...] = real
    result.imag[...] = imaginary
    return result


def length_of(value: Any, name: str) -> int:
    """Return a number of counts.

    Raises:
        TypeError: it is no integer.
        ValueError: it is negative, or too large.
    """
    found = require_integer(value, name)
    if found < 0:
        raise ValueError(f"`{name}` must not be negative")
    if found >= _MOST:
        raise ValueError(f"`{name}` asks for {found} counts: there are at most {_MOST - 1}")
    return found


def compared_as(kind: np.dtype[Any], edges: np.dtype[Any]) -> str:
    """Return the kernels' type in which numbers and edges are compared."""
    found = np.promote_types(kind, edges)
    return "float32" if found == np.float16 else found.name


def density(counts: Any, edges: list[Any]) -> Any:
    """Return the density of counts in cells: its integral over all of them is 1."""
    where, double = arguments.facts_of(counts, "counts"), np.dtype(np.float64)
    found = counts
    for k, one in enumerate(edges):
        shape = tuple(-1 if k == axis else 1 for axis, _ in enumerate(edges))
        found = found / cast(one[1:] - one[:-1], where, double).reshape(shape)
    return found / counts.sum()


# -- Several dimensions ---------------------------------------------------------------------------------------------------


def coordinates_of(sample: Any) -> list[Any]:
    """Return each coordinate's array.

    Raises:
        TypeError: it is a lazy array of two axes.
        ValueError: there is none; they have two sizes, or other than one dimension.
    """
    if isinstance(sample, list | tuple):
        found = [array_of(one) for one in sample]
        if all(isinstance(one, np.ndarray) and not one.shape for one in found):
            found = [np.asarray(sample)]
    elif len(getattr(sample, "shape", ())) == 2:
        if isinstance(sample, LazyArray):
            raise TypeError("`sample` is a lazy array of two axes: pass a list of its coordinates, each a lazy array")
        found = [sample[:, k] for k in range(sample.shape[1])]
    else:
        found = [sample]
    shapes = {arguments.facts_of(one, "sample").shape for one in found}
    if len(shapes) != 1 or len(*shapes) != 1:
        raise ValueError("`sample` must be of shape (N, D), or D arrays of N coordinates")
    return found


def same_size(x: Any, y: Any) -> bool:
    """Whether two arrays are of one size."""
    return arguments.facts_of(x, "x").size == arguments.facts_of(y, "y").size


def number_of(bins: Any) -> int:
    """Return how many there are in a sequence, 0 where it is none."""
    shape = getattr(bins, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    return len(bins) if isinstance(bins, list | tuple) else 0


def edges_along(
    points: list[Any], infos: list[ArrayInfo], kinds: list[np.dtype[Any]], bins: Any, range: Any, where: ArrayInfo
) -> tuple[list[Any], tuple[str, ...]]:
    """Return the edges along each axis, arrays of the library of `where`, and the types that they are compared in.

    Raises:
        TypeError, ValueError: see `histogramdd`.
    """
    many = number_of(bins)
    if many and many != len(points):
        raise ValueError("The dimension of `bins` must be equal to the dimension of `sample`.")
    every = [bins[k] if many else bins for k, _ in enumerate(points)]
    if range is not None and len(range) != len(points):
        raise ValueError("`range` must have one entry per dimension")
    edges, compared, common = [], [], np.result_type(*kinds)
    for k, point in enumerate(points):
        size = number_of_bins(every[k], f"`bins[{k}]`")
        if size is None:
            one, kind = edges_of(every[k], where, f"`bins[{k}]`")
        else:
            limits = outer_edges(point, infos[k], where, None if range is None else range[k])
            made = np.linspace(*limits_of(*limits), size + 1)
            one, kind = like(where, made), made.dtype
        edges.append(one)
        compared.append(compared_as(common, kind))
    return edges, tuple(compared)


def cast(x: Any, info: ArrayInfo, dtype: np.dtype[Any]) -> Any:
    """Return a result in another dtype, converted by its library."""
    result = memory.empty(info, tuple(x.shape), dtype)
    result[...] = x
    return result


__all__ = [
    "array_of", "cast", "compared_as", "coordinates_of", "density", "dtype_of", "edges_along", "edges_of", "extremes",
    "join_parts", "length_of", "like", "number_of", "number_of_bins", "outer_edges", "parts_of", "require_no_capture",
    "require_real", "require_shape", "same_size", "scalar_of", "to_host", "working",
]  # fmt: skip
