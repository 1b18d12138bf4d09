"""`prism.lib.attention_decode`: attention of few queries of each sequence to many keys, which may lie in pages."""

from __future__ import annotations

import functools
from typing import Any

from prism.host import repeat
from prism.host.call import call
from prism.lib.algorithms.attention_decode.asked import decide_decoding, require_flags
from prism.lib.algorithms.topk.calls import copy_to


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
        page x dim, or pages x keys of a page x heads x dim, of any number of keys a page. A divisor of `q`'s number of heads is
        theirs, each shared by as many heads of `q` that follow one another: for each 64 queries that share one it is read once.
        `v` has a dim of its own; both are multiples of 8 up to 256. Any strides; a copy is made where elements of the last axis
        don't lie one after the other, or others don't begin at multiples of 16 bytes.
    lengths : array, optional
        Of int32, one a sequence: how many keys it has, the tokens' own among them; by default all that there is room for. What
        lies behind them is not looked at. Less than 0 counts as 0, more than there is room for as that.
    page_table : array, optional
        Of int32, batches x most pages: which page of `k` and `v` has a sequence's next keys. Entries behind its last key are not
        read. A page that is not there has zeros.
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
        Shapes don't fit; `layout` is none of these; `scale` is not positive, or infinite in float32; `out` is read-only.
    DeviceError
        The GPU has no wgmma: it is no Hopper (sm_90a).

    Notes
    -----
    Tiles of keys are dealt out to all multiprocessors, whatever the sequences' lengths; what several have of a head a second
    kernel adds up, in the same order each time. The same call gives the same bits on the same GPU. Products are exact and
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
    given = {"q": q, "k": k, "v": v, "lengths": lengths, "page_table": page_table}
    return _decode("attention_decode", given, causal, scale, layout, lse, out, stream)


def attention_decode_latent(
    q: Any,
    cache: Any,
    *,
    lengths: Any = None,
    page_table: Any = None,
    causal: bool = True,
    scale: float | None = None,
    layout: str = "blhd",
    lse: bool = False,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Return `softmax(scale * q @ cache.T) @ cache[..., :512]` of the last few tokens of each sequence: latent attention (MLA).

    Parameters
    ----------
    q : array of NumPy, CuPy or torch
        Batches x tokens x heads x 576, of float16 or bfloat16; or, where `layout` is "bhld", batches x heads x tokens x 576.
    cache : array
        Of `q`'s dtype, keys whose first 512 elements are the values: batches x keys x 1 x 576, or batches x 1 x keys x 576; with
        `page_table` pages x keys of a page x 1 x 576, or pages x 1 x keys of a page x 576. It may have several heads,
        a divisor of `q`'s number. Strides are as of `attention_decode`.
    lengths, page_table, causal, lse, out, stream
        As of `attention_decode`.
    scale : float, optional
        What products are multiplied by; by default `1 / sqrt(576)`. Models give that of their heads before they were absorbed
        into the latent space, as `1 / sqrt(192)`.
    layout : str
        "blhd", as serving engines have it, or "bhld".

    Returns
    -------
    array
        Of `q`'s shape, dtype and library, but for 512 elements; `out`, if given. With `lse` a pair, the second of float32,
        batches x heads x tokens, whatever the layout.

    Raises
    ------
    TypeError, ValueError, DeviceError
        As `attention_decode`.

    Notes
    -----
    The cache is read once for each 64 queries; 128 heads of a token are two times 64. What is said of `attention_decode`'s bits
    and numerics holds here.

    Examples
    --------
    >>> import numpy as np, prism
    >>> q, cache = np.zeros((1, 1, 16, 576), np.float16), np.ones((1, 5, 1, 576), np.float16)
    >>> found = prism.lib.attention_decode_latent(q, cache)
    >>> found.shape, float(found.min()), float(found.max())
    ((1, 1, 16, 512), 1.0, 1.0)
    """
    given = {"q": q, "cache": cache, "lengths": lengths, "page_table": page_table}
    return _decode("attention_decode_latent", given, causal, scale, layout, lse, out, stream)


def _decode(
    name: str, arrays: dict[str, Any], causal: bool, scale: float | None, layout: str, lse: bool, out: Any, stream: Any
) -> Any:
    """Call a function of these arrays, of which some may be None."""
    if type(causal) is not bool or type(lse) is not bool:
        require_flags(causal=causal, lse=lse)
    for key in ("lengths", "page_table"):
        if arrays[key] is None:
            del arrays[key]
    if lse and out is not None:
        if not (isinstance(out, tuple | list) and len(out) == 2 and all(one is not None for one in out)):
            raise TypeError(
                "`out` must be a pair of arrays, for the result and the logarithms, where `lse` is asked for"
            )
        absent: dict[str, Any] = {"lengths": None, "page_table": None}
        found = _decode(name, absent | arrays, causal, scale, layout, lse, None, stream)
        return copy_to(name, found, tuple(out), stream)
    asked = (name, tuple(arrays), causal, type(causal), scale or repr(scale), type(scale), layout, lse)
    if (known := repeat.run_many(asked, (*arrays.values(), out), stream)) is not None:
        return known
    how: dict[str, Any] = {"causal": causal, "scale": scale, "layout": layout, "lse": lse}
    return call(name, asked, arrays, functools.partial(decide_decoding, **how), out, stream)


__all__ = ["attention_decode", "attention_decode_latent"]
