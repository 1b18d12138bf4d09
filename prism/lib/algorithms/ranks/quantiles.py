"""Where quantiles stand in a sorted row, and in what types they are computed: as NumPy does both."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host import arguments
from prism.kernels import topk as kernels
from prism.kernels.topk import quantile as rules
from prism.lib.algorithms.ranks.plan import Wanted
from prism.runtime.arrays import BFLOAT16

METHODS = {
    "inverted_cdf": (rules.INVERTED, 0.0, 0.0), "averaged_inverted_cdf": (rules.AVERAGED, 0.0, 0.0),
    "closest_observation": (rules.CLOSEST, 0.0, 0.0), "interpolated_inverted_cdf": (rules.SHIFTED, 0.0, 1.0),
    "hazen": (rules.SHIFTED, 0.5, 0.5), "weibull": (rules.SHIFTED, 0.0, 0.0), "linear": (rules.LINEAR, 1.0, 1.0),
    "median_unbiased": (rules.SHIFTED, 1 / 3.0, 1 / 3.0), "normal_unbiased": (rules.SHIFTED, 3 / 8.0, 3 / 8.0),
    "lower": (rules.LOWER, 0.0, 0.0), "higher": (rules.HIGHER, 0.0, 0.0), "midpoint": (rules.MIDPOINT, 0.0, 0.0),
    "nearest": (rules.NEAREST, 0.0, 0.0),
}  # fmt: skip
_EXACT = (rules.INVERTED, rules.CLOSEST, rules.LOWER, rules.HIGHER, rules.NEAREST)
_HALVES = (np.dtype("float16"), BFLOAT16)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles that are asked for: `q` is an array of up to two axes. `weak`: it is a number of Python's, without a dtype.

    `key`: what they are known by.
    """

    q: Any
    weak: bool
    method: str
    key: tuple[Any, ...]


def quantiles_of(q: Any, method: Any, hundred: bool) -> Quantiles:
    """Return what `q` and `method` ask for; `hundred`: of percentiles.

    Raises:
        TypeError: `q` is no array of numbers.
        ValueError: a quantile is out of range; there are too many axes; there is no such method.
    """
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"`method`: {method!r} is not a valid method. Use one of: {', '.join(METHODS)}")
    if type(q) in (int, float):
        return _of_same(q, method, hundred)
    if type(q) in (list, tuple) and all(type(one) is float for one in q):
        return _of_same(tuple(q), method, hundred)
    return _check(q, method, hundred)


def _check(q: Any, method: str, hundred: bool) -> Quantiles:
    weak = type(q) in (int, float)
    if not isinstance(q, np.ndarray | np.generic | int | float | list | tuple):
        raise TypeError(f"`q` must be a number, or an array of NumPy or list of them, not {type(q).__name__}")
    found = np.asarray(q)
    if found.dtype.kind not in "biuf":
        raise TypeError(f"`q` must be of real numbers, not of {found.dtype}")
    if hundred:
        found = np.true_divide(found, 100)
    if found.ndim > 2:
        raise ValueError("`q` must be a scalar or 1d")
    if not bool(np.all((found >= 0) & (found <= 1))):
        raise ValueError(
            "Percentiles must be in the range [0, 100]" if hundred else "Quantiles must be in the range [0, 1]"
        )
    return Quantiles(found, weak, method, (arguments.exactly(found), found.shape, weak, method))


_of_same = functools.lru_cache(maxsize=256, typed=True)(_check)  # the same ones are asked for again and again


def median_of(n: int, dtype: np.dtype[Any], skip: bool = False) -> Wanted:
    """Return how a median of `n` elements is computed: half the sum of the two in the middle."""
    result = dtype if is_float(dtype) else np.dtype(np.float64)
    computed = "float32" if result in _HALVES else name_of(result)
    low, high = max(n - 1, 0) // 2, n // 2
    return Wanted(
        low,
        high,
        0.5,
        kernels.MEAN,
        value_of(dtype),
        computed,
        name_of(result),
        skip and is_float(dtype),
        method=rules.MEDIAN,
    )


def wanted_of(asked: Quantiles, n: int, dtype: np.dtype[Any], skip: bool = False) -> tuple[list[Wanted], np.dtype[Any]]:
    """Return how quantiles of `n` elements are computed, and the dtype of the results.

    Raises:
        TypeError: bools can't be interpolated.
    """
    method, alpha, beta = METHODS[asked.method]
    exact = method in _EXACT or (method == rules.LINEAR and asked.q.dtype.kind in "biu")
    result = dtype
    if not exact:
        if dtype == np.dtype(bool):
            raise TypeError(f"bools can't be interpolated: `method` must be another one than {asked.method!r}")
        typed = asked.q.dtype if asked.q.dtype.kind == "f" else np.dtype(np.float64)
        if asked.weak or dtype == BFLOAT16:
            result = dtype if is_float(dtype) else np.dtype(np.float64)
        else:
            result = np.result_type(dtype, typed)
    one = Wanted(
        0, 0, 0.0, kernels.EXACT if exact else kernels.WAY, value_of(dtype), value_of(dtype) if exact else name_of(result),
        value_of(dtype) if exact else name_of(result), skip and is_float(dtype), 0.0,
        asked.q.dtype.name if asked.q.dtype.kind == "f" else "float64", alpha, beta, method,
    )  # fmt: skip
    return [replace(one, **_where(q, n, asked.method), q=float(q)) for q in asked.q.ravel()], result


def _where(q: Any, n: int, name: str) -> dict[str, Any]:
    """Return the ranks that a quantile lies between, and the weight of the second one, computed in the type of `q`."""
    method, alpha, beta = METHODS[name]
    if n == 0:
        return {}
    if method == rules.SHIFTED:
        at = n * q + (alpha + q * (1 - alpha - beta)) - 1
    elif method in (rules.AVERAGED, rules.INVERTED, rules.CLOSEST):
        at = n * q - 1 - (0.5 if method == rules.CLOSEST else 0)
    else:
        at = (n - 1) * q
    rest = at - np.floor(at)
    if method in _EXACT:
        rank = min(max(_exact_rank(at, rest, method), 0), n - 1)
        return {"low": rank, "high": rank}
    weight = float(rest)
    if method == rules.MIDPOINT:
        weight = 0.5 if rest > 0 else 0.0
        at = np.floor(at) + weight
    elif method == rules.AVERAGED:
        weight = 0.5 if rest == 0 else 1.0
    if at < 0 or at >= n - 1:
        rank = 0 if at < 0 else n - 1
        return {"low": rank, "high": rank, "weight": weight}
    return {"low": int(np.floor(at)), "high": int(np.floor(at)) + 1, "weight": weight}


def _exact_rank(at: Any, rest: Any, method: int) -> int:
    """Return the rank of the element that a method takes, `rest` behind a whole number."""
    below = int(np.floor(at))
    if method == rules.NEAREST:
        return int(np.around(at))
    if method == rules.CLOSEST:
        return below + int(not (rest == 0 and below % 2 == 1))
    return below if method == rules.LOWER else below + int(rest != 0)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether elements may be NaN."""
    return dtype.kind == "f" or dtype == BFLOAT16


def name_of(dtype: np.dtype[Any]) -> str:
    """Return the name of a kernel's type."""
    return "bfloat16" if dtype == BFLOAT16 else dtype.name


def value_of(dtype: np.dtype[Any]) -> str:
    """Return the type that a kernel takes an element for: of a bool its byte."""
    return "uint8" if dtype == np.dtype(bool) else name_of(dtype)


__all__ = ["METHODS", "Quantiles", "is_float", "median_of", "name_of", "quantiles_of", "value_of", "wanted_of"]
