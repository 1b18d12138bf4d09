"""`prism.lib.for_each`: a device function called for each index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from prism.host.lazies import LazyArray
from prism.lang import surface
from prism.lang.diagnostics import Span
from prism.lang.parse import syntax as s
from prism.lang.parse.views import Written, as_syntax, call, memory, parameter
from prism.lang.surface import Kernel
from prism.lang.types import SCALARS, Scalar
from prism.lang.types.perspective import GRID, THREAD
from prism.lang.types.structs import scalar_called
from prism.runtime.arrays import describe

_THREADS = 256
_NOWHERE = Span("for_each", 1, 0, 1, 1)


def for_each(function: Kernel, n: int | Sequence[int], *arrays: Any, stream: Any = None) -> None:
    """Call a device function for each index below `n`, or for each index of a shape, in any order.

    Parameters
    ----------
    function : device function
        Of one thread. It takes an int64 for each axis, and then memory for each array, `x: ptr(T) @ thread[1]`, or
        `x: ptr(const(T)) @ thread[1]` of what it only reads. It returns nothing.
    n : int or sequence of int
        How many calls there are, or the shape whose indices they are for, the last axis fastest.
    *arrays : arrays of NumPy, CuPy or torch
        C-contiguous, of any shape: the function's memory is their elements. Where it only reads, also lazy arrays.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Raises
    ------
    CompileError
        The function does not take these arguments, or breaks a rule.
    TypeError
        `function` is no device function; an argument is no array; some are on the host and some on a GPU; a lazy array where the
        function writes.
    ValueError
        An extent is negative; an array is not contiguous, or read-only where the function writes; one that is written overlaps
        another.

    Notes
    -----
    Nothing orders calls: two must not write the same element, nor one read what another writes. `docs/lazy.md` has an example.
    """
    from prism.lang.check import parsed_of  # only here: whoever uses the library alone does without it

    if not isinstance(function, Kernel) or function.kind != "device":
        raise TypeError("`function` must be a device function, marked @prism.device")
    shape = (n,) if isinstance(n, int) else tuple(map(int, n))
    if any(extent < 0 for extent in shape):
        raise ValueError(f"`n` has a negative extent: {n}")
    parameters = parsed_of(function).parameters
    if len(parameters) != len(shape) + len(arrays):
        raise TypeError(
            f"`{function.__name__}` takes {len(parameters)} arguments, and is called with {len(shape)} indices and "
            f"{len(arrays)} arrays"
        )
    kinds = []
    for array, p in zip(arrays, parameters[len(shape) :], strict=True):
        scalar = array.scalar if isinstance(array, LazyArray) else scalar_called(describe(array, p.name).scalar)
        if scalar is None:
            raise TypeError(f"`{p.name}` has dtype {array.dtype}, which kernels do not have")
        kinds.append((scalar, _is_read(function, p.annotation)))
    calls = math.prod(shape)
    if calls:
        inner = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
        blocks = -(-calls // _THREADS)
        _kernel(function, len(shape), tuple(kinds))[blocks, _THREADS](*arrays, calls, *shape, *inner, stream=stream)


def _is_read(function: Kernel, annotation: s.Expr) -> bool:
    """Whether a parameter is memory that is only read, `ptr(const(T))`."""
    from prism.lang.check.nested import named_object

    match annotation:
        case s.Call(arguments=(s.Call(function=inner),)):
            return named_object(function, inner) is surface.const
        case _:
            return False


@lru_cache(maxsize=1024)
def _kernel(function: Kernel, axes: int, kinds: tuple[tuple[Scalar, bool], ...]) -> Kernel:
    """Return the kernel that calls a function: `(arrays, calls, extents, elements behind each index)`."""
    from prism.lang.check import parsed_of

    int64, at = SCALARS["int64"], _NOWHERE
    grid, thread = (as_syntax(replace(unit, named=True), at) for unit in (GRID, THREAD))

    def name(text: str) -> s.Name:
        return s.Name(name=text, span=at)

    def binary(op: str, left: s.Expr, right: s.Expr) -> s.Expr:
        return s.Binary(op=op, left=left, right=right, span=at)

    def declare(text: str, value: s.Expr) -> s.Stmt:
        return s.Declare(
            name=text, name_span=at, annotation=as_syntax(int64, at), place=thread, value=value, span=at
        )  # fmt: skip

    arrays = [p.name for p in parsed_of(function).parameters[axes:]]
    indices = [binary("%", binary("//", name("call"), name(f"inner{k}")), name(f"extent{k}")) for k in range(axes)]
    calling = s.Evaluate(value=call(function, (*indices, *map(name, arrays)), at), span=at)
    once = s.If(condition=binary("<", name("call"), name("calls")), then=(calling,), otherwise=(), span=at)
    body: s.Stmt = s.Group(unit=thread, body=(once,), span=at)
    for array, (_, read) in zip(arrays, kinds, strict=True):
        if not read:
            zero, allow = s.Literal(value=0, span=at), s.Literal(value="allow", span=at)
            body = s.Partition(
                source=name(array), unit=thread, offset=zero, races=allow, name=array, name_span=at, body=(body,), span=at
            )  # fmt: skip
    numbers = ["calls", *(f"extent{k}" for k in range(axes)), *(f"inner{k}" for k in range(axes))]
    pointers = [
        s.Parameter(
            name=text, annotation=memory(scalar, at) if read else call(surface.ptr, (as_syntax(scalar, at),), at),
            place=grid, default=None, span=at,
        )
        for text, (scalar, read) in zip(arrays, kinds, strict=True)
    ]  # fmt: skip
    made = s.Function(
        name="for_each", parameters=(*pointers, *(parameter(text, int64, grid, at) for text in numbers)), result=None,
        result_place=None, body=(declare("call", call(surface.id, (), at)), body), extern=False, decorators=(), length=4, span=at,
    )  # fmt: skip
    return Written(made, requires=(GRID, THREAD))


__all__ = ["for_each"]
