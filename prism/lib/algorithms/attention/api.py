"""`prism.lib.attention`: the softmax of queries' products with keys, times values, on the tensor cores."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Machine
from prism.kernels.attention import MOST_DIM, as_it_is
from prism.lang.surface import Kernel
from prism.lib.algorithms.attention import eight_bits, packed
from prism.lib.algorithms.attention.options import ALIGNMENTS, axes_of, bounds_of, cap_of, number_of, require_alike
from prism.lib.algorithms.attention.plan import LSE, Attention, decide
from prism.lib.algorithms.topk.calls import copy_to
from prism.lib.views import new_view, view_of
from prism.runtime.arrays import CODED, ArrayInfo

OF_16_BITS = ("float16", "bfloat16")
DTYPES = (*OF_16_BITS, *eight_bits.DTYPES)


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool | str = False,
    window: int | tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Any = None,
    score: Kernel | None = None,
    layout: str | None = None,
    offsets: Any = None,
    key_offsets: Any = None,
    lse: bool = False,
    q_scale: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    out_dtype: Any = None,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return `softmax(scale * q @ k.T) @ v` for each batch and head, no score of which is ever in memory.

    Parameters
    ----------
    q, k, v : arrays of NumPy, CuPy or torch
        Batches x heads x length x dim, all of float16, bfloat16, float8_e4m3fn or float8_e5m2; or, where `layout` is "blhd",
        batches x length x heads x dim. Without the first axis there is one batch. `k` and `v` are of one length; a divisor of
        `q`'s number of heads is theirs, each shared by as many heads of `q` that follow one another. `k`'s dim is `q`'s, `v` has
        its own; both are multiples of 8 up to 256, of 8-bit floats of 16. Any strides; a copy is made where elements of the last
        axis don't lie one after the other, or others don't begin at multiples of 16 bytes.
    causal : bool or str
        Whether a query sees no keys behind its own place. The last query's place is that of the last key ("bottom_right", or
        True); or the first query's that of the first one ("top_left"). They differ where there are more keys than queries.
    window : int or pair of int, optional
        How many keys before its place, and behind it, a query sees; None: all of them. One number is both.
    scale : float, optional
        What products are multiplied by; by default `1 / sqrt(dim)`.
    softcap : float, optional
        Scores become `softcap * tanh(score / softcap)`.
    sinks : array, optional
        Of float32, an element a head of `q`: one more score of each query, for a key without a value.
    score : device function, optional
        What scores become, after all else: a function of the score, its row, column and head at `thread[1]`, float32 and three
        int32, with a float32 result. -inf is a score of a key that is not seen.
    layout : str, optional
        "bhld" or "blhd"; by default the former, and with `offsets` the latter.
    offsets : array, optional
        Of int32 or int64, one more than sequences: these lie one after the other in arrays of 3 axes, length x heads x dim, and
        sequence `s` is rows ``offsets[s]`` to ``offsets[s + 1]``. They begin with 0 and rise; a sequence may be empty.
    key_offsets : array, optional
        Of `offsets`'s dtype and size: the same of `k` and `v`, where it is not `offsets`.
    lse : bool
        Whether the logarithms of the sums of exponentials are returned too.
    q_scale, k_scale, v_scale : array, optional
        Of float32, positive: what arrays of 8-bit floats are to be multiplied by, one number for all, or one of each batch and
        head of theirs.
    out_dtype : dtype, optional
        Of a result of 8-bit floats: bfloat16 or float16, by default that of `out`, or bfloat16.
    out : array, optional
        Where to put the result; with `lse` a pair of arrays.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of `q`'s shape, dtype and library, but for `v`'s dim, and for 8-bit floats of `out_dtype`; `out`, if given. With `lse` a
        pair, the second of float32, batches x heads x length. Rows behind the last sequence are not made: they have anything.

    Raises
    ------
    TypeError
        An argument is no array, or of another dtype; arrays of two libraries, or on the host and on a GPU; `score` is no device
        function.
    ValueError
        Shapes don't fit; `causal` or `layout` is none of these; a `softcap` that is not positive; `out` is read-only; offsets of
        NumPy that don't begin with 0, fall, or lead out of `q` or `k`. On a GPU nobody looks at them, as that were a wait: of
        such ones rows are wrong, and nothing beside the result is written.
    DeviceError
        The GPU has no wgmma: it is no Hopper (sm_90a).

    Notes
    -----
    Products are exact and added in float32; weights are rounded to `q`'s dtype before they are multiplied with values. Sums are
    made in an order that depends on shapes alone: the same call gives the same bits. A query that sees no key has zeros, and -inf
    as its logarithm. Of 8-bit floats weights are rounded to 4 bits, after a factor of 2^8 that keeps small ones; Hopper adds such
    products with fewer bits than a float32 has; and values are transposed first, by a launch of its own. A NumPy array runs on
    the reference machine, from the same kernel (`prism.kernels.attention`).

    Examples
    --------
    >>> import numpy as np, prism
    >>> q = k = np.zeros((1, 1, 2, 8), np.float16)
    >>> v = np.arange(16, dtype=np.float16).reshape(1, 1, 2, 8)
    >>> prism.lib.attention(q, k, v, causal=True)[0, 0]
    array([[ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.],
           [ 4.,  5.,  6.,  7.,  8.,  9., 10., 11.]], dtype=float16)
    """
    if not isinstance(lse, bool | np.bool_):
        raise TypeError(f"`lse` is True or False, not {lse!r}")
    if lse and out is not None:
        if not (isinstance(out, tuple | list) and len(out) == 2):
            raise TypeError(
                "`out` must be a pair of arrays, for the result and the logarithms, where `lse` is asked for"
            )
        how = {"causal": causal, "window": window, "scale": scale, "softcap": softcap, "sinks": sinks, "score": score}
        how |= {"offsets": offsets, "key_offsets": key_offsets}
        how |= {"q_scale": q_scale, "k_scale": k_scale, "v_scale": v_scale, "out_dtype": out_dtype}
        return copy_to(
            "attention", attention(q, k, v, **how, layout=layout, lse=True, stream=stream), tuple(out), stream
        )
    names: tuple[str, ...] = ("q", "k", "v")
    arrays: tuple[Any, ...] = (q, k, v)
    scales = q_scale is not None or k_scale is not None or v_scale is not None
    if sinks is not None or scales or offsets is not None or key_offsets is not None:
        for name, array in zip(_MORE, (sinks, q_scale, k_scale, v_scale, offsets, key_offsets), strict=True):
            if array is not None:
                names, arrays = (*names, name), (*arrays, array)
    bounds = tuple(window) if isinstance(window, tuple | list) else (window, window)
    factor = None if scale is None else scale or repr(scale)  # zeros of two signs are equal, and results differ
    asked = (
        "attention",
        names,
        causal,
        type(causal),
        bounds,
        factor,
        type(scale),
        softcap,
        score,
        layout,
        lse,
        out_dtype,
    )
    if (known := repeat.run_many(asked, (*arrays, out), stream)) is not None:
        return known
    given = dict(zip(names, arrays, strict=True))
    how = {
        "causal": causal,
        "window": bounds,
        "scale": scale,
        "softcap": softcap,
        "score": score,
        "layout": layout,
        "lse": lse,
    }
    how["out_dtype"] = out_dtype
    packed.require_rising("offsets", offsets, "q", q, layout)
    packed.require_rising("key_offsets", key_offsets, "k", k, layout)
    return call("attention", asked, given, functools.partial(decide_attention, **how), out, stream)


_MORE = ("sinks", "q_scale", "k_scale", "v_scale", "offsets", "key_offsets")


def decide_attention(
    arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine, *, causal: bool | str, window: tuple[Any, ...],
    scale: float | None, softcap: float | None, score: Any, layout: str | None, lse: bool,
    out_dtype: Any = None,
) -> Decision:  # fmt: skip
    """Return how `attention` of arrays by the names of its arguments is made.

    Raises:
        TypeError, ValueError: as `attention`.
    """
    if not isinstance(causal, bool | np.bool_ | str) or causal not in ALIGNMENTS:
        raise ValueError(f"`causal` is a bool, 'bottom_right' or 'top_left', not {causal!r}")
    axes = axes_of(layout, "offsets" in arrays)
    if score is not None and (not isinstance(score, Kernel) or score.kind != "device"):
        raise TypeError("`score` must be a device function, marked @prism.device")
    cap, factor = cap_of(softcap), number_of(scale, "scale")
    before, behind = bounds_of(window)
    q, k, v = (arrays[name] for name in ("q", "k", "v"))
    _require_kinds(arrays)
    _require_axes(q, k, v, together="offsets" in arrays)
    three = [view_of(name, arrays[name]) for name in ("q", "k", "v")]
    of_q, of_k, of_v = four = [view.with_batch().with_order(axes) for view in three]
    require_alike(arrays, [view.shape for view in four])
    (_, heads, rows, dim), dim_v, keys = of_q.shape, of_v.shape[3], of_k.shape[2]
    index, sequences = "", 0
    if any(name in arrays for name in packed.OFFSETS):
        sequences = packed.count_sequences(arrays, heads, rows, keys)
        index = arrays["offsets"].scalar
    if (held := arrays.get("sinks")) is not None and held.shape != (heads,):
        raise ValueError(f"`sinks` has shape {held.shape}, and there are {heads} heads: ({heads},)")
    scales = eight_bits.count_scales(arrays, four[0], four[1], len(q.shape) == 4)
    flat = {name: arrays[name] for name in (*eight_bits.SCALES, *packed.OFFSETS) if name in arrays}
    if unlike := arguments.not_plain(flat):
        return Decision(copied=unlike)
    shape, kind = (*q.shape[:-1], dim_v), _result_dtype(out_dtype, out, q.scalar)
    if out is not None:
        arguments.require_scalar(out, kind)
        arguments.require_shape(out, shape)
    result = Result(shape, CODED.get(kind) or np.dtype(kind))
    results = (result, Result(_shape_of_lse(q.shape, axes), np.dtype(np.float32)))[: 1 + lse]
    names = (OUT, LSE)[: 1 + lse]
    fresh = new_view(OUT, kind, shape).with_batch().with_order(axes)
    target = fresh if out is None else view_of(OUT, out).with_batch().with_order(axes)
    last = ALIGNMENTS[causal] != "top_left"
    shift = keys - rows if last and not index else 0
    ahead = 0 if causal else behind
    if ahead is not None and behind is not None:
        ahead = min(ahead, behind)
    factor = 1 / math.sqrt(dim) if factor is None else factor
    asked = Attention(
        of_q, of_k, of_v, target, held is not None, factor, cap, score or as_it_is,
        None if ahead is None else ahead + shift, None if before is None else before - shift, lse, scales,
        index, sequences, "key_offsets" in arrays, last and bool(index),
    )  # fmt: skip
    return decide(asked, results, names, machine, None if out is None else fresh)


# -- Arguments --------------------------------------------------------------------------------------------------------


def _require_kinds(arrays: Mapping[str, ArrayInfo]) -> None:
    for name, info in arrays.items():
        if name in (*eight_bits.SCALES, *packed.OFFSETS):
            continue
        wanted = ("float32",) if name == "sinks" else DTYPES
        if info.scalar not in wanted:
            raise TypeError(f"`{name}` has dtype {info.dtype}, which attention does not support: {' or '.join(wanted)}")
        if name in ("k", "v") and info.scalar != arrays["q"].scalar:
            raise TypeError(f"`q` and `{name}` have dtypes {arrays['q'].dtype} and {info.dtype}: they must have one")


def _require_axes(q: ArrayInfo, k: ArrayInfo, v: ArrayInfo, *, together: bool) -> None:
    for name, info in (("q", q), ("k", k), ("v", v)):
        if together and len(info.shape) != 3:
            raise ValueError(f"`{name}` has shape {info.shape}: with `offsets` attention takes arrays of 3 axes")
        if together and info.scalar in eight_bits.DTYPES:
            raise TypeError(
                f"`{name}` has dtype {info.dtype}: with `offsets` attention takes {' or '.join(OF_16_BITS)}"
            )
        if len(info.shape) not in (3, 4) or len(info.shape) != len(q.shape):
            raise ValueError(f"`{name}` has shape {info.shape}: attention takes arrays of 3 or 4 axes, all of as many")
        dim = info.shape[-1]
        least = eight_bits.STEP if info.scalar in eight_bits.DTYPES else 8
        if dim % least or not least <= dim <= MOST_DIM:
            what = f"multiples of {least}, from {least} to {MOST_DIM}"
            raise ValueError(f"`{name}` has {dim} elements a head: attention takes {what}")


def _result_dtype(asked: Any, out: ArrayInfo | None, scalar: str) -> str:
    """Return the name of the result's dtype: the arrays', but of 8-bit floats."""
    kind = (
        asked
        if asked is None or isinstance(asked, str)
        else getattr(asked, "__name__", str(asked)).removeprefix("torch.")
    )
    if scalar not in eight_bits.DTYPES:
        if kind not in (None, scalar):
            raise TypeError(f"`out_dtype` is {kind}, and `q` has dtype {scalar}, as the result has")
        return scalar
    kind = kind or (eight_bits.RESULTS[0] if out is None else out.scalar)
    if kind not in eight_bits.RESULTS:
        raise TypeError(
            f"{'`out`' if asked is None else '`out_dtype`'} must be {' or '.join(eight_bits.RESULTS)}, not {kind}"
        )
    return kind


def _shape_of_lse(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the logarithms, of a shape of queries: heads before lengths."""
    if len(shape) == 4:
        return tuple(shape[axis] for axis in axes[:3])
    return tuple(shape[axis - 1] for axis in axes[1:3])


__all__ = ["attention"]
