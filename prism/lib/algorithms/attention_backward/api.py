"""`prism.lib.attention_backward`: gradients of queries, keys and values of attention, on the tensor cores."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import Machine
from prism.kernels.attention import MOST_DIM
from prism.lib.algorithms.attention import packed
from prism.lib.algorithms.attention.options import ALIGNMENTS, axes_of, bounds_of, cap_of, number_of, require_alike
from prism.lib.algorithms.attention_backward.plan import NAMES, Backward, decide
from prism.lib.views import new_view, view_of
from prism.runtime.arrays import CODED, ArrayInfo

DTYPES = ("float16", "bfloat16")
OF_32_BITS = ("lse", "sinks")
_CALLED = {"result": "out"}


def attention_backward(
    dout: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    *,
    causal: bool | str = False,
    window: int | tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Any = None,
    deterministic: bool = False,
    layout: str | None = None,
    offsets: Any = None,
    key_offsets: Any = None,
    stream: Any = None,
) -> Any:
    """Return the gradients of `q`, `k` and `v`, where `dout` is that of `out`, and `out, lse = attention(q, k, v, lse=True)`.

    Parameters
    ----------
    dout : array of NumPy, CuPy or torch
        Of `out`'s shape and dtype.
    q, k, v : arrays
        What `attention` was called with: batches x heads x length x dim, all of float16 or all of bfloat16; or, where `layout` is
        "blhd", batches x length x heads x dim. Without the first axis there is one batch. A divisor of `q`'s number of heads is
        `k`'s and `v`'s, each shared by as many heads of `q` that follow one another. `v` has a dim of its own; both are multiples
        of 8 up to 256. Any strides; a copy is made where elements of the last axis don't lie one after the other, or others don't
        begin at multiples of 16 bytes.
    out, lse : arrays
        What `attention` returned: `out` of `q`'s shape, but for `v`'s dim; `lse` of float32, batches x heads x length.
    causal, window, scale, softcap, layout, offsets, key_offsets
        As of `attention`, and as it was called.
    sinks : array, optional
        As of `attention`: then their gradients are returned, too. Those of the others need none, since `out` and `lse` tell of
        them.
    deterministic : bool
        Whether the same call gives the same bits: then gradients of queries are made by a launch of their own, from scores that
        it makes again. If not, blocks add theirs up in no fixed order, in float32. Gradients of `k` and `v` have the same bits
        either way, and all of heads of more than 128 elements do.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    tuple of arrays
        The gradients, of the shapes and dtypes of `q`, `k`, `v` and, if they are given, `sinks`. Those of a head of `k` and `v`
        are sums over the heads of `q` that share it. Rows and keys behind the last sequence have anything.

    Raises
    ------
    TypeError
        An argument is no array, or of another dtype; arrays of two libraries, or on the host and on a GPU.
    ValueError
        Shapes don't fit; `causal` or `layout` is none of these; a `softcap` that is not positive; offsets that `attention` would
        not take.
    DeviceError
        The GPU has no wgmma: it is no Hopper (sm_90a).

    Notes
    -----
    Scores are made again, tile by tile, and are never in memory. Products are exact and added in float32; weights, and gradients
    of scores, are rounded to `q`'s dtype before they are multiplied. Queries that see no key have zeros. A NumPy array runs on
    the reference machine, from the same kernels (`prism.kernels.attention`).

    Examples
    --------
    >>> import numpy as np, prism
    >>> q = k = np.zeros((1, 1, 2, 8), np.float16)
    >>> v = np.arange(16, dtype=np.float16).reshape(1, 1, 2, 8)
    >>> out, lse = prism.lib.attention(q, k, v, lse=True)
    >>> dq, dk, dv = prism.lib.attention_backward(np.ones_like(out), q, k, v, out, lse)
    >>> dv[0, 0]
    array([[1., 1., 1., 1., 1., 1., 1., 1.],
           [1., 1., 1., 1., 1., 1., 1., 1.]], dtype=float16)
    """
    given = {"q": q, "k": k, "v": v, "dout": dout, "result": out, "lse": lse}
    more = {"sinks": sinks, "offsets": offsets, "key_offsets": key_offsets}
    given |= {name: array for name, array in more.items() if array is not None}
    bounds = tuple(window) if isinstance(window, tuple | list) else (window, window)
    asked = (
        "attention_backward",
        tuple(given),
        causal,
        type(causal),
        bounds,
        scale or repr(scale),
        type(scale),
        softcap,
        bool(deterministic),
        layout,
    )
    if (known := repeat.run_many(asked, (*given.values(), None), stream)) is not None:
        return known
    how: dict[str, Any] = {"causal": causal, "window": bounds, "scale": scale, "softcap": softcap, "layout": layout}
    how["deterministic"] = bool(deterministic)
    packed.require_rising("offsets", offsets, "q", q, layout)
    packed.require_rising("key_offsets", key_offsets, "k", k, layout)
    return call(
        "attention_backward", asked, given, functools.partial(decide_backward, **how), None, stream, called=_CALLED
    )


def decide_backward(
    arrays: Mapping[str, ArrayInfo], _: ArrayInfo | None, machine: Machine, *, causal: bool | str, window: tuple[Any, ...],
    scale: float | None, softcap: float | None, deterministic: bool, layout: str | None,
) -> Decision:  # fmt: skip
    """Return how `attention_backward` of arrays by the names of its arguments, `out` as `result`, is made.

    Raises:
        TypeError, ValueError: as `attention_backward`.
    """
    if not isinstance(causal, bool | np.bool_ | str) or causal not in ALIGNMENTS:
        raise ValueError(f"`causal` is a bool, 'bottom_right' or 'top_left', not {causal!r}")
    together = any(name in arrays for name in packed.OFFSETS)
    axes = axes_of(layout, together)
    cap, factor = cap_of(softcap), number_of(scale, "scale")
    before, behind = bounds_of(window)
    _require_kinds(arrays)
    _require_shapes(arrays, axes)
    q, k, v, dout, result = (
        view_of(name, arrays[name]).with_batch().with_order(axes) for name in ("q", "k", "v", "dout", "result")
    )
    index, sequences = "", 0
    if together:
        sequences = packed.count_sequences(arrays, q.shape[1], q.shape[2], k.shape[2])
        index = arrays["offsets"].scalar
    flat = {name: arrays[name] for name in packed.OFFSETS if name in arrays}
    if unlike := arguments.not_plain(flat):
        return Decision(copied=unlike)
    scalar = arrays["q"].scalar
    shapes = [arrays[name].shape for name in ("q", "k", "v")]
    results = tuple(Result(shape, CODED.get(scalar) or np.dtype(scalar)) for shape in shapes)
    if (sinks := arrays.get("sinks")) is not None:
        if sinks.shape != q.shape[1:2]:
            raise ValueError(f"`sinks` has shape {sinks.shape}, and there are {q.shape[1]} heads: ({q.shape[1]},)")
        results = (*results, Result(sinks.shape, np.dtype(np.float32)))
    dq, dk, dv = (
        new_view(name, scalar, shape).with_batch().with_order(axes)
        for name, shape in zip(NAMES[:3], shapes, strict=True)
    )
    last = ALIGNMENTS[causal] != "top_left"
    shift = k.shape[2] - q.shape[2] if last and not index else 0
    ahead = 0 if causal else behind
    if ahead is not None and behind is not None:
        ahead = min(ahead, behind)
    asked = Backward(
        dout, q, k, v, result, view_of("lse", arrays["lse"]), dq, dk, dv,
        1 / math.sqrt(q.shape[3]) if factor is None else factor, cap, None if ahead is None else ahead + shift,
        None if before is None else before - shift, deterministic, None if sinks is None else view_of("sinks", sinks),
        index, sequences, "key_offsets" in arrays, last and bool(index),
    )  # fmt: skip
    return decide(asked, results, machine)


# -- Arguments --------------------------------------------------------------------------------------------------------


def _require_kinds(arrays: Mapping[str, ArrayInfo]) -> None:
    kind = arrays["q"]
    for name, info in arrays.items():
        if name in packed.OFFSETS:
            continue
        wanted, called = ("float32",) if name in OF_32_BITS else DTYPES, _CALLED.get(name, name)
        if info.scalar not in wanted:
            raise TypeError(f"`{called}` has dtype {info.dtype}, and attention_backward takes {' or '.join(wanted)}")
        if name not in OF_32_BITS and info.scalar != kind.scalar:
            raise TypeError(f"`q` and `{called}` have dtypes {kind.dtype} and {info.dtype}: they must have one")


def _require_shapes(arrays: Mapping[str, ArrayInfo], axes: tuple[int, ...]) -> None:
    """Look at what must be equal of the arrays' extents."""
    (b, h, rows, _), _, (_, _, _, dim_v) = extents = [_extents(name, arrays, axes) for name in ("q", "k", "v")]
    require_alike(arrays, extents, tiled_keys=True)
    q = arrays["q"].shape
    logs = (b, h, rows)[4 - len(q) :]
    for name, shape in (("result", (*q[:-1], dim_v)), ("dout", (*q[:-1], dim_v)), ("lse", logs)):
        if arrays[name].shape != shape:
            raise ValueError(f"`{_CALLED.get(name, name)}` has shape {arrays[name].shape}: it must have {shape}")


def _extents(name: str, arrays: Mapping[str, ArrayInfo], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return how many batches, heads, rows and elements an array has."""
    shape = arrays[name].shape
    if len(shape) not in (3, 4) or len(shape) != len(arrays["q"].shape):
        raise ValueError(f"`{name}` has shape {shape}: attention takes arrays of 3 or 4 axes, all of as many")
    if len(shape) != 3 and any(one in arrays for one in packed.OFFSETS):
        raise ValueError(f"`{name}` has shape {shape}: with `offsets` attention_backward takes arrays of 3 axes")
    if shape[-1] % 8 or not 8 <= shape[-1] <= MOST_DIM:
        most = f"attention_backward takes multiples of 8, from 8 to {MOST_DIM}"
        raise ValueError(f"`{name}` has {shape[-1]} elements a head: {most}")
    four = shape if len(shape) == 4 else (1, *shape)
    return tuple(four[axis] for axis in axes)


__all__ = ["attention_backward"]
