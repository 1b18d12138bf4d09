"""Warnings of the host's floats: where they overflow NumPy says so, as `numpy.errstate` has it, and so do calls on its arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.host.lazies import LazyArray


def warn(method: str, given: Any, made: Any) -> None:
    """Warn of a result as NumPy's `reduce` or `accumulate`, the `method`, of the elements given does.

    The reference machine computes as the GPU does, and raises no flags: what happened follows from what was given and made.
    NumPy's own sum of numbers of the same kind then warns, or raises, by the error state of the caller.

    Raises:
        FloatingPointError: a float overflowed, or became NaN, and `numpy.errstate` asks for an error.
    """
    if made.dtype.kind in "iu" and given.dtype.kind == "f":
        given.astype(made.dtype)  # warns of what is no such integer
    if made.dtype.kind not in "fc" or np.isfinite(made).all():
        return
    held_nan, held_inf = (bool(test(given).any()) for test in (np.isnan, np.isinf))
    nan, inf = bool(np.isnan(made).any()) and not held_nan, bool(np.isinf(made).any())
    again = getattr(np.add, method)
    if (inf or nan) and not held_inf:
        again(np.full(2, np.finfo(made.dtype).max, made.dtype))
    if nan:
        again(np.array([np.inf, -np.inf], made.dtype))


def warn_as(made: Any, numpys: Callable[[], Any], *given: Any) -> Any:
    """Return a result; of NumPy's arrays one that is not finite is warned of as NumPy's own call does, which is made for that.

    Raises:
        FloatingPointError: as `warn`.
    """
    on_host = isinstance(made, np.ndarray | np.generic) and not any(isinstance(one, LazyArray) for one in given)
    if on_host and made.dtype.kind in "fc" and not np.isfinite(made).all():
        numpys()
    return made


__all__ = ["warn", "warn_as"]
