"""Where results of functions may go instead of an array: nowhere, through a function, or to positions of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.host import memory
from prism.host.lazies import Sink
from prism.lib.lazy.array import Lazy
from prism.runtime.arrays import describe, require_contiguous, require_writable
from prism.runtime.streams import choose_stream


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

        evaluate(
            lazy.map(self.function, np.asarray(result) if np.isscalar(result) else result), out=self.y, stream=stream
        )


class Put(Sink):
    """To positions of an array, in C order."""

    def __init__(self, y: Any, indices: Any) -> None:
        info = describe(y, "y")
        require_writable(info, "y")
        require_contiguous(info, "y")
        self.info, self.y, self.indices = info, y, indices

    def write(self, result: Any, stream: Any) -> None:
        """Write a result's elements, each to its position.

        Raises:
            ValueError: there are not as many positions.
            IndexError: one of them is not there, on the host.
        """
        from prism.lib.algorithms.transform.api import evaluate

        places = evaluate(self.indices, stream=stream) if isinstance(self.indices, Lazy) else self.indices
        if np.shape(result) != tuple(places.shape):
            raise ValueError(f"`indices` must have shape {np.shape(result)}, as the result, not {tuple(places.shape)}")
        with memory.working(self.info, None if stream is None else choose_stream(stream, (self.info,))):
            self.y.reshape(-1)[places.reshape(-1)] = result.reshape(-1)


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
    The result is made first, and read again: one pass more than a function that writes there itself.

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
        `y` is no array.
    ValueError
        It is read-only, or not contiguous. When the result is there: `indices` has another shape.
    IndexError
        On the host, when the result is there: a position is not in `y`.

    Examples
    --------
    >>> y = np.zeros(4, int)
    >>> out = prism.lib.cumsum(np.array([1, 2, 4]), out=prism.lib.lazy.put(y, np.array([3, 0, 1])))
    >>> y
    array([3, 7, 0, 1])
    """
    return Put(y, indices)


discard = Discard()
"""As `out`: the result is made, and dropped."""


__all__ = ["discard", "map_out", "put"]
