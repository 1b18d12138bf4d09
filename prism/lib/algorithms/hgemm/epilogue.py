"""An epilogue that is a function, or several: what `hgemm` is given, checked, and what the kernel is to be given of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from math import prod
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import OUT
from prism.kernels.hgemm import identity
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.surface import Kernel
from prism.lang.types import FLOAT32, INT32, SCALARS
from prism.lang.types.structs import Struct, scalar_called
from prism.lib.algorithms.hgemm.product import NO_BLOCKS, Product
from prism.lib.algorithms.hgemm.records import (
    COLUMN,
    ELEMENT,
    LOADED,
    ONCE,
    REDUCED,
    ROW,
    SECOND,
    After,
    Call,
    Extra,
    Reduced,
    Scaling,
)
from prism.lib.epilogues import Reduction
from prism.lib.lazy.array import bits_as
from prism.lib.lazy.closures import Applied
from prism.lib.operators import Operator
from prism.lib.views import View, view_of
from prism.runtime.arrays import ArrayInfo
from prism.runtime.tensor_maps import PIECE

_PER = ("", COLUMN, ROW)  # of a bias, as plans have it


class Asked(NamedTuple):
    """One of several epilogues: a function, and how its values are combined, where they are.

    `bare`: it is the sum as it is, and given nothing besides.
    """

    function: Applied
    op: Operator | None = None
    axis: int = 0
    bare: bool = False


def asked_for(epilogue: Any) -> Any:
    """Return what an epilogue is looked up and called by: a device function, a lambda that is opened, or a tuple of `Asked`.

    Raises:
        TypeError: it is none of these.
        CompileError: the lambda has what Prism does not have.
    """
    if epilogue is None:
        return None
    if isinstance(epilogue, tuple | list):
        return tuple(map(_asked_for_one, epilogue))
    return asked_for_one(epilogue, "epilogue", ", or a tuple of these")


def asked_for_one(function: Any, name: str, more: str = "") -> Any:
    """Return what one function is looked up and called by: it is the argument `name`, which may be `more` than that.

    Raises:
        TypeError: it is no function.
        CompileError: the lambda has what Prism does not have.
    """
    if isinstance(function, Kernel) and function.kind == "device":
        return function
    if isinstance(function, FunctionType | Intrinsic):
        return Applied(function)
    reduces = ": a reduction stands beside one, in a tuple" if isinstance(function, Reduction) and more else ""
    what = f"`{name}` must be a device function, marked @prism.device, or a lambda{more}"
    raise TypeError(what + (reduces or f", not {type(function).__name__}"))


def _asked_for_one(one: Any) -> Asked:
    """Return one of several epilogues."""
    if isinstance(one, Reduction):
        bare = one.function is None
        return Asked(_applied(asked_for(identity if bare else one.function)), one.op, one.axis, bare)
    return Asked(_applied(asked_for(identity if one is None else one)), bare=one is None)


def _applied(function: Any) -> Applied:
    return function if isinstance(function, Applied) else Applied(function)


def key_of(asked: Any) -> Hashable:
    """Return what `asked_for` gave as a part of a key."""
    if isinstance(asked, tuple):
        return tuple((one.function.key, one.op, one.axis) for one in asked)
    return asked.key if isinstance(asked, Applied) else asked


def is_of_one_element(epilogue: Any) -> bool:
    """Whether an epilogue is a function of one sum, and of nothing else: kernels take it as it is."""
    if epilogue is identity or isinstance(epilogue, tuple):
        return epilogue is identity
    if isinstance(epilogue, Applied) and epilogue.what is None:
        return False  # it names numbers
    return (epilogue if isinstance(epilogue, Applied) else Applied(epilogue)).arity == 1


def function_of_elements(epilogue: Any) -> Kernel:
    """Return what a kernel calls for such an epilogue."""
    found: Kernel = epilogue.what if isinstance(epilogue, Applied) else epilogue
    return found


def fuse(
    product: Product,
    epilogue: Any,
    given: Sequence[tuple[str, Any]],
    shape: tuple[int, ...],
    *,
    kept: bool,
    read: Callable[[str, ArrayInfo, View, tuple[int, ...]], Extra] | None = None,
) -> Product:
    """Return a product whose epilogue is a function of all that comes after the sums; `given`: extras, each with its name.

    `read`: says how an array is read, if not as `extra_of` does.

    Raises:
        TypeError, ValueError, CompileError, OverflowError: as `hgemm`.
    """
    several = epilogue if isinstance(epilogue, tuple) else (Asked(_applied(epilogue)),)
    _require_sayable(product, several, shape)
    extras = [
        (read or extra_of)(name, one, view_of(name, one), shape) if isinstance(one, ArrayInfo) else number(one, name)
        for name, one in given
    ]
    own, calls, sums = len(extras), [], 1 if product.other is None else 2
    for one in several:
        called, numbers = call_of(one.function, sums, () if one.bare else extras[:own], len(extras), kept=kept)
        calls.append(called)
        extras += numbers
    scaling = _add_scaling(product, extras)
    loaded = product.c
    for k, extra in enumerate(extras[:own]):
        if loaded is None and extra.per == ELEMENT and _is_loadable(extra.view, product.out.scalar):
            loaded, extras[k] = extra.view, replace(extra, per=LOADED)
    after = arrange(several, calls, tuple(extras), scaling, product.out.scalar)
    nothing: dict[str, Any] = {"bias": None, "per": 0, "alpha": 1.0, "beta": 0.0}
    nothing |= {"scale_a": None, "scale_b": None} if product.blocks == NO_BLOCKS else {}
    return replace(product, c=loaded, epilogue=identity, after=after, **nothing)


def require_several(several: Sequence[Asked], shape: tuple[int, ...]) -> None:
    """Check how many epilogues there are, of a result of a shape.

    Raises:
        ValueError: they make too many results, or there is a reduction of a batch.
    """
    arrays = [one for one in several if one.op is None]
    if not arrays or len(arrays) > 2 or len(several) - len(arrays) > 1:
        raise ValueError("`epilogue` is one function, or a tuple of one or two, and at most one reduction")
    if len(several) > len(arrays) and len(shape) > 2:
        raise ValueError("a reduction is of one product, not of a batch: reduce the result")


def _require_sayable(product: Product, several: Sequence[Asked], shape: tuple[int, ...]) -> None:
    """Check what epilogues may be together, and beside which terms."""
    require_several(several, shape)
    if len(shape) > 2 and _PER[product.per] == ROW:
        raise ValueError(f"`bias` by rows of a batch: give it as `extra`, of shape {(*shape[:-1], 1)}, to `epilogue`")
    if product.other is None:
        return
    if product.blocks != NO_BLOCKS:
        raise ValueError("of two products there are no scales of blocks: they are one product's")
    if not (product.c is None and product.bias is None and product.scale_b is None):
        raise ValueError("of two products there is no `c`, `bias` or `scale_b`: give them as `extra`, to `epilogue`")
    if several[0].function.key is identity and len(several) == 1:
        raise ValueError("of two products `epilogue` makes one result: it is missing")


def _add_scaling(product: Product, extras: list[Extra]) -> Scaling:
    """Add what sums are multiplied with, and what is added to them, to extras; return which these are."""
    found: dict[str, Extra] = {}
    if product.alpha != 1.0:
        found["alpha"] = number(product.alpha, "alpha")
    apart = product.blocks != NO_BLOCKS  # then scales are of steps, not of sums
    named = {"scale_a": product.scale_a, "scale_b": product.scale_b, "bias": product.bias}
    for (name, view), per in zip(named.items(), (ROW, COLUMN, _PER[product.per]), strict=True):
        if view is not None and not (apart and name != "bias"):
            found[name] = Extra(ONCE if prod(view.shape) == 1 else per, FLOAT32, view)
    if product.c is not None:
        found |= {"beta": number(product.beta, "beta"), "c": Extra(LOADED, FLOAT32, product.c)}
    first = len(extras)
    extras += found.values()
    return Scaling(**{name: first + k for k, name in enumerate(found)})


def arrange(
    several: Sequence[Asked], calls: Sequence[Call], extras: tuple[Extra, ...], scaling: Scaling, result: str
) -> After:
    """Return what comes after the sums, of the functions and what they are given."""
    first, *others = (called for called, one in zip(calls, several, strict=True) if one.op is None)
    reduced = next(
        (Reduced(c, one.op, one.axis) for c, one in zip(calls, several, strict=True) if one.op is not None), None
    )
    names = iter((OUT, SECOND))
    order = tuple(next(names) if one.op is None else REDUCED for one in several)
    return After(first, extras, scaling, result, others[0] if others else None, reduced, order)


def with_several(decision: Decision, after: After, result: Result) -> Decision:
    """Return a decision with all results of several epilogues, in their order."""
    found, fill = {OUT: result, SECOND: result}, None
    if after.reduced is not None:
        found[REDUCED] = Result((result.shape[1 - after.reduced.axis],), np.dtype(np.float32))
        fill = after.reduced.operator.identity_of(np.dtype(np.float32))  # of no elements
    return replace(decision, results=tuple(found[name] for name in after.order), names=after.order, fill=fill)


def _is_loadable(view: View | None, scalar: str) -> bool:
    """Whether tensor copies bring an array as it lies, where a result of a type will be."""
    if view is None or view.scalar != scalar or not view.natural or not view.aligned:
        return False
    *apart, along = view.strides
    return along == view.size and all(step > 0 and step % PIECE == 0 for step in apart)


def call_of(
    what: Applied, sums: int, extras: Sequence[Extra], known: int, *, kept: bool, name: str = "epilogue",
    given: str = "the sum", places: str = "the row and the column",
) -> tuple[Call, tuple[Extra, ...]]:  # fmt: skip
    """Return the call of an epilogue, of so many sums and extras, and the numbers that it is given: the `known`-th and on.

    `name`, `given`, `places`: what errors call it, what it is given, and where that is.

    Raises:
        TypeError: it takes another number of arguments; it makes what is no number.
        CompileError: it does not take such numbers.
        OverflowError: a number that a lambda names is out of the range of the integers that it meets.
    """
    least, many = sums + len(extras), what.arity
    if many not in (least, least + 2):
        sum_ = given if sums == 1 else "the two sums"
        more = f" and {len(extras)} extra value{'s' * (len(extras) > 1)}" if extras else ""
        raise TypeError(
            f"`{name}` takes {many} argument{'s' * (many != 1)}, and is given {least}, {sum_}{more}; or {least + 2}, with "
            f"{places} behind {sum_}"
        )
    indices = many == least + 2
    scalars = (*(FLOAT32,) * sums, *((INT32,) * 2 if indices else ()), *(extra.scalar for extra in extras))
    function, result, numbers = what.of_types(scalars, kept)
    if isinstance(result, Struct) or not (result.kind in ("float", "bool") or result.integral):
        raise TypeError(f"`{name}` makes {result}, and an element of the result is a number")
    read = (*range(len(extras)), *range(known, known + len(numbers)))
    return Call(function, sums, indices, result, read), tuple(Extra(ONCE, kind, None, bits) for kind, bits in numbers)


def number(value: Any, name: str) -> Extra:
    """Return a number that is given as an extra.

    Raises:
        TypeError: it is none that 8 bytes hold.
    """
    if isinstance(value, bool | np.bool_):
        scalar = SCALARS["bool"]
    elif isinstance(value, float | np.floating):
        scalar = FLOAT32
    elif isinstance(value, int | np.integer):
        scalar = INT32
    else:
        raise TypeError(f"`{name}` is {type(value).__name__}, and no array or number")
    return Extra(ONCE, scalar, None, bits_as(value, scalar))


def extra_of(name: str, info: ArrayInfo, view: View, shape: tuple[int, ...]) -> Extra:
    """Return how an array is read beside a result of a shape.

    Raises:
        TypeError: its dtype is none that epilogues are given.
        ValueError: its shape is none of those.
    """
    scalar = scalar_called(info.scalar)
    if scalar is None or isinstance(scalar, Struct) or (scalar.kind == "float" and scalar.bits > 32):
        raise TypeError(
            f"`{name}` has dtype {info.scalar}, and an epilogue is given floats of up to 32 bits, integers or bools"
        )
    given = FLOAT32 if scalar.kind == "float" else scalar
    *batch, m, n = shape
    kinds = {ELEMENT: ((*batch, m, n),), COLUMN: ((n,), (1, n)), ROW: ((*batch, m, 1),), ONCE: ()}
    found = next((per for per, shapes in kinds.items() if info.shape in shapes), ONCE)
    if found == ONCE and prod(info.shape) != 1:
        if not batch and info.shape == (m,):
            raise ValueError(f"`{name}` has shape {(m,)}, which broadcasts along columns: one a row is {(m, 1)}")
        shapes = f"{shape}, {(*batch, m, 1)} (one a row), {(n,)} (one a column) or one element"
        raise ValueError(f"`{name}` must have shape {shapes}, beside a result of {shape}, not {info.shape}")
    return Extra(found, given, view)
