"""Lambdas as device functions: which is meant of several, and what is wrong with one. prism/lang/parse/lambdas.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lang import CompileError, atan2, cosh, erf, erfc, expm1, fmod, hypot, log1p, sqrt
from prism.lib import lazy

X = np.array([3, 1, 4], np.int32)
SHIFT = 10


def of(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    found: list[Any] = lib.evaluate(lazy.map(function, *(arrays or (X,)))).tolist()
    return found


def test_one_of_several_on_a_line() -> None:
    one, other = (lambda a: a + 1), (lambda a: a + 2)
    assert (of(one), of(other)) == ([4, 2, 5], [5, 3, 6])
    inner = (lambda a: lambda b: b * 3)(0)
    assert of(inner) == [9, 3, 12]


def test_over_several_lines() -> None:
    assert of(
        lambda a: (
            a * a  #
            + 1
        )
    ) == [10, 2, 17]


def test_conditions_and_functions() -> None:
    assert of(lambda a: a if 2 < a <= 3 else -a) == [3, -1, -4]
    assert of(lambda a: max(a, 2) + min(a, 2) + abs(-a)) == [8, 4, 10]
    assert of(lambda a: sqrt(a), X.astype(np.float32)) == [np.sqrt(np.float32(3)), 1.0, 2.0]


def test_functions_of_the_language() -> None:
    x = np.array([-1, 0.25, 3], np.float64)
    assert of(lambda a: erf(a) + erfc(a), x) == [1.0, 1.0, 1.0]
    assert np.allclose(of(lambda a, b: atan2(a, b), x, x[::-1]), np.arctan2(x, x[::-1]), rtol=4e-16)
    assert of(lambda a: fmod(a, 0.75) + hypot(a * 3, a * 4), x) == [4.75, 1.5, 15.0]
    assert of(lambda a: log1p(expm1(0.0 * a)) + cosh(0.0 * a), x) == [1.0, 1.0, 1.0]


def test_what_it_names_outside() -> None:
    for scale in (2, 3):  # each has its own
        assert of(lambda a, scale=scale: a * SHIFT, X, X) == [30, 10, 40]
        assert of(lambda a: a * scale + SHIFT) == [3 * scale + 10, scale + 10, 4 * scale + 10]


def test_what_its_names_stand_for_when_it_is_mapped() -> None:
    global SHIFT
    scale, before = 3, SHIFT
    function, other = (lambda a: a * scale + SHIFT), (lambda a: a * scale + SHIFT)
    try:
        assert of(function) == [19, 13, 22]
        scale = 4
        assert of(function) == [22, 14, 26]
        assert of(function, X.astype(np.int64)) == [22, 14, 26]
        SHIFT = 20
        assert of(function) == of(other) == [32, 24, 36]
    finally:
        SHIFT = before


@pytest.mark.parametrize(
    ("function", "code", "text"),
    [
        (lambda a: [b for b in a], "syntax", "a comprehension is not part of Prism"),
        (lambda a: a.foo, "type", "`.foo` is not a value"),
        (lambda a: np.sin(a), "name", "`np.sin` works on the host"),
        (lambda a: np.arctan2(a, a), "name", "write `atan2`, which `prism.lang` has"),
        (lambda a: math.gamma(a), "name", "write `tgamma`, which `prism.lang` has"),
        (lambda a: len(str(a)), "name", "`len`"),
        (lambda *a: a, "syntax", "`*a`"),
        (lambda a: unknown, "name", "`unknown`"),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_errors_name_the_construct_and_its_place(function: Any, code: str, text: str) -> None:
    with pytest.raises(CompileError) as caught:
        lazy.map(function, X)
    assert caught.value.code == code and text in str(caught.value)
    assert f"{__file__}:{function.__code__.co_firstlineno}" in str(caught.value)


def test_a_lambda_without_text() -> None:
    with pytest.raises(CompileError, match="source of `lambda` is not available"):
        lazy.map(eval("lambda a: a"), X)


def test_a_captured_array_is_an_argument() -> None:
    y = X
    with pytest.raises(TypeError, match=r"names the array `y`: give it to `map`, as of `lambda a, y: ...`"):
        lazy.map(lambda a: a + y, X)
    with pytest.raises(TypeError, match="names the array `X`"):
        lazy.map(lambda a: a + X, X)
