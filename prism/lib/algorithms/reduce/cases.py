"""Calls of the reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import INTEGERS, LONG_PLANES, NUMBERS, PLANES, Case, exact, numbers

_DTYPES = (*NUMBERS, "bool")


def _sum(x: Any, axis: int | None = None) -> Any:
    return np.asarray(np.sum(exact(x), axis)).astype(np.sum(x[:0]).dtype)


def _whole(name: str, dtypes: tuple[str, ...] = _DTYPES) -> Case:
    """Return the call of a function of NumPy's name, of a whole array."""
    peers = {
        "cupy": lambda cupy, x: getattr(cupy, name)(x),
        "torch": lambda torch, x: getattr(torch, name)(x),
    }
    return Case(name, numbers, _sum if name == "sum" else getattr(np, name), {}, dtypes, peers=peers)


def _along(name: str, axis: int) -> Case:
    """Return the call along an axis of a plane."""
    function = _sum if name == "sum" else getattr(np, name)
    return Case(name, numbers, lambda x: function(x, axis=axis), {"axis": axis}, _DTYPES, PLANES, LONG_PLANES)


CASES = (
    *(_whole(name) for name in ("sum", "max", "min", "argmax", "argmin", "any", "all", "count_nonzero")),
    _whole("prod", INTEGERS),
    *(_along(name, axis) for name in ("sum", "max", "argmin", "any") for axis in (0, 1)),
    *(
        Case(name, numbers, oracle, {}, _DTYPES, out=False, planned=False)
        for name, oracle in (
            ("minmax", lambda x: (x.min(), x.max())),
            ("argminmax", lambda x: (x.argmin(), x.argmax())),
        )
    ),
    *(
        Case(
            "minmax",
            numbers,
            lambda x, axis=axis: (x.min(axis), x.max(axis)),
            {"axis": axis},
            _DTYPES,
            PLANES,
            LONG_PLANES,
            out=False,
            planned=False,
        )
        for axis in (0, 1)
    ),
    Case("reduce", numbers, lambda x: np.bitwise_xor.reduce(x, dtype=x.dtype), {"op": "bitwise_xor"}, INTEGERS),
    Case("reduce", numbers, lambda x: x.sum(1, x.dtype), {"axis": 1}, INTEGERS, PLANES, LONG_PLANES),
)
