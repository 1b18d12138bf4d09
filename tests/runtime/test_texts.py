"""Texts of functions and views: the same in another process, and others for whatever decides what becomes of a kernel."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism import lang
from prism.kernels.transform.copy import copy
from prism.lang import dtype, float32, requires, sqrt, struct, template, thread
from prism.lang import prism as mark
from prism.lang.surface.views import Compute, Leaf, Position, View
from prism.lang.types import SCALARS
from prism.lib.lazy.closures import Applied, callable_of
from prism.runtime.texts import text_of

FACTOR = 3


@struct
class Pair:
    a: float32
    b: float32


@mark("device")
@requires(thread[1])
@template(T=dtype)
def scale(x: T @ thread[1]) -> T @ thread[1]:
    y: T @ thread[1] = x * T(FACTOR)
    return sqrt(y)


def functions() -> list[Any]:
    """Return functions that lazy arrays apply, numbers that they name being parameters or not."""
    k = 4
    every = (
        scale, lambda v: v + 1, lambda v: v + 2, lambda v: v + 1.0, lambda v: scale(v), lambda v: max(v, FACTOR),
        lambda v: Pair(v, v), lambda v: lang.sqrt(v), lambda v: v if FACTOR > 2 else -v, lambda v: float32(v), lambda v, w: v + 1,
        sqrt, float32,
    )  # fmt: skip
    return [*map(callable_of, every), Applied(lambda v: v * k)._opened.function]  # type: ignore[union-attr]


def texts() -> list[str | None]:
    """Return the texts of functions, and of views of them."""
    view = View(
        Compute(callable_of(lambda v: v * FACTOR), (Leaf(0, True),)), SCALARS["float32"], (SCALARS["float32"],), 0
    )
    return [*map(text_of, functions()), text_of(view), text_of((copy, (("T", SCALARS["int8"]),), view))]


def test_same_in_another_process() -> None:
    here = texts()
    assert None not in here and len({*here}) == len(here)
    code = "from tests.runtime.test_texts import texts; print(repr(texts()))"
    environment = {**os.environ, "PYTHONHASHSEED": "5", "PYTHONPATH": os.pathsep.join(sys.path)}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == repr(here)


def test_what_a_name_stands_for_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts()
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    named = [k for k, (a, b) in enumerate(zip(before, texts(), strict=True)) if a != b]
    assert named == [0, 4, 5, 8, 14, 15]  # through the function that a lambda calls, too


def test_parts_of_views_are_in_it() -> None:
    f32, i32 = SCALARS["float32"], SCALARS["int32"]
    views = [
        View(Leaf(0, True), f32, (f32,), 0), View(Leaf(0, False), f32, (f32,), 0), View(Leaf(0, True), f32, (i32,), 0),
        View(Leaf(0, True), i32, (f32,), 0), View(Position(), f32, (), 0), View(Position(1), f32, (), 0),
        View(Compute("+", (Leaf(0, True),)), f32, (f32,), 0), View(Compute("-", (Leaf(0, True),)), f32, (f32,), 1),
    ]  # fmt: skip
    assert len({text_of(view) for view in views} - {None}) == len(views)
    numbers = (1, 1.0, True, "1", np.float32(1), np.float64(1), 0.0, -0.0)
    assert len({text_of(number) for number in numbers} - {None}) == len(numbers)


def test_what_cannot_be_told_has_none() -> None:
    def local(v: Any) -> Any:
        return v

    held = object()
    for function in (lambda v: v * math.pi, lambda v: v * missing, lambda v: held):  # type: ignore[name-defined]  # noqa: F821
        written = callable_of(function)
        assert text_of(written) is None
    assert text_of(local) is None and text_of(object()) is None and text_of(math) is None
    assert text_of((1, object())) is None
