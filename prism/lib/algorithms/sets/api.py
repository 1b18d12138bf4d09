"""Arrays as sets, with NumPy's signatures and errors: `unique` and its kin, `isin`, and what two arrays have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

from prism.host import arguments
from prism.host.axes import normal_axis
from prism.lib.algorithms.select.api import select
from prism.lib.algorithms.select.calls import fill_of, mode_of
from prism.lib.algorithms.sets import compose
from prism.lib.algorithms.sets.rows import unique_parts
from prism.lib.algorithms.sort.api import sort


class UniqueAllResult(NamedTuple):
    """What `prism.lib.unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What `prism.lib.unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What `prism.lib.unique_inverse` returns."""

    values: Any
    inverse_indices: Any


# -- Unique elements ------------------------------------------------------------------------------------------------------


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    stream: Any = None,
) -> Any:
    """Return the unique elements of an array, in ascending order: `numpy.unique`, `cupy.unique`.

    Parameters
    ----------
    ar : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of bools or numbers.
    return_index : bool, default False
        Also return where, in C order or along the axis, each of them stands first.
    return_inverse : bool, default False
        Also return the number of each element of `ar` among them.
    return_counts : bool, default False
        Also return how often each of them comes.
    axis : int, optional
        Along which axis: the unique parts of `ar`, as rows, in the order of their elements. By default its elements.
    equal_nan : bool, default True
        Whether all NaN are one element. One or many, they stand last. Of parts along an axis each differs, as NumPy has it.
    sorted : bool, default True
        They are sorted either way.
    size : int, optional
        How many elements the results have: the first ones, and `fill_value` behind them. The call does not wait for a GPU then.
    fill_value : number, optional
        See `size`; by default the smallest element, 0 where there is none. Behind indices stands the first one, behind counts 0.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    unique : array
        Of one dimension, or with `axis` of as many as `ar`, of its library, device and dtype. Of equal elements the first one
        stands, of 0.0 and -0.0 too.
    unique_indices, unique_inverse, unique_counts : array of int64
        Each if asked for; they come in a tuple. The inverse has the shape of `ar`, and does not depend on `size`.

    Raises
    ------
    TypeError
        `ar` is no array, or of a dtype that has no order here, as structs; `size` is no integer, or `fill_value`
        no number of that dtype.
    OverflowError
        `fill_value` is out of the range of the dtype.
    ValueError
        `size` is given with an `axis` of several, or negative; `stream` for arrays on the host. Of an axis that
        `ar` does not have: `numpy.exceptions.AxisError`.

    Notes
    -----
    `prism.lib.sort`, and one pass that keeps the first of equal elements: which they are is compared where it is read. Indices
    and the inverse are made by `prism.lib.sort_by_key` with positions, of 4 bytes below 2^31 elements. Along an axis it is
    `prism.lib.lexsort`, one sort for each element of a part: for parts of few elements.

    Examples
    --------
    >>> prism.lib.unique(np.array([3, 1, 3, 2]))
    array([1, 2, 3])
    >>> prism.lib.unique(np.array([3, 1, 3, 2]), return_index=True, return_counts=True)
    (array([1, 2, 3]), array([1, 3, 0]), array([1, 1, 2]))
    >>> prism.lib.unique(np.array([3, 1, 3, 2]), size=5, fill_value=9)
    array([1, 2, 3, 9, 9])
    """
    shape = arguments.facts_of(ar, "ar").shape
    mode = mode_of(False, size, fill_value)
    wanted = bool(return_index), bool(return_inverse), bool(return_counts)
    if axis is not None and (along := normal_axis(axis, len(shape))) + len(shape) != 1:
        if size is not None:
            raise ValueError("`size` is for elements, without `axis`")
        parts = unique_parts(compose.array_of(ar, "ar", stream), along, wanted, stream)
        return parts.values if not any(wanted) else tuple(one for one in parts if one is not None)
    x = compose.flat_of(ar, "ar", stream)
    if size is not None and fill_value is not None:
        fill_of(fill_value, arguments.facts_of(x, "ar"))
    found = compose.unique_elements(x, tuple(shape), wanted, bool(equal_nan), mode.size, fill_value, stream)
    if not any(wanted):
        return found.values
    return tuple(one for one in found if one is not None)


def unique_all(x: Any, *, stream: Any = None) -> UniqueAllResult:
    """Return the unique elements of an array, where they stand first, the inverse, and how often they come: `numpy.unique_all`.

    Parameters
    ----------
    x, stream
        As `ar` and `stream` of `prism.lib.unique`. Every NaN is an element of its own.

    Returns
    -------
    UniqueAllResult
        A named tuple of `values`, `indices`, `inverse_indices` and `counts`, as of `prism.lib.unique`.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.unique`.

    Examples
    --------
    >>> prism.lib.unique_all(np.array([3, 1, 3])).counts
    array([1, 2])
    """
    return UniqueAllResult(*_unique(x, (True, True, True), stream))


def unique_counts(x: Any, *, stream: Any = None) -> UniqueCountsResult:
    """Return the unique elements of an array, and how often they come: `numpy.unique_counts`.

    `values` and `counts` of `prism.lib.unique_all`, and its parameters and errors.

    Examples
    --------
    >>> values, counts = prism.lib.unique_counts(np.array([3, 1, 3]))
    >>> values, counts
    (array([1, 3]), array([1, 2]))
    """
    found = _unique(x, (False, False, True), stream)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(x: Any, *, stream: Any = None) -> UniqueInverseResult:
    """Return the unique elements of an array, and the number of each element among them: `numpy.unique_inverse`.

    `values` and `inverse_indices` of `prism.lib.unique_all`, and its parameters and errors.

    Examples
    --------
    >>> prism.lib.unique_inverse(np.array([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    found = _unique(x, (False, True, False), stream)
    return UniqueInverseResult(found.values, found.inverse)


def unique_values(x: Any, *, stream: Any = None) -> Any:
    """Return the unique elements of an array, in ascending order: `numpy.unique_values`.

    `values` of `prism.lib.unique_all`, and its parameters and errors.

    Examples
    --------
    >>> prism.lib.unique_values(np.array([3, 1, 3]))
    array([1, 3])
    """
    return _unique(x, (False, False, False), stream).values


def _unique(x: Any, wanted: tuple[bool, bool, bool], stream: Any) -> compose.Unique:
    given = compose.array_of(x, "x", stream)
    flat = compose.flatten(given, "x", stream)
    return compose.unique_elements(flat, tuple(given.shape), wanted, False, None, None, stream)


# -- What is found in sets ------------------------------------------------------------------------------------------------


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None,
    stream: Any = None,
) -> Any:  # fmt: skip
    """Return which elements of an array another one has: `numpy.isin`, `cupy.isin`.

    Parameters
    ----------
    element : array of NumPy, CuPy or torch, lazy array or number
        Of any shape, of bools or numbers.
    test_elements : array, lazy array or number
        Likewise, of the library and device of `element`. Elements are compared in the dtype that NumPy's `result_type` gives.
    assume_unique : bool, default False
        Makes no difference.
    invert : bool, default False
        Return which it does not have.
    kind : {None, "sort", "table"}, optional
        Makes no difference: `test_elements` are sorted. "table" is for bools and integers.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of bool, of the shape of `element`, and of its library and device. NaN is in no set.

    Raises
    ------
    TypeError
        One of the two is no array, or of a dtype that has no order here, as structs; they are of two libraries.
    ValueError
        `kind` is another, or "table" for floats; `stream` for arrays on the host.

    Notes
    -----
    `prism.lib.sort` of `test_elements`, `prism.lib.searchsorted` of each element among them, and a kernel that compares it to
    what is there. Nothing waits for a GPU.

    Examples
    --------
    >>> prism.lib.isin(np.array([[3, 1], [4, 1]]), np.array([1, 2, 3]))
    array([[ True,  True],
           [False,  True]])
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: {kind!r}. Please use None, 'sort' or 'table'.")
    x = compose.array_of(element, "element", stream)
    table = compose.flat_of(test_elements, "test_elements", stream)
    if kind == "table" and not all(arguments.facts_of(one, "element").dtype.kind in "biu" for one in (x, table)):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None for kind."
        )
    compose.require_together(x, table, ("element", "test_elements"))
    return compose.marks(x, table, bool(invert), stream)


def in1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None, stream: Any = None
) -> Any:  # fmt: skip
    """Return which elements of an array, in C order, another one has: `cupy.in1d`.

    It is `prism.lib.isin` of `ar1` as one dimension, with its parameters and errors.

    Examples
    --------
    >>> prism.lib.in1d(np.array([[3, 1], [4, 1]]), np.array([1, 2, 3]))
    array([ True,  True, False,  True])
    """
    x, table = compose.flat_of(ar1, "ar1", stream), compose.flat_of(ar2, "ar2", stream)
    compose.require_together(x, table, ("ar1", "ar2"))
    return isin(x, table, assume_unique, invert, kind=kind, stream=stream)


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False, *, stream: Any = None
) -> Any:
    """Return the elements that two arrays have in common, each once, in ascending order: `numpy.intersect1d`.

    Parameters
    ----------
    ar1, ar2 : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of bools, integers or floats; of one library and device. They are converted to the dtype that NumPy's
        `result_type` gives of both.
    assume_unique : bool, default False
        Whether neither has equal elements; nothing looks whether it is so.
    return_indices : bool, default False
        Also return where in each array, in C order, the elements stand first.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of one dimension. NaN is not common to two arrays.
    comm1, comm2 : array of int64
        If `return_indices`: positions in `ar1`, and in `ar2`.

    Raises
    ------
    TypeError
        `ar1` or `ar2` is no array, or of a dtype that has no order here, as structs; they are of two libraries.
    ValueError
        They are on two GPUs; `stream` for arrays on the host.

    Notes
    -----
    Both are sorted, as by `prism.lib.unique`, and put together by `prism.lib.merge`: common elements stand beside each other.

    Examples
    --------
    >>> prism.lib.intersect1d(np.array([1, 3, 4, 3]), np.array([3, 1, 2, 1]))
    array([1, 3])
    """
    one, other = compose.two_of(ar1, ar2, ("ar1", "ar2"), stream)
    if not return_indices:
        return compose.common_elements(_set(one, assume_unique, stream), _set(other, assume_unique, stream), stream)
    first, second = _with_places(one, assume_unique, stream), _with_places(other, assume_unique, stream)
    return compose.common_with_places(first, second, stream)


def union1d(ar1: Any, ar2: Any, *, stream: Any = None) -> Any:
    """Return the elements of two arrays, each once, in ascending order: `numpy.union1d`.

    Parameters
    ----------
    ar1, ar2, stream
        As for `prism.lib.intersect1d`.

    Returns
    -------
    array
        Of one dimension. All NaN are one.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.intersect1d`.

    Examples
    --------
    >>> prism.lib.union1d(np.array([-1, 0, 1]), np.array([-2, 0, 2]))
    array([-2, -1,  0,  1,  2])
    """
    one, other = compose.two_of(ar1, ar2, ("ar1", "ar2"), stream)
    return compose.unique_values(compose.join_two(one, other, stream), True, stream)


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, stream: Any = None) -> Any:
    """Return the elements of one array that another does not have, each once, in ascending order: `numpy.setdiff1d`.

    Parameters
    ----------
    ar1, ar2 : array of NumPy, CuPy or torch, or lazy array
        As for `prism.lib.isin`.
    assume_unique : bool, default False
        Keep the elements of `ar1` as they stand, also equal ones.
    stream : stream or int, optional
        As for `prism.lib.intersect1d`.

    Returns
    -------
    array
        Of one dimension, of the dtype of `ar1`. NaN stays, since it is in no set.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.intersect1d`.

    Examples
    --------
    >>> prism.lib.setdiff1d(np.array([1, 2, 3, 2, 4, 1]), np.array([3, 4, 5, 6]))
    array([1, 2])
    """
    x, table = compose.flat_of(ar1, "ar1", stream), compose.flat_of(ar2, "ar2", stream)
    compose.require_together(x, table, ("ar1", "ar2"))
    if not assume_unique:
        x = compose.unique_values(x, True, stream)
    return select(x, compose.marks(x, table, True, stream), stream=stream)


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, stream: Any = None) -> Any:
    """Return the elements that one of two arrays has, and not both, each once, in ascending order: `numpy.setxor1d`.

    Parameters
    ----------
    ar1, ar2, assume_unique, stream
        As for `prism.lib.intersect1d`.

    Returns
    -------
    array
        Of one dimension. NaN that both have stands twice: it is not common to two arrays.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.intersect1d`.

    Examples
    --------
    >>> prism.lib.setxor1d(np.array([1, 2, 3, 2, 4]), np.array([2, 3, 5, 7, 5]))
    array([1, 4, 5, 7])
    """
    one, other = compose.two_of(ar1, ar2, ("ar1", "ar2"), stream)
    return compose.lone_elements(_set(one, assume_unique, stream), _set(other, assume_unique, stream), stream)


def _set(x: Any, sorted_only: bool, stream: Any) -> Any:
    """Return the elements of an array in their order; without equal ones, unless it has none."""
    return sort(x, stream=stream) if sorted_only else compose.unique_values(x, True, stream)


def _with_places(x: Any, sorted_only: bool, stream: Any) -> tuple[Any, Any]:
    """Return these elements, and where each of them stands first."""
    if sorted_only:
        return compose.sort_with_positions(x, stream)
    found = compose.unique_elements(x, tuple(x.shape), (True, False, False), True, None, None, stream)
    return found.values, found.indices


__all__ = [
    "UniqueAllResult", "UniqueCountsResult", "UniqueInverseResult", "in1d", "intersect1d", "isin", "setdiff1d", "setxor1d",
    "union1d", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip
