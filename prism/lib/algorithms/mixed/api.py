"""`prism.lib.quantized_matmul`: products with weights of 4 or 8 bits; and how these are packed."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.arguments import require_integer
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyInfo
from prism.host.plan import OUT, Machine, Plan, Reach, Step, instance_of
from prism.kernels import mixed as kernels
from prism.kernels.hgemm import Configuration
from prism.kernels.mixed import DEEP, LANES, STRIP, FewCut
from prism.lib.algorithms.mixed.plan import Mixed, decide_plan
from prism.lib.views import MOST, View, new_view, view_of
from prism.runtime.arrays import CODED, ArrayInfo, require_axes

INPUTS = ("float16", "bfloat16")
NUMBERS = ("int8", "uint8")
BITS = 4, 8
LEAST = 32
"""Elements of K that groups have a multiple of."""


def quantized_matmul(
    x: Any, weights: Any, scales: Any, zeros: Any = None, *, out: Any = None, stream: Any = None
) -> Any:
    """Return `x @ w`, where `w` is made of numbers of 4 or 8 bits, with a scale for each group of K and each column.

    With ``g`` for k by the rows of `scales`, ``w[i, j] = (q[i, j] - zeros[i // g, j]) * scales[i // g, j]``.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        Of float16 or bfloat16, its last axis is K. Where rows are not dense or not at multiples of 16 bytes, it is copied first.
    weights : array
        The numbers `q`, k x n, as `pack_weights` packs them: of int32, strips of 16 columns by tiles of 16 of K by 32 words of 4
        bits a number, or 64 words of 8.
    scales : array
        Of the dtype of `x`, or float32: groups x n, with any strides. A group is 32 of K, or a multiple of 64; or there is one.
    zeros : array, optional
        The zero points, of uint8: groups x n. None: all are the middle, 8 or 128, as numbers with a sign are packed.
    out : array, optional
        Where to put the result, of the dtype of `x`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the shape of `x` with n as its last extent, of its dtype, library and device; `out`, if given.

    Raises
    ------
    TypeError
        An argument is no array, or of a dtype that is not supported; arrays of two libraries, or on the host and on a GPU.
    ValueError
        Shapes don't fit; a group has another size; k is no multiple of 32; an extent is too large; `out` is read-only; `stream`
        for arrays on the host; arrays on two GPUs.

    Notes
    -----
    Products are added in float32, and the result is rounded once. Numbers less their zero points are exact. Of up to 32 rows,
    and on a GPU without wgmma, sums of each 64 of K are multiplied by their scales in float32, but where groups are of 32.
    Else weights are rounded to the dtype of `x` when they have been multiplied by their scales, as these are.

    Examples
    --------
    >>> import numpy as np, prism
    >>> q = np.array([[1], [-2]], np.int8).repeat(16, axis=0)  # 32 x 1
    >>> weights, scales = prism.lib.pack_weights(q), np.full((1, 1), 0.5, np.float16)
    >>> prism.lib.quantized_matmul(np.ones((2, 32), np.float16), weights, scales)
    array([[-8.],
           [-8.]], dtype=float16)
    """
    names: tuple[str, ...] = ("x", "weights", "scales")
    arrays: tuple[Any, ...] = (x, weights, scales)
    if zeros is not None:
        names, arrays = (*names, "zeros"), (*arrays, zeros)
    asked = "quantized_matmul", names
    if (known := repeat.run_many(asked, (*arrays, out), stream)) is not None:
        return known
    given = dict(zip(names, arrays, strict=True))
    return call("quantized_matmul", asked, given, decide_mixed, out, stream, captured=True)


def decide_mixed(
    arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine, cut: FewCut | Configuration | None = None
) -> Decision:
    """Return how `quantized_matmul` of arrays by the names of its arguments is made; `cut`: the tiles, whatever suits.

    Raises:
        TypeError, ValueError: as `quantized_matmul`.
    """
    bits = _require(arrays["x"], arrays["weights"], arrays["scales"], arrays.get("zeros"))
    x, weights, scales = (view_of(name, arrays[name]) for name in ("x", "weights", "scales"))
    zeros = None if "zeros" not in arrays else view_of("zeros", arrays["zeros"])
    n, k = scales.shape[1], x.shape[-1]
    shape = (*x.shape[:-1], n)
    if out is not None:
        arguments.require_scalar(out, x.scalar, "out")
        arguments.require_shape(out, shape, "out")
    result = Result(shape, CODED.get(x.scalar) or np.dtype(x.scalar))
    if 0 in (*shape, k):
        return Decision((result,), fill=0)
    if lazy := tuple(name for name, info in arrays.items() if isinstance(info, LazyInfo)):
        return Decision(copied=lazy)
    rows = x.rows()
    fits = rows is not None and rows.natural and (rows.contiguous if machine.host else rows.fits_tensor_copy(1))
    loose = [] if fits else ["x"]
    loose += [] if weights.contiguous and weights.natural and (machine.host or weights.aligned) else ["weights"]
    loose += [one.name for one in (scales, zeros) if one is not None and not _readable(one)]
    if loose:
        return Decision(copied=tuple(loose))
    assert rows is not None
    given = new_view(OUT, x.scalar, shape) if out is None else view_of(OUT, out)
    target = given.rows()
    if target is None or not target.natural or not (
        target.contiguous if machine.host else target.rows_dense and target.apart
    ):  # fmt: skip
        return Decision(
            (result,), beside=True, plan=_plan(rows, weights, scales, zeros, new_rows(shape, x), bits, machine, cut)
        )
    return Decision((result,), plan=_plan(rows, weights, scales, zeros, target, bits, machine, cut))


def new_rows(shape: tuple[int, ...], x: View) -> View:
    """Return a new result as a matrix."""
    return new_view(OUT, x.scalar, (prod(shape[:-1]), shape[-1]))


def _plan(
    x: View, weights: View, scales: View, zeros: View | None, out: View, bits: int, machine: Machine,
    cut: FewCut | Configuration | None,
) -> Plan:  # fmt: skip
    return decide_plan(Mixed(x, weights, scales, zeros, out, bits), machine, cut)


def _readable(view: View) -> bool:
    return view.natural and all(step >= 0 and step % view.size == 0 for step in view.strides)


def _require(x: ArrayInfo, weights: ArrayInfo, scales: ArrayInfo, zeros: ArrayInfo | None) -> int:
    """Check what is multiplied; return how many bits weights have."""
    if x.scalar not in INPUTS:
        raise TypeError(f"`x` has dtype {x.scalar}, and quantized_matmul takes {' or '.join(INPUTS)}")
    if not x.shape:
        raise ValueError("`x` must have an axis, which is K")
    arguments.require_scalar(weights, "int32", "weights")
    if scales.scalar not in (x.scalar, "float32"):
        raise TypeError(f"`scales` must be of {x.scalar}, as `x`, or float32, not of {scales.scalar}")
    require_axes(weights, "weights", 3)
    require_axes(scales, "scales", 2)
    if zeros is not None:
        arguments.require_scalar(zeros, "uint8", "zeros")
        arguments.require_shape(zeros, scales.shape, "zeros")
    (groups, n), k = scales.shape, x.shape[-1]
    wanted = -(-n // STRIP), -(-k // DEEP) * (DEEP // STRIP)
    each = [LANES * bits // 4 for bits in BITS]
    if weights.shape[:2] != wanted or weights.shape[2] not in each:
        raise ValueError(
            f"`weights` has shape {weights.shape}, and weights of {k} x {n} are packed as {(*wanted, each[0])}, of 4 bits, or "
            f"{(*wanted, each[1])}, of 8"
        )
    if max(prod(x.shape[:-1]), n, k) > MOST:
        raise ValueError(f"an extent is too large: {x.shape} times {k} x {n}; up to {MOST} rows fit")
    if k % LEAST:
        raise ValueError(f"k must be a multiple of {LEAST}, and is {k}: `x` has shape {x.shape}")
    if k and (not groups or k % groups or (groups > 1 and k // groups != LEAST and k // groups % DEEP)):
        raise ValueError(
            f"`scales` has {groups} groups of k, {k}: groups have {LEAST} elements, or a multiple of {DEEP}, or all"
        )
    return BITS[each.index(weights.shape[2])]


# -- Packing ----------------------------------------------------------------------------------------------------------


def pack_weights(q: Any, bits: int = 4, *, out: Any = None, stream: Any = None) -> Any:
    """Return numbers of 4 or 8 bits packed as `quantized_matmul` takes them.

    Parameters
    ----------
    q : array of NumPy, CuPy or torch
        k x n, with any strides: of uint8, 0 to 15 (255); or of int8, -8 to 7 (-128 to 127), which are packed as 8 (128) more. Of
        other numbers the lowest bits count.
    bits : {4, 8}, default 4
        The bits of a number.
    out : array, optional
        Where to put the result.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of int32: ceil(n / 16) x 4 * ceil(k / 64) x 8 * bits, of the library of `q`, where that is; zeros beyond k and n.

    Raises
    ------
    TypeError
        `q` is no array, or of another dtype.
    ValueError
        `q` has not two axes; `bits` is neither 4 nor 8; an extent is too large; `out` is read-only or of another shape.

    Examples
    --------
    >>> prism.lib.pack_weights(np.arange(16, dtype=np.uint8).reshape(16, 1)).shape
    (1, 4, 32)
    """
    _require_bits(bits)
    asked = "pack_weights", bits
    if stream is None and (known := repeat.run(asked, q, out)) is not None:
        return known

    decide = functools.partial(_decide_pack, bits=bits)
    return call("pack_weights", asked, {"q": q}, decide, out, stream)


def _decide_pack(arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine, *, bits: int) -> Decision:
    q = arrays["q"]
    if q.scalar not in NUMBERS:
        raise TypeError(f"`q` has dtype {q.scalar}, and pack_weights takes {' or '.join(NUMBERS)}")
    require_axes(q, "q", 2)
    k, n = q.shape
    _require_extents(k, n)
    shape = (-(-n // STRIP), -(-k // DEEP) * (DEEP // STRIP), LANES * bits // 4)
    if out is not None:
        arguments.require_scalar(out, "int32", "out")
        arguments.require_shape(out, shape, "out")
    result = Result(shape, np.dtype(np.int32))
    if not prod(shape):
        return Decision((result,))
    if isinstance(q, LazyInfo) or not q.natural or min(q.strides) < 0:
        return Decision(copied=("q",))
    words = prod(shape)
    given = {
        "q": Reach("q"), "step_k": q.strides[0], "step_n": q.strides[1], "packed": Reach(OUT), "n": n, "k": k,
        "deep": shape[1] * STRIP, "words": words, "shift": 2 ** (bits - 1) if q.scalar == "int8" else 0,
    }  # fmt: skip
    kernel = instance_of(kernels.pack_words, {"Q": q.scalar, "BITS": bits})
    step = Step(kernel, -(-words // kernels.THREADS), kernels.THREADS, given)
    return Decision((result,), plan=Plan((step,)), beside=out is not None and not (out.contiguous and out.natural))


def unpack_weights(weights: Any, k: int, n: int, *, dtype: Any = "uint8", out: Any = None, stream: Any = None) -> Any:
    """Return the numbers of weights as `pack_weights` packed them.

    Parameters
    ----------
    weights : array of NumPy, CuPy or torch
        Of int32, as `pack_weights` returns it.
    k, n : int
        The shape of the numbers.
    dtype : {"uint8", "int8"}, default "uint8"
        What they are of; int8: they were, and are 8 or 128 less than what is packed.
    out : array, optional
        Where to put the result.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        k x n, of the library of `weights` and on its device.

    Raises
    ------
    TypeError
        `weights` is no array of int32; `dtype` is another.
    ValueError
        `weights` are not packed so; an extent is negative or too large; `out` is read-only or of another shape.

    Examples
    --------
    >>> q = np.arange(16, dtype=np.uint8).reshape(8, 2)
    >>> np.array_equal(prism.lib.unpack_weights(prism.lib.pack_weights(q), 8, 2), q)
    True
    """
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype)).removeprefix("torch.")
    if name not in NUMBERS:
        raise TypeError(f"`dtype` must be {' or '.join(NUMBERS)}, not {dtype!r}")
    k, n = require_integer(k, "k"), require_integer(n, "n")
    if min(k, n) < 0:
        raise ValueError(f"`k` and `n` must not be negative, and are {k} and {n}")
    _require_extents(k, n)
    asked = "unpack_weights", k, n, name
    if stream is None and (known := repeat.run(asked, weights, out)) is not None:
        return known
    decide = functools.partial(_decide_unpack, k=k, n=n, name=name)
    return call("unpack_weights", asked, {"weights": weights}, decide, out, stream)


def _decide_unpack(
    arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine, *, k: int, n: int, name: str
) -> Decision:
    weights = arrays["weights"]
    arguments.require_scalar(weights, "int32", "weights")
    shapes = [(-(-n // STRIP), -(-k // DEEP) * (DEEP // STRIP), LANES * bits // 4) for bits in BITS]
    if weights.shape not in shapes:
        raise ValueError(
            f"`weights` has shape {weights.shape}, and numbers of {k} x {n} are packed as {shapes[0]}, of 4 bits, or "
            f"{shapes[1]}, of 8"
        )
    bits = BITS[shapes.index(weights.shape)]
    if out is not None:
        arguments.require_scalar(out, name, "out")
        arguments.require_shape(out, (k, n), "out")
    result = Result((k, n), np.dtype(name))
    if not k * n:
        return Decision((result,))
    if isinstance(weights, LazyInfo) or not weights.contiguous or not weights.natural:
        return Decision(copied=("weights",))
    given = {
        "packed": Reach("weights"), "q": Reach(OUT), "n": n, "k": k, "deep": shapes[0][1] * STRIP,
        "shift": 2 ** (bits - 1) if name == "int8" else 0,
    }  # fmt: skip
    kernel = instance_of(kernels.unpack_words, {"Q": name, "BITS": bits})
    step = Step(kernel, -(-k * n // kernels.THREADS), kernels.THREADS, given)
    return Decision((result,), plan=Plan((step,)), beside=out is not None and not (out.contiguous and out.natural))


def _require_bits(bits: Any) -> None:
    if bits not in BITS or isinstance(bits, bool):
        raise ValueError(f"`bits` must be {BITS[0]} or {BITS[1]}, not {bits!r}")


def _require_extents(k: int, n: int) -> None:
    if max(k, n) > MOST:
        raise ValueError(f"an extent is too large: weights of {k} x {n}; up to {MOST} fit")


__all__ = ["pack_weights", "quantized_matmul", "unpack_weights"]
