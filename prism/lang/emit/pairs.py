"""Loops that make floats of 8 bits: the instruction converts two at a time, so such a loop goes by pairs.

    for i in range(count(p)): p[i] = float8_e4m3fn(x(i))        for (i = 0; ...; i += 2) px_pack_e4m3(p, i, x(i), x(i + 1))

Each conversion alone would throw half of its result away, and shift and merge what is left.
"""

from __future__ import annotations

from dataclasses import replace

from prism.lang import tree
from prism.lang.emit.context import INDENT, Context
from prism.lang.emit.expressions import expression
from prism.lang.tree.walk import subexpressions
from prism.lang.types import FLOAT32, Fragment, Scalar


def pairs(context: Context, s: tree.For) -> list[str] | None:
    """Return the lines of a loop that does nothing but to make floats of 8 bits of a fragment; None of any other."""
    made = _conversion(s)
    if made is None or not context.bare(s.body[0]):
        return None
    target, value = made
    name, i = context.scope.names[target.symbol], context.scope.names[s.symbol]
    start, stop = (int(bound.value) for bound in (s.start, s.stop) if isinstance(bound, tree.Const))
    scope = context.scope
    second = replace(scope, bound={**scope.bound, s.symbol: f"({i} + 1)"})
    both = f"{expression(scope, value)}, {expression(second, value)}"
    head = f"for (int {i} = {start}; {i} < {stop}; {i} += 2) {{{context.note(s.span)}"
    assert isinstance(target.type, Scalar)
    pack = f"px_pack_{target.type.cuda.removeprefix('px_')}"
    if isinstance(target.symbol.type, Fragment) and target.symbol.type.operand:
        pack += "_operand"
    return ["#pragma unroll", head, f"{INDENT}{pack}({name}, {i}, {both});{context.note(s.body[0].span)}", "}"]


def _conversion(s: tree.For) -> tuple[tree.Item, tree.Expr] | None:
    """Return the element that a loop writes, and what is converted, where that is all that it does, for an even number."""
    bounds = [bound.value if isinstance(bound, tree.Const) else None for bound in (s.start, s.stop, s.step)]
    one = s.body[0] if len(s.body) == 1 else None
    if None in bounds or bounds[2] != 1 or not isinstance(one, tree.Assign):
        return None
    first, last = int(bounds[0] or 0), int(bounds[1] or 0)
    target, cast = one.target, one.value
    if not (isinstance(target, tree.Item) and isinstance(cast, tree.Cast)):
        return None
    type_ = target.symbol.type
    if not (isinstance(type_, Fragment) and type_.threads == 128 and type_.element.bytes == 1):
        return None
    index = target.indices[0]
    floats = isinstance(cast.type, Scalar) and cast.type.kind == "float" and cast.operand.type == FLOAT32
    own = isinstance(index, tree.Var) and index.symbol is s.symbol
    reads = (part for part in subexpressions(cast.operand) if isinstance(part, tree.Item | tree.Var))
    apart = all(part.symbol is not target.symbol for part in reads)  # an element may be read that the pair writes
    return (target, cast.operand) if floats and own and apart and first % 2 == last % 2 == 0 and first < last else None
