"""`prism.lib.matmul`: NumPy's, for arrays of float32, float16 and bfloat16."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host import arguments, memory
from prism.kernels.hgemm import identity
from prism.lib import matmul_warm as warm
from prism.lib import matmuls, sgemms
from prism.lib.matmul_arguments import require_alike
from prism.lib.matmul_layouts import NO_BIAS, Job
from prism.runtime.arrays import ArrayInfo, describe, one_place, require_writable

KINDS = ("float32", *matmuls.INPUTS)
_SIGNATURE = "gufunc signature (n?,k),(k,m?)->(n?,m?)"


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """Return `a @ b`, as `numpy.matmul`.

    Parameters
    ----------
    a, b : arrays of NumPy, CuPy or torch
        Both of float32, float16 or bfloat16, of any strides. Of one axis: a row on the left, a column on the right, and the
        result lacks that axis. Axes before the last two are a batch, and are broadcast.
    out : array, optional
        Where to put the result, of its shape; it may overlap the operands. NumPy's and CuPy's may be of another dtype that the
        result is cast to ("same_kind").

    Returns
    -------
    array
        Of `a`'s library and dtype, on its device; `out`, if given. Of two arrays of one axis: an array of no axes, or NumPy's
        scalar.

    Raises
    ------
    TypeError
        An argument is no array, or of another dtype; arrays of two dtypes, of two libraries, or on the host and on a GPU; `out`
        can't be cast to.
    ValueError
        An array of no axes; shapes don't fit; `out` is read-only or of another shape; arrays on two GPUs.

    Notes
    -----
    Arrays on a GPU are multiplied on their library's current stream.

    float32 is `prism.lib.sgemm`: added in float32, never by TF32, a batch in one launch where strides allow. float16 and bfloat16
    are `prism.lib.hgemm`: added in float32 and rounded once, a batch in one launch where its matrices lie below each other.

    Examples
    --------
    >>> import numpy as np, prism
    >>> a, b = np.arange(12, dtype=np.float32).reshape(2, 2, 3), np.ones(3, np.float32)
    >>> prism.lib.matmul(a, b)
    array([[ 3., 12.],
           [21., 30.]], dtype=float32)
    """
    if out is None:
        out = warm.room(a, b, "matmul")
    key = warm.key(a, b, None, None, out, "matmul")
    if warm.repeat(key, None):
        return out
    left, right = describe(a, "a"), describe(b, "b")
    _require_operands(left, right)
    rows, columns = len(left.shape) > 1, len(right.shape) > 1
    x = left if rows else describe(left.owner[None, :], "a")
    y = right if columns else describe(right.owner[:, None], "b")
    if x.shape[-1] != y.shape[-2]:
        sizes = f"(size {y.shape[-2]} is different from {x.shape[-1]})"
        raise ValueError(f"matmul: Input operand 1 has a mismatch in its core dimension 0, with {_SIGNATURE} {sizes}")
    full = (*sgemms.batch_of(x, y), x.shape[-2], y.shape[-1])
    shape = (*full[:-2], *([full[-2]] if rows else []), *([full[-1]] if columns else []))
    given = None if out is None else _result(out, left, shape)
    if given is None:
        if left.device is not None and rows and columns and len(full) == 2:
            warm.keep_kind(a, b, "matmul", left.scalar)
        result = _product(x, y, None, full)
        return result if shape == full else result.reshape(shape)[()]
    if given.scalar != left.scalar:
        given.owner[...] = _product(x, y, None, full).reshape(shape)
    else:
        _product(x, y, given if shape == full else describe(given.owner.reshape(full), "out"), full, key)
    return given.owner


def _require_operands(a: ArrayInfo, b: ArrayInfo) -> None:
    """Check the operands' libraries, dtypes and axes, with NumPy's words where NumPy has some."""
    for number, (name, info) in enumerate((("a", a), ("b", b))):
        memory.require_known(info, name)
        if info.scalar not in KINDS:
            raise TypeError(
                f"`{name}` has dtype {info.scalar}, and matmul takes {', '.join(KINDS[:-1])} or {KINDS[-1]}"
            )
        if not info.shape:
            raise ValueError(
                f"matmul: Input operand {number} does not have enough dimensions "
                f"(has 0, gufunc core with signature (n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    require_alike("matmul", a, b)
    one_place({"a": a, "b": b})


def _result(out: Any, a: ArrayInfo, shape: tuple[int, ...]) -> ArrayInfo:
    """Return the facts of an array for the result, checked."""
    info = describe(out, "out")
    arguments.require_library(info, "out", "a", a)
    if info.scalar != a.scalar and (info.library == "torch" or not np.can_cast(a.dtype, info.dtype, "same_kind")):
        raise TypeError(
            f"Cannot cast ufunc 'matmul' output from dtype('{a.scalar}') to dtype('{info.scalar}') "
            "with casting rule 'same_kind'"
        )
    arguments.require_shape(info, shape)
    one_place({"a": a, "out": info})
    require_writable(info, "out")
    return info


def _product(a: ArrayInfo, b: ArrayInfo, out: ArrayInfo | None, shape: tuple[int, ...], key: Any = None) -> Any:
    """Return the product of arrays of two axes or more."""
    if a.scalar == "float32":
        return sgemms.multiply(sgemms.Job(a, b, None, out, shape), key=key)
    return matmuls.multiply(Job(a, b, None, None, NO_BIAS, out, a.scalar, 1.0, 0.0, identity), key=key)
