"""Parsing: what each construct becomes, where the source comes from, and that no Python makes it crash.

Tests of prism/lang/parse: expressions, instantiate, scopes, source, syntax; prism/lang/surface/__init__.py.
"""

import dataclasses
import itertools
import linecache
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import prism
import prism.lang.surface as lang
from prism.lang.diagnostics import CompileError, Span
from prism.lang.parse import parse, syntax
from prism.lang.parse.instantiate import instantiate
from prism.lang.surface import Kernel, async_, claim, device, grid, group, kernel, partition, ptr, requires, thread

COUNTER = itertools.count()
SCOPE = {name: getattr(lang, name) for name in lang.__all__}


def load(text: str, name: str = "f", **scope: Any) -> Any:
    """Run a text whose source Python can find, as a notebook's cell."""
    file = f"<cell {next(COUNTER)}>"
    text = textwrap.dedent(text).strip("\n") + "\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {**SCOPE, "lang": lang, **scope}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names[name]


def function(body: str, parameters: str = "", **scope: Any) -> Kernel:
    text = f"from __future__ import annotations\n@device\ndef f({parameters}):\n" + textwrap.indent(body, "    ")
    return load(text, **scope)  # type: ignore[no-any-return]


def show(node: object) -> str:
    """A tree as text: the node's class and its fields, without spans; names and operators as written."""
    match node:
        case tuple():
            return "[" + ", ".join(map(show, node)) + "]"
        case syntax.Name(name=name):
            return name
        case syntax.Literal(value=value):
            return repr(value)
        case syntax.Binary(op=op, left=left, right=right):
            return f"({show(left)} {op} {show(right)})"
        case syntax.Node():
            fields = [f.name for f in dataclasses.fields(node) if "span" not in f.name]
            return f"{type(node).__name__}({', '.join(show(getattr(node, name)) for name in fields)})"
        case _:
            return str(node)


def first(body: str, **scope: Any) -> syntax.Stmt:
    return parse(function(body, **scope)).body[0]


def instantiated(body: str) -> syntax.Function:
    """A body with its constants worked out."""
    kernel = function(body)
    return instantiate(kernel, parse(kernel), {})


def refused(make: Callable[[], object]) -> CompileError:
    with pytest.raises(CompileError) as caught:
        make()
    assert caught.value.code == "syntax"
    return caught.value


# -- Statements and expressions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("pass", "Pass()"),
        ("'text'", "Pass()"),
        ("...", "Pass()"),
        ("return", "Return(None)"),
        ("return n", "Return(n)"),
        ("x: int", "Declare(x, int, None, None)"),
        ("x: int @ thread[1]", "Declare(x, int, Subscript(thread, [1]), None)"),
        ("x: int @ thread[1] = 3", "Declare(x, int, Subscript(thread, [1]), 3)"),
        ("x: ptr(int) @ grid[1] = y", "Declare(x, Call(ptr, [int], []), Subscript(grid, [1]), y)"),
        ("x: T @ a @ thread[1]", "Declare(x, (T @ a), Subscript(thread, [1]), None)"),
        ("x: int[2][N] @ p = {0}", "Declare(x, Subscript(Subscript(int, [2]), [N]), p, Braces([0]))"),
        ("x: int[2] @ p = [a, [1]]", "Declare(x, Subscript(int, [2]), p, Listed([a, Listed([1])]))"),
        ("x: shared(T[n], ring=2) @ p", "Declare(x, Call(shared, [Subscript(T, [n])], [[ring, 2]]), p, None)"),
        ("x = n", "Assign(x, n)"),
        ("x[i] = 1", "Assign(Subscript(x, [i]), 1)"),
        ("x[i, 2][3] = 1", "Assign(Subscript(Subscript(x, [i, 2]), [3]), 1)"),
        ("x += 1", "Augment(x, +, 1)"),
        ("x[0] >>= 1", "Augment(Subscript(x, [0]), >>, 1)"),
        ("f(1, k=2)", "Evaluate(Call(f, [1], [[k, 2]]))"),
        ("f('t', [a, 1])", "Evaluate(Call(f, ['t', Braces([a, 1])], []))"),
        ("block.scan(x)", "Evaluate(Call(Attribute(block, scan), [x], []))"),
        ("unsafe('a;', reads=[x])", "Unsafe('a;', [[reads, Braces([x])]])"),
        ("lang.unsafe('a;')", "Unsafe('a;', [])"),
        ("i = id()", "Assign(i, Call(id, [], []))"),
        ("i = lambda j, k: j + k", "Assign(i, Lambda([j, k], (j + k)))"),
        ("i = lambda: 1", "Assign(i, Lambda([], 1))"),
        ("x = a if c else b", "Assign(x, Conditional(c, a, b))"),
        ("x = a and b and c", "Assign(x, ((a and b) and c))"),
        ("x = a or not b", "Assign(x, (a or Unary(not, b)))"),
        ("x = -1 + +2 - ~y", "Assign(x, ((Unary(-, 1) + 2) - Unary(~, y)))"),
        ("x = a // b % c << d", "Assign(x, (((a // b) % c) << d))"),
        ("x = a < b", "Assign(x, (a < b))"),
        ("x = a < b <= id()", "Assign(x, ((a < b) and (b <= Call(id, [], []))))"),
        ("x = 0 <= id() < 4", "Assign(x, ((0 <= Call(id, [], [])) and (Call(id, [], []) < 4)))"),
        ("x = true", "Assign(x, true)"),
        ("x = 1.5", "Assign(x, 1.5)"),
        ("if c: pass", "If(c, [Pass()], [])"),
        ("if c: pass\nelif d: return\nelse: pass", "If(c, [Pass()], [If(d, [Return(None)], [Pass()])])"),
        ("while c: break", "While(c, [Break()])"),
        ("for i in range(n): continue", "For(i, 0, n, 1, None, [Continue()])"),
        ("for _ in range(1, n): pass", "For(_, 1, n, 1, None, [Pass()])"),
        ("for i in range(1, n, 2, unroll=4): pass", "For(i, 1, n, 2, 4, [Pass()])"),
        ("with group(thread[32]): pass", "Group(Subscript(thread, [32]), [Pass()])"),
        ("with lang.group(warp[1]): pass", "Group(Subscript(warp, [1]), [Pass()])"),
        ("match split(thread):\n case 4: pass\n case N: pass", "Split(thread, [Case(4, [Pass()]), Case(N, [Pass()])])"),
        ("match warp:\n  case N.x: pass", "Split(warp, [Case(Attribute(N, x), [Pass()])])"),
        ("with partition(x, thread[1]) as y: pass", "Partition(x, Subscript(thread, [1]), None, None, y, [Pass()])"),
        ("with partition(x, p, o) as y: pass", "Partition(x, p, o, None, y, [Pass()])"),
        ("with partition(x, dimension=p, offset=o) as y: pass", "Partition(x, p, o, None, y, [Pass()])"),
        ("with partition(x, f=lambda i: i, p=p) as y: pass", "Partition(x, p, Lambda([i], i), None, y, [Pass()])"),
        ("with partition(x, p, races='allow') as y: pass", "Partition(x, p, None, 'allow', y, [Pass()])"),
        ("with claim(x, scope=p) as y: pass", "Claim(x, p, None, None, y, [Pass()])"),
        ("with claim(x, p, o) as y: pass", "Claim(x, p, o, None, y, [Pass()])"),
        ("with claim(x, p, in_flight=1) as y: pass", "Claim(x, p, None, 1, y, [Pass()])"),
        ("with async_(x) as y: pass", "Async(x, y, [Pass()])"),
        ("with wgmma_async(): pass", "Batch([Pass()])"),
        ("with one(thread): pass", "One(thread, [Pass()])"),
        ("with group(p), one(warp): pass", "Group(p, [One(warp, [Pass()])])"),
        ("with group(p), partition(x, p) as y: pass", "Group(p, [Partition(x, p, None, None, y, [Pass()])])"),
    ],
)  # fmt: skip
def test_statement(text: str, tree: str) -> None:
    assert show(first(text)) == tree


def statements(body: str) -> str:
    return show(parse(function(body)).body)


def test_roles() -> None:
    """A claim for a role enters it inside the last such claim, and inside what comes after."""
    assert (
        statements("a, b = roles(warp, 2, N)\nwith a: pass")
        == "[Roles([a, b], warp, [2, N]), Enter(a, [Pass()], False)]"
    )
    assert statements("a, = roles(warp, 2)") == statements("a = roles(warp, 2)") == "[Roles([a], warp, [2])]"
    made = statements("a, = roles(warp, 2)\nwith claim(x, a) as y, claim(z, a) as w, one(thread): pass")
    inner = "Claim(z, a, None, None, w, [Enter(a, [One(thread, [Pass()])], True)])"
    assert made == f"[Roles([a], warp, [2]), Claim(x, a, None, None, y, [{inner}])]"


def test_function() -> None:
    f = parse(
        load(
            """
            @requires(block[1])
            @device
            def f(x: ptr(const(T)) @ grid[1], n: int) -> uint32 @ block[1]:
                '''Docstring.'''
                return n
            """,
            T=lang.dtype,
        )
    )
    assert show(f.parameters) == (
        "[Parameter(x, Call(ptr, [Call(const, [T], [])], []), Subscript(grid, [1]), None), Parameter(n, int, None, None)]"
    )
    assert (show(f.result), show(f.result_place), show(f.body)) == (
        "uint32",
        "Subscript(block, [1])",
        "[Pass(), Return(n)]",
    )
    assert [name for name, _ in f.decorators] == ["requires", "device"]
    assert (f.name, f.extern, f.span.line, f.span.column) == ("f", False, 3, 4)


@pytest.mark.parametrize(
    ("body", "extern"),
    [("pass", True), ("'text'\npass", True), ("'text'", False), ("pass\npass", False), ("...", False)],
)
def test_extern(body: str, extern: bool) -> None:
    assert parse(function(body)).extern is extern


def test_result_none_is_no_result() -> None:
    assert parse(load("@device\ndef f() -> None: pass")).result is None


@pytest.mark.parametrize("future", ["from __future__ import annotations\n", ""])
def test_with_and_without_future_annotations(future: str) -> None:
    f = parse(load(f"{future}@device\ndef f(x: ptr(int32) @ grid[1]):\n    y: int32 @ thread[1] = 0"))
    assert show(f.parameters) == "[Parameter(x, Call(ptr, [int32], []), Subscript(grid, [1]), None)]"


# -- What a name stands for --------------------------------------------------------------------------------------------


def test_constructs_under_other_names() -> None:
    assert isinstance(first("with every(thread[1]): pass", every=lang.group), syntax.Group)
    assert isinstance(first("with part(x, thread[1]) as y: pass", part=lang.partition), syntax.Partition)


def test_a_construct_from_the_closure() -> None:
    from prism.lang.surface import group as each

    @device
    def f():
        with each(thread[1]):
            pass

    assert isinstance(parse(f).body[0], syntax.Group)


def test_a_local_hides_a_construct() -> None:
    error = refused(lambda: parse(function("with group(thread[1]): pass", "group: int @ thread[1]")))
    assert "`group` is not imported, or is a local variable here" in str(error)


def test_range_must_be_pythons() -> None:
    assert "Python's `range`" in str(refused(lambda: first("for i in range(3): pass", range=lambda n: n)))


def test_decorators_under_another_name_or_from_a_scope_are_ours() -> None:
    text = """
        def make():
            from prism.lang.surface import requires, thread
            @device
            @requires(thread[1])
            def g(): pass
            return g
        f = make()
    """
    assert parse(load(text)).name == "g"


def test_lambda_and_class_are_no_functions() -> None:
    assert "`lambda` is not a function" in str(refused(lambda: parse(device(lambda x: x))))
    assert "`int` is not a function" in str(
        refused(lambda: parse(dataclasses.replace(device(test_extern), python=int)))
    )  # type: ignore[arg-type]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters() -> None:
    assert "type parameters" in str(refused(lambda: parse(load("@device\ndef f[T](x: T @ thread[1]): pass"))))


def test_too_deep_to_be_checked() -> None:
    """A sum that parses, and whose terms are one inside the other."""
    total = " + ".join(["n"] * 400)
    head = "@device\n@requires(thread[1])\ndef case(n: int @ thread[1])"
    case = load(f"{head} -> int @ thread[1]:\n    return {total}", "case", __name__="cell")
    assert parse(case).name == "case"
    assert "`case` is nested too deeply" in str(refused(lambda: prism.check(case)))


def test_too_deep() -> None:
    text = "x = " + " + ".join(["1"] * (sys.getrecursionlimit() + 100))
    assert "nested too deeply" in str(refused(lambda: first(text)))


# -- Where the source is -----------------------------------------------------------------------------------------------


class Holder:
    @device
    def method(x: ptr(int) @ grid[1]):
        with group(thread[1]):
            x[0] = 1


@kernel
@requires(grid[1])
def decorated(x: ptr(int) @ grid[1]):
    with partition(x, thread[1], lambda i: i) as y, claim(y, thread[1]) as z, async_(z) as w:
        w[0] = 1


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.strip() == text)


def test_a_method_and_its_columns() -> None:
    f = parse(Holder.method)
    line = line_of("def method(x: ptr(int) @ grid[1]):")
    assert f.span == Span(__file__, line, 8, line, 14)
    assert f.body[0].span == Span(__file__, line + 1, 8, line + 1, 29)  # a scope's span is its first line


def test_the_items_of_a_with() -> None:
    """They nest; the span of the first begins with the `with`, each other's is its own."""
    outer = parse(decorated).body[0]
    line = line_of("def decorated(x: ptr(int) @ grid[1]):")
    assert isinstance(outer, syntax.Partition) and isinstance(outer.body[0], syntax.Claim)
    spans = [outer.span, outer.body[0].span, outer.body[0].body[0].span]
    assert [(span.line, span.column, span.end_column) for span in spans] == [
        (line + 1, 4, 50), (line + 1, 52, 76), (line + 1, 78, 92),
    ]  # fmt: skip


def test_a_nested_function_with_a_text_at_column_zero() -> None:
    @device
    def inner(n: int @ thread[1]):
        """A text
        that dedent would stumble over."""
        x = {n: n}  # fmt: skip

    assert refused(lambda: parse(inner)).span.column == 12


def test_columns_count_characters() -> None:
    span = refused(lambda: first("größe = 'é' if [10] else [漢]")).span
    assert (span.line, span.column, span.end_column) == (4, 19, 23)
    span = refused(lambda: first("größe = 漢字 + [10]")).span
    assert (span.column, span.end_column) == (17, 21)


def test_functions_of_one_name() -> None:
    text = "fs = []\n" + "".join(f"@device\ndef f(n: int @ thread[1]):\n    n = {i}\nfs.append(f)\n" for i in range(3))
    assert [show(parse(f).body) for f in load(text, "fs")] == ["[Assign(n, 0)]", "[Assign(n, 1)]", "[Assign(n, 2)]"]
    one = "if True:\n  def f(n: int @ thread[1]): n = 1; g = 2\nelse:\n  def f(): pass\nf = device(f)"
    assert show(parse(load(one)).body) == "[Assign(n, 1), Assign(g, 2)]"


def test_no_source() -> None:
    names: dict[str, Any] = {"device": device}
    exec("@device\ndef lost(): pass", names)
    error = refused(lambda: parse(names["lost"]))
    assert "the source of `lost` is not available" in str(error) and "file" in error.help


def test_a_file_that_changed(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    text = "@device\ndef f():\n    pass\n"
    path.write_text(text)
    names: dict[str, Any] = {"device": device}
    exec(compile(text, str(path), "exec"), names)
    assert parse(names["f"]).extern
    path.write_text("# longer now\n" + text)
    assert "has changed" in str(refused(lambda: parse(names["f"])))
    path.write_text(text.replace("pass", "n: int32 = 1"))  # another body in its place
    assert "has changed" in str(refused(lambda: parse(names["f"])))
    path.write_text(text + "# a word more")
    assert parse(names["f"]).extern
    path.write_text("def (")
    assert "has changed" in str(refused(lambda: parse(names["f"])))
    path.unlink()
    assert "not available" in str(refused(lambda: parse(names["f"])))


def test_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "windows.py"
    path.write_bytes(b"@device\r\ndef f(n: int @ thread[1]):\r\n    x = n in 2\r\n")
    names: dict[str, Any] = {"device": device, "thread": thread}
    exec(compile(path.read_bytes(), str(path), "exec"), names)
    assert str(refused(lambda: parse(names["f"]))).splitlines()[3] == "3 |     x = n in 2"


# -- Any Python at all -------------------------------------------------------------------------------------------------

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

ATOMS = """
a b x 1 2.5 1j True None ... 'text' b'b' f'{a}' f'{a!r:>{b}}' [] {} () id() count(thread[1]) thread grid[1]
group split(thread) {0} [a,*b] {'a':1} a.b a[1:2] a[...] a[b,1] (yield) (yield(a)) (lambda:0) (lambda*a,b=1:a)
(lambda(c):c)
""".split()
FORMS = [
    "{0} + {1}", "{0} ** {1}", "{0} @ {1}", "-{0}", "not {0}", "({0} and {1} or {0})", "({0} < {1} is {0})",
    "{0} in {1}", "({0} if {1} else {0})", "f({0}, k={1})", "f(*{0}, **{1})", "({0}, {1})", "[{0} for c in {1}]",
    "(c := {0})", "{0}[{1}]", "partition({0}, {1})", "unsafe({0})", "{{{0}: {1}}}", "{{{0}, {1}}}", "(*{0}, {1})",
    "({0}).real", "ptr({0})[{1}]", "[{0}, {1}]", "range({0}, {1})", "group({0})", "claim({0}, p={1})",
    "async_({0})", "f({0} for c in {1})",
]  # fmt: skip
EXPRESSIONS = st.recursive(
    st.sampled_from([atom.replace("(c)", " c") for atom in ATOMS]),
    lambda inner: st.builds(lambda form, a, b: form.format(a, b), st.sampled_from(FORMS), inner, inner),
    max_leaves=5,
)
SIMPLE = [
    "pass", "return {0}", "{0}", "y = {0}", "y = z = {0}", "y, z = {0}", "a[{0}] = {1}", "a.b = {0}",
    "y: {0} = {1}", "y: {0}", "a[0]: {0} = {1}", "y += {0}", "y **= {0}", "y @= {0}", "del y", "assert {0}, {1}",
    "raise {0}", "import os", "from os import path as q", "global g", "(y): {0} = {1}", "*y, z = {0}",
    "lambda: {0}", "unsafe({0})", "a.b += {0}",
]  # fmt: skip
COMPOUND = [
    "if {0}:", "while {0}:", "for i in {0}:", "for i, *j in {0}:", "for i in range({0}, unroll={1}):", "with {0}:",
    "with {0} as q:", "with {0} as (q, r), {1}:", "with group({0}):",
    "with partition({0}, {1}, races='allow') as q:", "def h(q={0}, *r, **s):", "class H({0}):", "async def h():",
    "try:", "match {0}:", "match split({0}):", "match thread:",
]  # fmt: skip
PATTERNS = [
    "32",
    "N",
    "_",
    "a.b",
    "-1",
    "'x'",
    "1 | 2",
    "[q, *r]",
    "{'k': 1}",
    "int()",
    "None",
    "32 if a",
    "_ as k",
    "1.5",
]


def block(statements: list[str]) -> str:
    return textwrap.indent("\n".join(statements), "    ")


def compound(header: str, body: list[str], tail: str, pattern: str) -> str:
    inner = block(body)
    if header.startswith("match"):
        return f"{header}\n    case {pattern}:\n{textwrap.indent(inner, '    ')}"
    if header == "try:":
        return f"try:\n{inner}\n{'finally' if tail else 'except* E'}:\n{inner}"
    return f"{header}\n{inner}" + (f"\nelse:\n{inner}" if tail and header.startswith(("if", "while", "for")) else "")


def filled(forms: list[str]) -> Any:
    return st.builds(lambda form, a, b: form.format(a, b), st.sampled_from(forms), EXPRESSIONS, EXPRESSIONS)


STATEMENTS = st.recursive(
    filled(SIMPLE),
    lambda inner: st.builds(
        compound,
        filled(COMPOUND),
        st.lists(inner, min_size=1, max_size=2),
        st.sampled_from(["", "else"]),
        st.sampled_from(PATTERNS),
    ),
    max_leaves=6,
)
SIGNATURES = [
    "",
    "n: int @ thread[1]",
    "n",
    "n: 'int'",
    "*n",
    "**n: int",
    "n: int = 3",
    "*, n",
    "n, /",
    "n: f'{a}'",
    "n: 1 @ 2 @ 3",
]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@given(
    st.lists(STATEMENTS, min_size=1, max_size=3),
    st.sampled_from(SIGNATURES),
    st.sampled_from(["", " -> None", " -> a @ b", " -> [*a]"]),
)
def test_no_python_crashes_the_parser(statements: list[str], signature: str, result: str) -> None:
    text = f"from __future__ import annotations\n@device\ndef f({signature}){result}:\n{block(statements)}"
    try:
        f = load(text)
    except SyntaxError:
        hypothesis.reject()
    try:
        assert parse(f).name == "f"
    except CompileError as error:
        assert error.code == "syntax"
        assert str(error).startswith("error[syntax]: ")
        assert all(
            fault.help and fault.label_text and 1 <= fault.span.line <= text.count("\n") + 1 for fault in error.errors
        )


@pytest.mark.parametrize(
    ("text", "value"), [("2.0**-24", 2.0**-24), ("2**3**2", 512), ("-(2**2)", -4), ("N**2 + N", 12), ("4**0.5", 2.0)]
)
def test_powers_of_constants(text: str, value: float) -> None:
    assert instantiated(f"N: constexpr(int) = 3\ny: double @ thread[1] = {text}").body[0].value.value == value


@pytest.mark.parametrize("text", ["0**-1", "10**10000", "(-8)**0.5", "0.0**-1"])
def test_powers_that_are_no_numbers(text: str) -> None:
    with pytest.raises(CompileError, match="no value that a number of its type can hold"):
        instantiated(f"y: double @ thread[1] = {text}")


@pytest.mark.parametrize("text", ["n**2", "2**n", "1.0 + (n + 1)**2"])
def test_powers_of_variables(text: str) -> None:
    with pytest.raises(CompileError, match="`\\*\\*` of variables is not part of Prism"):
        instantiated(f"n: int @ thread[1] = 3\ny: double @ thread[1] = {text}")
