"""What an application binds of tiles, tensor maps and fragments.

Tests of prism/lang/tree/walk.py.
"""

from prism.lang.intrinsics import TABLE
from prism.lang.tree import Apply, Const, Element, Symbol, Var
from prism.lang.tree.bind import binding_of, operands_of
from prism.lang.types import BFLOAT16, BOOL, FLOAT32, INT32, VOID, Fragment, Pointer, TensorMap
from prism.lang.types.perspective import BLOCK, GRID, THREAD, WARPGROUP1
from tests.lang.emit.test_emit import S

TILE = Pointer(BFLOAT16, space="shared", shape=(128, 64), swizzle=128)
MAP = TensorMap(BFLOAT16, (128, 64), 128)


def named(name, type_, perspective=BLOCK):
    return Symbol(name, type_, perspective, S)


def whole(symbol):
    return Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=S)


def at(symbol, *indices):
    return Element(symbol=symbol, indices=indices, type=BFLOAT16, perspective=THREAD, span=S)


def number(value, type_=INT32):
    return Const(value=value, type=type_, span=S)


def applied(name, *arguments, **statics):
    return Apply(
        intrinsic=TABLE[name], arguments=arguments, statics=statics, code=THREAD, type=VOID, perspective=THREAD, span=S
    )


def test_a_wgmma():
    acc, tile = named("acc", Fragment(FLOAT32, 64, 128), WARPGROUP1), named("a", TILE)
    w = whole(named("w", INT32, WARPGROUP1))
    node = applied("wgmma", whole(acc), at(tile, w, number(16)), whole(tile))
    found = binding_of(node)
    assert found.tiles == {"a": TILE, "b": TILE} and found.fragments == {"accumulator": acc.type}
    assert found.starts == {"a": (None, 16), "b": (0, 0)} and found.given == frozenset() and found.scalar == BFLOAT16
    assert [p.name for p, _ in operands_of(node)] == ["accumulator", "a", "b"]
    more = applied("wgmma", whole(acc), whole(tile), whole(tile), number(False, BOOL))
    assert binding_of(more).given == {"accumulate"}


def test_a_tensor_copy():
    found = binding_of(applied("tma_load", whole(named("s", TILE)), at(named("m", MAP, GRID), number(0), number(64))))
    assert found.tiles == {"tile": TILE} and found.maps == {"tensor": MAP} and found.scalar == BFLOAT16


def test_a_bulk_copy():
    p, s = named("p", Pointer(BFLOAT16, const=True), GRID), named("s", Pointer(BFLOAT16, space="shared"))
    found = binding_of(applied("bulk_load", at(s, number(8)), at(p, number(0)), number(32)))
    assert found.tiles == {"destination": s.type} and found.starts == {"destination": (8,)}
    assert found.given == {"n"} and found.const == {"source"}
