"""Device functions and lambdas, applied to lazy arrays; and what `//`, `%` and `**` apply."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from prism.lang import complex64, complex128, float32, float64
from prism.lang.diagnostics import Span
from prism.lang.intrinsics import TABLE
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.parse import syntax as s
from prism.lang.parse.lambdas import device_function
from prism.lang.parse.views import Written, as_syntax, call, parameter
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS, Scalar
from prism.lang.types.perspective import THREAD
from prism.lang.types.structs import Struct
from prism.lib.lazy.array import Lazy, between, compute, convert, of_number, wholes
from prism.runtime.viewed import kept_result

_NOWHERE = Span("lazy array", 1, 0, 1, 1)


def apply(what: Any, parts: Sequence[Lazy]) -> Lazy:
    """Return a device function of lazy arrays of one shape.

    Raises:
        CompileError: it does not take such numbers, or gives none.
        TypeError: it gives what is no element.
    """
    return compute(what, result_of(what, tuple(part.scalar for part in parts), on_gpu(parts)), parts)


def on_gpu(parts: Sequence[Lazy]) -> bool:
    """Whether lazy arrays read memory of a GPU: then what the checker says of functions is kept for the next process."""
    return any(leaf.device is not None for part in parts for leaf in part.leaves)


@lru_cache(maxsize=1024)
def result_of(what: Any, scalars: tuple[Scalar, ...], kept: bool = False) -> Scalar:
    """Return the type of what a device function makes of numbers of such types: it is checked here, unless it is `kept`."""
    return kept_result(what, scalars, lambda: result_of(what, scalars)) if kept else _check_result(what, scalars)


def _check_result(what: Any, scalars: tuple[Scalar, ...]) -> Scalar:
    from prism.lang.check import check  # only here: whoever uses the library alone does without it

    thread = as_syntax(THREAD, _NOWHERE)
    names = [f"x{k}" for k in range(len(scalars))]
    value = call(what, tuple(s.Name(name=name, span=_NOWHERE) for name in names), _NOWHERE)
    function = s.Function(
        name="apply", parameters=tuple(parameter(name, one, thread, _NOWHERE) for name, one in zip(names, scalars, strict=True)),
        result=None, result_place=None, body=(s.Return(value=value, span=_NOWHERE),), extern=False, decorators=(), length=1,
        span=_NOWHERE,
    )  # fmt: skip
    found = check(Written(function))[-1].result
    if not isinstance(found, Scalar) or found.stored:
        raise TypeError(f"the function gives {found}, and an element is a number or a struct")
    return found


def device(what: Any) -> Any:
    """Return what a kernel may call: a device function, one of `prism.lang`'s, or a type.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(what, Kernel) and what.kind == "device":
        return what
    if isinstance(what, Intrinsic | Scalar):
        return what
    name = getattr(what, "__name__", type(what).__qualname__)
    raise TypeError(f"`function` must be a device function of Prism's, one of prism.lang's, or a lambda, not {name}")


# -- Division of integers, and powers -------------------------------------------------------------------------------------

# Where signs differ, NumPy's quotient is one less than C's; what 0 divides is 0.
_WHOLE = {
    ("//", "int"): lambda a, b: 0 if b == 0 else a // b - (1 if a % b != 0 and (a < 0) != (b < 0) else 0),
    ("%", "int"): lambda a, b: 0 if b == 0 else a % b + (b if a % b != 0 and (a < 0) != (b < 0) else 0),
    ("//", "uint"): lambda a, b: 0 if b == 0 else a // b,
    ("%", "uint"): lambda a, b: 0 if b == 0 else a % b,
    ("**", "square"): lambda a: a * a,
    ("**", "times"): lambda a, b: a * b,
}


def whole(op: str, left: Lazy, right: Lazy, number: Any) -> Lazy:
    """Return a quotient or remainder of integers, toward minus infinity, or a power; `number`: the exponent, where it is one.

    Raises:
        TypeError: a power of integers whose exponents are an array.
        ValueError: one whose exponent is negative.
    """
    if op != "**":
        return _applied((op, left.scalar.kind), left, right)
    if not left.scalar.integral:
        wide = SCALARS["float64" if left.scalar.bits == 64 else "float32"]
        return convert(apply(TABLE["pow"], (convert(left, wide), convert(right, wide))), left.scalar)
    if number is None:
        raise TypeError(
            "`**` of integers takes a number as exponent: cast them to float64, or map a function of your own"
        )
    if number < 0:
        raise ValueError("integers to negative integer powers are not allowed")
    return _power(left, int(number))


def _power(x: Lazy, exponent: int) -> Lazy:
    if exponent < 2:
        return x if exponent else of_number(1, x.scalar, x.shape)
    found = _applied(("**", "square"), _power(x, exponent // 2))
    return _applied(("**", "times"), found, x) if exponent % 2 else found


def _applied(what: tuple[str, str], *parts: Lazy) -> Lazy:
    return convert(apply(_compiled(what), parts), parts[0].scalar)


@lru_cache(maxsize=16)
def _compiled(what: tuple[str, str]) -> Kernel:
    return device_function(_WHOLE[what])  # type: ignore[arg-type]


# -- Complex numbers ------------------------------------------------------------------------------------------------------

_COMPLEX: dict[str, Any] = {
    "complex64": lambda z: complex64(float32(z.real), float32(z.imag)),
    "complex128": lambda z: complex128(float64(z.real), float64(z.imag)),
}


def complex_of(x: Lazy, scalar: Struct) -> Lazy:
    """Return complex numbers as others."""
    return apply(_to_complex(scalar.tag), (x,))


@lru_cache(maxsize=2)
def _to_complex(tag: str) -> Kernel:
    return device_function(_COMPLEX[tag])


wholes.append(whole)
between.append(complex_of)
