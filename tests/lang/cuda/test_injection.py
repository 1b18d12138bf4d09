"""Text of users in generated source: an error, or a literal that changes nothing else.

Tests of prism/lang/cuda/raw_text.py.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("hypothesis")
from hypothesis import example, given
from hypothesis import strategies as st

from prism.compiler import compile
from prism.lang import Kernel
from prism.lang.diagnostics import CompileError
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.runtime.compile import compile_cubin
from prism.runtime.entry import Entry

NASTY = (
    '"',
    "\\",
    "*/",
    "/*",
    "//",
    "\n",
    "??/",
    "??/\n",
    "%s",
    "%",
    "\0",
    "\u2028",
    '");',
    'R"(',
    "{}",
    "é",
    "\r",
    "#include",
    "\x85",
)
texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=5), max_size=6).map("".join)
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|\d[\w.]*|\s+|.', re.DOTALL)

KERNEL = """
from prism.lang import assert_, constexpr, dtype, grid, group, id, int32, partition, print_, prism, ptr
from prism.lang import requires, template, thread

@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, N=constexpr(int), F=constexpr(float))
def speaks(y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = T(N) + T(F)
        assert_(i >= 0, {assertion!r})
        print_({printed!r})  # {comment}
"""
TEMPLATE = {"T": "float32", "N": 1, "F": 0.5}
numbers = itertools.count()


def tokens(source: str) -> list[str]:
    """The text's tokens: each literal the same, and without comments, which end where they should or swallow the rest."""
    found = [match[0] for match in TOKEN.finditer(source)]
    assert "".join(found) == source
    return [
        '"literal"' if token.startswith('"') else token
        for token in found
        if not token.isspace() and not token.startswith(("//", "/*"))
    ]


def kernel_of(
    folder: Path, name: str = "speaks.py", assertion: str = "a", printed: str = "p", comment: str = ""
) -> Kernel:
    path = folder / name
    path.write_text(KERNEL.format(assertion=assertion, printed=printed, comment=comment), encoding="utf-8", newline="")
    module = f"injected_{next(numbers)}"
    spec = importlib.util.spec_from_file_location(module, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded
    try:
        spec.loader.exec_module(loaded)
    finally:
        del sys.modules[module]
    return loaded.speaks  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("injected")


@pytest.fixture(scope="module")
def plain(folder: Path) -> list[str]:
    source = emit(lower(build(kernel_of(folder), TEMPLATE))).source
    assert compile_cubin(source, "sm_90a").cubin
    return tokens(source)


@given(assertion=texts, printed=texts)
@example(assertion='*/ __device__ int x; //"', printed='"); x(); //')
@example(assertion="??/\n", printed="%n%s\\")
def test_texts_that_are_spoken(folder: Path, plain: list[str], assertion: str, printed: str) -> None:
    try:
        program = build(kernel_of(folder, assertion=assertion, printed=printed), TEMPLATE)
    except (CompileError, UnicodeEncodeError, TypeError):  # a placeholder without a value, a lone surrogate
        return
    assert tokens(emit(lower(program)).source) == plain


@given(comment=texts.map(lambda text: re.sub(r"[\n\r\x0b\x0c\0\x1c-\x1e\x85\u2028\u2029]", " ", text)))
@example(comment="*/ int evil; /* \\")
@example(comment="ends in a backslash \\")
def test_comments_of_the_source(folder: Path, plain: list[str], comment: str) -> None:
    try:
        program = build(kernel_of(folder, comment=comment), TEMPLATE)
    except (CompileError, UnicodeEncodeError):
        return
    assert tokens(emit(lower(program)).source) == plain


@pytest.mark.parametrize(
    "name", ['qu"ote.py', "star*slash.py", "new\nline.py", "back\\slash.py", "tri??graph.py", "é%s.py"]
)
def test_names_of_files(folder: Path, plain: list[str], name: str) -> None:
    source = emit(lower(build(kernel_of(folder, name=name), TEMPLATE))).source
    assert tokens(source) == plain
    assert compile_cubin(source, "sm_90a").cubin


@given(text=texts)
@example(text="float32; int evil")
@example(text="float")
def test_dtypes_are_looked_up(folder: Path, plain: list[str], text: str) -> None:
    try:
        program = build(kernel_of(folder), {**TEMPLATE, "T": text})
    except CompileError:
        return
    assert [t for t in tokens(emit(lower(program)).source)] != [] and program.entry.parameters[
        0
    ].type.element.name.isidentifier()


@given(value=st.floats() | st.integers(-(2**70), 2**70) | texts, name=st.sampled_from(["N", "F"]))
def test_numbers_are_printed_anew(folder: Path, plain: list[str], value: object, name: str) -> None:
    try:
        program = build(kernel_of(folder), {**TEMPLATE, name: value})
    except (CompileError, TypeError, ValueError, OverflowError):
        return
    words = [t for t in tokens(emit(lower(program)).source) if re.fullmatch(r"[A-Za-z_]\w*", t)]
    extra = {w for w in words if w not in plain}
    assert extra <= {"__uint_as_float"}, extra


@given(text=texts)
@example(text="k(float*x){x[0]=666;} __device__ void z")
@example(text="int")
@example(text="main")
def test_names_of_functions(folder: Path, text: str) -> None:
    kernel = kernel_of(folder)
    kernel.__name__ = text
    try:
        emitted = emit(lower(build(kernel, TEMPLATE)))
    except (CompileError, TypeError, ValueError):
        return
    assert re.fullmatch(r"prism_\w*", emitted.name, re.ASCII), emitted.name
    Entry(emitted.name, emitted.source, "sm_90a", ())


@given(text=texts)
@example(text="sm_90a --include-path=/etc")
@example(text="sm_90a\n")
@example(text="sm_²")
def test_architectures(folder: Path, text: str) -> None:
    with pytest.raises(ValueError, match="sm_"):
        assert compile(kernel_of(folder), TEMPLATE, arch=text).cubin
