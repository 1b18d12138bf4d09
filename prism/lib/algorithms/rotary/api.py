"""`prism.lib.rope`: pairs of elements of queries and keys, turned by what their positions say."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from prism.host import arguments, repeat
from prism.host.axes import merge, normal_axis
from prism.host.call import Decision, Result, call
from prism.host.matrices import width_of
from prism.host.plan import OUT, Machine, Plan, Reach, Step, instance_of
from prism.kernels.activations import turn_pairs
from prism.runtime.arrays import ArrayInfo

DTYPES = ("bfloat16", "float16", "float32", "float64")
_THREADS = 256
Rows = tuple[int, int, int]
"""How far apart rows are: from one index before the positions to the next, from a position to the next, and behind it."""


def rope(
    x: Any, cos: Any, sin: Any, *, axis: int = -2, interleaved: bool = False, inverse: bool = False, out: Any = None,
    stream: Any = None,
) -> Any:  # fmt: skip
    """Return rows whose pairs of elements are turned by the angles of their positions: rotary position embedding.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Queries or keys, of float16, bfloat16, float32 or float64: rows along the last axis, positions along `axis`. What has no
        equal distances between rows, before the positions or behind them, is copied first.
    cos, sin : arrays
        Of two axes: cosines and sines, for each position of `x`, of the angles of its first pairs. Of the dtype of `x`, or
        float32.
    axis : int, default -2
        The axis of positions: -2 of (batch, heads, positions, dim), -3 of (batch, positions, heads, dim).
    interleaved : bool, default False
        Pairs are neighbours. Else, with d angles, element k of a row is paired with element k + d.
    inverse : bool, default False
        Turn back. That is the gradient too: of a loss by `x`, of its gradient by the result.
    out : array, optional
        Where to put the result: of the library, device, shape and dtype of `x`. It may be `x`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the shape and dtype of `x`. `out`, if given. Elements of a row behind the pairs that have angles are copied.

    Raises
    ------
    TypeError
        An argument is no array of these dtypes; `cos` and `sin` are of two dtypes.
    ValueError
        `x` has 2^32 rows or more; `cos` or `sin` do not have an angle for each position, or more than half as many as a row has
        elements; `axis` is the last; `out` has another shape, or is read-only; `stream` for arrays on the host.

    Notes
    -----
    Computed in float32, of float64 in float64, and rounded once. Source: Su et al., "RoFormer: Enhanced Transformer with Rotary
    Position Embedding".

    Examples
    --------
    >>> x = np.array([[1.0, 0, 0, 2], [1, 0, 0, 2]], np.float32)
    >>> angles = np.array([[0, 0], [np.pi / 2, np.pi]], np.float32)
    >>> prism.lib.rope(x, np.cos(angles), np.sin(angles)).round(3) + 0
    array([[ 1.,  0.,  0.,  2.],
           [ 0.,  0.,  1., -2.]], dtype=float32)
    """
    asked = ("rope", axis, type(axis), bool(interleaved), bool(inverse))
    if stream is None and (known := repeat.run(asked, x, out, cos, sin)) is not None:
        return known
    decide = functools.partial(_decide, axis=axis, interleaved=interleaved, inverse=inverse)
    return call("rope", asked, {"x": x, "cos": cos, "sin": sin}, decide, out, stream)


def _decide(
    infos: Mapping[str, ArrayInfo],
    result: ArrayInfo | None,
    machine: Machine,
    *,
    axis: int,
    interleaved: bool,
    inverse: bool,
) -> Decision:
    given, table = infos["x"], infos["cos"]
    place, angles = _require(infos, axis, interleaved)
    if not given.size:
        return Decision((Result(given.shape, given.dtype),))
    lies = _rows(given, place) if given.natural else None
    copied: tuple[str, ...] = ("x",) if lies is None else ()
    copied += tuple(k for k in ("cos", "sin") if not (infos[k].contiguous and infos[k].natural))
    if copied:
        return Decision(copied=copied)
    assert lies is not None
    if result is not None:
        arguments.require_scalar(result, given.scalar)
        arguments.require_shape(result, given.shape)
    results, beside = (
        (Result(given.shape, given.dtype),),
        result is not None and not (result.contiguous and result.natural),
    )
    n, pair = given.shape[-1], 2 * given.dtype.itemsize
    beside = beside or (
        result is not None and interleaved and result.pointer % pair != 0
    )  # a pair is moved as one word
    starts = [given.pointer, 0 if result is None or beside else result.pointer]
    paired = (2 * angles, n) if interleaved else (angles, n - 2 * angles)
    width = width_of([given.dtype.itemsize], [*paired, *lies], starts) if not machine.host or result is not None else 1
    if interleaved and width == 1:
        if any(step % 2 for step in lies) or given.pointer % pair:
            return Decision(copied=("x",))
        width = 2
    half = 2 * angles // width if interleaved else angles // width
    slots = n // width if interleaved else half + (n - 2 * angles) // width
    wide = "float64" if given.scalar == "float64" else "float32"
    template = {"T": given.scalar, "C": table.scalar, "A": wide, "ADJACENT": bool(interleaved), "WIDTH": width}
    rows = math.prod(given.shape[:-1])
    if rows >= 2**32:
        raise ValueError(f"`x` has {rows} rows, and they are counted in 32 bits")
    numbers: dict[str, Any] = {
        "many": rows * slots,
        "positions": given.shape[place],
        "inner": math.prod(given.shape[place + 1 : -1]),
    }
    numbers |= {"slots": slots, "half": half, "x_outer": lies[0], "x_position": lies[1], "x_inner": lies[2], "n": n}
    numbers |= {"c_apart": angles, "sign": -1.0 if inverse else 1.0}
    buffers = {name: Reach(name) for name in ("x", "cos", "sin")} | {"y": Reach(OUT)}
    step = Step(instance_of(turn_pairs, template), -(-rows * slots // _THREADS), _THREADS, {**buffers, **numbers})
    return Decision(results, plan=Plan((step,)), in_place=("x",), beside=beside)


def _require(infos: Mapping[str, ArrayInfo], axis: int, interleaved: bool) -> tuple[int, int]:
    """Check arrays, and return the axis of positions, and how many angles each has."""
    x, cos, sin = infos["x"], infos["cos"], infos["sin"]
    if x.scalar not in DTYPES:
        raise TypeError(f"`x` must be of {', '.join(DTYPES)}, not of {x.scalar}")
    if cos.scalar not in (x.scalar, "float32") or sin.scalar != cos.scalar:
        raise TypeError(f"`cos` and `sin` must both be of {x.scalar} or float32, not of {cos.scalar} and {sin.scalar}")
    place = normal_axis(axis, len(x.shape))
    if place == len(x.shape) - 1:
        raise ValueError("`axis` is that of positions: rows are along the last one")
    if interleaved and x.shape[-1] % 2:
        raise ValueError(f"interleaved pairs are all of a row: its extent is {x.shape[-1]}, which is odd")
    if len(cos.shape) != 2 or cos.shape[0] != x.shape[place] or 2 * cos.shape[1] > x.shape[-1] or not cos.shape[1]:
        most = (x.shape[place], x.shape[-1] // 2)
        raise ValueError(f"`cos` must have angles of each position, of shape {most} at most, not {cos.shape}")
    if sin.shape != cos.shape:
        raise ValueError(f"`sin` must have shape {cos.shape}, as `cos`, not {sin.shape}")
    return place, cos.shape[1]


def _rows(info: ArrayInfo, place: int) -> Rows | None:
    """Return how far apart rows are, in elements; None where they are at no equal distances."""
    size = info.dtype.itemsize
    if info.shape[-1] > 1 and info.strides[-1] != size:
        return None
    found = []
    for axes in (range(place), (place,), range(place + 1, len(info.shape) - 1)):
        runs = merge([(info.shape[k], info.strides[k]) for k in axes])
        if len(runs) > 1 or any(step % size or step < 0 for _, step in runs):
            return None
        found.append(runs[0][1] // size if runs else 0)
    return found[0], found[1], found[2]


__all__ = ["rope"]
