"""Calls of what puts elements in order, with NaN, zeros of both signs and wrong arguments: for NumPy's arrays and for CuPy's.

A call is a function of a library, `prism.lib` or NumPy or CuPy, and of what makes arrays of NumPy's. CuPy takes fewer arguments
than NumPy, so calls are kept to what both take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[Any, Callable[[Any], Any]], Any]

NAN = np.array([2.0, np.nan, -0.0, -np.nan, 0.0, -np.inf, np.inf, 1.0, np.nan], np.float32)
WIDE = np.array([[3.0, np.nan, 1.0], [np.nan, np.nan, np.nan], [0.5, -0.0, 0.0], [2.0, 2.0, -1.0]])
HALF = NAN.astype(np.float16)
COMPLEX = np.array([1 + 2j, complex(np.nan, 0), complex(0, np.nan), -1 + 0j, complex(np.nan, np.nan), 1 - 2j])
INTS = np.array([5, 3, 3, -1, 7, 0], np.int32)
NAMED = {"nan": NAN, "half": HALF, "rows": WIDE}

VALUES: dict[str, Run] = {
    **{f"sort {name}": lambda xp, to, x=x: xp.sort(to(x)) for name, x in NAMED.items()},
    **{f"argsort {name}": lambda xp, to, x=x: xp.argsort(to(x)) for name, x in NAMED.items()},
    "sort along the first axis": lambda xp, to: xp.sort(to(WIDE), axis=0),
    "sort of all": lambda xp, to: xp.sort(to(WIDE), axis=None),
    "argsort of all": lambda xp, to: xp.argsort(to(WIDE), axis=None),
    "sort complex": lambda xp, to: xp.sort(to(COMPLEX)),
    "sort_complex": lambda xp, to: xp.sort_complex(to(INTS)),
    "lexsort": lambda xp, to: xp.lexsort(to(np.stack([WIDE[:, 0], WIDE[:, 2]]))),
    "partition": lambda xp, to: xp.partition(to(NAN), 4)[4],
    "argpartition": lambda xp, to: to(NAN)[xp.argpartition(to(NAN), 4)[4]],
    **{
        f"{name} {of}": lambda xp, to, name=name, x=x: getattr(xp, name)(to(x))
        for name in ("median", "nanmedian") for of, x in NAMED.items()
    },
    "median along the last axis": lambda xp, to: xp.median(to(WIDE), axis=1),
    "nanmedian along the last axis": lambda xp, to: xp.nanmedian(to(WIDE), axis=1),
    "quantile": lambda xp, to: xp.quantile(to(WIDE), 0.3, axis=0),
    "percentile": lambda xp, to: xp.percentile(to(WIDE[2:]), 30, axis=1, keepdims=True),
    "unique": lambda xp, to: xp.unique(to(NAN)),
    "unique, every NaN": lambda xp, to: xp.unique(to(NAN), equal_nan=False),
    "unique counts": lambda xp, to: xp.unique(to(NAN), return_counts=True)[1],
    "isin": lambda xp, to: xp.isin(to(NAN), to(NAN[:4])),
    "intersect1d": lambda xp, to: xp.intersect1d(to(INTS), to(INTS[2:] + 1)),
    "setdiff1d": lambda xp, to: xp.setdiff1d(to(INTS), to(INTS[:2])),
    "setxor1d": lambda xp, to: xp.setxor1d(to(np.unique(INTS)), to(np.unique(INTS + 1))),
    "union1d": lambda xp, to: xp.union1d(to(NAN[:2]), to(NAN[4:7])),
    "nothing sorted": lambda xp, to: xp.sort(to(NAN[:0])),
    "nothing unique": lambda xp, to: xp.unique(to(NAN[:0])),
}  # fmt: skip
"""What both libraries have a result for."""

WRONG: dict[str, Run] = {
    "sort of no axis": lambda xp, to: xp.sort(to(np.float32(1))),
    "argsort of an axis too many": lambda xp, to: xp.argsort(to(INTS), axis=1),
    "sort of an axis too many": lambda xp, to: xp.sort(to(WIDE), axis=-3),
    "sort along half an axis": lambda xp, to: xp.sort(to(WIDE), axis=0.5),
    "lexsort of an axis too many": lambda xp, to: xp.lexsort(to(WIDE), axis=1),
    "partition behind the end": lambda xp, to: xp.partition(to(INTS), 6),
    "partition before the beginning": lambda xp, to: xp.partition(to(INTS), -7),
    "argpartition behind the end": lambda xp, to: xp.argpartition(to(INTS), 6),
    "argpartition of an axis too many": lambda xp, to: xp.argpartition(to(INTS), 1, axis=1),
    "median of an axis too many": lambda xp, to: xp.median(to(WIDE), axis=2),
    "median of one axis twice": lambda xp, to: xp.median(to(WIDE), axis=(0, 0)),
    "quantile above one": lambda xp, to: xp.quantile(to(INTS), 1.5),
    "percentile below nothing": lambda xp, to: xp.percentile(to(INTS), -1),
    "quantile by no method": lambda xp, to: xp.quantile(to(INTS), 0.5, method="somehow"),
    "quantile of an axis too many": lambda xp, to: xp.quantile(to(INTS), 0.5, axis=1),
}
"""What is an error."""


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a result, or which error."""

    value: Any = None
    error: type[BaseException] | None = None


def outcome(run: Run, library: Any, to: Callable[[Any], Any], back: Callable[[Any], Any]) -> Outcome:
    """Make a call of a library; `to` makes its arrays of NumPy's, `back` NumPy's of its results."""
    try:
        with np.errstate(all="ignore"):
            return Outcome(np.asarray(back(run(library, to))))
    except (TypeError, ValueError, IndexError) as error:
        return Outcome(error=type(error))


def kind_of(error: type[BaseException] | None) -> str:
    """Return which of Python's errors it is: an AxisError is two of them."""
    if error is None:
        return "none"
    return " ".join(one.__name__ for one in (TypeError, ValueError, IndexError) if issubclass(error, one))
