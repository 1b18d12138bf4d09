"""What calls of attention for decoding ask for: what is refused, and the views of what is not."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import OUT, Machine
from prism.kernels.attention import MOST_DIM
from prism.lib.algorithms.attention_decode.plan import LSE, ROWS, Decoding, decide
from prism.lib.views import new_view, view_of
from prism.runtime.arrays import CODED, ArrayInfo

DTYPES = ("float16", "bfloat16")
LAYOUTS = {"bhld": (0, 1, 2, 3), "blhd": (0, 2, 1, 3)}
"""Where batches, heads, lengths and elements stand among the axes."""
LATENT, LATENT_V = 576, 512
"""Elements of a key of a latent cache, and of its value, which are its first."""
_MOST = (1 << 31) - (1 << 10)


def decide_decoding(
    arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine, *, causal: bool, scale: float | None, layout: str,
    lse: bool,
) -> Decision:  # fmt: skip
    """Return how `attention_decode` of arrays by the names of its arguments is made, or, of a `cache`, `attention_decode_latent`.

    Raises:
        TypeError, ValueError: as the functions.
    """
    _require_options(scale, layout)
    axes, q, latent = LAYOUTS[layout], arrays["q"], "cache" in arrays
    _require_kinds(arrays)
    _require_shapes(arrays, axes, "cache" if latent else "k", "cache" if latent else "v")
    views = {name: view_of(name, info) for name, info in arrays.items()}
    queries, k, v = (views[name].with_order(axes) for name in (("q", "cache", "cache") if latent else ("q", "k", "v")))
    (batches, heads, tokens, dim), dim_v = queries.shape, LATENT_V if latent else v.shape[3]
    shape = (*q.shape[:-1], dim_v)
    if out is not None and (out.scalar != q.scalar or out.shape != shape):
        raise ValueError(f"`out` has shape {out.shape} and dtype {out.dtype}, and the result has {shape} and {q.dtype}")
    result = Result(shape, CODED.get(q.scalar) or np.dtype(q.scalar))
    results = (result, Result((batches, heads, tokens), np.dtype(np.float32)))[: 1 + lse]
    fresh = new_view(OUT, q.scalar, shape).with_order(axes)
    target = fresh if out is None else view_of(OUT, out).with_order(axes)
    lengths, table = (views.get(name) for name in ("lengths", "page_table"))
    page = 0 if table is None else k.shape[2]
    keys = k.shape[2] if table is None else page * table.shape[1]
    # A smaller one would be 0 in float32, and 0 times the score of a key that a token does not see is not a number.
    factor = max(float(scale), 2.0**-126) if scale is not None else 1 / math.sqrt(max(dim, 1))
    asked = Decoding(
        queries, k, None if latent else v, target, lengths, table, page, keys, factor * math.log2(math.e), causal, lse
    )
    return decide(asked, results, (OUT, LSE)[: 1 + lse], machine, None if out is None else fresh)


# -- Arguments --------------------------------------------------------------------------------------------------------


def require_flags(**flags: object) -> None:
    """Look at arguments that are true or false: TypeError where one is neither, as a mask or the name of an alignment."""
    for name, flag in flags.items():
        if not isinstance(flag, bool | np.bool_):
            raise TypeError(f"`{name}` is True or False, not {flag!r}")


def _require_options(scale: float | None, layout: str) -> None:
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise ValueError(f"`layout` is {' or '.join(map(repr, LAYOUTS))}, not {layout!r}")
    if scale is not None and (isinstance(scale, bool) or not isinstance(scale, numbers.Real)):
        raise TypeError(f"`scale` is a number, not {scale!r}")
    if scale is not None and not 0 < scale < 2.0**127:
        raise ValueError(f"`scale` must be positive, and finite, not {scale}")


def _require_kinds(arrays: Mapping[str, ArrayInfo]) -> None:
    for name, info in arrays.items():
        wanted = ("int32",) if name in ("lengths", "page_table") else DTYPES
        if info.scalar not in wanted:
            raise TypeError(f"`{name}` has dtype {info.dtype}, and attention_decode takes {' or '.join(wanted)}")
        if name in ("k", "v", "cache") and info.scalar != arrays["q"].scalar:
            raise TypeError(f"`q` and `{name}` have dtypes {arrays['q'].dtype} and {info.dtype}: they must have one")


def _require_shapes(arrays: Mapping[str, ArrayInfo], axes: tuple[int, ...], key: str, value: str) -> None:
    """Look at what must be equal of the arrays' extents; `key` and `value` are the names of those that have them."""
    for name in ("q", key, value):
        shape = arrays[name].shape
        if len(shape) != 4:
            raise ValueError(f"`{name}` has shape {shape}: attention_decode takes arrays of 4 axes")
        if key == value and shape[-1] != LATENT:
            raise ValueError(f"`{name}` has {shape[-1]} elements a head: attention_decode_latent takes {LATENT}")
        if key != value and (shape[-1] % 8 or not 0 < shape[-1] <= MOST_DIM):
            raise ValueError(
                f"`{name}` has {shape[-1]} elements a head: attention_decode takes multiples of 8 up to {MOST_DIM}"
            )
    q, k, v = (tuple(arrays[name].shape[axis] for axis in axes) for name in ("q", key, value))
    if k[3] != q[3]:
        raise ValueError(f"`q` and `k` have {q[3]} and {k[3]} elements a head: they must have as many")
    if k[:3] != v[:3]:
        raise ValueError(
            f"`k` and `v` have shapes {arrays['k'].shape} and {arrays['v'].shape}: they may differ in the last axis alone"
        )
    _require_heads(q, k, key)
    _require_sequences(q, k, key, arrays.get("lengths"), arrays.get("page_table"))


def _require_heads(q: tuple[int, ...], k: tuple[int, ...], key: str) -> None:
    if q[1] and (not k[1] or q[1] % k[1]):
        raise ValueError(f"`q` has {q[1]} heads and `{key}` {k[1]}: the first must be a multiple of the second")


def _require_sequences(
    q: tuple[int, ...], k: tuple[int, ...], key: str, lengths: ArrayInfo | None, table: ArrayInfo | None
) -> None:
    """Look at what there is for each sequence."""
    if lengths is not None and lengths.shape != (q[0],):
        raise ValueError(f"`lengths` has shape {lengths.shape}, and there are {q[0]} sequences: ({q[0]},)")
    if table is None:
        if k[0] != q[0]:
            raise ValueError(f"`q` and `{key}` have {q[0]} and {k[0]} sequences: they must have as many")
    elif len(table.shape) != 2 or table.shape[0] != q[0]:
        raise ValueError(f"`page_table` has shape {table.shape}, and there are {q[0]} sequences: ({q[0]}, most pages)")
    elif not k[2]:
        raise ValueError(f"`{key}` has no keys a page: attention_decode takes one or more")
    keys = k[2] * (1 if table is None else table.shape[1])
    strips = -(-q[1] * q[2] // max(k[1], 1) // ROWS)
    room = max(keys, k[0], q[0] * q[1] * max(q[2], 1), 0 if table is None else table.size)
    if max(room, q[0] * k[1] * max(strips, 1) * (keys // ROWS + 1)) > _MOST:
        raise ValueError(
            f"`q` and `{key}` have {q[0]} x {q[1]} x {q[2]} and {q[0]} x {k[1]} x {keys} rows: extents, all queries, and all"
            f" tiles of 64 keys for each 64 queries, are at most {_MOST}"
        )


__all__ = ["DTYPES", "LATENT", "LATENT_V", "LAYOUTS", "decide_decoding", "require_flags"]
