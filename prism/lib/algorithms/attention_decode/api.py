"""`prism.lib.attention_decode`: attention of few queries of each sequence to many keys, which may lie in pages."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Machine
from prism.kernels.attention import MOST_DIM
from prism.lib.algorithms.attention_decode.plan import LSE, ROWS, Decoding, decide
from prism.lib.algorithms.topk.calls import copy_to
from prism.lib.views import new_view, view_of
from prism.runtime.arrays import CODED, ArrayInfo

DTYPES = ("float16", "bfloat16")
LAYOUTS = {"bhld": (0, 1, 2, 3), "blhd": (0, 2, 1, 3)}
"""Where batches, heads, lengths and elements stand among the axes."""
_MOST = (1 << 31) - (1 << 10)


def attention_decode(
    q: Any,
    k: Any,
    v: Any,
    *,
    lengths: Any = None,
    page_table: Any = None,
    causal: bool = True,
    scale: float | None = None,
    layout: str = "bhld",
    lse: bool = False,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return `softmax(scale * q @ k.T) @ v` of the last few tokens of each sequence: keys and values are read once.

    Parameters
    ----------
    q : array of NumPy, CuPy or torch
        Batches x heads x tokens x dim, of float16 or bfloat16; or, where `layout` is "blhd", batches x tokens x heads x dim.
    k, v : arrays
        Of `q`'s dtype: batches x heads x keys x dim, or batches x keys x heads x dim; with `page_table` pages x heads x keys of a
        page x dim, or pages x keys of a page x heads x dim, a multiple of 8 keys a page. A divisor of `q`'s number of heads is
        theirs, each shared by as many heads of `q` that follow one another: at most 64 queries share one. `v` has a dim of its
        own; both are multiples of 8 up to 256. Any strides; a copy is made where elements of the last axis don't lie one after
        the other, or others don't begin at multiples of 16 bytes.
    lengths : array, optional
        Of int32, one a sequence: how many keys it has, the tokens' own among them; by default all that there is room for. What
        lies behind them is not looked at. Less than 0 counts as 0, more than there is room for as that.
    page_table : array, optional
        Of int32, batches x most pages: which page of `k` and `v` has a sequence's next keys. Entries behind its last key are not
        read.
    causal : bool
        Whether a token sees no keys behind its own, of which the last token's is the sequence's last.
    scale : float, optional
        What products are multiplied by; by default `1 / sqrt(dim)`. It is positive.
    layout : str
        "bhld" or "blhd".
    lse : bool
        Whether the logarithms of the sums of exponentials are returned too.
    out : array, optional
        Where to put the result; with `lse` a pair of arrays.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of `q`'s shape, dtype and library, but for `v`'s dim; `out`, if given. With `lse` a pair, the second of float32, batches x
        heads x tokens, whatever the layout.

    Raises
    ------
    TypeError
        An argument is no array, or of another dtype; arrays of two libraries, or on the host and on a GPU.
    ValueError
        Shapes don't fit; more than 64 queries share a head of `k`; `layout` is none of these; `scale` is not positive; `out` is
        read-only.
    DeviceError
        The GPU has no wgmma: it is no Hopper (sm_90a).

    Notes
    -----
    Tiles of keys are dealt out to all multiprocessors, whatever the sequences' lengths; what several have of a head is added up
    in the keys' order, by the one that is done last. The same call gives the same bits on the same GPU. Products are exact and
    added in float32; weights are rounded to `q`'s dtype before they are multiplied with values. A token that sees no key has
    zeros, and -inf as its logarithm. A NumPy array runs on the reference machine, from the same kernel
    (`prism.kernels.attention`).

    Examples
    --------
    >>> import numpy as np, prism
    >>> q, k = np.zeros((1, 1, 1, 8), np.float16), np.zeros((1, 1, 4, 8), np.float16)
    >>> v = np.arange(32, dtype=np.float16).reshape(1, 1, 4, 8)
    >>> prism.lib.attention_decode(q, k, v, lengths=np.array([2], np.int32))[0, 0]
    array([[ 4.,  5.,  6.,  7.,  8.,  9., 10., 11.]], dtype=float16)
    """
    how: dict[str, Any] = {"causal": bool(causal), "scale": scale, "layout": layout, "lse": lse}
    if lse and out is not None:
        if not (isinstance(out, tuple | list) and len(out) == 2):
            raise TypeError(
                "`out` must be a pair of arrays, for the result and the logarithms, where `lse` is asked for"
            )
        found = attention_decode(q, k, v, lengths=lengths, page_table=page_table, **how, stream=stream)
        return copy_to("attention_decode", found, tuple(out), stream)
    given = {"q": q, "k": k, "v": v}
    given |= {name: array for name, array in (("lengths", lengths), ("page_table", page_table)) if array is not None}
    asked = ("attention_decode", tuple(given), *how.values())
    if (known := repeat.run_many(asked, (*given.values(), out), stream)) is not None:
        return known
    return call("attention_decode", asked, given, functools.partial(decide_decoding, **how), out, stream)


def decide_decoding(
    arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine, *, causal: bool, scale: float | None, layout: str,
    lse: bool,
) -> Decision:  # fmt: skip
    """Return how `attention_decode` of arrays by the names of its arguments is made.

    Raises:
        TypeError, ValueError: as `attention_decode`.
    """
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise ValueError(f"`layout` is {' or '.join(map(repr, LAYOUTS))}, not {layout!r}")
    if scale is not None and (isinstance(scale, bool) or not isinstance(scale, numbers.Real)):
        raise TypeError(f"`scale` is a number, not {scale!r}")
    if scale is not None and not 0 < scale < math.inf:
        raise ValueError(f"`scale` must be positive, and finite, not {scale}")
    _require_kinds(arrays)
    _require_shapes(arrays, LAYOUTS[layout])
    axes, q = LAYOUTS[layout], arrays["q"]
    queries, k, v = (view_of(name, arrays[name]).with_order(axes) for name in ("q", "k", "v"))
    (batches, heads, tokens, dim), dim_v = queries.shape, v.shape[3]
    shape = (*q.shape[:-1], dim_v)
    if out is not None and (out.scalar != q.scalar or out.shape != shape):
        raise ValueError(f"`out` has shape {out.shape} and dtype {out.dtype}, and the result has {shape} and {q.dtype}")
    result = Result(shape, CODED.get(q.scalar) or np.dtype(q.scalar))
    results = (result, Result((batches, heads, tokens), np.dtype(np.float32)))[: 1 + lse]
    fresh = new_view(OUT, q.scalar, shape).with_order(axes)
    target = fresh if out is None else view_of(OUT, out).with_order(axes)
    lengths, table = (view_of(name, arrays[name]) if name in arrays else None for name in ("lengths", "page_table"))
    page = 0 if table is None else k.shape[2]
    keys = k.shape[2] if table is None else page * table.shape[1]
    factor = float(scale) if scale is not None else 1 / math.sqrt(max(dim, 1))
    asked = Decoding(
        queries, k, v, target, lengths, table, page, keys, factor * math.log2(math.e), causal, lse
    )  # fmt: skip
    return decide(asked, results, (OUT, LSE)[: 1 + lse], machine, None if out is None else fresh)


# -- Arguments --------------------------------------------------------------------------------------------------------


def _require_kinds(arrays: Mapping[str, ArrayInfo]) -> None:
    for name, info in arrays.items():
        wanted = ("int32",) if name in ("lengths", "page_table") else DTYPES
        if info.scalar not in wanted:
            raise TypeError(f"`{name}` has dtype {info.dtype}, and attention_decode takes {' or '.join(wanted)}")
        if name in ("k", "v") and info.scalar != arrays["q"].scalar:
            raise TypeError(f"`q` and `{name}` have dtypes {arrays['q'].dtype} and {info.dtype}: they must have one")


def _require_shapes(arrays: Mapping[str, ArrayInfo], axes: tuple[int, ...]) -> None:
    """Look at what must be equal of the arrays' extents."""
    for name in ("q", "k", "v"):
        shape = arrays[name].shape
        if len(shape) != 4:
            raise ValueError(f"`{name}` has shape {shape}: attention_decode takes arrays of 4 axes")
        if shape[-1] % 8 or not 0 < shape[-1] <= MOST_DIM:
            raise ValueError(
                f"`{name}` has {shape[-1]} elements a head: attention_decode takes multiples of 8 up to {MOST_DIM}"
            )
    q, k, v = (tuple(arrays[name].shape[axis] for axis in axes) for name in ("q", "k", "v"))
    if k[3] != q[3]:
        raise ValueError(f"`q` and `k` have {q[3]} and {k[3]} elements a head: they must have as many")
    if k[:3] != v[:3]:
        raise ValueError(
            f"`k` and `v` have shapes {arrays['k'].shape} and {arrays['v'].shape}: they may differ in the last axis alone"
        )
    _require_heads(q, k)
    _require_sequences(q, k, arrays.get("lengths"), arrays.get("page_table"))


def _require_heads(q: tuple[int, ...], k: tuple[int, ...]) -> None:
    if q[1] and (not k[1] or q[1] % k[1]):
        raise ValueError(f"`q` has {q[1]} heads and `k` {k[1]}: the first must be a multiple of the second")
    if k[1] and (rows := q[1] // k[1] * q[2]) > ROWS:
        raise ValueError(
            f"`q` has {rows} queries for each head of `k`: at most {ROWS} share one; prism.lib.attention takes more"
        )


def _require_sequences(
    q: tuple[int, ...], k: tuple[int, ...], lengths: ArrayInfo | None, table: ArrayInfo | None
) -> None:
    """Look at what there is for each sequence."""
    if lengths is not None and lengths.shape != (q[0],):
        raise ValueError(f"`lengths` has shape {lengths.shape}, and there are {q[0]} sequences: ({q[0]},)")
    if table is None:
        if k[0] != q[0]:
            raise ValueError(f"`q` and `k` have {q[0]} and {k[0]} sequences: they must have as many")
    elif len(table.shape) != 2 or table.shape[0] != q[0]:
        raise ValueError(f"`page_table` has shape {table.shape}, and there are {q[0]} sequences: ({q[0]}, most pages)")
    elif k[2] % 8 or not k[2]:
        raise ValueError(f"`k` has {k[2]} keys a page: attention_decode takes multiples of 8")
    keys = k[2] * (1 if table is None else table.shape[1])
    room = max(keys, k[0], q[0], q[1], 4 * q[0] * k[1], 0 if table is None else table.size)
    if max(room, q[0] * k[1] * (keys // ROWS + 1)) > _MOST:
        raise ValueError(
            f"`q` and `k` have {q[0]} x {k[1]} x {keys} keys: extents, and all tiles of 64 keys, are at most {_MOST}"
        )


__all__ = ["attention_decode"]
