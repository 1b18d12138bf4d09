"""What is made of the algorithms' cases, on any machine: calls, on arrays that lie in any way, and results compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism import lib
from prism.lib.cases import Case


def call(case: Case, arrays: Any, **more: Any) -> Any:
    """Make the call."""
    return getattr(lib, case.function)(*arrays, **case.options, **more)


def expected(case: Case, arrays: Any) -> Any:
    """What the call must give, or None where it must be a ValueError."""
    try:
        with np.errstate(over="ignore"):
            return case.oracle(*arrays)
    except ValueError:
        return None


def same(case: Case, found: Any, wanted: Any, host: Callable[[Any], Any] = np.asarray) -> None:
    """Compare results, of which `host` makes NumPy's arrays: dtypes, shapes, and every element."""
    several = isinstance(wanted, tuple)
    assert isinstance(found, tuple) == several
    pairs = [*zip(flat(found), flat(wanted), strict=True)] if several else [(found, wanted)]
    for number, (one, other) in enumerate(pairs):
        there = np.asarray(other)
        if case.cut and number < len(pairs) - 1:
            one = one[: there.shape[0]]  # what is behind was never written: initcheck sees it read
        here = np.asarray(host(one))
        assert here.dtype == there.dtype, (str(case), here.dtype, there.dtype)
        assert here.shape == there.shape, str(case)
        bad = np.flatnonzero((here != there).ravel())
        assert not bad.size, f"{case}: {bad.size} of {here.size} are wrong, first {bad[:4]}: {here.ravel()[bad[:4]]}"


def flat(results: Any) -> list[Any]:
    """Return results, and those in a list among them, one after the other."""
    return [one for result in results for one in (result if isinstance(result, list) else [result])]


def check(case: Case, arrays: Any, place: Callable[[Any], Any] = np.array, host: Any = np.asarray, **more: Any) -> None:
    """Make a call on arrays that `place` makes of NumPy's, and compare; a call that must raise must do so."""
    wanted = expected(case, arrays)
    if wanted is None:
        try:
            call(case, [place(x) for x in arrays], **more)
        except ValueError:
            return
        raise AssertionError(f"{case} of {[x.shape for x in arrays]} must be a ValueError")
    given = [place(x) for x in arrays]
    same(case, call(case, given, **more), wanted, host)
    for one, x in zip(given, arrays, strict=True):
        assert np.array_equal(host(one), x), f"{case} modified what it was given"


# -- Where arrays lie -----------------------------------------------------------------------------------------------------


def past(library: Any, x: Any, elements: int) -> Any:
    """An array that begins so many elements past an aligned one."""
    room = library.zeros(x.size + elements, x.dtype)
    found = room[elements:].reshape(x.shape)
    found[...] = library.asarray(x)
    return found


def gaps(library: Any, x: Any) -> Any:
    """Every second element of an array."""
    found = library.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)[..., ::2]
    found[...] = library.asarray(x)
    return found


def backwards(library: Any, x: Any) -> Any:
    """An array that goes down in memory."""
    return library.asarray(np.ascontiguousarray(x[::-1]))[::-1]


def turned(library: Any, x: Any) -> Any:
    """An array whose last axis is the outermost in memory."""
    return library.asarray(np.ascontiguousarray(x.T)).T


LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    **{f"{k} past": lambda library, x, k=k: past(library, x, k) for k in (1, 3, 4)},
    "gaps": gaps,
    "backwards": backwards,
    "turned": turned,
}
