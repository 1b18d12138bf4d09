"""Whatever a kernel's text says, check either succeeds or raises CompileError: never an error from inside the compiler."""

import ast
import copy
import itertools
import linecache
import random
import warnings
from io import StringIO
from tokenize import COMMENT, ENCODING, ENDMARKER, TokenInfo, generate_tokens, untokenize

import pytest

import prism as package
import prism.lang
from prism.lang.diagnostics import CompileError, InternalError
from prism.lang.surface import Kernel
from prism.runtime.build import entry_of

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

PROGRAMS = (
    """
@template(T=dtype, N=constexpr(int), OP=function)
@prism("device")
@requires(block[1], thread[32])
def helper(value: T @ thread[1], x: ptr(const(T)) @ block[1]) -> T @ block[1]:
    sums: shared(T[32]) @ block[1]
    a: T[N] @ thread[1]
    a[0] = value
    with group(thread[1]):
        for k in range(1, N):
            a[k] = OP(a[k - 1], value) if k % 2 == 0 else value
    sum: T @ thread[32] = broadcast(a[N - 1], 0)
    w: int @ thread[32] = id()
    with partition(sums, thread[32], offset=w) as own:
        with group(thread[32]):
            with claim(own, thread[1]) as slot:
                match split(thread):
                    case 1:
                        slot[0] = sum
    total: T @ block[1] = sums[0] + x[0]
    for v in range(1, count(warp[1])):
        total = OP(total, sums[v])
    return total


@prism("device")
@requires(thread[1])
def add(a: int @ thread[1], b: int @ thread[1]) -> int @ thread[1]:
    return a + b


@prism("global")
@requires(grid[1], block[1], warp[4], smem=4096)
def kernel_(x: ptr(const(int)) @ grid[1], y: ptr(int) @ grid[1], n: int @ grid[1]):
    STEP: constexpr(int) = 2 * 64
    with partition(y, block[1], id() * STEP) as tile:
        with partition(x, block[1], lambda i: id() * STEP + i) as source:
            with group(block[1]):
                t: int @ thread[1] = id()
                first: int @ block[1] = min(n, 4)
                got: int @ block[1] = helper(t + first, x, N=4, OP=add)
                with partition(tile, thread[1], offset=t) as mine:
                    with group(thread[1]):
                        if t < n and not (n == 3):
                            mine[0] = got
                while first > 0:
                    first -= 1
                    if first == 2:
                        break
""",
    """
@prism("global")
@requires(grid[1], block[1], thread[64])
def kernel_(p: ptr(uint32) @ grid[1], x: ptr(const(float)) @ grid[1], words: ptr(mailbox(float)) @ grid[1]):
    with group(block[1]):
        desk: shared(float[2][16], align=16) @ block[1]
        flags: shared(uint32[4]) @ block[1]
        with claim(flags, thread[1]) as own:
            match split(thread):
                case 1:
                    own[1] = atomic_add(p[0], 1, order="acq_rel")
                case 1:
                    pass
        n: uint32 @ block[1] = flags[1]
        match split(warp):
            case 1:
                v: float @ thread[1] = shuffle_up(float(n), 1)
                lane: int @ thread[1] = id()
                s: float @ thread[32] = broadcast(v if lane > 0 else 0.5, 3)
            case 1:
                with group(thread[1]):
                    four: vector(float, 4) = load_vector(x[0], 4)
                    a: float[3] = {0}
                    a[1] = four.x + four[1] * -a[2]
                    receive(words[0], a, 1, 3, 0.0, n)
        r: float @ thread[1] = desk[0][1]
        u: int64 @ thread[1] = int64(n) << 2 ^ 1
""",
    """
@prism("device")
@requires(warpgroup[1])
@template(N=constexpr(int))
def scale(acc: fragment(float, 64, N) @ warpgroup[1], by: float @ warpgroup[1]):
    with group(thread[1]):
        for i in range(count(acc)):
            acc[i] = by * acc[i] + float(column(acc, i))


@prism("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
def kernel_(map_x: const(CUtensorMap(bf16, 64, 64, swizzle=128)) @ grid[1], y: ptr(float) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], 4096 * id()) as part, group(block[1]):
        s: shared(bf16[64, 64], ring=3, swizzle=128)
        u: shared(float[384])
        v: shared(float[384], ring=2, align=128)
        acc: fragment(float, 64, 64) @ warpgroup[1] = 0
        consumers, producer = roles(warpgroup, 2, 1)
        with producer: set_registers(40)
        t: int @ thread[1] = id()
        with partition(u, thread[1], t) as mine, async_(mine) as coming, group(thread[1]):
            cp_async(coming[0], part[t], 4)
        for k in range(n):
            with claim(s, producer) as now, one(thread):
                tma_load(now, map_x[0, 64 * k])
            with claim(s, consumers, in_flight=1) as now, group(warpgroup[1]):
                with wgmma_async():
                    for j in range(2):
                        wgmma(acc, now, now, accumulate=k > 0)
            with partition(v, thread[1], t) as mine, group(thread[1]):
                mine[0] = u[t]
            with partition(v, block[1]) as whole, one(thread):
                bulk_store(part[384 * k], whole)
        with consumers, group(warpgroup[1]):
            scale(acc, 2.0)
            acc = 1
            with group(thread[1]):
                r: int = row(acc, 3)
                acc[5] = acc[4]
""",
    """
def doubled(v):
    return 2 * v


@prism("device")
@requires(thread[1])
@extern("return 2 * v;", meaning=doubled)
def twice(v: int @ thread[1]) -> int @ thread[1]:
    pass


@prism("device")
@requires(block[1], thread[1])
def later(x: ptr(int) @ block[1], y: ptr(int) @ block[1], n: int @ block[1]) -> ptr(int) @ block[1]:
    if n > 2:
        return y
    return x


@prism("global")
@requires(grid[1], block[1], warp[2], smem=10000)
def kernel_(x: ptr(const(int)) @ grid[1], y: ptr(int) @ grid[1], n: int @ grid[1]):
    with partition(y, block[1], id() * 64) as out, group(block[1]):
        tile: shared(int[64]) @ block[1]
        spare: shared(int[64]) @ block[1]
        t: int @ thread[1] = id()
        with partition(tile, thread[1], t) as cell, partition(spare, thread[1], lambda i: t + i) as other:
            with group(thread[1]):
                cell[0] = twice(t)
                other[0] = n
        now: ptr(int) @ block[1] = tile
        swap: ptr(int) @ block[1] = now
        now = later(tile, spare, n)
        four: int4 @ thread[1] = int4_cast(x[4 * t])
        table: float[2][3] @ thread[1] = {0}
        table[1, 2] = half(four.y)
        v: uint32 @ thread[1] = 7
        unsafe("v = v + 1u;", reads=[v], writes=[v], meaning=doubled)
        assert_(n < 100, "few")
        print_("n = {}", n)
        with partition(out, thread[1], t) as mine, group(thread[1]):
            for i in range(4, unroll=2):
                mine[0] = now[t] + four.x + swap[i] if t > i else int(table[1][2])
""",
)
POOL = """
    0 1 -1 2 3 32 48 64 0.5 1e400 99999999999999999999 True False None "text" ( ) [ ] , : = == != < + - * / // % << >> & | ~ @
    . and or not if else for in while with as match case break continue return pass lambda def del int float bool uint32 int64
    double T N OP ptr const constexpr shared vector mailbox grid block thread warp group split partition claim async_ unsafe
    id count range min max abs x y p n t own mine sums a k first tile add helper kernel_ broadcast shuffle_up warp_sum
    atomic_add load_vector store_vector publish receive {0} {} thread[1] thread[32] block[1] grid[1] warp[1] thread[n]
    async_(u) one roles fragment CUtensorMap row column wgmma wgmma_async cp_async bulk_load tma_load set_registers acc consumers
    producer map_x ring=2 swizzle=128 in_flight=1 warpgroup[1] warpgroup now acc[0] map_x[0,0] one(thread) wgmma_async() s u v
    ptr(int) int[4] shared(int[4]) id() x[0] a[1] template={n} offset= .x += -= ** is None:int __syncthreads()
""".split()
COUNTER = itertools.count()


def tokens(text: str) -> list[TokenInfo]:
    return [t for t in generate_tokens(StringIO(text).readline) if t.type not in (COMMENT, ENCODING, ENDMARKER)]


TOKENS = [tokens(text) for text in PROGRAMS]


def mutant(program: list[TokenInfo], changes: list[tuple[str, int, str]]) -> str:
    """Return the text of a program after some changes to its tokens; indentation stays where it was."""
    words = [(token.type, token.string) for token in program]
    for kind, at, word in changes:
        at = at % len(words)
        if not words[at][1].strip():  # a line's end, an indentation
            continue
        match kind:
            case "delete":
                words[at] = (1, "")
            case "double":
                words[at] = (1, f"{words[at][1]} {words[at][1]}")
            case "replace":
                words[at] = (1, word)
            case "insert":
                words[at] = (1, f"{words[at][1]} {word}")
            case "copy":
                words[at] = (1, words[len(word) * 37 % len(words)][1].strip() or "0")
    return untokenize(words)


VERDICTS = ("legal", "refused", "python")


def verdict(text: str) -> str:
    """Compile the last kernel of a text to CUDA C++; `python` where Python itself refuses it."""
    file = f"<mutant {next(COUNTER)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, object] = {name: getattr(prism.lang, name) for name in prism.lang.__all__}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile("from __future__ import annotations\n" + text, file, "exec"), names)
    except Exception:
        return "python"
    finally:
        linecache.cache[file] = (
            len(text) + 40,
            None,
            ["from __future__ import annotations\n", *text.splitlines(True)],
            file,
        )
    kernel = names.get("kernel_")
    if not isinstance(kernel, Kernel):
        return "python"
    try:
        entry_of(package.check(kernel), "sm_90a")
    except CompileError as error:
        assert not isinstance(error, InternalError)
        assert all(fault.title_text and fault.help for fault in error.errors)
        assert "error[" in str(error)
        return "refused"
    finally:
        del linecache.cache[file]
    return "legal"


def test_the_programs_are_legal() -> None:
    assert [verdict(text) for text in PROGRAMS] == ["legal"] * len(PROGRAMS)
    assert [verdict(mutant(program, [])) for program in TOKENS] == ["legal"] * len(PROGRAMS)


# -- Changes to the tree: nearly all of these are Python -------------------------------------------------------------

TREES = """
    -n;not t;t + n;x[t];own[0];a[n];sums[0][1];lambda i: i + t;lambda i, j: i;(n if t > 0 else k);x + 1;-x;v.y;id(warp[1])
    shuffle_down(t, n);broadcast(x, 0);add(1, t);helper(t, x);helper(t, x, N=n);f();count(thread[n]);int64(t);bool(1)
    ptr(const(int));shared(float[n]);vector(float, 3);vector(int, n);mailbox(ptr(int));const(const(int));int[2][0];int[()];T[T]
    1 << 70;1 << 99999999999999999999;1 << 1e400;1 << -1;1 // 0;0.0 / 0;2 ** 3;7 % 0;min();max(1, 0.5);min(True, 2)
    thread[0.5];thread[True];grid[2];int @ thread[1];1e400;-1e400;10 ** 400;~True;~1e400;-True;not 1;'a' + 'b';'a' < 'b'
    'a' == 1;thread == warp;int == float;abs(-3);T.bytes;x.bytes;range(3);split(thread);partition(x, thread[1]);group(n)
    publish(words[0], 1, 2);atomic_add(p[0], 1);{0, 1};{n};{};()
"""
WORDS = [word for word in POOL if word[0].isalnum() and word not in ("lambda", "offset=", "None:int")]
EXPRESSIONS = [*WORDS, *(text.strip() for line in TREES.split("\n") for text in line.split(";"))]


def usable(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


EXPRESSIONS = [text for text in EXPRESSIONS if usable(text)]


class Change(ast.NodeTransformer):
    """Replace the expression that comes `at`-th in a function's parameters or body."""

    def __init__(self, at: int, by: ast.expr) -> None:
        self.left, self.by = at, by

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        for argument in node.args.args:
            self.visit(argument)
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            self.left -= 1
            if self.left == 0:
                return self.by
        visited: ast.AST = super().visit(node)
        return visited


def grown(text: str, random_: random.Random, changes: int) -> str:
    """Return the text after some changes: an expression replaced; a statement deleted, doubled, moved, or its body spilled."""
    tree = ast.parse(text)
    for _ in range(changes):
        bodies = [
            node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list) and node is not tree
        ]
        if random_.random() < 0.7:
            size = sum(isinstance(node, ast.expr) for node in ast.walk(tree))
            by = ast.parse(random_.choice(EXPRESSIONS), mode="eval").body
            tree = Change(random_.randrange(1, size), by).visit(tree)
            continue
        body, other = random_.choice(bodies), random_.choice(bodies)
        at = random_.randrange(len(body))
        match random_.randrange(4):
            case 0 if len(body) > 1:
                del body[at]
            case 1:
                body.insert(at, copy.deepcopy(body[at]))
            case 2 if not isinstance(body[at], ast.FunctionDef):
                other.insert(random_.randrange(len(other) + 1), copy.deepcopy(body[at]))
            case _:
                inner = getattr(body[at], "body", None)
                if isinstance(inner, list) and not isinstance(body[at], ast.FunctionDef):
                    body[at : at + 1] = inner
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["delete", "double", "replace", "replace", "replace", "insert", "copy"]),
        st.integers(0, 10_000),
        st.sampled_from(POOL),
    ),
    min_size=1,
    max_size=3,
)


def test_a_mutant_is_legal_or_refused() -> None:
    seen: list[str] = []

    @hypothesis.settings(max_examples=150)
    @hypothesis.given(st.sampled_from(PROGRAMS), st.integers(0, 1 << 30), st.integers(1, 3))
    def run(text: str, seed: int, changes: int) -> None:
        seen.append(verdict(grown(text, random.Random(seed), changes)))

    run()
    assert seen.count("refused") > len(seen) // 2, "most mutants are legal, or no Python: little was tested"


@hypothesis.settings(max_examples=50)
@hypothesis.given(st.sampled_from(range(len(TOKENS))), CHANGES)
def test_a_mutant_of_the_text_is_legal_or_refused(which: int, changes: list[tuple[str, int, str]]) -> None:
    assert verdict(mutant(TOKENS[which], changes)) in VERDICTS


@pytest.mark.fuzz
@hypothesis.given(st.sampled_from(PROGRAMS), st.integers(0, 1 << 30), st.integers(1, 5))
def test_many_mutants(text: str, seed: int, changes: int) -> None:
    assert verdict(grown(text, random.Random(seed), changes)) in VERDICTS


@pytest.mark.fuzz
@hypothesis.given(st.sampled_from(range(len(TOKENS))), CHANGES)
def test_many_mutants_of_the_text(which: int, changes: list[tuple[str, int, str]]) -> None:
    assert verdict(mutant(TOKENS[which], changes)) in VERDICTS
