"""CUDA C++ of rings, asynchronous copies, fragments and roles, from typed trees and plans made by hand.

Tests of prism/lang/emit: merge, operations, rings.
"""

import subprocess
import sys
from dataclasses import replace

import pytest

from prism.lang.emit import emit
from prism.lang.lower.specialise import specialise
from prism.lang.pipeline import lower
from prism.lang.tree import (
    Call,
    Element,
    Evaluate,
    Item,
    Place,
)
from prism.lang.tree.plan import (
    Advance,
    Arrive,
    Barrier,
    Commit,
    Cycle,
    Expect,
    Layout,
    Mbarrier,
    Plan,
    Program,
    ProxyFence,
    Wait,
    WaitGroup,
)
from prism.lang.tree.walk import statements
from prism.lang.types import BFLOAT16, FLOAT32, INT32, VOID, Fragment, Pointer, TensorMap, Vector
from prism.lang.types.perspective import BLOCK, GRID, THREAD, WARP1, Bound, Level, Perspective
from tests.lang.emit.async_trees import (
    ONE,
    access,
    claim,
    evaluate,
    loop,
    product,
    program,
    ring,
    shared,
    split,
    three_roles,
    tiles_in_turn,
    whole,
)
from tests.lang.emit.test_emit import (
    S,
    apply,
    assign,
    binary,
    const,
    declare,
    element,
    function,
    group,
    ident,
    squeezed,
    symbol,
    var,
)


@pytest.fixture
def text(nvrtc):
    def both(p, *arches):
        made = emit(lower(p))
        plain = emit(lower(p), comments=False).source
        assert emit(lower(p)) == made and "//" not in plain
        for arch in arches or ("sm_90a",):
            nvrtc(made.source, arch)
            nvrtc(plain, arch)
        return made.source

    return both


def body_of(source):
    """The kernel's own text."""
    return source[source.index("// k\n") :]


# -- roles ------------------------------------------------------------------------------------------------------------


def test_roles_have_a_text_each(text, golden):
    golden(body_of(text(product())), ".cu")


def test_arrivals_some_rounds_late(text, golden):
    golden(body_of(text(product(delay=1, copies=3))), ".cu")


def test_a_role_keeps_only_what_it_needs():
    p = specialise(product())
    body = p.entry.body[0].body
    assert [type(s).__name__ for s in body] == ["SharedDeclare", "SharedDeclare", "Specialise"]
    consumers, producer = body[-1].roles
    assert [(r.first, r.size) for r in body[-1].roles] == [(0, 256), (256, 128)]
    assert [type(s).__name__ for s in consumers.body] == ["Declare", "Split", "For", "Split"]
    assert [type(s).__name__ for s in producer.body] == ["Declare", "Split", "For"]
    assert [s.symbol.name for s in (consumers.body[0], producer.body[0])] == ["acc", "row"]
    assert specialise(p) is p


def test_operations_stand_beside_the_copies():
    before, p = product(delay=1), specialise(product(delay=1))
    plan = p.plans[p.entry]
    inside = set(statements(p.entry.body))
    assert all(op.at in inside for op in plan.operations) and plan.function is p.entry
    count = {kind: sum(isinstance(op, kind) for op in plan.operations) for kind in (Wait, Arrive, Expect, Advance)}
    assert count == {Wait: 2, Arrive: 3, Expect: 2, Advance: 2}, "each role advances for itself; only one drains"
    assert len(before.plans[before.entry].operations) + 1 == len(plan.operations)


def test_a_block_barrier_is_met_in_each_roles_text(text):
    p = specialise(three_roles())
    roles = p.entry.body[-1].roles
    assert [(r.first, r.size) for r in roles] == [(0, 32), (32, 32), (64, 64)]
    barriers = p.plans[p.entry].barriers
    assert len(barriers) == 3 and len({id(b.met) for b in barriers}) == 1 and barriers[0].met is not None
    source = squeezed(body_of(text(three_roles())))
    assert source.count('asm volatile("bar.sync 0;" ::: "memory");') == 3 and source.count("__syncthreads") == 1
    assert "} else if (threadIdx.x < 64u) {" in source and source.count("px_a_slot = 0u, px_a_phase = 0u;") == 2
    idle = source[source.rindex("} else {") :]
    assert "for (" not in idle and "px_a" not in idle and "out_[t_] = 1;" in idle


def test_threads_without_work_have_no_text():
    p = three_roles(barriers=False)
    body = p.entry.body[:-1]
    p = replace(p, entry=replace(p.entry, body=body))
    p = specialise(
        Program(p.entry, (p.entry,), {p.entry: p.plans[next(iter(p.plans))]}, {p.entry: next(iter(p.layouts.values()))})
    )
    assert [(r.first, r.size) for r in p.entry.body[-1].roles] == [(0, 32), (32, 32)]


def test_one_role_stays_as_it_is():
    """A thread of a warp is no role, nor is a split with no ring about it."""
    p = tiles_in_turn()
    assert specialise(p) is p
    out = symbol("out", Pointer(INT32), GRID)
    two = [
        split(
            (0, 32, (assign(element(out, const(0)), const(1)),)), (32, 32, (assign(element(out, const(1)), const(1)),))
        )
    ]
    f = function("k", [out], two, bound=Bound(None, 1, 64), launch_bounds=(64,))
    p = program(f, Layout({}, 0))
    assert specialise(p) is p


# -- rings of all threads ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_ring_of_all_threads(text, copies):
    source = squeezed(body_of(text(tiles_in_turn(copies))))
    slot = "" if copies == 1 else " + px_a_slot"
    assert f"px_mbarrier_wait(px_bar_a_empty{slot}, px_a_phase ^ 1u);" in source
    assert f"px_mbarrier_arrive_copies(px_bar_a_full{slot});" in source
    assert f"px_mbarrier_wait(px_bar_a_full{slot}, px_a_phase);" in source
    assert f"px_arrive_warp(px_bar_a_empty{slot});" in source
    assert f"float* const mine_ = a_{' + px_a_slot * 64u' if copies > 1 else ''};" in source
    assert "px_cp_async<4>(&mine_[0 + (int)threadIdx.x], &x_[k_]);" in source
    assert ", blockDim.x);" in source and ", blockDim.x / 32u);" in source
    if copies == 1:
        assert "slot" not in source and "px_a_phase ^= 1u;" in source
    else:
        assert f"if (++px_a_slot == {copies}u) {{ px_a_slot = 0u; px_a_phase ^= 1u; }}" in source


# -- loads ------------------------------------------------------------------------------------------------------------


def test_announced_bytes(text):
    """Of one list they arrive at once; of a number known at run time, and of loads with something between, they do not."""
    x, n = symbol("x", Pointer(INT32, const=True), GRID), symbol("n", INT32, GRID)
    a, b = (ring(name, INT32, 64, copies=1) for name in "ab")
    va, vb = whole("va", a, THREAD), whole("vb", b, THREAD)
    load = evaluate("bulk_load", var(va), element(x, const(0)))
    part = evaluate("bulk_load", var(vb), element(x, const(64)), var(n))
    other = evaluate("bulk_load", var(vb), element(x, const(64)))

    def kernel(*loads, sizes):
        f = function(
            "k", [x, n], [shared(a), shared(b), claim(va, claim(vb, split((0, 1, loads))))], bound=Bound(None, 1, 32)
        )
        cycle = Cycle("ring", 1, (a, b))
        full = Mbarrier("full", cycle, 1)
        operations = [
            Expect(at=s, barrier=full, copy=s.value, bytes=size)
            for s, size in zip(loads, sizes, strict=True)
            if isinstance(s, Evaluate)
        ]
        operations.append(Arrive(at=loads[-1], side="after", barrier=full))
        layout = Layout({a: 0, b: 256}, 520, strides={a: 256, b: 256}, mbarriers={full: 512})
        loaded = {s.value: full for s in loads if isinstance(s, Evaluate)}
        return squeezed(body_of(text(program(f, layout, *operations, mbarriers=(full,), completes=loaded))))

    first, second = "px_bulk_load(va_, x_, 256u, px_bar_full);", "px_bulk_load(vb_, &x_[64], {}, px_bar_full);"
    source = kernel(load, other, sizes=(256, 256))
    assert f"px_arrive_expect(px_bar_full, 512u); {first} {second.format('256u')} }}" in source
    source = kernel(load, part, sizes=(256, None))
    assert f"px_mbarrier_expect(px_bar_full, 256u); {first}" in source
    assert "px_mbarrier_expect(px_bar_full, (unsigned int)n_ * 4u);" in source
    assert f"{second.format('(unsigned int)(n_) * 4u')} px_mbarrier_arrive(px_bar_full);" in source


def test_arrivals_in_other_blocks(text):
    """Who reads what others' copies brought tells the producers of all of them."""
    tensor, a = symbol("m", TensorMap(BFLOAT16, (8, 64), 128), GRID), ring("a", BFLOAT16, 8, 64, copies=2, swizzle=128)
    view = whole("v", a, THREAD)
    at = Element(symbol=tensor, indices=(const(0), const(0)), type=BFLOAT16, perspective=GRID, span=S)
    load = evaluate("tma_load", var(view), at, multicast=3)
    one = split((0, 1, (load,)))
    station = claim(view, one)
    f = function(
        "k", [tensor], [group(BLOCK, Perspective(Level.BLOCK, 2), shared(a), station)], bound=Bound(None, 2, 32)
    )
    cycle = Cycle("a", 2, (a,))
    full, empty = Mbarrier("full", cycle, 1), Mbarrier("empty", cycle, 2, blocks=3)
    w = access(a)
    operations = (
        Wait(at=load, barrier=empty, lap=1, first=w, second=w),
        Expect(at=load, barrier=full, copy=load.value, bytes=2048),
        Arrive(at=load, side="after", barrier=full),
        Arrive(at=one, side="after", barrier=empty, every=32),
    )
    layout = Layout({a: 0}, 2080, strides={a: 1024}, mbarriers={full: 2048, empty: 2064})
    source = squeezed(
        body_of(text(program(f, layout, *operations, mbarriers=(full, empty), completes={load.value: full})))
    )
    assert "px_mbarrier_wait_cluster(px_bar_empty + px_a_slot, px_a_phase ^ 1u);" in source
    assert "px_arrive_blocks_warp<0x3u>(px_bar_empty + px_a_slot);" in source
    assert source.count("px_cluster_barrier();") == 2 and "__syncthreads" not in source
    assert "__cluster_dims__(2, 1, 1)" in source


# -- the rest ---------------------------------------------------------------------------------------------------------


def test_groups_and_fences(text):
    out, p = symbol("out", Pointer(INT32), GRID), symbol("p", Pointer(INT32, space="shared", shape=(64,)), BLOCK)
    stores = [assign(element(out, const(k)), const(k)) for k in range(8)]
    w = access(p)
    path = (Perspective(Level.THREAD, 64), (Level.THREAD, 32, 16))
    operations = (
        Commit(at=stores[0], kind="cp_async"),
        WaitGroup(at=stores[1], kind="cp_async", pending=2, first=w, second=w),
        Commit(at=stores[2], kind="bulk"),
        WaitGroup(at=stores[3], kind="bulk", pending=0, first=w, second=w, read=True),
        WaitGroup(at=stores[4], kind="bulk", pending=1, first=w, second=w),
        ProxyFence(at=stores[5], first=w, second=w, path=path),
    )
    f = function("k", [out], [shared(p), *stores], bound=Bound(None, 1, 64))
    source = body_of(text(program(f, Layout({p: 0}, 256), *operations)))
    lines = [line.strip() for line in source.splitlines()]
    wanted = [
        'asm volatile("cp.async.commit_group;" ::: "memory");  // a group of copies',
        'asm volatile("cp.async.wait_group 2;" ::: "memory");  // write p (line 1) before write p (line 1)',
        'asm volatile("cp.async.bulk.commit_group;" ::: "memory");  // a group of stores',
        'asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // write p (line 1) before write p (line 1)',
        'asm volatile("cp.async.bulk.wait_group 1;" ::: "memory");  // write p (line 1) before write p (line 1)',
        "if ((threadIdx.x % 64u) >= 32u && (threadIdx.x % 64u) < 48u) {  // write p (line 1) before write p (line 1)",
    ]
    assert [lines.index(line) for line in wanted] == sorted(lines.index(line) for line in wanted)
    assert lines[lines.index(wanted[-1]) + 1] == 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'


def test_elements_of_swizzled_tiles(text):
    a = symbol("a", Pointer(BFLOAT16, space="shared", shape=(16, 128), swizzle=128), BLOCK)
    b = symbol("b", Pointer(FLOAT32, space="shared", shape=(8, 8), swizzle=32), BLOCK)
    i, v = symbol("i", INT32), symbol("v", Vector(BFLOAT16, 8))
    body = [
        shared(a), shared(b),
        declare(i, ident(THREAD, BLOCK)),
        assign(element(a, var(i), const(70)), element(a, const(3), var(i))),
        assign(element(b, var(i), const(4)), const(1.0, FLOAT32)),
        assign(element(b, const(0), const(0)), const(1.0, FLOAT32)),
        declare(v, apply("load_vector", element(a, var(i), const(8)), type_=v.type, width=8)),
    ]  # fmt: skip
    f = function("k", [], body, bound=Bound(None, 1, 32))
    source = squeezed(text(program(f, Layout({a: 0, b: 4096}, 4352))))
    assert "*px_byte(a_, 2048 + px_swizzle<128>((int)(i_) * 128, 12)) = *px_byte(a_, " in source
    assert "*px_byte(b_, px_swizzle<32>((int)(i_) * 32, 16)) = 1.0f; *b_ = 1.0f;" in source
    assert "(px_byte(a_, px_swizzle<128>((int)(i_) * 128, 16)))" in source


def test_objects_of_a_cluster(text):
    two = Perspective(Level.BLOCK, 2)
    out, s = symbol("out", Pointer(FLOAT32), GRID), symbol("s", Pointer(FLOAT32, space="shared", shape=(2, 128)), two)
    r, i = symbol("r", INT32, BLOCK), symbol("i", INT32)
    fill = assign(element(s, var(r), var(i)), const(2.0, FLOAT32))
    use = assign(element(out, var(i)), element(s, binary("-", const(1), var(r)), var(i)))
    names = [declare(r, ident(BLOCK, two)), declare(i, ident(THREAD, BLOCK))]
    read = group(BLOCK, two, use)  # the barrier stands where the code speaks for both blocks
    body = [shared(s), *names, group(BLOCK, two, fill), read]

    def source(size, *barriers):
        f = function("k", [out], body, bound=Bound(None, size, 128))
        return squeezed(body_of(text(program(f, Layout({s: 0}, 512), barriers=barriers))))

    found = source(2, Barrier("cluster", two, read, access(s), access(s)))
    assert "s_[i_] = 2.0f; } px_cluster_meet();" in found and "px_map(s_, r_)" not in found, "r is the block itself"
    assert "px_map(s_, 1 - r_)[i_]" in found
    assert "px_cluster_begin();" not in found, "the barrier before the read waits for blocks that have not begun, too"
    assert (found.count("px_cluster_meet();"), found.count("px_cluster_barrier();")) == (1, 1), (
        "before the read; at the end"
    )
    assert source(2).count("px_cluster_begin();") == 1, "before anything of another block is touched"
    assert "px_map(s_, px_cluster_rank() / 2 * 2 + r_)[i_]" in source(4)
    alone = squeezed(
        body_of(
            text(
                program(
                    function("k", [out], [shared(s), *names, group(BLOCK, two, fill)], bound=Bound(None, 2, 128)),
                    Layout({s: 0}, 512),
                )
            )
        )
    )
    assert "px_cluster" not in alone, "nobody reaches into another block"


def test_fragments_are_registers(text):
    acc, i = symbol("acc", Fragment(INT32, 64, 256), ONE), symbol("i", INT32)
    small = symbol("small", Fragment(FLOAT32, 16, 8, 32), WARP1)
    out = symbol("out", Pointer(INT32), GRID)

    def item(s, index):
        return Item(symbol=s, indices=(index,), type=s.type.element, perspective=THREAD, span=S)

    def place(s, axis):
        return Place(symbol=s, index=var(i), axis=axis, type=INT32, perspective=THREAD, span=S)

    half, add = symbol("acc", acc.type, ONE), symbol("n", INT32)
    callee = function(
        "g", [half], [loop(add, const(128), assign(item(half, var(add)), const(1)))], kind="device", bound=Bound(None, None, 128)
    )  # fmt: skip
    call = Call(function=callee, arguments=(var(acc),), code=ONE, type=VOID, perspective=THREAD, span=S)
    body = [
        declare(acc, const(0)),
        declare(small),
        assign(var(small), const(0.0, FLOAT32)),
        Evaluate(value=call, span=S),
        loop(i, const(128), assign(element(out, binary("+", place(acc, 0), place(small, 1))), item(acc, var(i)))),
    ]
    f = function("k", [out], body, bound=Bound(None, 1, 128))
    plans = {g: Plan(g, ()) for g in (callee, f)}
    p = Program(f, (callee, f), plans, {g: Layout({}, 0) for g in (callee, f)})
    source = squeezed(text(p))
    assert "int acc_[128]; #pragma unroll for (int px_k0 = 0; px_k0 < 128; ++px_k0) { acc_[px_k0] = 0; }" in source
    assert "float small_[4]; #pragma unroll for (int px_k0 = 0; px_k0 < 4; ++px_k0) { small_[px_k0] = 0.0f; }" in source
    assert "void g(int (&acc_)[128])" in source and "g(acc_);" in source
    assert (
        "#pragma unroll for (int i_ = 0; i_ < 128; ++i_) { "
        "out_[px_row(threadIdx.x % 128u, i_) + px_column(threadIdx.x % 32u, i_)]" in source
    )


def test_the_text_does_not_depend_on_the_process():
    code = (
        "from tests.lang.emit.async_trees import product; from prism.lang.emit import emit; "
        "from prism.lang.pipeline import lower\n"
        "print(emit(lower(product(delay=2))).source)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": s}, capture_output=True, check=True).stdout
        for s in "12"
    ]
    assert runs[0] == runs[1] and b"setmaxnreg" in runs[0]
