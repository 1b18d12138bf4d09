"""Histograms: how many elements are in each bin, or the sum of their weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from prism.host import arguments as host_arguments
from prism.host import repeat
from prism.lib.algorithms.histogram import arguments, calls


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None, *, stream: Any = None
) -> tuple[Any, Any]:
    """Return how many elements are in each bin, and the bins' edges: `numpy.histogram`.

    Parameters
    ----------
    a : array or lazy array
        Of any shape; of bool, an integer type, bfloat16, float16, float32 or float64. NaN is in no bin.
    bins : int or array, default 10
        How many bins of equal width; or their edges, which increase. Each bin has its lower edge, and the last one both.
    range : (low, high), optional
        The outermost edges of even bins; by default the smallest and the largest element, which the call waits for.
    density : bool, optional
        Return the density instead: its integral over all bins is 1.
    weights : array or lazy array, optional
        What each element counts, of the shape of `a`: of an integer type, bool, a float type or complex, whose parts are added
        one after the other.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    counts, edges : array
        Of the library of `a`. Counts are int64, or of the dtype of `weights`; densities float64. There is one more edge.

    Raises
    ------
    TypeError
        `a` is complex, or of a dtype that is not supported; `bins` is no integer and no array, or a string, which would have the
        number of bins estimated.
    ValueError
        `bins` is not positive, has more than one axis, does not increase or has NaN; `range` is turned round, or not finite, as
        elements where there is no range; there are more bins than numbers in the range; `weights` has another shape.
    RuntimeError
        It must wait, and a CUDA graph is being captured; or nothing is decided as yet.

    Notes
    -----
    The counts are NumPy's bit for bit: its rule for bins, with its roundings, is computed where rounding may matter. Numbers of
    bfloat16 are computed in float32. Weights are added in any order: integers as int64, floats as float64, so that the last bits
    of their sums may differ from call to call. With a `range`, or with edges on the host, nothing is waited for.

    Examples
    --------
    >>> prism.lib.histogram(np.array([1, 2, 1, 4]), bins=3)
    (array([2, 1, 1]), array([1., 2., 3., 4.]))
    """
    if stream is None and weights is None and not density and type(bins) is int and type(range) in (tuple, list):
        asked = ("histogram", bins, *map(host_arguments.exactly, range))
        known: tuple[Any, Any] | None = repeat.run(asked, a)
        if known is not None:
            return known
    if stream is None and weights is None and not density and type(bins) is type(a):
        between = calls.repeat_between(a, bins)
        if between is not None:
            return between, bins
    a, weights = arguments.array_of(a), None if weights is None else arguments.array_of(weights)
    info = host_arguments.facts_of(a, "a")
    kind = arguments.dtype_of(info, "a")
    if info.scalar == "bool":
        warnings.warn("Converting input from bool to uint8 for compatibility.", RuntimeWarning, stacklevel=2)
    given, weighs = {"x": a}, None
    if weights is not None:
        given["weights"] = weights
        arguments.require_shape(weights, info, "`weights` should have the same shape as `a`.")
        weighs = host_arguments.facts_of(weights, "weights")
    where = calls.locate(info, given)
    with arguments.working(where, stream):
        size = arguments.number_of_bins(bins)
        every = [given]  # of complex weights each part is added for itself
        if weighs is not None and weighs.dtype.kind == "c":
            every = [{"x": a, "weights": part} for part in arguments.parts_of(weights)]
        if size is None:
            later = arguments.are_checked_later(bins, where)
            edges, edge_kind = arguments.edges_of(bins, where, looked_at=not later)
            sums = [calls.count_between(one, edges, edge_kind, kind, stream, not later) for one in every]
        else:
            limits = arguments.outer_edges(a, info, where, range)
            found = [calls.count_even(one, kind, limits, size, stream) for one in every]
            sums, edges = [counts for counts, _ in found], found[0][1]
        counts = sums[0]
        if weighs is not None:
            counts = (
                arguments.join_parts(sums[0], sums[1], where, weighs.dtype)
                if len(sums) > 1
                else calls.as_weights(counts, weighs)
            )
        return (arguments.density(counts, [edges]) if density else counts), edges


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None, *, stream: Any = None
) -> tuple[Any, Any, Any]:
    """Return how many points are in each rectangle of a grid, and its edges along both axes: `numpy.histogram2d`.

    Parameters
    ----------
    x, y : array or lazy array
        The points' coordinates: of one dimension and one size; of what dtypes `prism.lib.histogram` takes.
    bins : int, array or pair of these, default 10
        Of both axes, or of each: as of `prism.lib.histogram`.
    range : pair of (low, high), optional
        The outermost edges along each axis; one may be None.
    density, weights, stream
        As of `prism.lib.histogramdd`.

    Returns
    -------
    counts, x_edges, y_edges : array
        Counts are float64, with a row for each bin of `x`.

    Raises
    ------
    TypeError, ValueError
        As of `prism.lib.histogramdd`; `x` and `y` have two sizes.

    Examples
    --------
    >>> counts, rows, columns = prism.lib.histogram2d(np.array([0, 0, 1]), np.array([0, 5, 5]), bins=2)
    >>> counts
    array([[1., 1.],
           [0., 1.]])
    """
    x, y = arguments.array_of(x), arguments.array_of(y)
    if not arguments.same_size(x, y):
        raise ValueError("`x` and `y` must have the same length.")
    if number := arguments.number_of(bins):
        bins = bins if number == 2 else [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, density, weights, stream=stream)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None, *, stream: Any = None
) -> tuple[Any, list[Any]]:
    """Return how many points are in each cell of a grid of several dimensions, and its edges: `numpy.histogramdd`.

    Parameters
    ----------
    sample : array of shape (N, D), or sequence of D arrays or lazy arrays
        The points: a row for each, or each coordinate's array; of what dtypes `prism.lib.histogram` takes.
    bins : int, or sequence of D ints or arrays, default 10
        How many bins there are along each axis, or their edges.
    range : sequence of D pairs, optional
        The outermost edges along each axis; one may be None: then they are the smallest and the largest coordinate, which the
        call waits for.
    density : bool, optional
        Return the density instead: its integral over all cells is 1.
    weights : array or lazy array, optional
        What each point counts: N numbers, added in any order as float64.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    counts, edges : array, list of arrays
        Counts are float64, of D dimensions; edges are one array for each.

    Raises
    ------
    TypeError
        Coordinates are complex, or of a dtype that is not supported; a number of bins is no integer.
    ValueError
        There are not as many `bins` or ranges as dimensions, a number of bins is not positive, edges don't increase, a range is
        turned round or not finite; `weights` has another size; there are 2^30 cells or more.
    RuntimeError
        A CUDA graph is being captured.

    Notes
    -----
    As NumPy's, it finds bins by their edges, in all dimensions. The place of each point's cell is kept in 4 bytes on the way.

    Examples
    --------
    >>> counts, edges = prism.lib.histogramdd(np.array([[0, 0], [0, 5], [1, 5]]), bins=(2, 1))
    >>> counts
    array([[2.],
           [1.]])
    """
    points = arguments.coordinates_of(sample)
    infos = [host_arguments.facts_of(point, "sample") for point in points]
    kinds = [arguments.dtype_of(info, "sample") for info in infos]
    given = {f"x{k}": point for k, point in enumerate(points)}
    every = [*infos]
    if weights is not None:
        weights = arguments.array_of(weights)
        arguments.require_real(host_arguments.facts_of(weights, "weights"))
        arguments.require_shape(weights, infos[0], "The `weights` and `sample` don't have the same length.")
        given["weights"] = weights
        every.append(host_arguments.facts_of(weights, "weights"))
    where = next((info for info in every if calls.is_located(info)), infos[0])
    with arguments.working(where, stream):
        edges, compared = arguments.edges_along(points, infos, kinds, bins, range, where)
        given |= {f"edges{k}": one for k, one in enumerate(edges)}
        counts = arguments.cast(calls.count_cells(given, compared, stream), where, np.dtype(np.float64))
        return (arguments.density(counts, edges) if density else counts), edges


def bincount(x: Any, weights: Any = None, minlength: Any = 0, *, length: Any = None, stream: Any = None) -> Any:
    """Return how often each integer occurs, from 0 on: `numpy.bincount`.

    Parameters
    ----------
    x : array or lazy array
        Of one dimension; of an integer type or bool, not negative.
    weights : array or lazy array, optional
        What each element counts, of the size of `x`: of an integer type, bool or a float type.
    minlength : int, default 0
        The least number of counts.
    length : int, optional
        The number of counts, as of `jax.numpy.bincount`: then nothing is waited for, and the call can be captured in a CUDA
        graph. Integers that are not below it, or negative, are left out.
    stream : stream or int, optional
        As for `prism.lib.histogram`.

    Returns
    -------
    array
        Of the library of `x`, int64; with `weights` float64. One more than the largest element, which the call waits for.

    Raises
    ------
    TypeError
        `x` is of floats, or complex; `weights` are complex; `minlength` or `length` is no integer.
    ValueError
        `x` has negative elements, or other than one dimension; `weights` has another size; `minlength` or `length` is negative.
    RuntimeError
        As of `prism.lib.histogram`.

    Notes
    -----
    Weights are added as float64, in any order: the last bits of their sums may differ from call to call.

    Examples
    --------
    >>> prism.lib.bincount(np.array([0, 1, 1, 3, 2, 1]))
    array([1, 3, 1, 1])
    """
    if stream is None and weights is None and (known := _repeat_bincount(x, minlength, length)) is not None:
        return known
    nothing = isinstance(x, list | tuple) and not x
    x, weights = arguments.array_of(x), None if weights is None else arguments.array_of(weights)
    info = host_arguments.facts_of(x, "x")
    if len(info.shape) != 1:
        raise ValueError("`x`: object too deep for desired array" if info.shape else "`x`: object of too small depth")
    if info.scalar != "bool" and info.dtype.kind not in "iu" and not nothing:
        raise TypeError(f"Cannot cast array data of `x` from {info.dtype} to int64 according to the rule 'safe'")
    given = {"x": x}
    if weights is not None:
        arguments.require_real(host_arguments.facts_of(weights, "weights"))
        arguments.require_shape(weights, info, "The `weights` and `x` don't have the same length.")
        given["weights"] = weights
    least, where = arguments.length_of(minlength, "minlength"), calls.locate(info, given)
    with arguments.working(where, stream):
        if length is not None:
            counts = calls.count_integers(given, arguments.length_of(length, "length"), stream)
        elif not info.size:
            counts = calls.count_integers({"x": x}, least, stream)
        else:
            counts = calls.count_all(given, info, least, stream)
        if weights is None or not info.size:
            return counts
        return arguments.cast(counts, where, np.dtype(np.float64))


def _repeat_bincount(x: Any, least: Any, length: Any) -> Any:
    """Do what an earlier `bincount` did for such an array; None where there was none, or what it did is not enough."""
    if length is not None:
        return repeat.run(("bincount", length), x) if type(length) is int else None
    if type(least) is not int:
        return None
    known = repeat.run(calls.guess(least), x)
    return known if known is not None and known.shape[0] <= calls.most_counted(least) else None


__all__ = ["bincount", "histogram", "histogram2d", "histogramdd"]
