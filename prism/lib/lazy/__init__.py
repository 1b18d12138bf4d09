"""Lazy arrays: what functions of the library take for an array, and compute where they read it.

    L = prism.lib.lazy
    prism.lib.sum(L.map(lambda a, b: a * b + 1, x, y))       # one kernel: x and y are read once, nothing is written between

A lazy array is of NumPy arrays, of CuPy's or of torch's, all of one device, and of numbers. It holds no elements and never
changes: what its arrays hold when it is read counts. `prism.lib.evaluate` makes an array of it.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from prism.lang.surface.views import Compute, Number
from prism.lang.types import SCALARS, Scalar
from prism.lang.types.structs import Struct, scalar_called, struct_of
from prism.lib.algorithms.transform import api as _evaluating  # noqa: F401 -- what takes memory alone takes that
from prism.lib.lazy import facts as _facts  # noqa: F401 -- says how they are described
from prism.lib.lazy.array import (
    INT64,
    POSITION,
    Lazy,
    at,
    bits_of,
    broadcast,
    broadcast_all,
    compute,
    convert,
    merge,
    of_number,
)
from prism.lib.lazy.array import of as _of
from prism.lib.lazy.closures import Applied
from prism.lib.lazy.expressions import make
from prism.lib.lazy.sinks import discard, map_out, put, zip_out
from prism.lib.thread.operators import shuffle_position


def of(x: Any) -> Lazy:
    """Return an array as a lazy array: arithmetic on that is lazy.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch
        Of any shape and strides; of bool, 8 to 64 bits, float16, bfloat16, complex, or a struct. Only what begins inside of an
        element, or is in another byte order, is copied.

    Returns
    -------
    Lazy
        Of its shape and dtype.

    Raises
    ------
    TypeError
        It is no array, or of a dtype that kernels do not have.

    Examples
    --------
    >>> x = prism.lib.lazy.of(np.array([3, 1, 4]))
    >>> int(prism.lib.sum(x * x + 1))
    29
    """
    return _of(x)


def map(function: Any, *arrays: Any) -> Lazy:
    """Return a function of the elements of arrays, one of each.

    Parameters
    ----------
    function : device function, lambda or dtype
        A device function of Prism's of numbers (`@prism.device`, `@requires(thread[1])`), one of `prism.lang`'s as
        `prism.lang.sqrt`, or a lambda, whose expression is compiled as Prism's: `/` of integers is C's. What a lambda names
        outside is a number, a dtype or a device function, as it is when `map` is called. Numbers are arguments of the kernel,
        of the dtypes that arithmetic on lazy arrays would give them.
    *arrays : arrays, lazy arrays or numbers
        Of shapes that broadcast to one, as NumPy's.

    Returns
    -------
    Lazy
        Of the shape that they broadcast to, and of the function's result.

    Raises
    ------
    CompileError
        The lambda has what Prism does not have, or names an array: the construct and its place are named. The function does not
        take such numbers.
    TypeError
        `function` is none of these; an argument is no array; some are on the host and some on a GPU, or of two libraries.
    OverflowError
        A number that a lambda names is out of the range of the integers that it meets.
    ValueError
        Their shapes do not broadcast; they are on two GPUs.

    Examples
    --------
    >>> prism.lib.scan(prism.lib.lazy.map(lambda a, b: a * b + 1, np.array([3, 1, 4]), np.array([1, 5, 9])))
    array([ 4, 10, 47])
    """
    if not arrays:
        raise TypeError("`map` takes a function, and at least one array")
    return Applied(function).map_over(*arrays)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Lazy:
    """Return evenly spaced numbers: `numpy.arange`, of no memory.

    Parameters
    ----------
    start, stop, step : numbers
        As of `numpy.arange`; of floats, element `i` is ``start + i * step``, computed in float64.
    dtype : dtype, optional
        By default int64, or float64 where one of the numbers is a float.

    Returns
    -------
    Lazy
        Of one dimension. A function takes it to be where its other arrays are; alone it is on the host.

    Raises
    ------
    TypeError
        `dtype` is no integer's or float's.
    ValueError
        `step` is 0.

    Examples
    --------
    >>> int(prism.lib.sum(prism.lib.lazy.arange(5)))
    10
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("`step` must not be 0")
    real = builtins.any(isinstance(n, float | np.floating) for n in (start, stop, step))
    scalar = _scalar(dtype, "float64" if real else "int64")
    if not scalar.integral and scalar.kind != "float":
        raise TypeError(f"`dtype` is {scalar}, and arange counts in integers or floats")
    many = max(0, int(np.ceil((stop - start) / step)) if real else -((int(stop) - int(start)) // -int(step)))
    kind = SCALARS["float64"] if real else INT64
    given = (float(start), float(step)) if real else (int(start), int(step))
    steps = make(Compute, "*", (make(Compute, kind, (POSITION,)) if real else POSITION, make(Number, 1, kind)))
    value = make(Compute, scalar, (make(Compute, "+", (make(Number, 0, kind), steps)),))
    return Lazy(value, scalar, (many,), (), tuple(bits_of(n) for n in given))


def full(shape: Any, value: Any, dtype: Any = None) -> Lazy:
    """Return one number, over and over: `numpy.full`, of no memory.

    Parameters
    ----------
    shape : int or tuple of int
        Of the result.
    value : number
        Each element.
    dtype : dtype, optional
        By default that of the number: int64, float64 or bool.

    Returns
    -------
    Lazy
        Of `shape`. It is where other arrays are, as `arange`.

    Raises
    ------
    TypeError
        `value` is no integer, float or bool.
    ValueError
        `shape` has a negative extent.
    OverflowError
        `value` is out of the range of an integer dtype.

    Examples
    --------
    >>> prism.lib.scan(prism.lib.lazy.full(4, 2))
    array([2, 4, 6, 8])
    """
    extents = tuple(builtins.map(int, shape)) if isinstance(shape, Sequence) else (int(shape),)
    if builtins.any(extent < 0 for extent in extents):
        raise ValueError(f"`shape` has a negative extent: {shape}")
    return of_number(value, None if dtype is None else _scalar(dtype), extents)


def zip(*arrays: Any, names: Sequence[str] = ()) -> Lazy:
    """Return structs of the elements of arrays, one of each: what operators of pairs take.

    Parameters
    ----------
    *arrays : arrays, lazy arrays or numbers
        Of shapes that broadcast to one; not of structs.
    names : sequence of str, optional
        The fields; by default f0, f1 and so on, as NumPy's.

    Returns
    -------
    Lazy
        Of a struct dtype as `numpy.dtype(..., align=True)` makes it.

    Raises
    ------
    TypeError
        An argument is no array, or of structs.
    ValueError
        Shapes do not broadcast; there are not as many names as arrays.

    Examples
    --------
    >>> prism.lib.lazy.zip(np.array([1.5, 2.5]), np.array([7, 8])).dtype.names
    ('f0', 'f1')
    """
    parts = broadcast_all(arrays)
    fields = tuple(names) or tuple(f"f{k}" for k in range(len(parts)))
    if len(fields) != len(parts):
        raise ValueError(f"{len(fields)} names for {len(parts)} arrays")
    found = struct_of(np.dtype([(n, part.dtype) for n, part in builtins.zip(fields, parts, strict=True)], align=True))
    if found is None or builtins.any(isinstance(part.scalar, Struct) for part in parts):
        raise TypeError("`zip` is of arrays of integers, floats and bools")
    return compute(found, found, parts)


def take(x: Any, indices: Any) -> Lazy:
    """Return the elements of an array at positions: `numpy.take(x, indices)`.

    Parameters
    ----------
    x : array or lazy array
        Its elements in C order.
    indices : array or lazy array
        Of integers; a negative one counts from the end.

    Returns
    -------
    Lazy
        Of the shape of `indices`.

    Raises
    ------
    TypeError
        `indices` is not of integers.
    IndexError
        An index of a NumPy array is out of range. On a GPU nothing looks: such a read is of no meaning, and may end the
        process's use of the GPU.

    Examples
    --------
    >>> int(prism.lib.sum(prism.lib.lazy.take(np.array([3, 1, 4]), np.array([0, 2, -1]))))
    11
    """
    source, places = _of(x), _of(indices, "indices")
    if not places.scalar.integral:
        raise TypeError(f"`indices` must be of integers, not of {places.scalar}")
    if isinstance(indices, np.ndarray) and indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < -source.size or high >= source.size:
            bad = high if high >= source.size else low
            raise IndexError(f"index {bad} is out of bounds for {source.size} elements")
    index = convert(places, INT64)
    if places.scalar.kind == "int":
        (value,), leaves, numbers = merge([index])
        size = make(Number, len(numbers), INT64)
        negative = make(Compute, "<", (value, make(Number, len(numbers) + 1, INT64)))
        value = make(Compute, "if", (negative, make(Compute, "+", (value, size)), value))
        index = Lazy(value, INT64, index.shape, leaves, (*numbers, bits_of(source.size), 0))
    return at(source, index)


def flip(x: Any) -> Lazy:
    """Return the elements of an array in the other order, along all axes: `numpy.flip(x)`.

    Parameters
    ----------
    x : array or lazy array
        Of any shape.

    Returns
    -------
    Lazy
        Of its shape and dtype.

    Raises
    ------
    TypeError
        `x` is no array.

    Examples
    --------
    >>> prism.lib.scan(prism.lib.lazy.flip(np.array([3, 1, 4])))
    array([4, 5, 8])
    """
    source = _of(x)
    last = Lazy(
        make(Compute, "-", (make(Number, 0, INT64), POSITION)), INT64, source.shape, (), (bits_of(source.size - 1),)
    )
    return at(source, last)


def permutation(n: int, seed: int = 0) -> Lazy:
    """Return the numbers from 0 to `n - 1` in another order, each once: positions for `take`, of no memory.

    Parameters
    ----------
    n : int
        How many.
    seed : int, default 0
        Which order: the same for the same `n` and `seed`, on every machine.

    Returns
    -------
    Lazy
        Of int64, of one dimension. It is where other arrays are, as `arange`.

    Raises
    ------
    ValueError
        `n` is negative.

    Notes
    -----
    A Feistel network of the position's bits, applied again while it gives what is not below `n`: less than four times on average.
    Orders are random as statistics goes, for samples and batches; they are not all `n!` orders, and no secret.

    Examples
    --------
    >>> int(prism.lib.sum(prism.lib.lazy.permutation(10)))
    45
    """
    if n < 0:
        raise ValueError(f"`n` must not be negative: {n}")
    half = max(1, (max(int(n) - 1, 1).bit_length() + 1) // 2)
    given = (int(n), half, int(seed))
    numbers = tuple(make(Number, k, INT64) for k in range(3))
    return Lazy(
        make(Compute, shuffle_position, (POSITION, *numbers)),
        INT64,
        (int(n),),
        (),
        tuple(bits_of(one) for one in given),
    )


def shuffle(x: Any, seed: int = 0) -> Lazy:
    """Return the elements of an array in another order, each once: `take(x, permutation(x.size, seed))`.

    Parameters
    ----------
    x : array or lazy array
        Of any shape; its elements are taken in C order.
    seed : int, default 0
        Which order, as for `permutation`.

    Returns
    -------
    Lazy
        Of the dtype of `x`, of one dimension.

    Raises
    ------
    TypeError
        `x` is no array.

    Examples
    --------
    >>> int(prism.lib.sum(prism.lib.lazy.shuffle(np.array([3, 1, 4]))))
    8
    """
    source = _of(x)
    return at(source, permutation(source.size, seed))


def cast(x: Any, dtype: Any) -> Lazy:
    """Return the elements of an array in another type, as C converts: floats become integers toward zero.

    Parameters
    ----------
    x : array or lazy array
        Of bool, integers or floats.
    dtype : dtype
        NumPy's, torch's, or a name.

    Returns
    -------
    Lazy
        Of its shape.

    Raises
    ------
    TypeError
        To or from a struct or a complex number; `dtype` is none.

    Examples
    --------
    >>> int(prism.lib.sum(prism.lib.lazy.cast(np.array([1.75, 2.5]), "int32")))
    3
    """
    return convert(_of(x), _scalar(dtype))


def broadcast_to(x: Any, shape: Any) -> Lazy:
    """Return an array repeated to a shape: `numpy.broadcast_to`.

    Parameters
    ----------
    x : array, lazy array or number
        What is repeated.
    shape : int or tuple of int
        Of the result.

    Returns
    -------
    Lazy
        Of `shape`.

    Raises
    ------
    TypeError
        `x` is no array.
    ValueError
        It does not broadcast to `shape`.

    Examples
    --------
    >>> prism.lib.sum(prism.lib.lazy.broadcast_to(np.array([3, 1, 4]), (2, 3)), axis=1)
    array([8, 8])
    """
    source = _of(x)
    extents = tuple(builtins.map(int, shape)) if isinstance(shape, Sequence) else (int(shape),)
    if np.broadcast_shapes(source.shape, extents) != extents:
        raise ValueError(f"shape {source.shape} does not broadcast to {extents}")
    return broadcast(source, extents)


def _scalar(dtype: Any, default: str = "") -> Scalar:
    """Return the kernel's type that an argument names."""
    from prism.host.arguments import scalar_of

    name = default if dtype is None else scalar_of(dtype)
    found = scalar_called(name)
    if found is None or found.stored:
        raise TypeError(f"`dtype` is {dtype}, which lazy arrays do not have")
    return found


__all__ = [
    "Lazy",
    "arange",
    "broadcast_to",
    "cast",
    "discard",
    "flip",
    "full",
    "map",
    "map_out",
    "of",
    "put",
    "permutation",
    "shuffle",
    "take",
    "zip",
    "zip_out",
]
