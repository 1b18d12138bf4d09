"""Where results of functions may go instead of an array: nowhere, through a function, or to positions of an array."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from prism.host import lazies
from prism.host.lazies import Sink
from prism.host.overlap import overlap
from prism.lang.diagnostics import Span
from prism.lang.parse import syntax as s
from prism.lang.parse.views import Written, as_syntax, call, parameter
from prism.lang.parse.views import memory as memory_of
from prism.lang.surface import ptr
from prism.lang.types import SCALARS, Scalar
from prism.lang.types.perspective import THREAD
from prism.lang.types.structs import Struct
from prism.lib.lazy.array import convert, of
from prism.runtime.arrays import describe, require_contiguous, require_writable


class Discard(Sink):
    """Nowhere."""

    def write(self, result: Any, stream: Any) -> None:
        """Drop a result."""


class MapOut(Sink):
    """To an array, each element as a function of it."""

    def __init__(self, function: Any, y: Any) -> None:
        require_writable(describe(y, "y"), "y")
        self.function, self.y = function, y

    def write(self, result: Any, stream: Any) -> None:
        """Write the function of a result.

        Raises:
            TypeError, ValueError: the array is not of the function's dtype and the result's shape.
        """
        from prism.lib import lazy
        from prism.lib.algorithms.transform.api import evaluate

        evaluate(lazy.map(self.function, _array(result)), out=self.y, stream=stream)


class Put(Sink):
    """To positions of an array, in C order."""

    def __init__(self, y: Any, indices: Any) -> None:
        info = describe(y, "y")
        require_writable(info, "y")
        require_contiguous(info, "y")
        self.info, self.dtype, self.y, self.indices = info, of(y, "y").dtype, y, indices

    def write(self, result: Any, stream: Any) -> None:
        """Write a result's elements, each to its position, in one kernel.

        Raises:
            TypeError: its dtype is of another kind than the array's.
            ValueError: there are not as many positions.
            IndexError: one of them is not there, on the host.
        """
        from prism.lib import for_each
        from prism.lib.algorithms.take.api import require_indices
        from prism.lib.algorithms.take.compose import wrap_indices

        given, size = of(_array(result), "result"), math.prod(self.info.shape)
        if not np.can_cast(given.dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"the result is of {given.scalar}, which is not cast to {self.info.scalar} by the rule 'same_kind'"
            )
        if given.shape != tuple(self.indices.shape):
            raise ValueError(f"`indices` must have shape {given.shape}, as the result, not {tuple(self.indices.shape)}")
        require_indices(self.indices, size, "raise", None)
        if not given.size:
            return
        scalar = of(self.y, "y").scalar
        parts = [convert(given, scalar), wrap_indices(of(self.indices, "indices"), size, "raise")]
        for k, part in enumerate(parts):
            if any(overlap(leaf, self.info) for leaf in part.leaves):
                parts[k] = of(lazies.memory_of(describe(part)))  # made beside what it is of
        for_each(_scatter(scalar), given.size, *parts, self.y, stream=stream)


class ZipOut(Sink):
    """To several arrays, each a field of the elements, which are structs."""

    def __init__(self, arrays: tuple[Any, ...]) -> None:
        if not arrays:
            raise TypeError("`zip_out` takes at least one array")
        self.arrays = arrays
        self.infos = [describe(y, f"array {k + 1}") for k, y in enumerate(arrays)]
        for k, info in enumerate(self.infos):
            require_writable(info, f"array {k + 1}")
            require_contiguous(info, f"array {k + 1}")

    def write(self, result: Any, stream: Any) -> None:
        """Write a result's fields, in one kernel.

        Raises:
            TypeError: it is not of structs, or an array is not of the field's dtype.
            ValueError: there are not as many arrays as fields, or one is not of the result's shape.
        """
        from prism.lib import for_each

        given = of(_array(result), "result")
        if not isinstance(given.scalar, Struct):
            raise TypeError(f"the result is of {given.scalar}, and `zip_out` is for structs")
        fields = given.scalar.fields
        if len(fields) != len(self.infos):
            many = len(self.infos)
            raise ValueError(
                f"the result has {len(fields)} fields, and `zip_out` {many} array{'s' if many > 1 else ''}"
            )
        for k, (info, (_, scalar)) in enumerate(zip(self.infos, fields, strict=True)):
            if info.scalar != scalar.name:
                raise TypeError(f"array {k + 1} must have dtype {scalar}, not {info.scalar}")
            if info.shape != given.shape:
                raise ValueError(f"array {k + 1} must have shape {given.shape}, not {info.shape}")
        if any(overlap(leaf, info) for leaf in given.leaves for info in self.infos):
            given = of(lazies.memory_of(describe(given)))  # made beside what it is of
        for_each(_unzip(given.scalar), given.size, given, *self.arrays, stream=stream)


def _array(result: Any) -> Any:
    """Return a result as an array: NumPy's of no axes are scalars."""
    return np.asarray(result) if np.isscalar(result) else result


_AT = Span("sink", 1, 0, 1, 1)


def _element(name: str, at: s.Expr) -> s.Expr:
    return s.Subscript(base=s.Name(name=name, span=_AT), indices=(at,), span=_AT)


def _writer(name: str, reads: dict[str, Scalar], writes: dict[str, Scalar], body: tuple[s.Stmt, ...]) -> Written:
    """Return the device function of an index `i`, of memory that it reads, and of memory that it writes."""
    thread = as_syntax(THREAD, _AT)
    given = {x: memory_of(scalar, _AT) for x, scalar in reads.items()}
    given |= {y: call(ptr, (as_syntax(scalar, _AT),), _AT) for y, scalar in writes.items()}
    pointers = (
        s.Parameter(name=one, annotation=annotation, place=thread, default=None, span=_AT)
        for one, annotation in given.items()
    )
    function = s.Function(
        name=name, parameters=(parameter("i", SCALARS["int64"], thread, _AT), *pointers), result=None, result_place=None,
        extern=False, decorators=(), length=len(body), span=_AT, body=body,
    )  # fmt: skip
    return Written(function)


@lru_cache(maxsize=256)
def _unzip(scalar: Struct) -> Written:
    """Return the device function that writes element `i` of structs to an array for each field."""
    i = s.Name(name="i", span=_AT)
    targets = {f"y{k}": field for k, (_, field) in enumerate(scalar.fields)}
    body = tuple(
        s.Assign(target=_element(y, i), value=s.Attribute(base=_element("x", i), name=name, span=_AT), span=_AT)
        for y, name in zip(targets, scalar.names, strict=True)
    )
    return _writer("unzip", {"x": scalar}, targets, body)


@lru_cache(maxsize=256)
def _scatter(scalar: Scalar) -> Written:
    """Return the device function that writes element `i` of `x` to `y[to[i]]`."""
    i = s.Name(name="i", span=_AT)
    body = (s.Assign(target=_element("y", _element("to", i)), value=_element("x", i), span=_AT),)
    return _writer("scatter", {"x": scalar, "to": SCALARS["int64"]}, {"y": scalar}, body)


def map_out(function: Any, y: Any) -> Sink:
    """Return what a function of the library takes as `out`, so that a function of each element of its result goes to `y`.

    Parameters
    ----------
    function : device function, lambda or dtype
        As for `map`, of one number.
    y : array of NumPy, CuPy or torch
        Of the result's shape and of the function's dtype, C-contiguous.

    Returns
    -------
    Sink
        Any function that takes `out` takes it, and returns it; not `plan`, nor a cumulative sum with `include_initial`.

    Raises
    ------
    TypeError
        `y` is no array.
    ValueError
        It is read-only.

    Notes
    -----
    What is one lazy array, as of `evaluate`, `take` and `diff`, is written at once. Another result is made first, and read
    again: one pass more than a function that writes there itself.

    Examples
    --------
    >>> y = np.zeros(3)
    >>> out = prism.lib.cumsum(np.array([1.0, 2, 4]), out=prism.lib.lazy.map_out(lambda s: s / 2, y))
    >>> y
    array([0.5, 1.5, 3.5])
    """
    return MapOut(function, y)


def put(y: Any, indices: Any) -> Sink:
    """Return what a function of the library takes as `out`, so that element `i` of its result goes to ``y[indices[i]]``.

    Parameters
    ----------
    y : array of NumPy, CuPy or torch
        C-contiguous, its elements in C order.
    indices : array or lazy array
        Of integers, of the result's shape. Where two are the same, one of the elements stays.

    Returns
    -------
    Sink
        As of `map_out`.

    Raises
    ------
    TypeError
        `y` is no array. When the result is there: it can't be cast to the dtype of `y`, as floats to integers.
    ValueError
        It is read-only, or not contiguous. When the result is there: `indices` has another shape.
    IndexError
        On the host, when the result is there: a position is not in `y`.

    Notes
    -----
    As of `map_out`: at once, or with one pass more. On a GPU, where nothing looks, positions that are not in `y` wrap around.

    Examples
    --------
    >>> y = np.zeros(4, int)
    >>> out = prism.lib.cumsum(np.array([1, 2, 4]), out=prism.lib.lazy.put(y, np.array([3, 0, 1])))
    >>> y
    array([3, 7, 0, 1])
    """
    return Put(y, indices)


def zip_out(*arrays: Any) -> Sink:
    """Return what a function of the library takes as `out`, so that each field of its result's structs goes to an array.

    Parameters
    ----------
    *arrays : arrays of NumPy, CuPy or torch
        One for each field, of its dtype, of the result's shape, C-contiguous. Of complex results the two parts.

    Returns
    -------
    Sink
        As of `map_out`.

    Raises
    ------
    TypeError
        There is no array; an argument is none. When the result is there: it is not of structs, or an array is not of its field's
        dtype.
    ValueError
        One is read-only, or not contiguous. When the result is there: there are more or fewer arrays than fields, or one is of
        another shape; two share memory.

    Notes
    -----
    As of `map_out`: at once, or with one pass more, which writes all arrays.

    Examples
    --------
    >>> re, im = np.zeros(2), np.zeros(2)
    >>> out = prism.lib.cumsum(np.array([1 + 2j, 3 - 5j]), out=prism.lib.lazy.zip_out(re, im))
    >>> re, im
    (array([1., 4.]), array([ 2., -3.]))
    """
    return ZipOut(arrays)


discard = Discard()
"""As `out`: the result is made, and dropped."""


__all__ = ["discard", "map_out", "put", "zip_out"]
