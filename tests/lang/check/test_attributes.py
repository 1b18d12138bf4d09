"""`@attr`: what stands in `__launch_bounds__` is worked out before anything relies on it.

Tests of prism/lang/facts/budget.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.lang import (
    CompileError,
    attr,
    constexpr,
    float32,
    grid,
    group,
    id,
    partition,
    ptr,
    requires,
    template,
    thread,
)
from prism.lang.facts.budget import most_threads

THREADS = 256
WARPS = np.int64(4)
NONE = "none"


def marked(*texts: str) -> prism.Kernel:
    def several(target: object) -> object:
        for text in texts:
            target = attr(text)(target)
        return target

    @prism.lang.prism("global")
    @several
    @requires(grid[1], thread[32])
    @template(N=constexpr(int))
    def ones(y: ptr(float32) @ grid[1]):
        with partition(y, thread[1], id()) as mine, group(thread[1]):
            mine[0] = 1

    return ones


@pytest.mark.parametrize(
    ("text", "wanted", "threads"),
    [
        ("__launch_bounds__(128)", "__launch_bounds__(128)", 128),
        ("__launch_bounds__(THREADS)", "__launch_bounds__(256)", 256),
        ("__launch_bounds__(32 * 4)", "__launch_bounds__(128)", 128),
        ("__launch_bounds__((32 * WARPS) / (N - 1), 1)", "__launch_bounds__(64, 1)", 64),
        ("__launch_bounds__( N * 32 ,N)", "__launch_bounds__(96, 3)", 96),
        ("__launch_bounds__(7 // 2 * 32) __noinline__", "__launch_bounds__(96) __noinline__", 96),
        ("__maxnreg__(N)", "__maxnreg__(3)", 1024),
    ],
)
def test_names_are_replaced_and_arithmetic_is_worked_out(text: str, wanted: str, threads: int) -> None:
    compiled = prism.compile(marked(text), {"N": 3})
    assert compiled.program.entry.attributes == (wanted,)
    assert most_threads(compiled.program.entry) == threads == compiled.entry.max_threads
    assert wanted in compiled.cuda
    if "noinline" not in text:
        assert compiled.cubin


@pytest.mark.parametrize(
    ("texts", "bounds"),
    [
        (["__noinline__"], ()),
        (["__launch_bounds__(THREADS, N - 1)"], (256, 2)),
        (["__launch_bounds__(128)", "__launch_bounds__(64, 2)"], (64, 2)),
    ],
)
def test_launch_bounds_are_numbers_of_the_function(texts: list[str], bounds: tuple[int, ...]) -> None:
    program = prism.check(marked(*texts), {"N": 3})
    assert program.entry.launch_bounds == bounds
    assert most_threads(program.entry) == (bounds[0] if bounds else 1024)


def test_a_block_is_as_large_as_the_product() -> None:
    y = np.zeros(128, np.float32)
    marked("__launch_bounds__(32 * WARPS)")[1, 128](y, template={"N": 1}, check=True)
    assert y.all()
    with pytest.raises(ValueError, match="1 to 128 threads"):
        marked("__launch_bounds__(32 * WARPS)")[1, 256](y, template={"N": 1})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("__launch_bounds__(UNKNOWN)", "`UNKNOWN` in `__launch_bounds__` is no number known at compile time"),
        ("__launch_bounds__(NONE)", "`NONE` in `__launch_bounds__` is no number known"),
        ("__launch_bounds__(N - 3)", "`N - 3` in `__launch_bounds__` is 0, and must be a whole number from 1 on"),
        ("__launch_bounds__(N * 2.5)", "is 7.5, and must be a whole number"),
        ("__launch_bounds__(N / 0)", "is no number known"),
        ("__launch_bounds__(32 *)", r"`32 \*` in `__launch_bounds__` is no arithmetic"),
        ("__launch_bounds__(f(2))", r"`f\(2\)` in `__launch_bounds__` is no number known"),
    ],
)
def test_what_is_no_number(text: str, fault: str) -> None:
    with pytest.raises(CompileError, match=fault) as caught:
        prism.check(marked(text), {"N": 3})
    assert caught.value.code == "name"


@pytest.mark.parametrize(
    "text",
    [
        "__noinline__ void evil() {}",
        "__maxnreg__(3); int evil;",
        "__maxnreg__(3",
        "__maxnreg__[3)",
        "__launch_bounds__(32)) void f(",
        "// __noinline__",
        "/* __noinline__",
        'asm("")',
        "__noinline__ \\",
        "__noinline__\n#define float int\n",
        "é",
    ],
)
def test_what_is_no_attribute(text: str) -> None:
    with pytest.raises(CompileError, match="`@attr` takes an attribute") as caught:
        prism.check(marked(text), {"N": 3})
    assert caught.value.code == "name"
