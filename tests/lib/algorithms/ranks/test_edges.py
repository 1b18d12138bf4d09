"""Ranks at edges of what may be asked: along no axis, and of no elements. Tests of prism/lib/algorithms/ranks/calls.py."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from prism import lib

CALLS: dict[str, dict[str, Any]] = {
    "median": {}, "nanmedian": {}, "quantile": {"q": 0.3}, "nanquantile": {"q": 0.3}, "percentile": {"q": [10.0, 50.0]},
    "nanpercentile": {"q": [10.0, 50.0]},
}  # fmt: skip


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(5,), (2, 3), ()])
@pytest.mark.parametrize("name", CALLS)
def test_along_no_axis_each_element_is_a_row(name: str, shape: tuple[int, ...], keepdims: bool) -> None:
    x = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    if x.size > 1:
        x.flat[1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = getattr(np, name.replace("nan", ""))(x, axis=(), keepdims=keepdims, **CALLS[name])
        found = getattr(lib, name)(x, axis=(), keepdims=keepdims, **CALLS[name])
    assert np.array_equal(found, wanted, equal_nan=True) and np.shape(found) == np.shape(wanted)
    if x.ndim:
        out = np.zeros_like(wanted)
        assert getattr(lib, name)(x, axis=(), keepdims=keepdims, out=out, **CALLS[name]) is out
        assert np.array_equal(out, wanted, equal_nan=True)


@pytest.mark.parametrize("method", ["linear", "lower", "nearest", "inverted_cdf", "median_unbiased"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "bool"])
def test_of_nothing_comes_nan(dtype: str, method: str) -> None:
    """Whatever the dtype of what there is none of; and of no quantiles comes nothing."""
    if dtype == "bool" and method in ("linear", "median_unbiased"):
        pytest.skip("bools are not interpolated")
    for shape, axis in (((0,), None), ((3, 0), -1), ((0, 3), -1), ((0, 3), 0)):
        x = np.zeros(shape, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = np.nanquantile(x, 0.5, axis=axis, method=method)
            found = lib.nanquantile(x, 0.5, axis=axis, method=method)
        assert np.array_equal(found, wanted, equal_nan=True) and np.shape(found) == np.shape(wanted)
        if np.size(found):
            assert np.asarray(found).dtype == (np.float32 if dtype == "float32" else np.float64)
    assert lib.nanquantile(np.arange(4).astype(dtype), [], method=method).shape == (0,)
