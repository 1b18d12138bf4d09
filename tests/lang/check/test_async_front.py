"""Rings, roles, asynchronous copies, fragments and tensor maps: what the checker accepts, and the typed tree that it makes.

Tests of prism/lang/check: asynchronous, rings, elements, tiles.
"""

# ruff: noqa: F821, I001 - template parameters, and names that annotations declare
from __future__ import annotations

import itertools
import linecache
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import prism.lang
from prism.lang import (
    CUtensorMap, attr, bf16, block, claim, column, const, constexpr, count, fragment, grid, group, id, one, partition, ptr,
    requires, roles, set_registers, shared, template, thread, tma_load, tree, warpgroup, wgmma,
)  # fmt: skip
from prism.lang import prism as language
from prism.lang.tree.bind import binding_of
from prism.lang.check import check
from prism.lang.diagnostics import CompileError
from prism.lang.types.perspective import BLOCK, THREAD, Level, Perspective
from prism.lang.tree.walk import statements
from prism.lang.types import BFLOAT16, FLOAT32, Fragment, Pointer, TensorMap

COUNTER = itertools.count()
WARPGROUP = Perspective(Level.THREAD, 128)
PRODUCER, CONSUMERS = WARPGROUP, Perspective(Level.THREAD, 256)
ARGUMENTS = {"BM": 128, "BN": 256, "BK": 64, "STAGES": 4}


@language("global")
@attr("__launch_bounds__(384, 1)")
@requires(grid[1], block[1], warpgroup[3])
@template(BM=constexpr(int), BN=constexpr(int), BK=constexpr(int), STAGES=constexpr(int))
def hgemm(
    map_a: const(CUtensorMap(bf16, BM, BK, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(bf16, BN, BK, swizzle=128)) @ grid[1],
    c: ptr(bf16) @ grid[1],
    n: int @ grid[1],
    k: int @ grid[1],
):
    tile: int @ block[1] = id()
    with partition(c, block[1]) as c_block, group(block[1]):
        a: shared(bf16[BM, BK], ring=STAGES, swizzle=128)
        b: shared(bf16[BN, BK], ring=STAGES, swizzle=128)
        acc: fragment(float, 64, BN) @ warpgroup[1]
        consumers, producer = roles(warpgroup, 2, 1)
        row: int @ block[1] = tile // (n // BN)
        col: int @ block[1] = tile % (n // BN)
        with producer:
            set_registers(40)
        with consumers:
            set_registers(232)
        with consumers, group(warpgroup[1]):
            acc = 0
        for kk in range(0, k // BK):
            with claim(a, producer) as sa, claim(b, producer) as sb:
                with one(thread):
                    tma_load(sa, map_a[row * BM, kk * BK])
                    tma_load(sb, map_b[col * BN, kk * BK])
            with claim(a, consumers, in_flight=1) as sa, claim(b, consumers, in_flight=1) as sb:
                w: int @ warpgroup[1] = id()
                with group(warpgroup[1]):
                    wgmma(acc, sa[64 * w, 0], sb)
        with partition(c_block, thread[1], lambda i, j: (row * BM + i) * n + col * BN + j) as mine, consumers:
            half: int @ warpgroup[1] = id()
            with group(warpgroup[1]), group(thread[1]):
                for i in range(0, count(acc)):
                    mine[64 * half + row(acc, i), column(acc, i)] = acc[i]


def load(text: str) -> dict[str, Any]:
    """Run a text as a notebook runs a cell."""
    file = f"<front {next(COUNTER)}>"
    text = textwrap.dedent(text)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {name: getattr(prism.lang, name) for name in prism.lang.__all__}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names


def kernel(
    body: str, parameters: str = "n: int @ grid[1]", before: str = "", bound: str = "warpgroup[3]"
) -> tree.Function:
    """Check a kernel of 384 threads with this body, in a block's code."""
    head = f'@prism("global")\n@requires(grid[1], block[1], {bound})\ndef f({parameters}):\n    with group(block[1]):\n'
    text = textwrap.dedent(before) + head + textwrap.indent(textwrap.dedent(body), "        ")
    return check(load(text)["f"])[-1]


def refused(*arguments: str, **more: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        kernel(*arguments, **more)
    return caught.value


def all_of(function: tree.Function, kind: type[Any]) -> list[Any]:
    return [statement for statement in statements(function.body) if isinstance(statement, kind)]


def applied(function: tree.Function) -> dict[str, tree.Apply]:
    return {e.intrinsic.name: e for e in expressions(function) if isinstance(e, tree.Apply)}


def expressions(function: tree.Function) -> Iterator[tree.Expr]:
    def inside(e: tree.Expr) -> Iterator[tree.Expr]:
        yield e
        for part in tree.operands(e):
            yield from inside(part)

    for statement in statements(function.body):
        for e in tree.expressions(statement):
            yield from inside(e)


# -- The target program -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def h() -> tree.Function:
    return check(hgemm, ARGUMENTS)[-1]


def test_rings_fragments_and_maps_have_their_types(h: tree.Function) -> None:
    declared = {s.symbol.name: s.symbol for s in all_of(h, tree.SharedDeclare)}
    assert declared["a"].type == Pointer(BFLOAT16, space="shared", shape=(128, 64), ring=4, swizzle=128)
    assert declared["b"].perspective == BLOCK
    assert h.parameters[0].type == TensorMap(BFLOAT16, (128, 64), 128) and h.parameters[0].const
    (acc,) = [s.symbol for s in all_of(h, tree.Declare) if s.symbol.name == "acc"]
    assert acc.type == Fragment(FLOAT32, 64, 256, 128) and acc.type.size == 128 and acc.perspective == WARPGROUP


def test_a_claim_for_a_role_is_the_claim_and_the_arm(h: tree.Function) -> None:
    """Claim(a, Claim(b, Split with the role's one arm)), and a view of a ring's copy keeps shape and swizzle."""
    first, second = [c for c in all_of(h, tree.Claim) if c.view.name == "sa"]
    for outer, unit, start in ((first, PRODUCER, 256), (second, CONSUMERS, 0)):
        (inner,) = outer.body
        assert isinstance(inner, tree.Claim) and (outer.code, inner.code) == (BLOCK, BLOCK)
        (split,) = inner.body
        assert isinstance(split, tree.Split) and split.level == Level.THREAD
        (arm,) = split.arms
        assert (arm.first, arm.size) == (start, unit.size)
        assert outer.view.perspective == inner.view.perspective == unit
        assert outer.view.type == Pointer(BFLOAT16, space="shared", shape=(128, 64), swizzle=128)
    assert [c.view.view.in_flight for c in (first, second)] == [0, 1]
    assert first.view.view.source.type.ring == 4


def test_one_thread_loads_and_a_wgmma_is_a_batch(h: tree.Function) -> None:
    split = next(s for s in all_of(h, tree.Split) if s.arms[0].size == 1)
    assert split.code == PRODUCER and [type(s) for s in split.arms[0].body] == [tree.Evaluate, tree.Evaluate]
    call = split.arms[0].body[0].value
    tile, source = call.arguments
    assert isinstance(tile, tree.Var) and isinstance(source, tree.Element)
    assert source.symbol is h.parameters[0] and len(source.indices) == 2 and call.code == THREAD
    (batch,) = all_of(h, tree.Batch)
    (statement,) = batch.body
    acc, a, b = statement.value.arguments
    assert batch.code == WARPGROUP and isinstance(a, tree.Element) and isinstance(b, tree.Var)
    assert isinstance(acc.type, Fragment)
    binding = binding_of(statement.value)
    assert binding.tiles["b"].shape == (256, 64) and binding.tiles["a"].swizzle == 128
    assert binding.fragments["accumulator"].columns == 256 and binding.scalar == BFLOAT16


def test_each_thread_reads_its_elements_of_a_fragment(h: tree.Function) -> None:
    fill = next(s for s in all_of(h, tree.Assign) if isinstance(s.target, tree.Var) and s.target.symbol.name == "acc")
    assert isinstance(fill.value, tree.Const) and fill.value.value == 0.0 and fill.value.type == FLOAT32
    places = [e for e in expressions(h) if isinstance(e, tree.Place)]
    assert [(p.symbol.name, p.axis, p.perspective) for p in places] == [("acc", 0, THREAD), ("acc", 1, THREAD)]
    loop = all_of(h, tree.For)[-1]
    assert isinstance(loop.stop, tree.Const) and loop.stop.value == 128
    (store,) = loop.body
    assert isinstance(store.value, tree.Cast) and isinstance(store.value.operand, tree.Item)
    assert store.value.operand.perspective == THREAD


@pytest.mark.parametrize(
    "arguments", [ARGUMENTS, {**ARGUMENTS, "STAGES": 2, "BN": 128}, {**ARGUMENTS, "BM": 256, "BK": 128, "STAGES": 2}]
)
def test_other_sizes(arguments: dict[str, int]) -> None:
    assert check(hgemm, arguments)


# -- Roles ------------------------------------------------------------------------------------------------------------


def test_roles_are_the_arms_of_the_split() -> None:
    """The same first unit and size as `match split` gives its arms, with any level."""
    f = kernel("""
        a, b, c = roles(warp, 8, 2, 2)
        with a: pass
        with c: pass
        only, = roles(warpgroup, 1)
        with only, group(warp[1]), one(thread): pass
    """)
    first, third, single, *_ = all_of(f, tree.Split)
    assert [(s.arms[0].first, s.arms[0].size) for s in (first, third, single)] == [(0, 256), (320, 64), (0, 128)]
    assert all(s.code == BLOCK and s.level == Level.THREAD for s in (first, third, single))


def test_a_role_of_a_role() -> None:
    """Inside an arm, what the arm has is divided."""
    f = kernel("""
        consumers, producer = roles(warpgroup, 2, 1)
        with producer:
            loads, stores = roles(warp, 2, 2)
            with stores, one(warp): pass
    """)
    _, inner, one_ = all_of(f, tree.Split)
    assert inner.code == PRODUCER and (inner.arms[0].first, inner.arms[0].size) == (64, 64)
    assert (one_.arms[0].first, one_.arms[0].size) == (0, 32)


def test_the_arm_stands_inside_the_last_claim_for_the_role() -> None:
    """What comes before it is in the block's code, what comes after in the role's."""
    f = kernel("""
        s: shared(float[384])
        u: shared(float[384])
        consumers, producer = roles(warpgroup, 2, 1)
        t: int @ thread[1] = id()
        with partition(s, thread[1], t) as part, claim(u, producer) as theirs, group(thread[1]):
            part[0] = theirs[t]
    """)
    (part,) = all_of(f, tree.Partition)
    (claimed,) = part.body
    (split,) = claimed.body
    assert isinstance(split, tree.Split) and isinstance(split.arms[0].body[0], tree.Group)


def test_what_a_name_means_beside_a_construct() -> None:
    """A variable called `row`, `count` or `one` hides nothing of the language where something is called."""
    f = kernel("""
        count: int @ block[1] = 3
        row: int = count(thread[1]) + count
    """)
    assert [e for e in expressions(f) if isinstance(e, tree.Count)]


def test_claims_by_perspective_with_a_split() -> None:
    """The paper's spelling: the claim names a size, and the arm of that size is the one."""
    f = kernel(
        """
        s: shared(bf16[64, 64], ring=2, swizzle=128)
        acc: fragment(float, 64, 64) @ warpgroup[1] = 0
        for k in range(n):
            with claim(s, scope=thread[1]) as slot:
                match split(warpgroup):
                    case 2: pass
                    case 1:
                        match split(thread):
                            case 1: tma_load(slot, map_x[0, k])
            with claim(s, scope=warpgroup[2]) as slot:
                match warpgroup:
                    case 2:
                        with group(warpgroup[1]): wgmma(acc, slot, slot)
    """,
        "map_x: CUtensorMap(bf16, 64, 64, swizzle=128) @ grid[1], n: int @ grid[1]",
    )
    assert [c.view.perspective for c in all_of(f, tree.Claim)] == [THREAD, CONSUMERS]
    assert not f.parameters[0].const


# -- Rings and asynchronous copies ------------------------------------------------------------------------------------

X = "x: ptr(const(float)) @ grid[1], n: int @ grid[1]"


@pytest.mark.parametrize(
    "body",
    [
        # in the block's code, then a part for each thread
        """
        with async_(s) as d, partition(d, thread[1], t) as mine, group(thread[1]):
            cp_async(mine[0], x[t], 4)
        """,
        # each thread opens its own part
        """
        with partition(s, thread[1], t) as part, group(thread[1]), async_(part) as mine:
            cp_async(mine[0], x[t], 4)
        """,
        # a part opened by broader code
        """
        with partition(s, thread[1], t) as part, async_(part) as mine, group(thread[1]):
            cp_async(mine[0], x[t], 4, valid=4)
        """,
        # one thread for the whole block
        """
        with async_(s) as d, one(thread):
            cp_async(d[0], x[0])
        """,
        # claimed first
        """
        with claim(s, warpgroup[1]) as c, one(warpgroup), async_(c) as d, one(thread):
            cp_async(d[0], x[0])
        """,
        # the intrinsic by its dotted name
        """
        with async_(s) as d, one(thread):
            intrinsic.cp_async(d[0], x[0])
        """,
    ],
)
def test_async(body: str) -> None:
    f = kernel("s: shared(float[384])\nt: int @ thread[1] = id()\n" + textwrap.dedent(body), X)
    (opened,) = all_of(f, tree.Async)
    view = opened.view.view
    assert view is not None and opened.view.perspective == view.source.perspective and opened.view.root().name == "s"
    assert opened.view.type.shape == (view.source.type.shape if view.source.view is None else opened.view.type.shape)
    copy = applied(f)["cp_async"]
    assert copy.code == THREAD and copy.arguments[0].symbol.root().name == "s"


def test_the_source_is_free_again_after_an_async() -> None:
    f = kernel(
        """
        s: shared(float[384])
        t: int @ thread[1] = id()
        with partition(s, thread[1], t) as mine, async_(mine) as d, group(thread[1]):
            cp_async(d[0], x[t], 4)
        v: float @ thread[1] = s[t]
        """,
        X,
    )
    assert all_of(f, tree.Async)


def test_cp_async_into_a_ring_needs_no_async() -> None:
    f = kernel(
        """
        s: shared(float[384], ring=2)
        for k in range(n):
            t: int @ thread[1] = id()
            with partition(s, thread[1], t) as mine, group(thread[1]):
                cp_async(mine[0], x[384 * k + t], 4)
            with partition(s, block[1]) as now:
                v: float @ thread[1] = now[383 - t]
        """,
        X,
    )
    filled, read = all_of(f, tree.Partition)
    assert filled.view.type.shape is None and read.view.type.shape == (384,) and read.view.type.ring == 0


def test_stations_by_all_threads_and_one_that_loads_for_them() -> None:
    f = kernel(
        """
        s: shared(float[384], ring=3)
        for k in range(n):
            t: int @ thread[1] = id()
            with partition(s, block[1]) as now, one(thread):
                bulk_load(now, x[384 * k])
            with partition(s, thread[1], t) as mine, group(thread[1]):
                mine[0] = 2.0 * mine[0]
            with partition(s, block[1]) as now, partition(y, thread[1], races="allow") as out, one(thread):
                bulk_store(out[384 * k], now)
        """,
        "x: ptr(const(float)) @ grid[1], y: ptr(float) @ block[1], n: int @ grid[1]",
    )
    assert {"bulk_load", "bulk_store"} <= set(applied(f))


def test_the_same_thread_by_two_ways() -> None:
    """Thread 0 of the block is thread 0 of its first role."""
    f = kernel(
        """
        s: shared(float[256], ring=3)
        first, second = roles(warp, 8, 4)
        with partition(s, block[1]) as now:
            with one(thread):
                bulk_load(now[0], x[0], n=128)
            with first, one(warp), one(thread):
                bulk_load(now[128], x[128], n=128)
        """,
        X,
    )
    assert applied(f)["bulk_load"].code == THREAD


def test_a_bulk_store_from_a_plain_object() -> None:
    f = kernel(
        """
        s: shared(float[384])
        t: int @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = 1.0
        with one(thread):
            bulk_store(y[0], s)
        """,
        "y: ptr(float) @ block[1]",
    )
    assert binding_of(applied(f)["bulk_store"]).tiles["source"].shape == (384,)


def test_a_ring_is_opened_whole_or_in_parts_of_its_copy() -> None:
    f = kernel("""
        s: shared(float[16, 32], ring=2)
        for k in range(n):
            w: int @ thread[32] = id()
            with partition(s, thread[32], lambda i, j: (i + w, j)) as rows, group(thread[32]):
                pass
            with claim(s, warpgroup[1]) as all_:
                pass
    """)
    (rows,) = all_of(f, tree.Partition)
    assert len(rows.view.view.params) == 2 and rows.view.type.shape is None


# -- Clusters ---------------------------------------------------------------------------------------------------------


def test_an_object_of_a_cluster() -> None:
    """Its first extent is the cluster's size, and it belongs to the cluster."""
    text = """
        @prism("global")
        @requires(grid[1], block[2], thread[128])
        def f(n: int @ grid[1]):
            with group(block[2]):
                s: shared(float[2, 128])
                r: int @ block[1] = id()
                t: int @ thread[1] = id(thread[1]) % 128
                with partition(s, thread[1], lambda i: (r, i + t)) as mine, group(thread[1]):
                    mine[0] = 1.0
                v: float @ thread[1] = s[1 - r, t]
    """
    (f,) = check(load(text)["f"])
    (declared,) = all_of(f, tree.SharedDeclare)
    assert declared.symbol.perspective == Perspective(Level.BLOCK, 2) and declared.symbol.type.shape == (2, 128)


# -- Fragments and maps as arguments ----------------------------------------------------------------------------------

DEVICE = """
@prism("device")
@requires(warpgroup[1])
@template(N=constexpr(int), T=dtype)
def scale(acc: fragment(T, 64, N) @ warpgroup[1], by: float @ warpgroup[1]):
    with group(thread[1]):
        for i in range(count(acc)):
            acc[i] = by * acc[i] + float(column(acc, i))

@prism("device")
@requires(thread[1])
@template(M=constexpr(int), K=constexpr(int))
def prepare(map_x: const(CUtensorMap(bf16, M, K)) @ grid[1]):
    prefetch_map(map_x)

"""


def test_fragments_and_maps_are_passed_by_reference_and_give_the_template_arguments() -> None:
    f = check(
        load(DEVICE + textwrap.dedent("""
        @prism("global")
        @requires(grid[1], block[1], warpgroup[1])
        def f(map_x: CUtensorMap(bf16, 128, 64) @ grid[1]):
            with group(block[1]):
                acc: fragment(float, 64, 32) @ warpgroup[1] = {0}
                with one(thread):
                    prepare(map_x)
                with group(warpgroup[1]):
                    scale(acc, 2.0)
    """))["f"]
    )  # fmt: skip
    assert {g.name: dict(g.template) for g in f[:-1]} == {
        "prepare": {"M": 128, "K": 64}, "scale": {"N": 32, "T": FLOAT32},
    }  # fmt: skip
    assert f[-1].body


def test_a_warps_fragment() -> None:
    f = kernel("""
        acc: fragment(float, 16, 8) @ warp[1] = 0
        with group(warp[1]):
            acc = 1.5
            with group(thread[1]):
                acc[3] = float(row(acc, 3))
    """)
    fill, store = all_of(f, tree.Assign)
    assert fill.target.type == Fragment(FLOAT32, 16, 8, 32) and fill.target.type.size == 4
    assert isinstance(store.target, tree.Item)


def test_a_fragment_of_other_columns_is_not_passed() -> None:
    before = DEVICE.replace("@template(N=constexpr(int), T=dtype)\n", "").replace("(T, 64, N)", "(float, 64, 64)")
    error = refused(
        "acc: fragment(float, 64, 32) @ warpgroup[1]\nwith group(warpgroup[1]):\n    scale(acc, 1.0)", before=before
    )
    assert error.code == "type" and "fragment(float32, 64, 64)" in str(error)


@pytest.mark.parametrize(
    ("tile", "map_", "words"),
    [
        ("bf16[64, 64], ring=2, swizzle=128", "bf16, 64, 64", "swizzle=0"),
        ("bf16[64, 64], ring=2", "bf16, 64, 64, swizzle=128", "swizzle=128"),
        ("bf16[64, 32], ring=2", "bf16, 64, 64", "64 x 32"),
        ("half[64, 64], ring=2", "bf16, 64, 64", "bfloat16"),
        ("bf16[64, 64], ring=2, swizzle=64", "bf16, 64, 64, swizzle=32", "swizzle=32"),
    ],
)
def test_a_tile_that_is_not_the_maps(tile: str, map_: str, words: str) -> None:
    """Both declarations are pointed at."""
    error = refused(
        f"s: shared({tile})\nwith claim(s, thread[1]) as now, one(thread):\n    tma_load(now, map_x[0, 0])",
        f"map_x: const(CUtensorMap({map_})) @ grid[1]",
    )
    assert error.code == "type" and words in str(error)
    text = str(error)
    assert "def f(map_x" in text and "shared(" in text


# -- Batches and registers --------------------------------------------------------------------------------------------


def test_a_batch_of_several_wgmmas() -> None:
    f = kernel("""
        a: shared(bf16[64, 64], ring=2, swizzle=128)
        acc: fragment(float, 64, 64) @ warpgroup[1] = 0
        with claim(a, warpgroup[1]) as now, one(warpgroup), wgmma_async():
            for i in range(2):
                half: int = 32 * i
                wgmma(acc, now, now, accumulate=half > 0)
            wgmma(acc, now, now)
    """)
    (batch,) = all_of(f, tree.Batch)
    assert [type(s) for s in batch.body] == [tree.For, tree.Evaluate]


def test_registers_of_a_block_of_one_and_of_four_warpgroups() -> None:
    """What no call sets stays as launched."""
    for threads, calls in (
        (128, "with one(warpgroup):\n    set_registers(248)"),
        (512, "with one(warpgroup):\n    set_registers(128)"),
    ):
        text = f'@prism("global")\n@attr("__launch_bounds__({threads}, 1)")\n@requires(grid[1], block[1], thread[{threads}])\n'
        body = textwrap.indent(calls, "        ")
        assert check(load(f"{text}def f(n: int @ grid[1]):\n    with group(block[1]):\n{body}\n")["f"])


def test_registers_of_every_warpgroup_of_a_role() -> None:
    text = """
        @prism("global")
        @attr("__launch_bounds__(THREADS, 1)")
        @template(THREADS=constexpr(int), C=constexpr(int), P=constexpr(int))
        @requires(grid[1], block[1], thread[512])
        def f(n: int @ grid[1]):
            with group(block[1]):
                consumers, producer = roles(warpgroup, 3, 1)
                with producer, group(warpgroup[1]): set_registers(P)
                with consumers, group(warpgroup[1]): set_registers(C)
    """
    f = load(text)["f"]
    assert check(f, {"THREADS": 512, "C": 160, "P": 32})
    with pytest.raises(CompileError) as caught:
        check(f, {"THREADS": 512, "C": 160, "P": 40})
    assert caught.value.code == "registers" and "3 x 160 + 1 x 40 = 520" in str(caught.value)
