"""CUDA C++ from small typed trees made by hand: what the text says, and that NVRTC takes it.

Tests of prism/lang/emit: context, expressions, program, statements; prism/lang/lower: limits, place.
"""

import dataclasses
import itertools
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from prism.kernels.sgemm import LESSON, Layout
from prism.lang import tree
from prism.lang.cuda.names import comment, literal, variable_name
from prism.lang.diagnostics import Span
from prism.lang.emit import emit
from prism.lang.intrinsics import TABLE
from prism.lang.lower.limits import allocate_named
from prism.lang.lower.place import place
from prism.lang.pipeline import lower
from prism.lang.tree.plan import Access, Barrier, Plan, Program
from prism.lang.types import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    SCALARS,
    UINT16,
    UINT32,
    VOID,
    Array,
    Mailbox,
    Pointer,
    Vector,
)
from prism.lang.types.perspective import BLOCK, GRID, THREAD, WARP1, Bound, Level, Perspective
from prism.lib.algorithms.sgemm.api import program_for

S = Span("none.py", 1, 0, 1, 1)
HALF, PAIR = Perspective(Level.THREAD, 16), Perspective(Level.THREAD, 64)


def symbol(name, type_, at=THREAD, **more):
    return tree.Symbol(name, type_, at, S, **more)


def const(value, type_=INT32):
    return tree.Const(value=value, type=type_, span=S)


def var(s):
    return tree.Var(symbol=s, type=s.type, perspective=s.perspective, span=S)


def binary(op, left, right, type_=INT32):
    return tree.Binary(op=op, left=left, right=right, type=type_, perspective=THREAD, span=S)


def element(s, *indices):
    return tree.Element(symbol=s, indices=indices, type=s.type.element, perspective=THREAD, span=S)


def item(s, *indices):
    return tree.Item(symbol=s, indices=indices, type=s.type.element, perspective=THREAD, span=S)


def ident(unit, code):
    return tree.Id(unit=unit, code=code, type=INT32, perspective=unit, span=S)


def assign(target, value):
    return tree.Assign(target=target, value=value, span=S)


def declare(s, value=None):
    return tree.Declare(symbol=s, value=value, span=S)


def group(unit, code, *body):
    return tree.Group(unit=unit, code=code, body=body, span=S)


def apply(name, *arguments, type_=INT32, code=WARP1, **statics):
    return tree.Apply(
        intrinsic=TABLE[name], arguments=arguments, statics=statics, code=code, type=type_, perspective=THREAD, span=S
    )


def bounds_text(numbers):
    return (f"__launch_bounds__({', '.join(map(str, numbers))})",) if numbers else ()


def function(name, parameters, body, kind="global", bound=None, result=VOID, launch_bounds=(), may_alias=()):
    return tree.Function(
        name=name,
        identifier=name,
        kind=kind,
        bound=bound or Bound(1, 1, 256),
        parameters=tuple(parameters),
        result=result,
        result_perspective=THREAD,
        body=tuple(body),
        shared_limit=None,
        attributes=bounds_text(launch_bounds),
        launch_bounds=launch_bounds,
        may_alias=may_alias,
        pure=False,
        template={},
        file="none.py",
        span=S,
    )


def program(*functions, barriers=()):
    layouts, plans = {}, {}
    for f in functions:
        layouts[f] = place(f, layouts)
        plans[f] = Plan(f, tuple(barriers) if f is functions[-1] else ())
    return Program(functions[-1], functions, plans, layouts)


def barrier(kind, unit, before, root, loop=False):
    access = Access(root, "write", S, "x[i] = */ v\\", THREAD)
    return Barrier(kind, unit, before, access, access, loop)


@pytest.fixture
def text(nvrtc):
    def both(p):
        made = emit(lower(p))
        for arch in ("sm_80", "sm_90a"):
            nvrtc(made.source, arch)
        assert emit(lower(p)) == made
        plain = emit(lower(p), comments=False).source
        assert "//" not in plain
        nvrtc(plain, "sm_90a")
        return made.source

    return both


def squeezed(source):
    return " ".join(line.split("  // ")[0].strip() for line in source.splitlines() if not line.startswith("//"))


# -- Names, literals, comments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, expected",
    [
        ("x", "x_"),
        ("int", "int_"),
        ("threadIdx", "threadIdx_"),
        ("px_t", "px_t_"),
        ("_x", "x_"),
        ("_", "x_"),
        ("", "x_"),
        ("__a__b", "a_b_"),
        ("a[4]", "a_4_"),
        ("größe", "gruf6udfe_"),
        ("_1", "x1_"),
        ("\ud800", "x_"),
        ("x" * 1000, "x" * 80 + "_"),
    ],
)
def test_names_of_variables(name, expected):
    taken = set()
    assert variable_name(name, taken) == expected
    assert variable_name(name, taken) == f"{expected}2_" and len(taken) == 2


@pytest.mark.parametrize("scalar", [s for s in SCALARS.values() if s.kind == "float" and not s.short], ids=str)
@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -3.25, 0.1, 1e-30, 1e30, math.pi, math.inf, -math.inf, math.nan])
def test_float_literals_are_exact(scalar, value):
    text = literal(value, scalar)
    exact = np.dtype(scalar.numpy).type(value)
    if not math.isfinite(value):
        word = exact.view(np.uint32 if scalar.bits == 32 else np.uint64)
        assert f"{int(word):#x}" in text
        return
    bare = text.strip("()").rstrip("f" if "0x" not in text or scalar.bits == 32 else "")
    back = float.fromhex(bare) if "0x" in bare else float(bare)
    assert back == exact and math.copysign(1, back) == math.copysign(1, exact)


@pytest.mark.parametrize(
    "value, scalar, expected",
    [
        (5, "int32", "5"),
        (-5, "int32", "(-5)"),
        (-(2**31), "int32", "(-2147483647 - 1)"),
        (2**31 - 1, "int32", "2147483647"),
        (-(2**63), "int64", "(-9223372036854775807LL - 1)"),
        (-1, "uint32", "4294967295u"),
        (7, "uint64", "7ULL"),
        (-1, "int8", "(signed char)(-1)"),
        (200, "uint8", "(unsigned char)200"),
        (True, "bool", "true"),
        (0, "bool", "false"),
    ],
)
def test_integer_literals(value, scalar, expected):
    assert literal(value, SCALARS[scalar]) == expected


def test_a_comment_cannot_end_or_go_on():
    assert comment("a */ b\n  c\\") == "a * / b c/"


# -- Programs ---------------------------------------------------------------------------------------------------------


def copy_kernel():
    """y[i] = x[i] through two nested partitions."""
    x, y = symbol("x", Pointer(INT32, const=True), GRID), symbol("y", Pointer(INT32), GRID)
    n = symbol("n", INT64, GRID)
    i, o = symbol("i", INT64), symbol("o", INT64, BLOCK)
    block_id = tree.Cast(operand=ident(BLOCK, GRID), type=INT64, perspective=BLOCK, span=S)
    block_o = binary("*", block_id, const(256, INT64), INT64)
    y_block = symbol(
        "y", y.type, BLOCK, view=tree.View(y, BLOCK, (i,), (binary("+", var(o), var(i), INT64),), (o, block_o))
    )
    j = symbol("j", INT32)
    y_thread = symbol("y", y.type, view=tree.View(y_block, THREAD, (j,), (binary("+", var(j), ident(THREAD, BLOCK)),)))
    at = symbol("at", INT64)
    position = binary(
        "+", block_o, tree.Cast(operand=ident(THREAD, BLOCK), type=INT64, perspective=THREAD, span=S), INT64
    )
    store = tree.If(
        condition=binary("<", var(at), var(n), BOOL),
        then=(assign(element(y_thread, const(0)), element(x, var(at))),),
        otherwise=(),
        span=S,
    )
    inner = tree.Partition(view=y_thread, code=BLOCK, body=(declare(at, position), group(THREAD, BLOCK, store)), span=S)
    outer = tree.Partition(view=y_block, code=GRID, body=(group(BLOCK, GRID, inner),), span=S)
    return function("copy", [x, y, n], [outer], launch_bounds=(256,))


def test_views_compose_and_offsets_are_evaluated_once(text):
    source = text(program(copy_kernel()))
    assert 'extern "C" __global__ void __launch_bounds__(256) copy(' in source
    assert "const int* __restrict__ x_, int* __restrict__ y_, long long n_" in source
    assert source.count("const long long o_ = ") == 1
    assert "y_[o_ + (0 + (int)threadIdx.x)] = x_[at_];" in source


def test_may_alias_takes_restrict_away(text):
    f = copy_kernel()
    source = text(program(dataclasses.replace(f, may_alias=(frozenset({"x", "y"}),))))
    assert "__restrict__" not in source


def test_groups_and_splits_erase_to_arithmetic_and_ifs(text):
    """W2: a group under a split's second arm."""
    out = symbol("out", Pointer(INT32), GRID)
    eight = Perspective(Level.THREAD, 8)
    lane, octet = symbol("l", INT32), symbol("o", INT32, eight)
    second = (
        declare(octet, ident(eight, WARP1)),
        group(eight, WARP1, declare(lane, ident(THREAD, eight)), assign(element(out, var(lane)), var(octet))),
    )
    arms = (tree.Arm(0, 32, (assign(element(out, const(0)), const(1)),), S), tree.Arm(32, 32, second, S))
    body = [group(PAIR, BLOCK, tree.Split(level=Level.THREAD, code=PAIR, arms=arms, span=S))]
    source = squeezed(text(program(function("w2", [out], body, bound=Bound(None, 1, 64)))))
    assert "const unsigned int px_t1 = threadIdx.x % 64u;" in source
    assert "if (px_t1 < 32u) { out_[0] = 1; } else {" in source
    assert "const unsigned int px_t3 = px_t1 - 32u; int o_ = (int)(px_t3 / 8u);" in source
    assert "const unsigned int px_t4 = px_t3 % 8u; int l_ = (int)px_t4;" in source


def test_past_a_gap_each_arm_says_where_it_begins(text):
    """An arm without statements is dropped; its threads must not fall into the `else` of another."""
    out = symbol("out", Pointer(INT32), GRID)
    arms = tuple(tree.Arm(first, 1, (assign(element(out, const(first)), const(1)),), S) for first in (2, 3, 63))
    source = squeezed(
        text(program(function("gap", [out], [tree.Split(level=Level.THREAD, code=PAIR, arms=arms, span=S)])))
    )
    assert "if (threadIdx.x >= 2u && threadIdx.x < 3u) { out_[2] = 1; } else" in source
    assert "else if (threadIdx.x >= 3u && threadIdx.x < 4u) { out_[3] = 1; } else" in source
    assert "else if (threadIdx.x >= 63u) { out_[63] = 1; }" in source


def test_device_functions_take_a_position_and_a_frame(text):
    """W1, and a frame above what lives at the call."""
    p, q = symbol("p", Pointer(INT32), WARP1), symbol("scratch", Pointer(INT32, space="shared", shape=(4, 8)), BLOCK)
    values = symbol("values", Array(INT32, (3,)))
    callee = function(
        "warp_thing",
        [p, values],
        [
            tree.SharedDeclare(symbol=q, align=16, span=S),
            assign(element(q, const(1), const(2)), item(values, const(1))),
            assign(element(p, ident(THREAD, WARP1)), element(q, const(1), const(2))),
        ],
        kind="device",
        bound=Bound(None, None, 32),
    )
    a = symbol("a", INT32)
    pure = function(
        "plus", [a], [tree.Return(value=binary("+", var(a), const(1)), span=S)], kind="device", result=INT32
    )
    x, tile = symbol("x", Pointer(INT32), GRID), symbol("tile", Pointer(INT8, space="shared", shape=(5,)), BLOCK)
    mine = symbol("mine", Array(INT32, (3,)))
    calls = tree.Call(function=callee, arguments=(var(x), var(mine)), code=BLOCK, type=VOID, perspective=THREAD, span=S)
    one = tree.Call(function=pure, arguments=(const(1),), code=BLOCK, type=INT32, perspective=THREAD, span=S)
    body = [
        tree.SharedDeclare(symbol=tile, align=1, span=S),
        declare(mine, const(0)),
        assign(item(mine, const(0)), one),
        tree.Evaluate(value=calls, span=S),
    ]
    p_ = program(callee, pure, function("k", [x], body, bound=Bound(None, 1, 64)))
    source = squeezed(text(p_))
    assert emit(lower(p_)).shared_bytes == 16 + 128
    assert "void warp_thing(int* p_, int (&values_)[3], const unsigned int px_t, const unsigned int px_b" in source
    assert "warp_thing(x_, mine_, threadIdx.x % 32u, blockIdx.x, 16u);" in source
    assert "int* const scratch_ = reinterpret_cast<int*>(px_shared + px_s);" in source
    assert "scratch_[1 * 8 + 2] = values_[1];" in source
    assert "int plus(int a_) {" in source and "mine_[0] = plus(1);" in source


def test_loops(text):
    out, n = symbol("out", Pointer(FLOAT32), GRID), symbol("n", INT32, GRID)
    a, i, j, k = symbol("a", Array(FLOAT32, (8,))), symbol("i", INT32), symbol("i", INT32), symbol("k", INT32)

    def loop(s, start, stop, step, *body, unroll=None):
        return tree.For(symbol=s, start=start, stop=stop, step=step, body=body, unroll=unroll, span=S)

    body = [
        declare(a),
        loop(i, const(0), const(8), const(1), assign(item(a, var(i)), const(0.0, FLOAT32))),
        loop(j, var(n), const(0), const(-1), assign(element(out, var(j)), item(a, const(1)))),
        loop(k, const(0), var(n), var(n), assign(element(out, var(k)), item(a, const(2))), unroll=4),
        tree.While(condition=const(True, BOOL), body=(tree.Return(value=None, span=S),), span=S),
    ]
    source = squeezed(text(program(function("loops", [out, n], body))))
    assert "#pragma unroll for (int i_ = 0; i_ < 8; ++i_) { a_[i_] = 0.0f; }" in source
    assert "for (int i_2_ = n_; i_2_ > 0; i_2_ += (-1))" in source
    assert "const int px_stop1 = n_; const int px_step2 = n_; #pragma unroll 4 for (int k_ = 0; " in source
    assert "px_step2 > 0 ? k_ < px_stop1 : k_ > px_stop1" in source


@pytest.mark.parametrize("again", [False, True])
def test_a_step_that_counts_units_is_above_zero(text, again):
    out, n, step, k = (
        symbol("out", Pointer(FLOAT32), GRID),
        symbol("n", INT32, GRID),
        symbol("step", INT32),
        symbol("k", INT32),
    )
    store = assign(element(out, var(k)), const(0.0, FLOAT32))
    body = [
        declare(step, tree.Count(unit=THREAD, code=GRID, type=INT32, perspective=GRID, span=S)),
        *([assign(var(step), const(-1))] if again else []),
        tree.For(symbol=k, start=const(0), stop=var(n), step=var(step), body=(store,), unroll=None, span=S),
    ]
    source = squeezed(text(program(function("strides", [out, n], body))))
    assert ("k_ < px_stop1; k_ += px_step2" in source) != again
    assert ("px_step2 > 0 ? k_ < px_stop1 : k_ > px_stop1" in source) == again


def test_barriers(text):
    tile = symbol("tile", Pointer(INT32, space="shared", shape=(64,)), BLOCK)
    stores = [assign(element(tile, const(k)), const(k)) for k in range(5)]
    barriers = [
        barrier("block", BLOCK, stores[1], tile),
        barrier("warp", WARP1, stores[2], tile, loop=True),
        barrier("named", PAIR, stores[3], tile),
        barrier("warp", HALF, stores[4], tile),
    ]
    body = [tree.SharedDeclare(symbol=tile, align=4, span=S), *stores]
    f = function("b", [], body, launch_bounds=(512,))
    p = program(f, barriers=barriers)
    source = text(p)
    order = [
        "tile_[0]",
        "__syncthreads();",
        "tile_[1]",
        "__syncwarp();",
        "tile_[2]",
        "bar.sync",
        "tile_[3]",
        "__syncwarp(0x",
    ]
    assert [source.index(x) for x in order] == sorted(source.index(x) for x in order)
    assert '"r"(1u + threadIdx.x / 64u), "n"(64)' in source
    assert "// write x[i] = * / v/ (line 1) before write x[i] = * / v/ (line 1), round the loop" in source
    assert allocate_named(p) == {64: 1}
    with pytest.raises(ValueError, match="needs 16 named barriers"):
        allocate_named(program(dataclasses.replace(f, attributes=(), launch_bounds=()), barriers=barriers))


def test_named_barriers_of_two_sizes_do_not_share_numbers():
    tile = symbol("tile", Pointer(INT32, space="shared", shape=(64,)), BLOCK)
    stores = [assign(element(tile, const(k)), const(k)) for k in range(2)]
    units = [Perspective(Level.THREAD, 128), PAIR]
    barriers = [barrier("named", u, s, tile) for u, s in zip(units, stores, strict=True)]
    body = [tree.SharedDeclare(symbol=tile, align=4, span=S), *stores]
    f = function("b", [], body, launch_bounds=(256, 1))
    assert allocate_named(program(f, barriers=barriers)) == {64: 1, 128: 5}


def test_intrinsics_in_place(text):
    boxes, x = symbol("boxes", Pointer(Mailbox(FLOAT64)), GRID), symbol("x", Pointer(FLOAT64), GRID)
    values, v = symbol("values", Array(FLOAT64, (5,))), symbol("v", Vector(FLOAT64, 2))
    i = ident(THREAD, BLOCK)
    box = tree.Element(symbol=boxes, indices=(i,), type=FLOAT64, perspective=THREAD, span=S)
    epoch = const(3, UINT32)
    receive = apply("receive", box, var(values), const(1), const(4), const(0.0, FLOAT64), epoch, type_=VOID, code=BLOCK)
    component = tree.Component(vector=var(v), index=const(1), type=FLOAT64, perspective=THREAD, span=S)
    body = [
        declare(values),
        tree.Evaluate(value=receive, span=S),
        declare(v, apply("load_vector", element(x, const(2)), type_=v.type, width=2)),
        assign(component, apply("shuffle_up", item(values, const(2)), const(1), type_=FLOAT64)),
        tree.Evaluate(value=apply("store_vector", element(x, const(4)), var(v), type_=VOID), span=S),
        tree.Evaluate(value=apply("publish", box, component, epoch, type_=VOID), span=S),
        tree.Evaluate(value=apply("atomic_add", element(x, i), component, type_=FLOAT64, order="acq_rel"), span=S),
    ]
    source = text(program(function("mail", [boxes, x], body)))
    assert "ulonglong2* boxes_" in source  # both written and read: other threads write there too
    assert "px_receive_float64(&boxes_[(int)threadIdx.x], values_, 1, 4, 0.0, 3u);" in source
    assert source.count("struct __align__") == 1 and source.count("void px_word_store(") == 1


def test_narrow_integers_are_cast_back(text):
    a, out = symbol("a", INT8), symbol("out", Pointer(INT8), GRID)
    n = tree.Unary(op="-", operand=var(a), type=INT8, perspective=THREAD, span=S)
    chosen = tree.Select(
        condition=binary("<", binary("*", var(a), n, INT8), const(0, INT8), BOOL),
        then=n, otherwise=var(a), type=INT8, perspective=THREAD, span=S,
    )  # fmt: skip
    source = text(program(function("narrow", [a, out], [assign(element(out, const(0)), chosen)])))
    assert "((signed char)(a_ * (signed char)(-a_)) < (signed char)0) ? (signed char)(-a_) : a_" in source


def test_a_product_of_unsigned_shorts_does_not_overflow_an_int(text):
    a, out = symbol("a", UINT16), symbol("out", Pointer(UINT16), GRID)
    source = text(
        program(function("square", [a, out], [assign(element(out, const(0)), binary("*", var(a), var(a), UINT16))]))
    )
    assert "= (unsigned short)((unsigned int)a_ * a_);" in source


@pytest.mark.parametrize(("kind", "said"), [(FLOAT16, "= a_;"), (FLOAT32, "= (float)a_;")])
def test_a_float_of_16_bits_becomes_itself_by_no_way(text, kind, said):
    """As an element of a vector of its type does: by way of float the assembler would round it again."""
    a, out = symbol("a", FLOAT16), symbol("out", Pointer(kind), GRID)
    cast = tree.Cast(operand=var(a), type=kind, perspective=THREAD, span=S)
    assert said in text(program(function("same", [a, out], [assign(element(out, const(0)), cast)])))


@pytest.mark.parametrize(
    "unit, code, expected",
    [
        (THREAD, GRID, "(int)(gridDim.x * blockDim.x)"),
        (BLOCK, GRID, "(int)gridDim.x"),
        (WARP1, BLOCK, "(int)(blockDim.x / 32u)"),
        (HALF, PAIR, "4"),
        (THREAD, Perspective(Level.BLOCK, 2), "(int)(2u * blockDim.x)"),
    ],
)
def test_counts(text, unit, code, expected):
    out = symbol("out", Pointer(INT32), GRID)
    number = tree.Count(unit=unit, code=code, type=INT32, perspective=code, span=S)
    assert f"out_[0] = {expected};" in text(
        program(function("counts", [out], [assign(element(out, const(0)), number)]))
    )


def test_a_grid_wide_id():
    out = symbol("out", Pointer(INT32), GRID)
    f = function("ids", [out], [assign(element(out, const(0)), ident(WARP1, GRID))])
    assert "(int)((blockIdx.x * blockDim.x + threadIdx.x) / 32u)" in emit(lower(program(f))).source


def test_the_text_does_not_depend_on_the_process():
    code = (
        "import sys; sys.path[:0] = ['tests/lang/emit', '.']; import test_emit as t; from prism.lang.emit import emit; "
        "from prism.lang.pipeline import lower\n"
        "print(emit(lower(t.program(t.copy_kernel()))).source)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": s}, capture_output=True, check=True).stdout
        for s in "12"
    ]
    assert runs[0] == runs[1] and b"copy" in runs[0]


# -- Layout -----------------------------------------------------------------------------------------------------------


def shared(name, element_type, *shape, align=1):
    s = symbol(name, Pointer(element_type, space="shared", shape=shape), BLOCK)
    return s, tree.SharedDeclare(symbol=s, align=align, span=S)


def test_the_tf32_layout():
    """LANGUAGE 4.2: A 0, B 512, C 768, end 1280."""
    (a, da), (b, db), (c, dc) = shared("A", FLOAT32, 128), shared("B", FLOAT32, 64), shared("C", FLOAT32, 128)
    layout = place(function("f", [], [da, db, dc]), {})
    assert [layout.offsets[s] for s in (a, b, c)] == [0, 512, 768] and layout.bytes == 1280


def test_sibling_scopes_share_bytes_and_alignment_holds():
    (a, da), (b, db), (c, dc) = shared("a", INT8, 3), shared("b", FLOAT64, 4), shared("c", INT8, 100, align=128)
    body = [da, group(BLOCK, BLOCK, db), group(BLOCK, BLOCK, dc)]
    layout = place(function("f", [], body), {})
    assert [layout.offsets[s] for s in (a, b, c)] == [0, 16, 128] and layout.bytes == 228


def test_no_16_bytes_are_of_two_objects():
    """NVCC reads 16 bytes at once where a program reads some of them; racecheck reports what it reads of another object."""
    (a, da), (b, db), (q, dq) = shared("a", INT32, 1), shared("b", INT32, 256), shared("q", INT32, 32)
    callee = function("g", [], [dq], kind="device", bound=Bound(None, 1, 32))
    call = tree.Call(function=callee, arguments=(), code=BLOCK, type=VOID, perspective=THREAD, span=S)
    caller = function("f", [], [da, db, tree.Evaluate(value=call, span=S)])
    inner = place(callee, {})
    layout = place(caller, {callee: inner})
    starts = [layout.offsets[a], layout.offsets[b], layout.frame[id(call)] + inner.offsets[q]]
    assert starts == [0, 16, 1040]


def test_callees_start_above_what_lives_at_the_call():
    (_, dq), (_, da) = shared("q", FLOAT64, 4, align=16), shared("a", INT8, 3)
    callee = function("g", [], [dq], kind="device", bound=Bound(None, 1, 32))

    def call():
        return tree.Call(function=callee, arguments=(), code=BLOCK, type=VOID, perspective=THREAD, span=S)

    first, second = call(), call()
    body = [tree.Evaluate(value=first, span=S), da, tree.Evaluate(value=second, span=S)]
    caller = function("f", [], body)
    layout = place(caller, {callee: place(callee, {})})
    assert layout.frame == {id(first): 0, id(second): 48} and layout.bytes == 80  # nothing over anything else
    layout = place(replace(caller, shared_limit=48), {callee: place(callee, {})})
    assert layout.frame == {id(first): 0, id(second): 16} and layout.bytes == 48


def test_a_line_is_shown_once_beside_what_becomes_of_it():
    """A call of a function that is compiled in becomes a declaration for each of its parameters."""
    layouts = (Layout(False, True), Layout(False, True), Layout(False, True))
    source = emit(lower(program_for(LESSON["vectorized"], *layouts))).source
    notes = [line.partition("  // line ")[2] for line in source.splitlines()]
    assert not [a for a, b in itertools.pairwise(notes) if a and a == b]
    assert sum("put(next_a" in note for note in notes) == 1
