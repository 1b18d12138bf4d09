"""CUDA C++ of rings, asynchronous copies, fragments and roles, from typed trees and plans made by hand."""

import re
from dataclasses import replace

import pytest

from prism.lang.emit import emit
from prism.lang.intrinsics import TABLE
from prism.lang.perspective import BLOCK, GRID, THREAD, WARPGROUP1, Bound, Level, Perspective
from prism.lang.plan import (
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
    ProxyFence,
    Wait,
    WaitGroup,
    WgmmaFence,
)
from prism.lang.roles import specialise
from prism.lang.tree import (
    Apply,
    Arm,
    Async,
    Batch,
    Claim,
    Const,
    Element,
    Evaluate,
    For,
    Item,
    Partition,
    Place,
    SharedDeclare,
    Specialise,
    Split,
    Symbol,
    Var,
    View,
)
from prism.lang.types import BFLOAT16, FLOAT32, INT32, VOID, Fragment, Pointer, TensorMap
from tests.lang.test_emit import S, assign, binary, const, declare, element, function, group, ident, squeezed, symbol, var

TWO, ONE = Perspective(Level.THREAD, 256), WARPGROUP1


def evaluate(name, *arguments, code=THREAD, **statics):
    apply = Apply(
        intrinsic=TABLE[name], arguments=arguments, statics=statics, code=code, type=VOID, perspective=THREAD, span=S
    )
    return Evaluate(value=apply, span=S)


def ring(name, element_type, *shape, copies, swizzle=0):
    return symbol(name, Pointer(element_type, space="shared", shape=shape, ring=copies, swizzle=swizzle), BLOCK)


def whole(name, source, unit, **more):
    """A view that names a ring's copy, or an object, whole."""
    type_ = replace(source.type, ring=0)
    params = tuple(symbol(f"i{k}", INT32) for k in range(len(type_.shape)))
    return Symbol(name, type_, unit, S, view=View(source, unit, params, tuple(map(var, params)), **more))


def shared(s):
    return SharedDeclare(symbol=s, align=16, span=S)


def split(*arms, level=Level.THREAD, code=BLOCK):
    return Split(level=level, code=code, arms=tuple(Arm(first, size, body, S) for first, size, body in arms), span=S)


def claim(view, *body):
    return Claim(view=view, code=BLOCK, body=body, span=S)


def partition(view, *body):
    return Partition(view=view, code=BLOCK, body=body, span=S)


def loop(s, stop, *body, unroll=None):
    return For(symbol=s, start=const(0), stop=stop, step=const(1), body=body, unroll=unroll, span=S)


def access(root, kind="write"):
    return Access(root, kind, S, root.name, THREAD)


def program(f, layout, *operations, barriers=(), mbarriers=(), completes=()):
    cycles = tuple(dict.fromkeys(m.cycle for m in mbarriers))
    plan = Plan(f, tuple(barriers), (), tuple(operations), cycles, tuple(mbarriers), dict(completes))
    return Program(f, (f,), {f: plan}, {f: layout})


@pytest.fixture
def text(nvrtc):
    def both(p, *arches):
        made = emit(p)
        plain = emit(p, comments=False).source
        assert emit(p) == made and "//" not in plain
        for arch in arches or ("sm_90a",):
            nvrtc(made.source, arch)
            nvrtc(plain, arch)
        return made.source

    return both


def body_of(source):
    """The kernel's own text."""
    return source[source.index("// k\n") :]


# -- the target program: a producer, two consumers --------------------------------------------------------------------


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
        at = Element(symbol=tensor, indices=(first, binary("*", var(kk), const(64))), type=BFLOAT16, perspective=GRID, span=S)
        return evaluate("tma_load", var(view), at)

    load_a, load_b = load(pa, map_a, var(row)), load(pb, map_b, const(0))
    one = split((0, 1, (load_a, load_b)), code=ONE)
    half = element(ca, binary("*", const(64), var(w)), const(0))
    multiply = evaluate("wgmma", var(acc), half, var(cb), code=ONE)
    body = group(ONE, TWO, declare(w, ident(ONE, TWO)), multiply)
    claims = claim(pa, claim(pb, split((256, 128, (one,))))), claim(ca, claim(cb, split((0, 256, (body,)))))
    rounds = loop(kk, var(k), *claims)

    def at(axis):
        return Place(symbol=acc, index=var(i), axis=axis, type=INT32, perspective=THREAD, span=S)

    found = Item(symbol=acc, indices=(var(i),), type=FLOAT32, perspective=THREAD, span=S)
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
        attributes=("__launch_bounds__(384, 1)",),
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


def test_roles_have_a_text_each(text, golden):
    golden(body_of(text(product())), ".cu")


def test_arrivals_some_rounds_late(text, golden):
    golden(body_of(text(product(delay=1, copies=3))), ".cu")
