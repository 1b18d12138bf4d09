"""Device functions and lambdas, applied to lazy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from prism.lang.diagnostics import Span
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.parse import syntax as s
from prism.lang.parse.views import Written, as_syntax, call, parameter
from prism.lang.surface import Kernel
from prism.lang.types import Scalar
from prism.lang.types.perspective import THREAD
from prism.lib.lazy.array import Lazy, compute

_NOWHERE = Span("lazy array", 1, 0, 1, 1)


def apply(what: Any, parts: Sequence[Lazy]) -> Lazy:
    """Return a device function of lazy arrays of one shape.

    Raises:
        CompileError: it does not take such numbers, or gives none.
        TypeError: it gives what is no element.
    """
    return compute(what, result_of(what, tuple(part.scalar for part in parts)), parts)


@lru_cache(maxsize=1024)
def result_of(what: Any, scalars: tuple[Scalar, ...]) -> Scalar:
    """Return the type of what a device function makes of numbers of such types: it is checked here."""
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
