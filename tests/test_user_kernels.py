"""Kernels of a user's own: launched in each spelling, checked against their bound, looked at, stopped in a debugger."""

# ruff: noqa: F821 -- kernels: names that they declare
from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import prism as package
from prism import LaunchError
from prism.interpret import MachineError
from prism.lang import (
    CompileError,
    const,
    constexpr,
    dtype,
    float32,
    grid,
    group,
    id,
    int32,
    may_alias,
    partition,
    print_,
    prism,
    ptr,
    requires,
    template,
    thread,
)  # fmt: skip
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.lang.surface import TemplateName


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype)
def double(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        if i < n:
            mine[0] = x[i] + x[i]


@prism("global")
@requires(grid[1], thread[32], cooperative=True)
@may_alias("x", "y")
def halve(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    i: int32 @ thread[1] = id()
    h: float32 @ thread[1] = x[i] / 2.0
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = h


@prism("global")
@requires(grid[1], thread[32])
def stops(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    i: int32 @ thread[1] = id()
    square: float32 @ thread[1] = x[i] * x[i]
    local: float32[2] @ thread[1]
    with partition(y, thread[1], i) as mine, group(thread[1]):
        local[0] = square
        if i > 29:
            breakpoint()
        mine[0] = local[0]


@prism("global")
@requires(grid[1], thread[32])
def broken(y: ptr(float32) @ grid[1]):
    y[0] = 1.0


def arrays(n: int = 64, kind: str = "float32") -> tuple[Any, Any]:
    return np.arange(n, dtype=kind), np.zeros(n, kind)


# -- Launching ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "int64", "uint8"])
def test_both_spellings_launch_the_same(kind: str) -> None:
    x, y = arrays(64, kind)
    double[2, 32](x, y, np.int32(64))
    z = np.zeros_like(y)
    double.launch(x, z, np.int32(64), blocks=2, threads=32, check=True)
    assert np.array_equal(y, x + x) and np.array_equal(z, y)


def test_what_is_left_out_is_as_little_as_the_bound_admits() -> None:
    for launch in (lambda *a: double.launch(*a, blocks=2), lambda *a: double[2](*a)):
        x, y = arrays()
        launch(x, y, np.int32(64))
        assert np.array_equal(y, x + x)
    x, y = arrays()
    double.launch(x, y, np.int32(64))
    assert np.array_equal(y[:32], 2 * x[:32]) and not y[32:].any(), "one block of 32 threads"
    double.launch(x, y, np.int32(64), threads=64)
    assert np.array_equal(y, x + x)


def test_a_shape_that_breaks_the_bound_is_refused() -> None:
    x, y = arrays()
    for shape in ((1, 33), (0, 32), (1, 2048), (1, 2, 3)):
        with pytest.raises(LaunchError, match="double|launch as"):
            double[shape](x, y, np.int32(64))
    with pytest.raises(LaunchError, match="multiple of 32 threads"):
        double.launch(x, y, np.int32(64), blocks=1, threads=16)
    with pytest.raises(TypeError, match="integer"):
        double.launch(x, y, np.int32(64), blocks=1.5)
    assert not y.any(), "nothing was launched"


@pytest.mark.parametrize(
    "use",
    [
        lambda: broken[1, 32](np.zeros(32, np.float32)),
        lambda: broken.launch(np.zeros(32, np.float32)),
        lambda: package.check(broken),
        lambda: package.compile(broken),
        lambda: package.explain(broken),
    ],
    ids=["[]", "launch", "check", "compile", "explain"],
)
def test_a_traceback_ends_where_the_compiler_was_called(use: Callable[[], object]) -> None:
    with pytest.raises(CompileError) as caught:
        use()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [(frame.filename, frame.name) for frame in frames[1:]] == [(__file__, "<lambda>")]
    assert caught.value.span.file == __file__


def test_a_checked_launch_reports_what_is_out_of_bounds() -> None:
    x, y = arrays()
    with pytest.raises(MachineError, match="machine-bounds"):
        double.launch(x[:40].copy(), y, np.int32(64), blocks=2, check=True)
    with pytest.raises(TypeError, match="integer"):
        double.launch(x, y, np.int32(64), blocks=2, check=True, seed="7")


def test_a_stream_is_for_a_gpu() -> None:
    x, y = arrays()
    double.launch(x, y, np.int32(64), blocks=2, stream=None)
    assert np.array_equal(y, x + x)
    with pytest.raises(ValueError, match="`stream` is for arrays on a GPU"):
        double.launch(x, y, np.int32(64), blocks=2, stream=0)


@pytest.mark.parametrize(
    ("n", "error", "words"),
    [
        (8.0, TypeError, r"`n` must be an integer \(int32\), not float"),
        (np.float32(8), TypeError, "`n` must be an integer .*, not float32"),
        ("8", TypeError, "`n` must be an integer .*, not str"),
        (None, TypeError, "`n` must be an integer .*, not NoneType"),
        (8j, TypeError, "`n` must be an integer .*, not complex"),
        (np.array([8]), TypeError, "`n` must be an integer .*, not ndarray"),
        (2**31, OverflowError, "`n` is int32, which 2147483648 doesn't fit"),
    ],
    ids=str,
)
def test_numbers_are_taken_as_on_a_gpu(n: Any, error: type[Exception], words: str) -> None:
    """What the driver's launch refuses, with the same message."""
    x, y = arrays()
    with pytest.raises(error, match=words):
        double[2, 32](x, y, n)
    for good in (64, np.int64(64), np.uint8(64), np.array(64)):
        double[2, 32](x, y, good)
    assert np.array_equal(y, x + x)


def test_arrays_in_another_byte_order_are_refused() -> None:
    x, y = arrays()
    with pytest.raises(TypeError, match="`x` must be an array of float32, not of >f4, in another byte order"):
        double[2, 32](x.astype(">f4"), y, 64)


def test_template_arguments_are_named() -> None:
    x, y = arrays()
    with pytest.raises(TypeError, match="`template` must be a dict"):
        double[2, 32](x, y, 64, template=[8])
    with pytest.raises(TypeError, match="`x` must be an array"):  # which implies its `T`
        double[2, 32]([1.0], [2.0], 64)
    with pytest.raises(TypeError, match="`T`: a template argument is .* a frozen record, not list"):
        double[2, 32](x, y, 64, template={"T": [np.float32]})


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"n": 64}, r"`double`: `n` is given by its place, and by its name"),
        ({"T": np.float32}, r"`T` is a template argument of `double`: pass `template=\{'T': \.\.\.\}`"),
        (
            {"grid": 1},
            r"a launch has no argument or option `grid`: .* takes template, stream, check, schedule and seed",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_no_argument_is_refused(named: dict[str, Any], words: str) -> None:
    x, y = arrays()
    with pytest.raises(TypeError, match=words):
        double[2, 32](x, y, 64, **named)


def test_arguments_are_passed_by_their_names() -> None:
    x, y = arrays()
    double[2, 32](n=64, y=y, x=x)
    double.launch(x, n=64, y=y, blocks=2, threads=32, check=True)
    assert np.array_equal(y, x + x)
    with pytest.raises(LaunchError, match=r"`double` takes 3 arguments \(x, y, n\), 2 given"):
        double[2, 32](x, n=64)


def test_too_few_arguments_are_counted_before_anything_is_deduced() -> None:
    with pytest.raises(LaunchError, match=r"`double` takes 3 arguments \(x, y, n\), 0 given"):
        double[2, 32]()


def test_blocks_are_whole_numbers() -> None:
    x, y = arrays()
    with pytest.raises(TypeError, match=r"must be an integer, not float \(divide with `//`\)"):
        double[64 / 32, 32](x, y, 64)
    with pytest.raises(TypeError, match=r"must be an integer, not float"):
        double[(2.0, 1), 32](x, y, 64)
    with pytest.raises(LaunchError, match=r"blocks are given along 1 to 3 axes, not 4"):
        double[(2, 1, 1, 1), 32](x, y, 64)


# -- Arrays that overlap --------------------------------------------------------------------------------------------------


def test_arrays_that_overlap_are_refused_where_one_is_written() -> None:
    x = np.arange(96, dtype=np.float32)
    before = x.copy()
    for y in (x[:64], x[32:], x[63:64]):
        with pytest.raises(ValueError, match=r'`x` and `y` overlap in memory.*@may_alias\("x", "y"\)'):
            double.launch(x[:64], y, np.int32(1), threads=32)
    assert np.array_equal(x, before)
    double.launch(x[:32], x[32:64], np.int32(32))
    assert np.array_equal(x[32:64], 2 * before[:32]), "beside each other they lie apart"
    double.launch(x, x[40:40], np.int32(0))  # nothing is in it


def test_what_may_alias_may_overlap() -> None:
    x = np.arange(32, dtype=np.float32)
    halve.launch(x, x, check=True)
    assert np.array_equal(x, np.arange(32, dtype=np.float32) / 2)


# -- Compiling ------------------------------------------------------------------------------------------------------------


def test_what_is_compiled_can_be_looked_at() -> None:
    compiled = package.compile(double, template={"T": "float32"}, arch="sm_80")
    assert "prism_double" in compiled.cuda and compiled.cubin[:4] == b"\x7fELF"
    assert ".target sm_80" in compiled.ptx and ".visible .entry prism_double" in compiled.ptx
    assert 0 < compiled.registers < 64 and compiled.spills == 0 and compiled.shared_bytes == 0
    assert "double" in compiled.explain()
    with pytest.raises(TypeError, match="an architecture is text, as in 'sm_90a', not int"):
        package.compile(double, template={"T": "float32"}, arch=90)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sm_80 a"):
        package.compile(double, template={"T": "float32"}, arch="sm_80 a")
    with pytest.raises(CompileError, match="no value for the template parameter `T`"):
        package.compile(double)


class Balanced(HTMLParser):
    """Collects what stands open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.frames: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.frames += [value for name, value in attributes if name == "srcdoc" and value is not None]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shown(found: Any) -> Balanced:
    parser = Balanced()
    parser.feed(found._repr_html_())
    assert not parser.open
    return parser


def test_a_kernel_says_what_it_is() -> None:
    assert repr(double) == f"<@prism.kernel {__name__}.double>"


@pytest.mark.parametrize("bound", [lambda n: n / 4, lambda n: n // 4])
def test_a_bound_may_be_a_part_of_a_template_parameter(bound: Any) -> None:
    N = TemplateName("N")

    @prism("global")
    @template(N=constexpr(int))
    @requires(grid[1], thread[bound(N)])
    def ones(y: ptr(int32) @ grid[1]):
        with partition(y, thread[1], id()) as mine, group(thread[1]):
            mine[0] = 1

    y = np.zeros(64, np.int32)
    ones[2, 32](y, template={"N": 128}, check=True)
    assert y.all()
    with pytest.raises(LaunchError):
        ones[2, 16](y, template={"N": 128})


def test_a_notebook_shows_the_explanation() -> None:
    assert "mine[0] = h" in _text(shown(halve).frames[0])
    assert "registers" in shown(package.compile(halve)).frames[0]
    assert "prism.explain" in double._repr_html_() and not shown(double).frames, "its template is not known"
    assert "error[ptr-write]" in broken._repr_html_() and "&lt;" not in broken.__name__
    globals()["EXAMPLES"] = {"double": {"T": float32}}
    try:
        assert "for T = float32" in _text(shown(double).frames[0]) or "float32" in shown(double).frames[0]
    finally:
        del globals()["EXAMPLES"]


def _text(page: str) -> str:
    class Text(HTMLParser):
        found = ""

        def handle_data(self, data: str) -> None:
            self.found += data

    parser = Text()
    parser.feed(page)
    return parser.found


# -- Debugging ------------------------------------------------------------------------------------------------------------


def test_breakpoint_opens_the_debugger_where_the_kernel_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[Any] = []

    def hook() -> None:
        frame = sys._getframe(1)
        met.append((frame.f_code.co_filename, frame.f_lineno, dict(frame.f_locals)))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    x, y = arrays(32)
    stops.launch(x, y, check=True)
    assert np.array_equal(y, x * x), "and it goes on"
    ((file, line, names),) = met
    assert file == __file__ and open(file).read().splitlines()[line - 1].strip() == "breakpoint()"
    assert names["block"] == 0 and names["threads"].tolist() == [30, 31]
    assert np.array_equal(names["square"], x * x) and np.array_equal(names["local"][0], x * x)
    assert np.array_equal(names["x"], x) and names["i"].tolist() == list(range(32))


def test_breakpoint_is_nothing_on_a_gpu() -> None:
    program = build(stops)
    assert (
        "printf" not in emit(lower(program)).source and "breakpoint" not in emit(lower(program), comments=False).source
    )
    assert package.compile(stops).registers > 0


def test_breakpoint_takes_nothing() -> None:
    @prism("global")
    @requires(grid[1], thread[32])
    def wrong(n: int32 @ grid[1]):
        breakpoint(n)

    with pytest.raises(CompileError, match=r"write `breakpoint\(\)`$"):
        build(wrong)


def test_print_says_who_speaks(capsys: pytest.CaptureFixture[str]) -> None:
    @prism("global")
    @requires(grid[1], thread[32])
    def says(n: int32 @ grid[1]):
        with group(thread[32]):
            print_("n = {}", n)

    says.launch(np.int32(7), blocks=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(line.endswith("n = 7") for line in lines)


def test_templates_are_declared_and_given_as_they_are_written() -> None:
    for ask in (package.check, package.compile, package.explain):
        with pytest.raises(TypeError, match="`template` must be a dict of template arguments, not list"):
            ask(double, ["float32"])
    with pytest.raises(TypeError, match=r"@template: `N` is dtype, function or constexpr\(int\), not 'int'"):
        template(N="int")
