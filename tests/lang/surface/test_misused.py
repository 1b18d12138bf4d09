"""What is no kernel, no text of Unicode's, and no file's usual name: an error that says so, or the same as any other."""

from __future__ import annotations

import functools
import os
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism
from prism.lang import (
    CompileError,
    attr,
    constexpr,
    device,
    extern,
    grid,
    intrinsic,
    kernel,
    may_alias,
    requires,
    template,
)

DECORATORS = [
    prism.lang.prism("global"), kernel, device, requires(grid[1]), attr("__noinline__"), extern("x"), may_alias("x", "y"),
    template(N=constexpr(int)), intrinsic("x"),
]  # fmt: skip


class Holder:
    def method(self) -> None: ...


@pytest.mark.parametrize(
    "given", [3, None, "text", int, len, functools.partial(print), Holder().method, staticmethod(print)]
)
@pytest.mark.parametrize("decorator", DECORATORS)
def test_decorators_stand_above_functions(decorator: Any, given: Any) -> None:
    with pytest.raises(TypeError, match="above a function written with `def`"):
        decorator(given)


@pytest.mark.parametrize("given", [(3,), ("ab",), ([], []), (None,)])
def test_templates_are_named(given: Any) -> None:
    with pytest.raises(TypeError, match="@template"):
        template(*given)


TEXT = """
from prism.lang import assert_, grid, group, id, int32, partition, print_, prism, ptr, requires, thread

@prism("global")
@requires(grid[1], thread[1])
def duration(y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        assert_(i >= 0, "TEXT")
        print_("TEXT {}", i)
        mine[0] = i

@prism("global")
@requires(grid[1], thread[1])
def wrong(y: ptr(int32) @ grid[1]):
    y[0] = "TEXT"
"""


@pytest.mark.parametrize("text", ["plain", "\\ud800", "\\udfff\\ud800", "\\0", "%n %s"])
@pytest.mark.parametrize("name", [b"plain.py", b"od\xffd.py", 'é\n"\\.py'.encode(), b"*/.py"[1:].replace(b"/", b"_")])
def test_lone_surrogates_and_odd_file_names(tmp_path: Path, capsys: Any, name: bytes, text: str) -> None:
    path = os.path.join(os.fsencode(tmp_path), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(TEXT.replace("TEXT", text))
    file_name = os.fsdecode(path)
    module = types.ModuleType("odd")
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), file_name, "exec"), module.__dict__)
    compiled = prism.compile(module.duration)
    assert compiled.cuda.encode() and compiled.cubin and prism.explain(module.duration)
    assert prism.explain(module.duration, html=True).encode()
    module.duration[1, 1](np.zeros(1, np.int32))
    assert capsys.readouterr().out.startswith("thread 0 of block 0: ")
    with pytest.raises(CompileError):
        prism.check(module.wrong)
