"""How errors are printed."""

import linecache
import pickle
import string
import textwrap
from dataclasses import fields
from pathlib import Path

import pytest

from prism.lang.diagnostics import (
    CompileError,
    Error,
    InternalError,
    Label,
    Span,
    register_source,
    render,
    source_lines,
)
from prism.lang.errors import catalogue

SOURCE = """\
def kernel(x, n):
    with group(warp[1]):
        total = total + f(x, n)

\ty = g(n)
    漢字 = n + e\u0301 + z
    long_call(first,
              second,
              third,
              fourth,
              fifth)
    last = 1
"""
FILE = "<test_diagnostics kernel>"
OTHER = "<test_diagnostics library>"


@pytest.fixture(autouse=True)
def sources() -> None:
    register_source(FILE, SOURCE.splitlines(keepends=True))
    register_source(OTHER, ["# a library\n", "def f(x, n):\n", "    pass\n"])


class Sample(Error):
    """An error for tests."""

    code = "sample"
    rule = "R0"
    title = "`{name}` is wrong"
    label = "this `{name}`"
    note_templates = ("{detail}", "names matter")
    help_template = "rename `{name}`"
    name: str = "x"
    detail: str = ""


def at(line: int, column: int, end_column: int, end_line: int | None = None, file: str = FILE) -> Span:
    return Span(file, line, column, line if end_line is None else end_line, end_column)


def printed(error: Error) -> str:
    return "\n" + render(error)


def text(expected: str) -> str:
    return textwrap.dedent(expected).rstrip()


def test_one_label() -> None:
    assert printed(Sample(span=at(3, 24, 31), name="f")) == text("""
        error[sample]: `f` is wrong
         --> <test_diagnostics kernel>:3:25
          |
        3 |         total = total + f(x, n)
          |                         ^^^^^^^ this `f`
          = note: names matter
          = help: rename `f`""")


def test_labels_of_one_line_hang_below_each_other() -> None:
    labels = (Label(at(3, 26, 27), "an argument"), Label(at(3, 8, 13), "assigned"), Label(at(3, 29, 30), "another"))
    assert printed(Sample(span=at(3, 24, 31), labels=labels, detail="first")) == text("""
        error[sample]: `x` is wrong
         --> <test_diagnostics kernel>:3:25
          |
        3 |         total = total + f(x, n)
          |         -----           ^^^^^^^
          |         |               | |  |
          |         |               | |  another
          |         |               | an argument
          |         |               this `x`
          |         assigned
          = note: first
          = note: names matter
          = help: rename `x`""")


def test_the_last_label_stands_beside_its_mark() -> None:
    assert printed(Sample(span=at(3, 8, 13), labels=(Label(at(3, 24, 31), "a call"),))) == text("""
        error[sample]: `x` is wrong
         --> <test_diagnostics kernel>:3:9
          |
        3 |         total = total + f(x, n)
          |         ^^^^^           ------- a call
          |         |
          |         this `x`
          = note: names matter
          = help: rename `x`""")


def test_distant_lines_and_other_files() -> None:
    labels = (
        Label(at(2, 9, 23), "here"),
        Label(at(12, 4, 8), "the end"),
        Label(at(2, 4, 5, file=OTHER), "declared"),
        Label(at(10, 1, 2), "fourth"),
    )
    assert printed(Sample(span=at(3, 8, 13), labels=labels)) == text("""
        error[sample]: `x` is wrong
          --> <test_diagnostics kernel>:3:9
           |
         2 |     with group(warp[1]):
           |          -------------- here
         3 |         total = total + f(x, n)
           |         ^^^^^ this `x`
        ...
        10 |               fourth,
           |  - fourth
        11 |               fifth)
        12 |     last = 1
           |     ---- the end
           |
          ::: <test_diagnostics library>:2:5
           |
         2 | def f(x, n):
           |     - declared
           = note: names matter
           = help: rename `x`""")


def test_tabs_wide_and_combining_characters() -> None:
    labels = (Label(at(6, 18, 19), "last"), Label(at(6, 13, 15), "one column"))
    assert printed(Sample(span=at(5, 5, 9), labels=labels)) == text("""
        error[sample]: `x` is wrong
         --> <test_diagnostics kernel>:5:6
          |
        5 |     y = g(n)
          |         ^^^^ this `x`
        6 |     漢字 = n + é + z
          |                -   - last
          |                |
          |                one column
          = note: names matter
          = help: rename `x`""").replace("é", "e\u0301")


def test_a_span_of_several_lines() -> None:
    assert printed(Sample(span=at(7, 4, 20, end_line=11))) == text("""
        error[sample]: `x` is wrong
          --> <test_diagnostics kernel>:7:5
           |
         7 |     long_call(first,
           |     ^^^^^^^^^^^^^^^^
         8 |               second,
           |               ^^^^^^^
         9 |               third,
           |               ^^^^^^
        10 |               fourth,
           |               ^^^^^^^
        11 |               fifth)
           |               ^^^^^^ this `x`
           = note: names matter
           = help: rename `x`""")


def test_a_long_span_is_shortened() -> None:
    assert printed(Sample(span=at(1, 0, 12, end_line=12))) == text("""
        error[sample]: `x` is wrong
          --> <test_diagnostics kernel>:1:1
           |
         1 | def kernel(x, n):
           | ^^^^^^^^^^^^^^^^^
         2 |     with group(warp[1]):
           |     ^^^^^^^^^^^^^^^^^^^^
         3 |         total = total + f(x, n)
           |         ^^^^^^^^^^^^^^^^^^^^^^^
        ...
        12 |     last = 1
           |     ^^^^^^^^ this `x`
           = note: names matter
           = help: rename `x`""")


def test_the_chain_of_calls() -> None:
    trace = (Label(at(3, 24, 31), "called from here"), Label(at(12, 4, 8), "for T = int32"))
    assert printed(Sample(span=at(2, 4, 5, file=OTHER), trace=trace)) == text("""
        error[sample]: `x` is wrong
          --> <test_diagnostics library>:2:5
           |
         2 | def f(x, n):
           |     ^ this `x`
           |
          ::: <test_diagnostics kernel>:3:25
           |
         3 |         total = total + f(x, n)
           |                         ------- called from here
           |
          ::: <test_diagnostics kernel>:12:5
           |
        12 |     last = 1
           |     ---- for T = int32
           = note: names matter
           = help: rename `x`""")


def test_a_long_chain_is_shortened() -> None:
    message = render(Sample(span=at(1, 0, 1), trace=tuple(Label(at(3, i, i + 1), f"step {i}") for i in range(20))))
    assert (
        "step 3\n" in message and "step 4\n" not in message and " ... 12 more\n" in message and "step 16\n" in message
    )


def test_without_source() -> None:
    labels = (Label(at(9, 0, 1, file="<nothing>"), "cause"),)
    assert printed(Sample(span=at(7, 2, 3, file="<nothing>"), labels=labels)) == text("""
        error[sample]: `x` is wrong
         --> <nothing>:7:3
          = line 7: this `x`
          = line 9: cause
          = note: names matter
          = help: rename `x`""")


@pytest.mark.parametrize("span", [at(12, 40, 50), at(12, 4, 900), at(12, 4, 3, end_line=99), at(4, 0, 0), at(3, 8, 8)])
def test_spans_that_miss_the_text_still_print(span: Span) -> None:
    assert "^ this `x`" in render(Sample(span=span))


def test_colour_changes_nothing_else() -> None:
    error = Sample(span=at(3, 8, 13), labels=(Label(at(3, 24, 31), "a call"),))
    coloured = render(error, colour=True)
    assert "\x1b[1;31m^^^^^\x1b[0m" in coloured and "\x1b[1;34m-------\x1b[0m" in coloured
    plain = coloured
    for style in ("0", "1", "1;31", "1;34"):
        plain = plain.replace(f"\x1b[{style}m", "")
    assert "\n".join(line.rstrip() for line in plain.split("\n")) == render(error)


def test_several_errors_in_the_order_of_the_source() -> None:
    late, early = Sample(span=at(12, 4, 8), name="b"), Sample(span=at(2, 4, 8), name="a", detail="hm")
    error = CompileError(late, early, late)
    assert error.errors == (early, late)
    assert (error.code, error.rule, error.span, error.notes, error.help) == (
        "sample", "R0", early.span, ("hm", "names matter"), "rename `a`",
    )  # fmt: skip
    assert str(error) == f"{render(early)}\n\n{render(late)}"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_internal_error() -> None:
    assert str(InternalError("no rule for Foo")).startswith("this is a bug in Prism")


def test_source_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\ny = 2\n")
    assert source_lines(str(path)) == ["x = 1", "y = 2"]
    assert source_lines("<no such thing>") == []
    linecache.cache["<cell>"] = (6, None, ["z = 3\n"], "<cell>")
    assert source_lines("<cell>") == ["z = 3"]


@pytest.mark.parametrize("error", catalogue(), ids=lambda error: error.__name__)
def test_templates_use_fields_that_exist(error: type[Error]) -> None:
    templates = (error.title, error.label, *error.note_templates, error.help_template)
    names = {
        name.split(".")[0].split("[")[0] for t in templates for _, name, _, _ in string.Formatter().parse(t) if name
    }
    declared = {field.name for field in fields(error)}
    assert all(name in declared or isinstance(getattr(error, name, None), property) for name in names)
    assert error.code and error.title and error.help_template and not error.title.endswith(".")
