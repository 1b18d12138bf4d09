"""Calls of selections: about a third of the elements are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.kernels.select import is_set
from prism.lib.cases import LONG_PLANES, NUMBERS, PLANES, Case, numbers

_DTYPES = (*NUMBERS, "complex64", "bool")
_SIZE, _FILL = 300, 1


def _with_mask(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (*numbers(random, shape, dtype), random.random(shape) < 1 / 3)


def _with_condition(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return _with_mask(random, shape, dtype)[::-1]


def _some(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    x, mask = _with_mask(random, shape, dtype)
    return (x * mask.astype(dtype),)


def _runs(x: Any) -> Any:
    return x[np.concatenate([np.ones(min(1, x.size), bool), x[1:] != x[:-1]])]


def _with_keys(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (np.cumsum(random.random(shape) < 1 / 7).astype(np.int32) % 5, *numbers(random, shape, dtype))


def _firsts(keys: Any, x: Any) -> tuple[Any, Any]:
    edges = np.concatenate([np.ones(min(1, keys.size), bool), keys[1:] != keys[:-1]])
    return keys[edges], x[edges]


def _fixed(oracle: Callable[..., Any]) -> Callable[..., Any]:
    """Return what `size=` makes of an oracle's result, or of each of several."""

    def fixed(*given: Any) -> Any:
        found = oracle(*given)
        if isinstance(found, tuple):
            return tuple(fixed_one(one) for one in found)
        return fixed_one(found)

    def fixed_one(found: Any) -> Any:
        full = np.full((_SIZE, *found.shape[1:]), _FILL, found.dtype)
        full[: found.shape[0]] = found[:_SIZE]
        return full

    return fixed


def _counted(oracle: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*given: Any) -> Any:
        found = oracle(*given)
        every = found if isinstance(found, tuple) else (found,)
        return (*every, np.array([every[0].shape[0]]))

    return counted


def _ways(function: str, make: Any, oracle: Any, **more: Any) -> tuple[Case, ...]:
    """Return the calls whose result is cut, counted and of a fixed size."""
    options, peers = more.pop("options", {}), more.pop("peers", {})
    sized = {"size": _SIZE, "fill_value": _FILL, **options}
    return (
        Case(function, make, oracle, options, out=False, planned=False, peers=peers, **more),
        Case(function, make, _counted(oracle), {"count": True, **options}, out=False, cut=True, **more),
        Case(function, make, _fixed(oracle), sized, out=False, **more),
    )


_PLANES: dict[str, Any] = {"dtypes": ("int32", "bool"), "shapes": PLANES, "large": LONG_PLANES}
CASES = (
    *_ways(
        "compress", _with_condition, lambda condition, x: x[condition], dtypes=_DTYPES,
        peers={"cupy": lambda cupy, c, x: cupy.compress(c, x), "torch": lambda torch, c, x: torch.masked_select(x, c)},
    ),
    *_ways(
        "flatnonzero", _some, np.flatnonzero, dtypes=_DTYPES,
        peers={"cupy": lambda cupy, x: cupy.flatnonzero(x), "torch": lambda torch, x: torch.nonzero(x)},
    ),
    *_ways(
        "unique_consecutive", numbers, _runs, dtypes=_DTYPES,
        peers={"torch": lambda torch, x: torch.unique_consecutive(x)},
    ),
    *_ways("unique_by_key", _with_keys, _firsts, dtypes=_DTYPES),
    *_ways("nonzero", _some, np.nonzero, **_PLANES),
    *_ways("argwhere", _some, np.argwhere, **_PLANES),
    Case(
        "compress", lambda random, shape, dtype: (random.random(shape[0]) < 1 / 2, *numbers(random, shape, dtype)),
        lambda condition, x: np.compress(condition, x, axis=0), {"axis": 0}, ("float32",), PLANES[:3], LONG_PLANES,
        planned=False,
    ),
    Case("extract", _with_condition, lambda condition, x: x[condition], {}, out=False, planned=False, **_PLANES),
    Case("split", _with_mask, lambda x, mask: (x[mask], x[~mask]), {}, _DTYPES, out=False, planned=False),
    Case(
        "split3", lambda random, shape, dtype: (*_with_mask(random, shape, dtype), random.random(shape) < 1 / 2),
        lambda x, one, two: (x[one], x[two & ~one], x[~(one | two)]), {}, ("int32",), ((1000,), (0,)), out=False, planned=False,
    ),
    Case("select", _with_mask, lambda x, mask: x[mask], {}, _DTYPES, out=False, planned=False),
    Case("select", numbers, lambda x: x[x != 0], {"condition": is_set}, NUMBERS, out=False, planned=False),
)  # fmt: skip
