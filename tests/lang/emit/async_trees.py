"""Typed trees and plans with rings, made by hand: what the emitter's and the roles' tests share."""

from dataclasses import replace

from prism.lang import tree
from prism.lang.barriers.cluster import decide
from prism.lang.intrinsics import TABLE
from prism.lang.tree.plan import (
    Access,
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
    Wait,
    WaitGroup,
    WgmmaFence,
)
from prism.lang.types import BFLOAT16, FLOAT32, INT32, VOID, Fragment, Pointer, TensorMap
from prism.lang.types.perspective import BLOCK, GRID, THREAD, WARP1, WARPGROUP1, Bound, Level, Perspective
from tests.lang.emit.test_emit import (
    S,
    assign,
    binary,
    const,
    declare,
    element,
    function,
    group,
    ident,
    symbol,
    var,
)

TWO, ONE = Perspective(Level.THREAD, 256), WARPGROUP1


def evaluate(name, *arguments, code=THREAD, **statics):
    apply = tree.Apply(
        intrinsic=TABLE[name], arguments=arguments, statics=statics, code=code, type=VOID, perspective=THREAD, span=S
    )
    return tree.Evaluate(value=apply, span=S)


def ring(name, element_type, *shape, copies, swizzle=0):
    return symbol(name, Pointer(element_type, space="shared", shape=shape, ring=copies, swizzle=swizzle), BLOCK)


def whole(name, source, unit, **more):
    """A view that names a ring's copy, or an object, whole."""
    type_ = replace(source.type, ring=0)
    params = tuple(symbol(f"i{k}", INT32) for k in range(len(type_.shape)))
    return tree.Symbol(name, type_, unit, S, view=tree.View(source, unit, params, tuple(map(var, params)), **more))


def shared(s):
    return tree.SharedDeclare(symbol=s, align=16, span=S)


def split(*arms, level=Level.THREAD, code=BLOCK):
    return tree.Split(
        level=level, code=code, arms=tuple(tree.Arm(first, size, body, S) for first, size, body in arms), span=S
    )


def claim(view, *body):
    return tree.Claim(view=view, code=BLOCK, body=body, span=S)


def partition(view, *body):
    return tree.Partition(view=view, code=BLOCK, body=body, span=S)


def loop(s, stop, *body, unroll=None):
    return tree.For(symbol=s, start=const(0), stop=stop, step=const(1), body=body, unroll=unroll, span=S)


def access(root, kind="write"):
    return Access(root, kind, S, root.name, THREAD)


def program(f, layout, *operations, barriers=(), mbarriers=(), completes=()):
    cycles = tuple(dict.fromkeys(m.cycle for m in mbarriers))
    plan = Plan(f, tuple(barriers), (), tuple(operations), cycles, tuple(mbarriers), dict(completes))
    return Program(f, (f,), {f: decide((f,), {f: plan})}, {f: layout})


def product(delay=0, copies=4, bn=256):
    """c = a b^T, 128 x BN a block; the loop of the contract's program H with its plan."""
    m, n = TensorMap(BFLOAT16, (128, 64), 128), TensorMap(BFLOAT16, (bn, 64), 128)
    map_a, map_b = symbol("map_a", m, GRID), symbol("map_b", n, GRID)
    c, k = symbol("c", Pointer(FLOAT32), GRID), symbol("k", INT32, GRID)
    a, b = (ring(name, BFLOAT16, rows, 64, copies=copies, swizzle=128) for name, rows in (("a", 128), ("b", bn)))
    acc = symbol("acc", Fragment(FLOAT32, 64, bn), ONE)
    row, kk, w, i = (symbol(name, INT32) for name in ("row", "kk", "w", "i"))
    pa, pb = whole("sa", a, ONE), whole("sb", b, ONE)
    ca, cb = whole("sa", a, TWO, in_flight=delay), whole("sb", b, TWO, in_flight=delay)

    def load(view, tensor, first):
        at = tree.Element(
            symbol=tensor, indices=(first, binary("*", var(kk), const(64))), type=BFLOAT16, perspective=GRID, span=S
        )
        return evaluate("tma_load", var(view), at)

    load_a, load_b = load(pa, map_a, var(row)), load(pb, map_b, const(0))
    one = split((0, 1, (load_a, load_b)), code=ONE)
    half = element(ca, binary("*", const(64), var(w)), const(0))
    multiply = evaluate("wgmma", var(acc), half, var(cb), code=ONE)
    body = group(ONE, TWO, declare(w, ident(ONE, TWO)), multiply)
    claims = claim(pa, claim(pb, split((256, 128, (one,))))), claim(ca, claim(cb, split((0, 256, (body,)))))
    rounds = loop(kk, var(k), *claims)

    def at(axis):
        return tree.Place(symbol=acc, index=var(i), axis=axis, type=INT32, perspective=THREAD, span=S)

    found = tree.Item(symbol=acc, indices=(var(i),), type=FLOAT32, perspective=THREAD, span=S)
    store = assign(element(c, binary("+", binary("*", at(0), const(bn)), at(1))), found)
    epilogue = split((0, 256, (group(ONE, TWO, group(THREAD, ONE, loop(i, const(bn // 2), store))),)))
    statements = (
        shared(a),
        shared(b),
        declare(acc),
        declare(row, binary("*", ident(BLOCK, GRID), const(128))),
        split((256, 128, (evaluate("set_registers", n=40, code=ONE),))),
        split((0, 256, (evaluate("set_registers", n=232, code=ONE),))),
        rounds,
        epilogue,
    )
    f = function(
        "k", [map_a, map_b, c, k], [group(BLOCK, GRID, *statements)], bound=Bound(1, 1, 384),
        launch_bounds=(384, 1),
    )  # fmt: skip
    cycle = Cycle("a_b", copies, (a, b))
    full, empty = Mbarrier("full", cycle, 1), Mbarrier("empty", cycle, 8)
    first, second = access(a), access(a, "read")
    size = 128 * 64 * 2, bn * 64 * 2
    operations = [
        Wait(at=load_a, barrier=empty, lap=1, first=second, second=first),
        Expect(at=load_a, barrier=full, copy=load_a.value, bytes=size[0]),
        Expect(at=load_b, barrier=full, copy=load_b.value, bytes=size[1]),
        Arrive(at=load_b, side="after", barrier=full),
        Wait(at=multiply, barrier=full, lap=0, first=first, second=second),
        WgmmaFence(at=multiply),
        Commit(at=multiply, side="after", kind="wgmma"),
        WaitGroup(at=multiply, side="after", kind="wgmma", pending=delay, first=first, second=second),
        Arrive(at=multiply, side="after", barrier=empty, every=32, delay=delay),
        Advance(at=claims[1], side="after", cycle=cycle),
    ]
    if delay:
        path = (Level.THREAD, 0, 256), ONE
        operations += [
            WaitGroup(at=epilogue, kind="wgmma", pending=0, first=first, second=second, path=path),
            Arrive(at=rounds, side="after", barrier=empty, every=32, delay=delay, drain=True, path=path),
        ]
    stride = size[0], size[1]
    end = copies * sum(stride)
    layout = Layout(
        {a: 0, b: copies * stride[0]}, end + 16 * copies, strides={a: stride[0], b: stride[1]},
        mbarriers={full: end, empty: end + 8 * copies},
    )  # fmt: skip
    completes = {load_a.value: full, load_b.value: full}
    return program(f, layout, *operations, mbarriers=(full, empty), completes=completes)


def three_roles(barriers=True, bound=96, launch_bounds=(128,)):
    """Warp 0 fills, warp 1 reads, warp 2 has nothing to do; then all meet and each reads."""
    out, i, t = symbol("out", Pointer(INT32), GRID), symbol("i", INT32), symbol("t", INT32)
    a = ring("a", INT32, 32, copies=2)
    filled, read = whole("x", a, WARP1), whole("y", a, WARP1)
    write = assign(element(filled, ident(THREAD, WARP1)), var(i))
    use = assign(element(out, ident(THREAD, WARP1)), element(read, ident(THREAD, WARP1)))
    last = group(THREAD, BLOCK, assign(element(out, var(t)), const(1)))
    claims = claim(filled, split((0, 32, (write,)))), claim(read, split((32, 32, (use,))))
    body = [shared(a), declare(t, ident(THREAD, BLOCK)), loop(i, const(9), *claims), last]
    f = function("k", [out], body, bound=Bound(None, 1, bound), launch_bounds=launch_bounds)
    cycle = Cycle("a", 2, (a,))
    full, empty = Mbarrier("full", cycle, 32), Mbarrier("empty", cycle, 1)
    w, r = access(a), access(a, "read")
    operations = (
        Wait(at=write, barrier=empty, lap=1, first=r, second=w),
        Arrive(at=write, side="after", barrier=full),
        Wait(at=use, barrier=full, lap=0, first=w, second=r),
        Arrive(at=use, side="after", barrier=empty, every=32),
        Advance(at=claims[1], side="after", cycle=cycle),
    )
    found = (Barrier("block", BLOCK, last, w, r),) if barriers else ()
    layout = Layout({a: 0}, 288, strides={a: 128}, mbarriers={full: 256, empty: 272})
    return program(f, layout, *operations, barriers=found, mbarriers=(full, empty))


def tiles_in_turn(copies=3, asynchronous=True):
    """Each thread copies its element of a ring's tile, then all read one another's."""
    x, out, k, j = (
        symbol("x", Pointer(FLOAT32, const=True), GRID),
        symbol("out", Pointer(FLOAT32), GRID),
        *ints("k", "j"),
    )
    a = ring("a", FLOAT32, 64, copies=copies)
    mine = tree.Symbol(
        "mine",
        Pointer(FLOAT32, space="shared"),
        THREAD,
        S,
        view=tree.View(a, THREAD, (j,), (binary("+", var(j), ident(THREAD, BLOCK)),)),
    )
    tile = whole("tile", a, BLOCK)
    fill = evaluate("cp_async", element(mine, const(0)), element(x, var(k)), bytes=4)
    inner = group(THREAD, BLOCK, fill)
    use = assign(element(out, ident(THREAD, BLOCK)), element(tile, const(5)))
    stations = partition(mine, inner), partition(tile, group(THREAD, BLOCK, use))
    f = function("k", [x, out], [shared(a), loop(k, const(9), *stations)], bound=Bound(None, 1, 32))
    cycle = Cycle("a", copies, (a,))
    full, empty = Mbarrier("a.full", cycle, 1, per=1), Mbarrier("a.empty", cycle, 1, per=32)
    w, r = access(a), access(a, "read")
    operations = (
        Wait(at=inner, barrier=empty, lap=1, first=r, second=w),
        Arrive(at=inner, side="after", barrier=full, copies=asynchronous),
        Wait(at=use, barrier=full, lap=0, first=w, second=r),
        Arrive(at=use, side="after", barrier=empty, every=32),
        Advance(at=stations[1], side="after", cycle=cycle),
    )
    layout = Layout(
        {a: 0}, 256 * copies + 16 * copies, strides={a: 256}, mbarriers={full: 256 * copies, empty: 264 * copies}
    )
    return program(f, layout, *operations, mbarriers=(full, empty))


def ints(*names):
    return [symbol(name, INT32) for name in names]
