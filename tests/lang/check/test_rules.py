"""The legal twin of each rule's negative cases (tests/errors): small programs that check, and what the typed tree says.

Tests of prism/lang/check: __init__, annotation, arguments, assign, body, calls, conversion, data, env, expressions,
ids, roles, shared, signature, statements; prism/lang/types/perspective.py.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import prism.lang
from prism.lang import surface, tree
from prism.lang.check import check
from prism.lang.diagnostics import CompileError
from prism.lang.tree.walk import statements
from prism.lang.types import FLOAT32, INT32, SCALARS
from prism.lang.types.perspective import BLOCK, THREAD, WARP1, Level, Perspective

COUNTER = itertools.count()
WARP = "thread[32]"


def load(text: str) -> dict[str, object]:
    """Run a text as a notebook runs a cell: its lines are in `linecache`, and no file holds them."""
    file = f"<rules {next(COUNTER)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, object] = {name: getattr(prism.lang, name) for name in prism.lang.__all__}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names


def device(bound: str, parameters: str, body: str, before: str = "") -> tree.Function:
    """Check a device function `f` of one bound, parameter list and body, in which `;` ends a line and `>` indents it."""
    lines: list[str] = []
    for part in body.split(";"):
        depth = len(part.strip()) - len(part.strip().lstrip(">"))
        lines.append("    " * (depth + 1) + part.strip().lstrip("> "))
    head = f'@prism("device")\n@requires({bound})\ndef f({parameters}):\n'
    return check(load(before + head + "\n".join(lines) + "\n")["f"])[-1]


def symbols(function: tree.Function) -> dict[str, tree.Symbol]:
    """The locals, views and shared objects of a function by name."""
    found: dict[str, tree.Symbol] = {}
    for statement in statements(function.body):
        if isinstance(statement, tree.Declare | tree.SharedDeclare | tree.For):
            found[statement.symbol.name] = statement.symbol
        if isinstance(statement, tree.Partition | tree.Claim):
            found[statement.view.name] = statement.view
    return found


LOAD = """
@prism("device")
@requires(thread[32])
def warp_load(p: ptr(const(int)) @ thread[32], n: int @ thread[32]):
    v: int @ thread[32] = p[0]

@prism("device")
@requires(block[1], thread[32])
def block_load(p: ptr(const(int)) @ block[1], n: int @ block[1]):
    v: int @ block[1] = p[0]

@prism("device")
@requires(thread[32])
def fill(c: ptr(float) @ thread[32]):
    with partition(c, thread[1], id()) as mine:
        with group(thread[1]):
            mine[0] = 0.0

"""

# Rule, bound, parameters, body, and the perspectives of some of its names.
LEGAL = [
    ("R1", "block[1], thread[64]", "", "pass; x: int @ block[1] = 0", {"x": "block[1]"}),
    ("R1 warps", "block[1], warp[2]", "", "x: int @ warp[1] = id()", {"x": WARP}),
    ("R2", "thread[64]", "", "with group(thread[32]): ;> x: int = 0", {"x": WARP}),
    ("R2 below the block", "block[1], thread[32]", "", "with group(thread[32]): ;> x: int = 0", {"x": WARP}),
    ("R2 twice", "thread[8]", "", "with group(thread[4]): ;> with group(thread[2]): ;>> x: int = 0", {"x": "thread[2]"}),
    ("R3", "thread[4]", "", "match split(thread): ;> case 2: ;>> x: int = 0;> case 2: ;>> y: int = 0", {"y": "thread[2]"}),
    ("R3 idle rest", "thread[4]", "", "match split(thread): ;> case 2: ;>> x: int = 0", {"x": "thread[2]"}),
    (
        "R4", "block[1], warp[12]", "", "match split(warp): ;> case 8: ;>> x: int = 0;> case 4: ;>> y: int = 0",
        {"x": "thread[256]", "y": "thread[128]"},
    ),
    (
        "R4 2, 1, 1", "thread[4]", "",
        "match split(thread): ;> case 2: ;>> pass;> case 1: ;>> pass;> case 1: ;>> x: int = 0", {"x": "thread[1]"},
    ),
    ("R5", "block[1], thread[32]", "", "match split(thread): ;> case 32: ;>> t: int @ thread[1] = id()", {"t": "thread[1]"}),
    ("R6", "block[1], thread[1]", "", "x: int @ thread[1] = 0", {"x": "thread[1]"}),
    ("R6 the code's own", "block[1], thread[1]", "", "x: int = 0", {"x": "block[1]"}),
    ("R7", "block[1], thread[1]", "", "t: int @ thread[1] = id(); u: int @ thread[1] = t + 1", {"u": "thread[1]"}),
    ("R7 the target decides", WARP, "", "t: int @ thread[1] = id(); a: int[4] @ thread[1]; a[t] = 4 * t + 1", {}),
    ("R8", "block[1], thread[1]", "", "b: int @ block[1] = 1; t: int @ thread[1] = b", {"b": "block[1]"}),
    ("R8 a collective", WARP, "v: int @ thread[1]", "s: int @ thread[32] = warp_sum(v)", {"s": WARP}),
    ("R8 a broadcast", WARP, "v: int @ thread[1]", "s: int @ thread[32] = broadcast(v, 0)", {"s": WARP}),
    ("R9", "block[1], thread[1]", "n: int @ grid[1]", "if n > 0: ;> x: int = 0", {"x": "block[1]"}),
    ("R9 in group", "block[1], thread[1]", "", "t: int @ thread[1] = id(); with group(thread[1]): ;> if t > 0: ;>> x: int", {}),
    ("R9 a vote", WARP, "v: int @ thread[1]", "if warp_any(v > 0): ;> x: int = 0", {"x": WARP}),
    ("R9 a choice", WARP, "v: int @ thread[1]", "w: int @ thread[1] = v if v > 0 else -v", {"w": "thread[1]"}),
    ("R10", WARP, "", "for i in range(0, 4, 1): ;> x: int = i", {"i": WARP, "x": WARP}),
    ("R10 broader", "block[1], thread[1]", "n: int @ grid[1]", "for i in range(n): ;> x: int = i", {"i": "block[1]"}),
    ("R10 shadows", WARP, "", "i: int = 0; for i in range(4): ;> x: int = i", {"x": WARP}),
    ("R11", "block[1], thread[1]", "n: int @ block[1]", "while n > 0: ;> break", {}),
    ("R11 inside", "block[1], thread[1]", "", "with group(thread[1]): ;> for i in range(4): ;>> if i > 2: ;>>> continue", {}),
    ("R12", "block[1], thread[32]", "", "w: int @ thread[32] = id()", {"w": WARP}),
    ("R12 a bound of one", "thread[1]", "", "t: int = id()", {"t": "thread[1]"}),
    ("R12 an arm of one", "block[1], thread[1]", "", "match split(thread): ;> case 1: ;>> t: int = id()", {"t": "thread[1]"}),
    ("R12 named", "block[1], thread[32]", "", "n: int @ block[1] = count(thread[1])", {"n": "block[1]"}),
    ("R13", "block[1], thread[32]", "p: ptr(const(int)) @ block[1]", "with group(thread[32]): ;> warp_load(p, 4)", {}),
    ("R13 implicit group", "block[1], thread[32]", "p: ptr(const(int)) @ block[1]", "warp_load(p, 4)", {}),
    ("R14", "block[1], thread[32]", "p: ptr(const(int)) @ block[1], n: int @ grid[1]", "block_load(p, n)", {}),
    (
        "R15", "block[1], thread[32]", "C: ptr(float) @ block[1]",
        "with claim(C, p=thread[32]) as c: ;> match split(thread): ;>> case 32: ;>>> fill(c)", {"c": WARP},
    ),
    ("R16", "block[1], thread[1], smem=512", "", "s: shared(float[128]) @ block[1]", {"s": "block[1]"}),
    ("R17", "thread[1]", "p: ptr(const(int)) @ thread[1]", "t: int = p[0]", {"t": "thread[1]"}),
    (
        "R18", "block[1], thread[1]", "",
        "S: shared(int[64]) @ block[1]; t: int @ thread[1] = id(); with partition(S, p=thread[1], offset=t) as s: "
        ";> with group(thread[1]): ;>> s[0] = 1", {"s": "thread[1]"},
    ),
    ("R18 atomics", "block[1], thread[1]", "p: ptr(uint32) @ grid[1]", "with group(thread[1]): ;> atomic_add(p[0], 1)", {}),
    ("R19", "block[1], thread[1]", "u: int @ thread[1]", "S: shared(float[64]) @ block[1]; t: float @ thread[1] = S[u]", {}),
    ("R19 const", "block[1], thread[1]", "p: ptr(const(int)) @ grid[1]", "b: int @ block[1] = p[3]", {"b": "block[1]"}),
    ("R19 shared", "block[1], thread[1]", "", "S: shared(int[4]) @ block[1]; b: int @ block[1] = S[3]", {"b": "block[1]"}),
    (
        "R20", "block[1], thread[32]", "S: ptr(int) @ block[1]",
        "w: int @ thread[32] = id(); with partition(S, p=thread[32], offset=w * 8) as s: ;> pass", {"s": WARP},
    ),
    (
        "R20 const below", "thread[1]", "S: ptr(const(int)) @ grid[1]",
        "with partition(S, thread[1], id()) as s: ;> t: int = s[0]", {"s": "thread[1]"},
    ),
    (
        "R21", "block[1], thread[1]", "",
        "S: shared(float[64]) @ block[1]; with partition(S, thread[1], id()) as s: ;> pass; x: float @ thread[1] = S[0]", {},
    ),
    (
        "R21 const", "block[1], thread[1]", "S: ptr(const(int)) @ block[1]",
        "with partition(S, thread[1], id()) as s: ;> b: int = S[0]", {},
    ),
    ("R22", "block[1], thread[32]", "S: ptr(int) @ block[1]", "with claim(S, p=thread[32]) as s: ;> pass", {"s": WARP}),
    (
        "R23", "block[1], thread[64]", "S: ptr(const(int)) @ block[1]",
        "with claim(S, thread[32]) as s: ;> match split(thread): ;>> case 32: ;>>> a: int = s[0];>> case 32: ;>>> pass",
        {"a": WARP},
    ),
    (
        "R23 deeper", "block[1], thread[64]", "S: ptr(const(int)) @ block[1]",
        "with claim(S, thread[32]) as s: ;> match split(thread): ;>> case 32: ;>>> with group(thread[1]): ;>>>> a: int = s[0]",
        {"a": "thread[1]"},
    ),
    ("R25", "block[1], thread[1]", "", "s: shared(int[4]) @ block[1]", {"s": "block[1]"}),
    ("R25 align", "block[1], thread[1]", "", "s: shared(int[4], align=128) @ block[1]", {"s": "block[1]"}),
]  # fmt: skip


@pytest.mark.parametrize("case", LEGAL, ids=[case[0] for case in LEGAL])
def test_legal(case: tuple[str, str, str, str, dict[str, str]]) -> None:
    _, bound, parameters, body, expected = case
    function = device(bound, parameters, body, before=LOAD)
    found = symbols(function)
    assert {name: str(found[name].perspective) for name in expected} == expected


@pytest.mark.parametrize("size", [1, 8, 32])
def test_an_index_among_one_is_legal_in_an_instance(size: int) -> None:
    """R12: the error is of what is 0 in every instance; sizes that are names may be others elsewhere."""
    text = """
@prism("device")
@template(SIZE=constexpr(int))
@requires(block[1], thread[32])
def f():
    with group(thread[SIZE]):
        lane: int @ thread[1] = id()
        own: int @ thread[SIZE] = id()
    with group(thread[32]):
        part: int @ thread[SIZE] = id()
"""
    function = check(load(text)["f"], {"SIZE": size})[-1]
    ids = [s.value for s in statements(function.body) if isinstance(s, tree.Declare) and isinstance(s.value, tree.Id)]
    assert [value.unit.size for value in ids] == [1, size, size]


def test_a_groups_body_runs_at_its_unit() -> None:
    function = device("block[1], thread[64]", "", "with group(thread[32]): ;> x: int = 0")
    (group,) = function.body
    assert isinstance(group, tree.Group)
    assert (group.code, group.unit) == (BLOCK, WARP1)


def test_arms_start_where_the_arms_before_end() -> None:
    function = device("block[1], warp[4]", "", "match split(warp): ;> case 2: ;>> pass;> case 1: ;>> pass")
    (split,) = function.body
    assert isinstance(split, tree.Split)
    assert split.level == Level.THREAD
    assert [(arm.first, arm.size) for arm in split.arms] == [(0, 64), (64, 32)]


def test_an_offset_is_evaluated_once_and_a_lambda_at_each_access() -> None:
    body = "with partition(x, thread[1], 4 * id()) as a: ;> pass; with partition(x, thread[1], lambda i: id() + i) as b: ;> pass"
    found = symbols(device("block[1], thread[32]", "x: ptr(int) @ block[1]", body))
    a, b = found["a"].view, found["b"].view
    assert a is not None and b is not None
    assert a.offset is not None and a.offset[1].perspective == THREAD
    assert b.offset is None and len(b.index) == 1


def test_id_counts_the_units_of_the_target() -> None:
    found = device("block[1], thread[32]", "", "w: int @ thread[32] = 1 + id(); t: int @ thread[1] = id()")
    first, second = found.body
    assert isinstance(first, tree.Declare) and isinstance(second, tree.Declare)
    assert isinstance(first.value, tree.Binary) and isinstance(first.value.right, tree.Id)
    assert isinstance(second.value, tree.Id)
    assert (first.value.right.unit, second.value.unit) == (WARP1, Perspective(Level.THREAD, 1))


# -- Template arguments, decorators, where a function may stand -------------------------------------------------------

CAST = (
    '@template(T=dtype)\n@prism("device")\n@requires(thread[1])\ndef f(x: T @ thread[1]):\n    y: T @ thread[1] = x\n'
)


@pytest.mark.parametrize(
    "given, name",
    [
        (np.float32, "float32"),
        (np.dtype("int64"), "int64"),
        (np.dtype(bool), "bool"),
        (int, "int32"),
        (float, "float32"),
        ("uint8", "uint8"),
        (prism.lang.int16, "int16"),
    ],
    ids=str,
)
def test_dtypes_of_numpy_and_python_are_template_arguments(given: object, name: str) -> None:
    kernel = load(CAST)["f"]
    assert isinstance(kernel, surface.Kernel)
    assert check(kernel, {"T": given})[-1].parameters[0].type == SCALARS[name]


@pytest.mark.parametrize("given", [np.longdouble, "float", None, [1], {}, surface.thread], ids=str)
def test_what_is_no_dtype_is_refused(given: object) -> None:
    with pytest.raises(CompileError) as caught:
        check(load(CAST)["f"], {"T": given})  # type: ignore[arg-type]
    assert caught.value.code == "template"


@pytest.mark.parametrize("future", [True, False], ids=["future", "evaluated"])
@pytest.mark.parametrize("mark", ['@prism("device")', "@device"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_decorators_in_any_order(place: int, mark: str, future: bool) -> None:
    """Only `@template` stands above what names its parameters: Python evaluates it first."""
    others = ["@template(N=constexpr(int))", "@requires(thread[N])", '@attr("__noinline__")']
    order = [*others[: place + 1], mark, *others[place + 1 :]]
    head = "from __future__ import annotations\n" if future else ""
    text = head + "\n".join(order) + "\ndef f(x: int @ thread[N]):\n    y: int[N] @ thread[1]\n"
    function = check(load(text)["f"], {"N": 4})[-1]  # type: ignore[arg-type]
    assert function.bound.thread == 4
    assert symbols(function)["y"].type.shape == (4,)  # type: ignore[union-attr]
    assert function.attributes == ("__noinline__",)


def test_kernels_have_their_own_decorator() -> None:
    text = "@kernel\n@requires(grid[1], block[1], thread[32])\ndef f(n: int @ grid[1]):\n    m: int = n\n"
    assert check(load(text)["f"])[-1].kind == "global"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "given", "limit", "code"),
    [("dtype", FLOAT32, "N", "call-smem"), ("constexpr(int)", -4, "N", "call-smem"), ("dtype", INT32, "M", "template")],
)
def test_a_limit_of_shared_memory_is_a_number(kind: str, given: object, limit: str, code: str) -> None:
    head = f"@template(N={kind})\n@kernel\n@requires(grid[1], block[1], thread[32], smem={limit})\n"
    names = load("@template(M=dtype)\n@device\ndef g(): pass\n" + head + "def f(n: int @ grid[1]):\n    m: int = n\n")
    with pytest.raises(CompileError) as caught:
        check(names["f"], {"N": given})  # type: ignore[arg-type]
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("decorator", "given"),
    [
        (surface.attr, id),
        (surface.extern, None),
        (surface.may_alias, 1),
        (lambda name: surface.extern("", reads=[name]), id),
    ],
)
def test_decorators_want_text(decorator: Callable[[Any], Any], given: object) -> None:
    with pytest.raises(TypeError, match="takes text, not"):
        decorator(given)


def test_requires_is_missing_from_a_cell() -> None:
    with pytest.raises(CompileError) as caught:
        check(load("@kernel\ndef f(n: int @ grid[1]):\n    m: int = n\n")["f"])  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.span.line) == ("bound-wf", 2)
    assert "def f(n: int @ grid[1]):" in str(caught.value)


def test_without_its_text_a_function_is_refused() -> None:
    names: dict[str, object] = {name: getattr(prism.lang, name) for name in prism.lang.__all__}
    exec('@prism("device")\n@requires(thread[1])\ndef f(n: int):\n    pass\n', names)
    with pytest.raises(CompileError) as caught:
        check(names["f"])  # type: ignore[arg-type]
    assert caught.value.code == "syntax"


# -- Several errors, and errors inside callees ------------------------------------------------------------------------


def refused(text: str, template: dict[str, object] | None = None) -> CompileError:
    with pytest.raises(CompileError) as caught:
        check(load(text)["f"], template)  # type: ignore[arg-type]
    return caught.value


def test_independent_errors_are_all_reported_and_none_follows_from_another() -> None:
    error = refused(
        """@prism("device")
@requires(block[1], thread[32])
def f(x: ptr(int) @ block[1], n: int @ block[1]):
    t: int @ thread[1] = id()
    bad: int @ grid[1] = 0
    after: int @ block[1] = bad + 1
    again: int @ block[1] = after
    if t > 0:
        x[0] = bad
        y: int @ block[1] = t
    for i in range(t):
        z: int @ block[1] = i
        w: int @ block[1] = t
    with partition(x, thread[32], offset=t) as row:
        v: int @ thread[1] = row[0]
        u: int @ grid[1] = 0
    k: int @ block[1] = t
"""
    )
    found = [(fault.code, fault.span.line) for fault in error.errors]
    assert found == [
        ("decl", 5),
        ("cond", 8),
        ("ptr-write", 9),
        ("write-down", 10),
        ("loop", 11),
        ("write-down", 13),
        ("partition", 14),
        ("decl", 16),
        ("write-down", 17),
    ]


CHAIN = """@template(T=dtype, N=constexpr(int))
@prism("device")
@requires(thread[1])
def inner(x: T @ thread[1]):
    y: int @ thread[1] = x

@template(T=dtype)
@prism("device")
@requires(thread[1])
def middle(x: T @ thread[1]):
    inner(x, N=4)

@prism("device")
@requires(thread[1])
def f(x: float @ thread[1]):
    middle(x)
"""


def test_an_error_in_a_callee_says_who_called_it_and_with_what() -> None:
    error = refused(CHAIN)
    assert (error.code, error.span.line) == ("type", 5)
    (fault,) = error.errors
    assert [(step.span.line, step.text) for step in fault.trace] == [
        (11, "`inner` is called here, with T=float32, N=4"),
        (16, "`middle` is called here, with T=float32"),
    ]
    assert all(step.text in str(error) for step in fault.trace)


def test_the_same_callee_with_other_arguments_is_another_function() -> None:
    text = CHAIN.replace("y: int @ thread[1] = x", "y: T @ thread[1] = x") + "    middle(1)\n"
    functions = check(load(text)["f"])  # type: ignore[arg-type]
    assert sorted(function.identifier for function in functions if function.name == "inner") == [
        "prism_inner",
        "prism_inner_2",
    ]
    assert {function.parameters[0].type for function in functions} >= {INT32, SCALARS["float32"]}
