"""Sorted arrays merged: `merge` and `merge_by_key`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import OUT, Machine
from prism.lib.algorithms.merge import plan as plans
from prism.lib.algorithms.merge.order import comparator_of, kind_of
from prism.lib.algorithms.scan.api import dtype_of
from prism.lib.algorithms.select.plan import moved_as
from prism.runtime.arrays import ArrayInfo, require_axes


def merge(a: Any, b: Any, *, less: Any = None, descending: bool = False, out: Any = None, stream: Any = None) -> Any:
    """Return the elements of two sorted arrays, sorted.

    Parameters
    ----------
    a, b : array of NumPy, CuPy or torch
        Of one dimension and one dtype: bool, an integer, float or complex type, or a struct; each sorted in the order of the
        result.
    less : device function or lambda, optional
        Whether an element stands before another: a Prism device function of `thread[1]`, or a lambda, as of `prism.lib.lazy.map`,
        that takes two elements and returns a bool, a strict weak order. By default `<`, with NaN last; complex numbers by real
        and then by imaginary parts.
    descending : bool, default False
        Whether the arrays are sorted from the largest element on, NaN last all the same. Not together with `less`.
    out : array, optional
        Where to put the result: of the dtype of `a`, and as many elements as both have; C-contiguous.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the library and device of `a`, or `out`, if given. Of equal elements those of `a` come first, and each array's in their
        order.

    Raises
    ------
    TypeError
        `a` or `b` is no array; they are of two dtypes, or of one that has no order, as a struct without `less`; `less` is neither
        device function nor lambda, or is given with `descending`; `out` is of another dtype.
    ValueError
        `a` or `b` has not one dimension; `out` has another shape, or is not contiguous; `stream` for arrays on the host.

    Notes
    -----
    Nothing looks whether the arrays are sorted. A first kernel looks for where tiles of the result begin in both arrays, a second
    merges each tile in shared memory: each element is read once, and written once.

    Examples
    --------
    >>> prism.lib.merge(np.array([1, 4, 5]), np.array([1, 2, 9]))
    array([1, 1, 2, 4, 5, 9])
    """
    if less is not None:
        less = comparator_of(less)
    asked = ("merge", less, bool(descending))
    if stream is None and (known := repeat.run_many(asked, (a, b, out))) is not None:
        return known
    return _merge_anew(asked, a, b, less, descending, out, stream)


def _merge_anew(asked: tuple[Any, ...], a: Any, b: Any, less: Any, descending: bool, out: Any, stream: Any) -> Any:
    """Do what `merge` does where no earlier call was like it."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        first, second = arrays["a"], arrays["b"]
        kind = kind_of(first, "", less, descending, "a", "merge")
        _require_like(first, second, ("a", "b"))
        shape = (first.size + second.size,)
        if result is not None:
            arguments.require_result(result, first.scalar, shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        results = (Result(shape, dtype_of(first.scalar, first)),)
        return Decision(results, plan=plans.merge(kind, first.size, second.size, machine) if shape[0] else None)

    return call("merge", asked, {"a": a, "b": b}, decide, out, stream)


def merge_by_key(
    keys_a: Any,
    values_a: Any,
    keys_b: Any,
    values_b: Any,
    *,
    less: Any = None,
    descending: bool = False,
    stream: Any = None,
) -> Any:
    """Return the keys of two sorted arrays, sorted, and the values beside them, each where its key goes.

    Parameters
    ----------
    keys_a, keys_b : array of NumPy, CuPy or torch
        As `a` and `b` of `prism.lib.merge`.
    values_a, values_b : array
        As many as keys, of one dtype: of 1, 2, 4, 8 or 16 bytes.
    less, descending, stream
        As for `prism.lib.merge`.

    Returns
    -------
    keys, values : array
        Of the library and device of the keys. Of equal keys those of `keys_a` come first.

    Raises
    ------
    TypeError, ValueError
        As `prism.lib.merge`; values are of two dtypes, or of one whose elements have another size, or not as many as keys.

    Examples
    --------
    >>> prism.lib.merge_by_key(np.array([1, 4]), np.array([7, 8]), np.array([1, 2]), np.array([9, 6]))
    (array([1, 1, 2, 4]), array([7, 9, 6, 8]))
    """
    given = {"a": keys_a, "a_values": values_a, "b": keys_b, "b_values": values_b}
    called = {"a": "keys_a", "a_values": "values_a", "b": "keys_b", "b_values": "values_b"}
    if less is not None:
        less = comparator_of(less)
    asked = ("merge_by_key", less, bool(descending))
    if stream is None and (known := repeat.run_many(asked, (*given.values(), None))) is not None:
        return known
    return _merge_by_key_anew(asked, less, descending, stream, given, called)


def merge_by_key_into(out: Sequence[Any], a: Sequence[Any], b: Sequence[Any], descending: bool) -> Sequence[Any]:
    """Put keys and values merged by `merge_by_key` into two arrays, contiguous ones apart from the others; return these.

    Raises:
        TypeError, ValueError: as `merge_by_key`; `out` is of other dtypes or lengths.
    """
    given = dict(zip(("a", "a_values", "b", "b_values", plans.VALUES), (*a, *b, out[1]), strict=True))
    asked = ("merge_by_key_into", None, bool(descending))
    if repeat.run_many(asked, (*given.values(), out[0])) is None:
        called = {"a": "keys_a", "a_values": "values_a", "b": "keys_b", "b_values": "values_b", plans.VALUES: "out"}
        _merge_by_key_anew(asked, None, descending, None, given, called, out[0])
    return out


def _merge_by_key_anew(
    asked: tuple[Any, ...],
    less: Any,
    descending: bool,
    stream: Any,
    given: dict[str, Any],
    called: Any,
    out: Any = None,
) -> Any:
    """Do what `merge_by_key` does where no earlier call was like it; `out`: keys go there, and values to `given` memory."""

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        first, second, one, other = (arrays[name] for name in ("a", "b", "a_values", "b_values"))
        moved = moved_as(one, "values_a", "merge_by_key")
        kind = kind_of(first, moved, less, descending, "keys_a", "merge_by_key")
        _require_like(first, second, ("keys_a", "keys_b"))
        _require_like(one, other, ("values_a", "values_b"))
        for keys, values, name in ((first, one, "a"), (second, other, "b")):
            arguments.require_one_shape(keys, values, (f"keys_{name}", f"values_{name}"))
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        shape = (first.size + second.size,)
        plan = plans.merge(kind, first.size, second.size, machine) if shape[0] else None
        results = (Result(shape, dtype_of(first.scalar, first)), Result(shape, dtype_of(one.scalar, one)))
        if result is None:
            return Decision(results, (OUT, plans.VALUES), plan=plan)
        arguments.require_result(result, first.scalar, shape)
        arguments.require_result(arrays[plans.VALUES], one.scalar, shape)
        return Decision(results[:1], (OUT,), plan=plan)

    return call("merge_by_key", asked, given, decide, out, stream, called=called)


def _require_like(one: ArrayInfo, other: ArrayInfo, names: tuple[str, str]) -> None:
    """Check that arrays have one dimension and one dtype.

    Raises:
        TypeError: they are of two dtypes.
        ValueError: one has not one dimension.
    """
    require_axes(one, names[0], 1)
    require_axes(other, names[1], 1)
    if one.scalar != other.scalar:
        raise TypeError(f"`{names[1]}` must be of {one.scalar}, as `{names[0]}` is, not of {other.scalar}")


__all__ = ["merge", "merge_by_key"]
