"""`prism.lib.hgemm`: products of matrices of 16-bit floats and 8-bit numbers on the tensor cores, and what comes after, fused."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prism.host import repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyInfo
from prism.host.plan import OUT, Machine
from prism.kernels.hgemm import Configuration, identity
from prism.lang.keep.keys import exact
from prism.lib.algorithms.hgemm.plan import decide_product
from prism.lib.algorithms.hgemm.product import COLUMNS, INTEGERS, NO_BIAS, ROWS, Product
from prism.lib.algorithms.hgemm.scales import scales_of
from prism.lib.algorithms.hgemm.symmetric import BOTH, require_sayable
from prism.lib.algorithms.matmul.arguments import (
    batch_of,
    eight_bits,
    require_k_inside,
    require_like_result,
    require_operands,
)
from prism.lib.algorithms.matmul.epilogues import (
    asked_for,
    asked_for_prologue,
    copy_several,
    extras_of,
    numbers_of,
    require_several,
)
from prism.lib.views import View, new_view, view_of
from prism.runtime.arrays import CODED, ArrayInfo

if TYPE_CHECKING:
    from prism.lib.algorithms.hgemm.prologue import Before

INPUTS = ("float16", "bfloat16")
FLOATS_OF_8_BITS = ("float8_e4m3fn", "float8_e5m2")
RESULTS = ("float16", "bfloat16", "float32")
RESULTS_OF_8_BITS = (*FLOATS_OF_8_BITS, "int8", "uint8")
_TWO = "a", "b"
_OTHER = "b[1]"


def hgemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    scale_a: Any = None,
    scale_b: Any = None,
    bias: Any = None,
    epilogue: Any = None,
    extra: Any = (),
    prologue: Any = None,
    prologue_extra: Any = (),
    rows: Any = None,
    out: Any = None,
    out_dtype: Any = None,
    dtype: Any = None,
    symmetric: Any = None,
    stream: Any = None,
) -> Any:
    """Return `epilogue(alpha * scale_a * scale_b * a @ b + beta * c + bias, *extra)`.

    Parameters
    ----------
    a, b : arrays of NumPy, CuPy or torch
        m x k and k x n, both of float16 or both of bfloat16. Any strides; a copy is made where neither axis has its elements
        one after the other, or rows (columns) don't begin at multiples of 16 bytes. Axes before these are a batch, and are
        broadcast as `numpy.matmul` does. Or each of float8_e4m3fn or float8_e5m2, `a` row-major and `b` column-major, as the
        `w.T` of a row-major n x k array: 8-bit floats are multiplied where they lie one after the other along
        k; or both of int8 or of uint8, likewise. `b` may be two such arrays: then `epilogue` is given an element of both
        products.
    c : array, optional
        Of the result's shape and dtype; read where `beta` is not 0. It may be `out`.
    alpha, beta : float
        Factors, taken as float32.
    scale_a, scale_b : array, optional
        Of float32: one element, for all of `a` or `b`; or one for each row of `a`, m or m x 1, or each column of `b`, n or 1 x n.
        Or both of blocks, of 8-bit floats: for each 128 of k one for each row of `a`, m x k/128, or for each 128 rows,
        m/128 x k/128; and for each column of `b`, k/128 x n, or each 128, k/128 x n/128, rounded up. For products of two
        matrices, not for batches.
    bias : array, optional
        Of `a`'s dtype, or for 8-bit floats of the result's: n elements (also as 1 x n), one added to each column; or m x 1, one
        added to each row.
    epilogue : device function or lambda, or a tuple of these, optional
        What to make of each element: a function of numbers, marked `@prism.device`, at `thread[1]`, or a lambda, compiled as
        `prism.lib.lazy.map` does. It is given the sum, of float32 (where `b` is two arrays both sums); then, if it takes two
        more, the row and the column of its matrix, of int32; then the elements of `extra`. Its result is rounded once.
        `prism.lib.epilogues` has functions to be used in it. Of a tuple each function makes a result: one or two, and at most one
        `prism.lib.epilogues.reduce`; None is the sum as it is.
    extra : array, number, or tuple of these, optional
        What `epilogue` is given besides: an array of the result's shape; of n elements (also as 1 x n), one a column; m x 1, one
        a row (in a batch with its axes before); or of one element. Floats of up to 32 bits, which are given as float32, integers
        or bools. Numbers are float32, int32 or bool.
    prologue : device function or lambda, optional
        What to make of each element of `a` before it is multiplied: a function of numbers, as `epilogue`. It is given the
        element, as float32; then, if it takes two more, its row and its column, of int32; then the elements of
        `prologue_extra`. Its result is rounded to the dtype of `b`, float16 or bfloat16; `a` may also be of float32, 8-bit
        floats or 8-bit integers. For products of two matrices.
    prologue_extra : array, number, or tuple of these, optional
        What `prologue` is given besides, as `extra`: an array of the shape of `a`; of k elements (also as 1 x k), one a column
        of `a`; m x 1, one a row; or of one element; or numbers.
    rows : array, optional
        Of int32 or int64, m elements: which row of `a` is the i-th, as if `a` were `a[rows]`. What is no row's number is taken
        as the nearest that is. For products of two matrices of 16-bit floats.
    out : array, or a tuple of these, optional
        Where to put the result; of several a tuple, to which they are copied.
    out_dtype : dtype, optional
        float16, bfloat16 or float32, by name or as the library's own; by default that of `out`, or else of `a`, or for 8-bit
        floats float32. Of integers int32, by default, or one of these. Or of 8 bits: float8_e4m3fn, float8_e5m2, int8 or uint8,
        to which results are rounded, the nearest that there is.
    dtype : dtype, optional
        What 8-bit floats arrays of uint8 hold the bits of, for libraries that have none: "float8_e4m3fn" or "float8_e5m2"; or
        "uint8", where they hold integers; or two of these, for `a` and for `b`.
    symmetric : True, "both", "lower" or "upper", optional
        A promise that the result is symmetric, as that of `a` and `a.T` is, and `c` too: then half of it is multiplied, and
        stored on both sides of the diagonal, or in the triangle that is named: the other one stays as it is in `out`, and in a
        new array nothing is said of it. Tiles that meet the diagonal are whole. For products of 16-bit floats.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        m x n for each product of the batch, of `a`'s library and on its device; `out`, if given. Of several epilogues a tuple;
        a reduction's result is of float32, of one axis.

    Raises
    ------
    TypeError
        An argument is no array, or of a dtype that is not supported; arrays of two dtypes, of two libraries, or on the host and
        on a GPU; sums of integers are scaled, or something is added to them, and the result is int32; `epilogue` is no function
        of Prism's or lambda, or takes another number of arguments; `out` is one array, and there are several results.
    ValueError
        Shapes don't fit; an extent is larger than 2^31 - 2^10; 8-bit floats don't lie along k; `out` is read-only; `beta`
        without `c`; scales of blocks of one operand alone; something beside a symmetric product that it does not take; arrays
        on two GPUs; `stream` for arrays on the host; an `extra` of another shape; a reduction of a batch; of
        two products `c`, `bias` or `scale_b`.
    prism.lang.CompileError
        `epilogue` does not take such numbers, or has what Prism does not have.
    DeviceError
        The GPU is before sm_80; or it has no wgmma, as it is no Hopper (sm_90a), and operands are of 8 bits, there are two `b`,
        two results or a reduction, scales of blocks, or one triangle alone is stored.

    Notes
    -----
    Products are exact and added in float32, in an order that depends on the shape, and on what `prism tune` has kept for it: the
    same call gives the same bits. Those of 8-bit floats Hopper adds with about 14 bits (docs/hgemm.md). The result is rounded
    once. Sums of integers are exact, modulo 2^32. Where scales are of blocks, the sums of each 128 of k are added in float32.
    A batch is one launch where one stride leads from each row of an array's matrices to the next, as in dense arrays; k
    must be a multiple of 64 then, unless there is one `b` for all, or both operands have their elements side by side along k.
    Otherwise it is a launch for each product. Of two products K must be inside: a `b` whose rows are dense is copied. A
    `prologue` is a launch before, which makes an operand in scratch memory; `rows` alone are gathered in the product, where
    there are many. A NumPy array runs on the reference machine, on the CPU, from the same kernel (`prism.kernels.hgemm`).

    Examples
    --------
    >>> import numpy as np, prism
    >>> a, b = np.eye(2, dtype=np.float16), np.array([[1, 2], [3, 4]], np.float16)
    >>> prism.lib.hgemm(a, b, alpha=2.0, out_dtype="float32")
    array([[2., 4.],
           [6., 8.]], dtype=float32)
    >>> prism.lib.hgemm(a, b, epilogue=lambda x, bias: max(x + bias, 0.0), extra=np.array([-2, 0], np.float16))
    array([[0., 2.],
           [1., 4.]], dtype=float16)
    """
    after, key = (None, None) if epilogue is None else asked_for(epilogue)
    several, out = (None, out) if not isinstance(out, tuple | list) else (require_several(after, out), None)
    if beta and c is None:
        raise ValueError("`beta` is the factor of `c`, which is missing")
    names: tuple[str, ...] = _TWO
    arrays: tuple[Any, ...] = (a, b, out)
    numbers: tuple[Any, ...] = ()
    if isinstance(b, tuple | list):
        names, arrays = _with_two(a, b, out)
    if beta or bias is not None or scale_a is not None or scale_b is not None:
        for name, array in (("c", c if beta else None), ("bias", bias), ("scale_a", scale_a), ("scale_b", scale_b)):
            if array is not None:
                names, arrays = (*names, name), (*arrays[:-1], array, out)
    if not isinstance(extra, tuple) or extra:
        extra, given = extras_of(extra)
        names, arrays = (*names, *given), (*arrays[:-1], *given.values(), out)
        numbers = tuple(map(exact, numbers_of(extra)))
    made, before_key = (None, None) if prologue is None else asked_for_prologue(prologue)
    before_numbers: tuple[Any, ...] = ()
    if rows is not None:
        names, arrays = (*names, "rows"), (*arrays[:-1], rows, out)
    if not isinstance(prologue_extra, tuple) or prologue_extra:
        prologue_extra, given = extras_of(prologue_extra, "prologue_extra")
        names, arrays = (*names, *given), (*arrays[:-1], *given.values(), out)
        before_numbers = tuple(map(exact, numbers_of(prologue_extra)))
    # zeros of two signs are equal, and results differ
    symmetric = BOTH if symmetric is True else symmetric or None
    early = before_key, before_numbers
    asked = "hgemm", names, alpha or repr(alpha), beta, key, numbers, out_dtype, dtype, symmetric, early
    if several is None and (known := repeat.run_many(asked, arrays, stream)) is not None:
        return known
    how: dict[str, Any] = {"alpha": float(alpha), "beta": float(beta), "out_dtype": out_dtype, "dtype": dtype}
    how |= {"epilogue": after or identity, "extra": numbers_of(extra), "symmetric": symmetric}
    how |= {"prologue": made, "prologue_extra": numbers_of(prologue_extra)}
    decide = functools.partial(decide_hgemm, **how)
    found = call("hgemm", asked, dict(zip(names, arrays[:-1], strict=True)), decide, out, stream, captured=True)
    return found if several is None else copy_several("hgemm", found, several, stream)


def _with_two(a: Any, b: Any, out: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Return the arrays of two products, by name."""
    if len(b) != 2:
        raise ValueError(f"`b` is one array, or two, not {len(b)}")
    return (*_TWO, _OTHER), (a, *b, out)


def decide_hgemm(
    arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine, alpha: float = 1.0, beta: float = 0.0,
    epilogue: Any = identity, out_dtype: Any = None, dtype: Any = None, cut: Configuration | None = None,
    extra: tuple[Any, ...] = (), symmetric: Any = None, prologue: Any = None, prologue_extra: tuple[Any, ...] = (),
) -> Decision:  # fmt: skip
    """Return how `hgemm` of arrays by the names of its arguments is made; `cut`: the configuration, whatever suits the shape.

    Raises:
        TypeError, ValueError: as `hgemm`.
    """
    early = prologue is not None or bool(prologue_extra) or "rows" in arrays
    if early and (lazy := _lazy(arrays)):
        return Decision(copied=lazy)
    if early:
        a, b, before = _operands_made(arrays, dtype, prologue, prologue_extra, kept=not machine.host)
    else:
        a, b, before = *_operands(arrays["a"], arrays["b"], dtype), None
    other = other_of(arrays.get(_OTHER), b, dtype)
    (scale_a, scale_b), blocks = scales_of(arrays, a, b)
    shape = (*batch_of(a, b), a.shape[-2], b.shape[-1])
    kind = result_dtype(out_dtype, out, a)
    require_like_result(out, "out", shape, kind)
    require_like_result(arrays.get("c"), "c", shape, kind)
    bias, per = _bias(arrays.get("bias"), a, shape, kind)
    added = view_of("c", arrays["c"]) if "c" in arrays else None
    target = new_view(OUT, kind, shape)
    product = Product(
        a, b, target, added, bias, per, scale_a, scale_b, alpha, beta, identity, other=other, blocks=blocks
    )
    _require_plain_integers(product, kind)
    product = _with_triangle(product, before, symmetric)
    result, given = Result(shape, CODED.get(kind) or np.dtype(kind)), None if out is None else view_of(OUT, out)
    decide = decide_product if before is None else before.decide
    plain = other is None and not extra and (before is None or not before.gathers(product, machine))
    if epilogue is identity and plain and kind in (*RESULTS, "int32"):
        return decide(product, result, machine, given, cut)
    from prism.lib.algorithms.hgemm.epilogue import function_of_elements, fuse, is_of_one_element, with_several

    if not plain or kind in RESULTS_OF_8_BITS or not is_of_one_element(epilogue):
        if lazy := _lazy(arrays):
            return Decision(copied=lazy)  # an extra is a part of a record, and that is made of what lies in memory
        if symmetric is not None:
            raise ValueError(
                "of a `symmetric` product the epilogue is a function of its element alone, and makes a float"
            )
        beside = [(f"extra[{k}]", arrays.get(f"extra[{k}]", one)) for k, one in enumerate(extra)]
        product = fuse(product, epilogue, beside, shape, kept=not machine.host)
    else:
        product = replace(product, epilogue=function_of_elements(epilogue))
    decision = decide(product, result, machine, given, cut)
    if product.after is None or len(product.after.order) == 1 or not decision.results:
        return decision
    if out is not None:
        raise TypeError(
            f"`out` must be a tuple of {len(product.after.order)} arrays, of as many results, not one array"
        )
    return with_several(decision, product.after, result)


def _with_triangle(product: Product, before: Before | None, symmetric: Any) -> Product:
    """Return a product that is symmetric, if it is said to be: it can be, and has no prologue."""
    if before is not None:
        before.require_single(product, symmetric)
    if symmetric is None:
        return product
    require_sayable(product, symmetric)
    return replace(product, triangle=symmetric)


# -- Arguments --------------------------------------------------------------------------------------------------------


def _operands(a: ArrayInfo, b: ArrayInfo, dtype: Any) -> tuple[View, View]:
    """Return the operands, checked; `dtype` says what arrays of uint8 hold."""
    given = dtype if isinstance(dtype, tuple | list) else (dtype, dtype)
    if len(given) != 2:
        raise TypeError(f"`dtype` is one dtype, or those of `a` and of `b`, not {len(given)}")
    left, right = view_of("a", a, kind_of(a, "a", given[0])), view_of("b", b, kind_of(b, "b", given[1]))
    require_operands("hgemm", left, right, (*INPUTS, *FLOATS_OF_8_BITS, "int8", *_bytes_asked(tuple(given))))
    if left.size == 1:
        require_k_inside(left, -1)
        require_k_inside(right, -2)
    return left, right


def _lazy(arrays: Mapping[str, ArrayInfo]) -> tuple[str, ...]:
    """Return the names of lazy arrays."""
    return tuple(name for name, info in arrays.items() if isinstance(info, LazyInfo))


def _operands_made(
    arrays: Mapping[str, ArrayInfo], dtype: Any, prologue: Any, extra: tuple[Any, ...], *, kept: bool
) -> tuple[View, View, Before]:
    """Return the operands that are multiplied, checked, and what is done with `a` before."""
    from prism.lib.algorithms.hgemm.prologue import operands_of

    a, b = view_of("a", arrays["a"], kind_of(arrays["a"], "a", dtype)), view_of("b", arrays["b"])
    return operands_of(arrays, a, b, prologue, extra, kept=kept)


def _bytes_asked(dtypes: tuple[Any, ...]) -> tuple[str, ...]:
    """Return uint8 where it is said to hold integers: else it may be what a library has for 8-bit floats."""
    return ("uint8",) if "uint8" in [None if dtype is None else _dtype_name(dtype) for dtype in dtypes] else ()


def other_of(info: ArrayInfo | None, b: View, dtype: Any) -> View | None:
    """Return a second right operand, checked: it is like the first."""
    if info is None:
        return None
    found = view_of(_OTHER, info, kind_of(info, _OTHER, dtype[1] if isinstance(dtype, tuple | list) else dtype))
    if found.scalar != b.scalar:
        raise TypeError(f"`b[1]` has dtype {found.scalar}, and `b[0]` {b.scalar}: both are multiplied by one `a`")
    if found.shape != b.shape:
        raise ValueError(f"`b[1]` must have shape {b.shape}, as `b[0]`, not {found.shape}")
    if found.size == 1:
        require_k_inside(found, -2)
    return found


def kind_of(info: ArrayInfo, name: str, dtype: Any) -> str:
    """Return what an array's elements are: the bits of 8-bit floats, or integers, if `dtype` says so."""
    if dtype is None:
        return info.scalar
    kind = _dtype_name(dtype)
    if kind not in (*FLOATS_OF_8_BITS, "uint8"):
        raise TypeError(
            f"`dtype` says which 8-bit floats uint8 holds, {' or '.join(FLOATS_OF_8_BITS)}, or uint8, not {kind}"
        )
    if info.scalar not in ("uint8", kind):
        raise TypeError(f"`dtype` is {kind}, and `{name}` has dtype {info.scalar}, not uint8")
    return kind


def _dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, given by name or as a library's own."""
    return dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype)).removeprefix("torch.")


def result_dtype(asked: Any, out: ArrayInfo | None, a: View) -> str:
    """Return the name of the result's dtype."""
    if asked is not None:
        kind = _dtype_name(asked)
    elif out is not None:
        kind = out.scalar
    else:
        kind = "int32" if a.scalar in INTEGERS else "float32" if eight_bits(a.scalar) else a.scalar
    if kind not in (*RESULTS, *RESULTS_OF_8_BITS) and not (kind == "int32" and a.scalar in INTEGERS):
        what = "`out_dtype`" if asked is not None else "`out`"
        some = "int32, float16, bfloat16 or float32" if a.scalar in INTEGERS else "float16, bfloat16 or float32"
        raise TypeError(f"{what} must be {some}, or {', '.join(RESULTS_OF_8_BITS)}, not {kind}")
    return kind


def _bias(info: ArrayInfo | None, a: View, shape: tuple[int, ...], kind: str) -> tuple[View | None, int]:
    """Return a bias, and what it has an element for; `shape` and `kind` are the result's."""
    if info is None:
        return None, NO_BIAS
    *_, m, n = shape
    wanted = kind if a.size == 1 else a.scalar
    if info.scalar != wanted:
        whose = "as `a` is" if wanted == a.scalar else "the result's dtype"
        raise TypeError(f"`bias` must be an array of {info.library} of {wanted}, {whose}, not of {info.scalar}")
    if info.shape in ((n,), (1, n)):
        return view_of("bias", info), COLUMNS
    if info.shape == (m, 1):
        return view_of("bias", info), ROWS
    raise ValueError(f"`bias` must have shape {(n,)}, one a column, or {(m, 1)}, one a row, not {info.shape}")


def _require_plain_integers(product: Product, kind: str) -> None:
    """Check that sums of integers that are kept as they are are not scaled, and nothing is added to them.

    Raises:
        TypeError: something is done with them.
    """
    if kind != "int32":
        return
    given = {"alpha": product.alpha != 1.0, "beta": product.beta != 0.0, "bias": product.bias is not None}
    given |= {"scale_a": product.scale_a is not None, "scale_b": product.scale_b is not None}
    if some := next((name for name, there in given.items() if there), None):
        raise TypeError(f"`{some}` makes floats of sums of integers: give `out_dtype`, float32 or another, not int32")
