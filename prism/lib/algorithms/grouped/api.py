"""`prism.lib.grouped_matmul`: products of groups of rows, each with a matrix of its own, in one launch."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from prism.host import repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyInfo
from prism.host.plan import OUT, Machine
from prism.kernels.grouped import Grouping
from prism.kernels.hgemm import Configuration, identity
from prism.lang.keep.keys import exact
from prism.lib.algorithms.grouped.plan import Grouped, decide_plan
from prism.lib.algorithms.hgemm.api import FLOATS_OF_8_BITS, INPUTS, kind_of, other_of, result_dtype
from prism.lib.algorithms.hgemm.epilogue import asked_for, extra_of, fuse, key_of, with_several
from prism.lib.algorithms.hgemm.product import Product
from prism.lib.algorithms.hgemm.records import COLUMN, SECOND, Extra
from prism.lib.algorithms.matmul.arguments import eight_bits, require_alike, require_k_inside, require_like_result
from prism.lib.algorithms.matmul.epilogues import copy_several, require_several
from prism.lib.views import MOST, View, new_view, view_of
from prism.runtime.arrays import CODED, ArrayInfo, require_axes

INDICES = ("int32", "int64")
_OTHER = "b[1]"
_NUMBERS = (bool, int, float, np.generic)


def grouped_matmul(
    a: Any,
    b: Any,
    offsets: Any = None,
    *,
    counts: Any = None,
    rows: Any = None,
    epilogue: Any = None,
    extra: Any = (),
    out: Any = None,
    out_dtype: Any = None,
    dtype: Any = None,
    stream: Any = None,
) -> Any:
    """Return products of groups of rows of `a`, each with its own matrix of `b`, as a mixture of experts has them.

    What groups are is read on the device alone: the call waits for nothing, and may be captured in a graph. There are four forms:

    ==============  ===================  ===================  ============  ==============================================
    form            `a`                  `b`                  result        group g
    ==============  ===================  ===================  ============  ==============================================
    contiguous      m x k                groups x k x n       m x n         rows offsets[g] to offsets[g + 1]
    gathered        any x k, and `rows`  groups x k x n       m x n         the same, of the rows that ``a[rows]`` has
    masked          groups x room x k    groups x k x n       as `a`, by n  the first counts[g] rows of ``a[g]``
    along K         m x k                k x n                groups x m x  columns of `a` and rows of `b`, offsets[g] to
                                                              n             offsets[g + 1]: gradients of weights
    ==============  ===================  ===================  ============  ==============================================

    Parameters
    ----------
    a, b : arrays of NumPy, CuPy or torch
        Both of float16 or both of bfloat16; or, but for products along K, of float8_e4m3fn or float8_e5m2, `a` row-major and
        matrices of `b` column-major, as the ``w.mT`` of a row-major groups x n x k array. Where neither their last axis nor the
        one before has its elements one after the other, at multiples of 16 bytes, they are copied first: `a` whose rows are not
        dense, or along K `a` whose columns are not. `b` may be two such arrays, but along K: then `epilogue` is given an
        element of both products. Of two arrays k must be inside: those whose rows are dense are copied.
    offsets : array, optional
        Of int32 or int64: one element more than there are groups, where each begins and the last one ends; or, but for products
        along K, one for each group, where it ends, as torch has it. A group may be empty. What they have outside of 0 to m (k) is
        taken as its end; where they fall, groups are empty until they rise above what they had.
    counts : array, optional
        Of int32 or int64: how many rows each group has, of the room that it has; not below 0, nor above that.
    rows : array, optional
        Of int32 or int64: which row of `a` each row of the product is of, m elements; what is outside of `a` is taken as its end.
    epilogue : device function or lambda, or a tuple of two, optional
        What to make of each element, as `hgemm` takes it: a function of the sum, of the row in its group and the column, if it
        takes these, and of the elements of `extra`. Of two functions each makes a result; None is the sum as it is.
    extra : array, number, or tuple of these, optional
        As `hgemm`'s, beside the whole result; or of shape groups x 1 x n, an element for each column of each group.
    out : array, or a tuple of these, optional
        Where to put the result: rows are dense; of two results a tuple, to which they are copied, rows of no group too.
    out_dtype, dtype, stream
        As `hgemm`'s.

    Returns
    -------
    array
        Of `a`'s library and on its device; `out`, if given. Of two epilogues a tuple. Rows that are in no group stay as they
        are in `out`; in a new array nothing is said of them.

    Raises
    ------
    TypeError
        An argument is no array, or of a dtype that is not supported; arrays of two dtypes, of two libraries, or on the host and
        on a GPU; `epilogue` is no function of Prism's or lambda, or takes another number of arguments.
    ValueError
        Shapes don't fit; there are other numbers of offsets, or neither these nor counts; an extent is too large; 8-bit floats
        don't lie along k; `out` is read-only, or its rows are not dense; `stream` for arrays on the host; an `extra` of another
        shape.
    prism.lang.CompileError
        `epilogue` does not take such numbers, or has what Prism does not have.
    DeviceError
        The GPU has no wgmma: it is no Hopper (sm_90a).

    Notes
    -----
    Products are exact and added in float32, in the order of k, and the result is rounded once: it does not depend on the other
    groups. Along K a group of none has a result of the epilogue of 0. Neither rows that are behind a group's nor their result are
    touched, whatever they hold. A NumPy array runs on the reference machine, from the same kernel (`prism.kernels.grouped`).

    Examples
    --------
    >>> import numpy as np, prism
    >>> a = np.array([[1, 2], [3, 4], [5, 6]], np.float16)
    >>> b = np.stack([np.eye(2), 10 * np.eye(2)]).astype(np.float16)
    >>> prism.lib.grouped_matmul(a, b, np.array([0, 1, 3]))
    array([[ 1.,  2.],
           [30., 40.],
           [50., 60.]], dtype=float16)
    """
    after, key = (None, None) if epilogue is None else ((found := asked_for(epilogue)), key_of(found))
    several, out = (None, out) if not isinstance(out, tuple | list) else (require_several(after, out), None)
    if (offsets is None) == (counts is None):
        raise ValueError("groups are told apart by `offsets`, or by `counts`: give one of them")
    both = b if isinstance(b, tuple | list) else (b,)
    if len(both) not in (1, 2):
        raise ValueError(f"`b` is one array, or two, not {len(both)}")
    names: tuple[str, ...] = ("a", "b", _OTHER)[: 1 + len(both)] + ("offsets" if counts is None else "counts",)
    arrays: tuple[Any, ...] = (a, *both, offsets if counts is None else counts, out)
    if rows is not None:
        names, arrays = (*names, "rows"), (*arrays[:-1], rows, out)
    numbers: tuple[Any, ...] = ()
    if not isinstance(extra, tuple) or extra:
        extra = tuple(extra) if isinstance(extra, tuple | list) else (extra,)
        given = {f"extra[{k}]": one for k, one in enumerate(extra) if not isinstance(one, _NUMBERS)}
        names, arrays = (*names, *given), (*arrays[:-1], *given.values(), out)
        numbers = tuple(one if isinstance(one, _NUMBERS) else None for one in extra)
    asked = "grouped_matmul", names, key, tuple(map(exact, numbers)), out_dtype, dtype
    if several is None and (known := repeat.run_many(asked, arrays, stream)) is not None:
        return known
    how = {"epilogue": after or identity, "extra": numbers, "out_dtype": out_dtype, "dtype": dtype}
    decide = functools.partial(decide_grouped, **how)
    found = call(
        "grouped_matmul", asked, dict(zip(names, arrays[:-1], strict=True)), decide, out, stream, captured=True
    )
    return found if several is None else copy_several("grouped_matmul", found, several, stream)


def decide_grouped(
    arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine, epilogue: Any = identity,
    extra: tuple[Any, ...] = (), out_dtype: Any = None, dtype: Any = None, cut: Configuration | None = None,
) -> Decision:  # fmt: skip
    """Return how `grouped_matmul` of arrays by the names of its arguments is made; `cut`: the tiles, whatever suits.

    Raises:
        TypeError, ValueError: as `grouped_matmul`.
    """
    a, b = _operands(arrays["a"], arrays["b"], "counts" in arrays, dtype)
    other = other_of(arrays.get(_OTHER), b, dtype)
    if other is not None and len(b.shape) == 2:
        raise ValueError("`b` is one array in products along K")
    bounds = arrays.get("offsets", arrays.get("counts"))
    assert bounds is not None
    grouping, groups = _groups(bounds, a, b, "counts" in arrays)
    gathered = _gathered(arrays.get("rows"), a, grouping)
    shape = _shape(a, b, grouping, groups, gathered)
    kind = result_dtype(out_dtype, out, a)
    require_like_result(out, "out", shape, kind)
    result = Result(shape, CODED.get(kind) or np.dtype(kind))
    two = isinstance(epilogue, tuple) and len(epilogue) == 2
    if isinstance(epilogue, tuple) and any(one.op is not None for one in epilogue):
        raise ValueError("`epilogue` of groups is one function, or two, and no reduction: reduce the result")
    if two and out is not None:
        raise TypeError("`out` must be a tuple of 2 arrays, of as many results, not one array")
    if 0 in shape:
        return Decision((result, result), names=(OUT, SECOND)) if two else Decision((result,))
    if lazy := tuple(name for name, info in arrays.items() if isinstance(info, LazyInfo)):
        return Decision(copied=lazy)
    target = new_view(OUT, kind, shape) if out is None else _writable(view_of(OUT, out), machine.host)
    product = Product(a, b, target, None, None, 0, None, None, 1.0, 0.0, identity, other=other)
    beside = [(f"extra[{k}]", arrays.get(f"extra[{k}]", one)) for k, one in enumerate(extra)]
    each: list[bool] = []
    fused = fuse(
        product, epilogue, beside, shape, kept=not machine.host, read=functools.partial(_extra_of, groups, each)
    )
    after = fused.after
    assert after is not None
    if len(set(each)) > 1:
        raise ValueError("extras by column are all for all groups, or all of shape groups x 1 x n")
    found = Grouped(
        a, b, target, groups, a.shape[1] if grouping.along_k or grouping.apart else shape[0],
        view_of("counts" if grouping.apart else "offsets", bounds), grouping, after.with_elements(), other, any(each), gathered,
    )  # fmt: skip
    decision = decide_plan(found, result, machine, cut)
    return with_several(decision, after, result) if two and decision.results else decision


# -- Arguments --------------------------------------------------------------------------------------------------------


def _operands(a: ArrayInfo, b: ArrayInfo, apart: bool, dtype: Any) -> tuple[View, View]:
    """Return the operands, checked but for whether their extents fit groups."""
    left, right = view_of("a", a, kind_of(a, "a", dtype)), view_of("b", b, kind_of(b, "b", dtype))
    kinds = (*INPUTS, *FLOATS_OF_8_BITS)
    for view in (left, right):
        if view.scalar not in kinds:
            raise TypeError(f"`{view.name}` has dtype {view.scalar}, and grouped_matmul takes {' or '.join(kinds)}")
    require_alike("grouped_matmul", left, right)
    if apart:
        require_axes(a, "a", 3)
        require_axes(b, "b", 3)
    elif len(left.shape) != 2 or len(right.shape) not in (2, 3):
        raise ValueError(
            f"`a` has 2 axes, and `b` 3, or 2 for products along K, not {len(left.shape)} and {len(right.shape)}: shapes "
            f"{left.shape} and {right.shape}; groups that have room of their own have `counts`"
        )
    if left.shape[-1] != right.shape[-2]:
        ends = f"k is {left.shape[-1]} or {right.shape[-2]}"
        raise ValueError(f"shapes don't fit: `a` is {left.shape} and `b` is {right.shape}, so {ends}")
    if apart and left.shape[0] != right.shape[0]:
        raise ValueError(
            f"`a` has {left.shape[0]} groups and `b` {right.shape[0]}: shapes {left.shape} and {right.shape}"
        )
    if eight_bits(left.scalar):
        if len(right.shape) == 2:
            raise TypeError(
                "8-bit floats are multiplied where they lie along k, and groups along K need the other axis inside"
            )
        require_k_inside(left, -1)
        require_k_inside(right, -2)
    return left, right


def _groups(bounds: ArrayInfo, a: View, b: View, apart: bool) -> tuple[Grouping, int]:
    """Return what tells groups apart, and how many there are."""
    name = "counts" if apart else "offsets"
    if bounds.scalar not in INDICES:
        raise TypeError(f"`{name}` has dtype {bounds.scalar}, and must be of {' or '.join(INDICES)}")
    require_axes(bounds, name, 1)
    along_k = len(b.shape) == 2
    groups = bounds.size - 1 if along_k else b.shape[0]
    if groups < 1:
        what = f"`offsets` has {bounds.size} elements" if along_k else f"`b` has shape {b.shape}"
        raise ValueError(f"there must be a group at least, and {what}")
    if apart and bounds.size != groups:
        raise ValueError(f"`counts` must have an element for each of {groups} groups, not {bounds.size}")
    if not apart and bounds.size not in (groups, groups + 1):
        raise ValueError(
            f"`offsets` must have {groups + 1} elements, for {groups} groups, or {groups}, where these end, not {bounds.size}"
        )
    return Grouping(along_k, apart, not apart and bounds.size == groups + 1), groups


def _gathered(info: ArrayInfo | None, a: View, grouping: Grouping) -> View | None:
    """Return which rows of `a` are taken, checked."""
    if info is None:
        return None
    if info.scalar not in INDICES:
        raise TypeError(f"`rows` has dtype {info.scalar}, and must be of {' or '.join(INDICES)}")
    require_axes(info, "rows", 1)
    if grouping.along_k or grouping.apart:
        raise ValueError(
            "`rows` says which rows of `a` groups have that follow one another: not along K, nor with `counts`"
        )
    if info.size and not a.shape[0]:
        raise ValueError(f"`rows` has {info.size} elements, and `a` no rows")
    return view_of("rows", info)


def _shape(a: View, b: View, grouping: Grouping, groups: int, gathered: View | None) -> tuple[int, ...]:
    """Return the shape of the result; extents are such that kernels can count."""
    if grouping.along_k:
        shape: tuple[int, ...] = (groups, a.shape[0], b.shape[1])
    else:
        rows = a.shape[:-1] if gathered is None else gathered.shape
        shape = (*rows, b.shape[2])
    if max(*a.shape, *b.shape, *shape, prod(shape[:-1]), groups * b.shape[-2]) > MOST:
        raise ValueError(f"an extent is too large: `a` is {a.shape} and `b` is {b.shape}; up to {MOST} rows fit")
    return shape


def _writable(out: View, host: bool) -> View:
    """Return where the result goes: rows of no group are not written, so it can't be made beside, and copied.

    Raises:
        ValueError: kernels can't write there.
    """
    rows = out.rows() if out.natural else None
    if rows is None or not (rows.contiguous if host else rows.rows_dense and rows.apart):
        how = "in C order" if host else "dense, one stride apart"
        raise ValueError(
            f"`out` must have rows that are {how}, at a multiple of its elements' size; its strides: {out.strides}"
        )
    return out


def _extra_of(groups: int, each: list[bool], name: str, info: ArrayInfo, view: View, shape: tuple[int, ...]) -> Extra:
    """Return how an array is read beside a result; `each`: whether one by column is of each group."""
    n = shape[-1]
    if info.shape == (groups, 1, n) and info.shape != shape:
        each.append(True)
        column = extra_of(name, replace(info, shape=(n,)), view, shape)
        return replace(column, view=view)
    found = extra_of(name, info, view, shape)
    if found.per == COLUMN:
        each.append(False)
    return found
