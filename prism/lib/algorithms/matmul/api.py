"""`prism.lib.matmul`: NumPy's, for arrays of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import arguments, floats, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Machine
from prism.kernels.hgemm import identity
from prism.lib.algorithms.hgemm.api import INPUTS
from prism.lib.algorithms.hgemm.plan import decide_product
from prism.lib.algorithms.hgemm.product import NO_BIAS, Product
from prism.lib.algorithms.matmul.arguments import batch_of, require_alike, require_extents
from prism.lib.algorithms.matmul.kinds import OTHERS, common, decide_kind
from prism.lib.algorithms.sgemm import api as sgemms
from prism.lib.views import View, new_view, view_of, with_axes
from prism.runtime.arrays import CODED, ArrayInfo

KINDS = ("float32", *INPUTS, *OTHERS)
_SIGNATURE = "gufunc signature (n?,k),(k,m?)->(n?,m?)"


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """Return `a @ b`, as `numpy.matmul`.

    Parameters
    ----------
    a, b : arrays of NumPy, CuPy or torch
        Of floats of 16 to 64 bits, bfloat16, complex numbers, integers or bools, of any strides. Of two dtypes NumPy's rule says
        what the result is of; torch's and bfloat16's are of one dtype. Of one axis: a row on the left, a column on the right, and
        the result lacks that axis. Axes before the last two are a batch, and are broadcast.
    out : array, optional
        Where to put the result, of its shape; it may overlap the operands. NumPy's and CuPy's may be of another dtype that the
        result is cast to ("same_kind").

    Returns
    -------
    array
        Of `a`'s library, on its device, of the dtype that both are promoted to; `out`, if given. Of two arrays of one axis: an
        array of no axes, or NumPy's scalar.

    Raises
    ------
    TypeError
        An argument is no array, or of another dtype; torch's arrays of two dtypes; arrays of two
        libraries, or on the host and on a GPU; `out` can't be cast to.
    ValueError
        An array of no axes; shapes don't fit; `out` is read-only or of another shape; arrays on two GPUs.

    Notes
    -----
    Arrays on a GPU are multiplied on their library's current stream.

    float32 is `prism.lib.sgemm`: added in float32, never by TF32, a batch in one launch where strides allow. float16 and bfloat16
    are `prism.lib.hgemm`: added in float32 and rounded once, a batch in one launch where its matrices lie below each other.
    float64 is multiplied by the tensor cores from sm_80 on, in the order of k, where elements lie side by side along an axis.
    complex128 is, too; complex64 of 64 rows or a K of 128 is two launches or more, one of them as of `prism.lib.sgemm`.
    Integers wrap, a product of bools is true where some pair is; `prism.lib.hgemm` makes int32 of 8-bit integers, much faster.

    Examples
    --------
    >>> import numpy as np, prism
    >>> a, b = np.arange(12, dtype=np.float32).reshape(2, 2, 3), np.ones(3, np.float32)
    >>> prism.lib.matmul(a, b)
    array([[ 3., 12.],
           [21., 30.]], dtype=float32)
    """
    # a plan is told what a call comes to: it is made in full
    if repeat.noting.get() is None and (known := repeat.run_many(_ASKED, (a, b, out))) is not None:
        return known
    made = call("matmul", _ASKED, {"a": a, "b": b}, _decide, out, captured=True)
    return floats.warn_as(made, lambda: np.matmul(a, b), a, b)


_ASKED = ("matmul",)


def _decide(arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine) -> Decision:
    a, b = (view_of(name, arrays[name]) for name in ("a", "b"))
    kind = _require_operands(a, b, arrays)
    rows, columns = len(a.shape) > 1, len(b.shape) > 1
    a, b = with_axes(a, not rows, False), with_axes(b, False, not columns)
    if a.shape[-1] != b.shape[-2]:
        sizes = f"(size {b.shape[-2]} is different from {a.shape[-1]})"
        raise ValueError(f"matmul: Input operand 1 has a mismatch in its core dimension 0, with {_SIGNATURE} {sizes}")
    require_extents(a, b)
    full = (*batch_of(a, b), a.shape[-2], b.shape[-1])
    shape = (*full[:-2], *([full[-2]] if rows else []), *([full[-1]] if columns else []))
    result = Result(shape, CODED.get(kind) or np.dtype(kind))
    given = None if out is None else with_axes(_result(out, kind, shape), not rows, not columns)
    if kind in OTHERS or a.scalar != b.scalar:
        return decide_kind(a, b, full, kind, result, machine, given)
    if kind == "float32":
        return sgemms.decide_product(a, b, full, result, machine, given)
    made = new_view(OUT, a.scalar, full)
    product = Product(a, b, made, None, None, NO_BIAS, None, None, 1.0, 0.0, identity)
    return decide_product(product, result, machine, given)


def _require_operands(a: View, b: View, arrays: Mapping[str, ArrayInfo]) -> str:
    """Check the operands' dtypes and axes, with NumPy's words where NumPy has some; return the result's dtype."""
    for number, info in enumerate((a, b)):
        if info.scalar not in KINDS:
            raise TypeError(
                f"`{info.name}` has dtype {info.scalar}, and matmul takes {', '.join(KINDS[:-1])} or {KINDS[-1]}"
            )
        if not info.shape:
            raise ValueError(
                f"matmul: Input operand {number} does not have enough dimensions "
                f"(has 0, gufunc core with signature (n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    if a.scalar == b.scalar:
        return a.scalar
    left, right = arrays["a"], arrays["b"]
    if left.library == "torch" or "bfloat16" in (a.scalar, b.scalar):  # torch has no rule for these
        require_alike("matmul", a, b)
    return common(left, right)


def _result(out: ArrayInfo, kind: str, shape: tuple[int, ...]) -> View:
    """Return an array for the result, checked."""
    castable = kind not in CODED and np.can_cast(np.dtype(kind), out.dtype, "same_kind")
    if out.scalar != kind and (out.library == "torch" or not castable):
        raise TypeError(
            f"Cannot cast ufunc 'matmul' output from dtype('{kind}') to dtype('{out.scalar}') "
            "with casting rule 'same_kind'"
        )
    arguments.require_shape(out, shape)
    view = view_of(OUT, out)
    return view if out.scalar == kind else replace(view, natural=False)
