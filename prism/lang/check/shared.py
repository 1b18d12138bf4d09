"""Shared objects as they are declared: where they may stand (R25)."""

from __future__ import annotations

from dataclasses import replace

from prism.lang import tree
from prism.lang.check import annotation
from prism.lang.check.env import Env, fail, why_here
from prism.lang.check.rings import check_ring, in_loops
from prism.lang.check.table import check_expression
from prism.lang.diagnostics import Fields
from prism.lang.errors import ownership, tiles
from prism.lang.parse import syntax as s
from prism.lang.types import Pointer
from prism.lang.types.perspective import BLOCK, Level, Perspective


def check_shared(
    env: Env, st: s.Declare, meaning: annotation.Annotation, place: Perspective
) -> tuple[tuple[tree.Stmt, ...], Env]:
    """R25 SHARED-ALLOC: in a block's code, or a cluster's: then the first extent is the number of its blocks."""
    assert isinstance(meaning.type, Pointer)
    length = None if meaning.length is None else check_length(env, st.name, meaning.length)
    if meaning.type.ring:
        check_ring(env, st.name, st.span)
    if env.code.level != Level.BLOCK:
        error = ownership.SharedInArm if innermost(env) == "arm" else ownership.SharedPlace
        fail(error(span=st.span, name=st.name, code_perspective=env.code, labels=why_here(env)))
    if st.place is not None and place != env.code:
        fail(ownership.SharedNotBlock(span=st.place.span, name=st.name, place=place, code_perspective=env.code))
    if st.value is not None:
        fail(ownership.SharedValue(span=st.value.span, name=st.name))
    shape = meaning.type.shape
    if env.code != BLOCK and shape is not None and shape[0] != env.code.size:
        facts: Fields = {"name": st.name, "blocks": env.code.size, "first": shape[0]}
        fail(tiles.ClusterExtent(span=st.annotation.span, **facts, labels=why_here(env)))
    symbol = tree.Symbol(st.name, meaning.type, env.code, st.name_span)
    env.context.lives[symbol] = env.scope
    align = max(meaning.align, meaning.type.element.bytes)
    made = tree.SharedDeclare(symbol=symbol, align=align, length=length, span=st.span)
    if meaning.type.ring and in_loops(env):
        # Its visits go on counting over the loops' trips, so it stands before the outermost.
        env.context.rings.append(replace(made, inlined=env.context.inlined))
        return (), env.bind(symbol)
    return (made,), env.bind(symbol)


def check_length(env: Env, name: str, e: s.Expr) -> tree.Expr:
    """R25: the length of an object that is sized at launch: a number that the block agrees on, in a kernel's own text.

    Whether a launch can know it is found out when all of the kernel is known (facts/sized.py).
    """
    length = check_expression(env, e, BLOCK)
    if not isinstance(length.type, tree.Scalar) or not length.type.integral:
        fail(tiles.SizedType(span=e.span, name=name, type=str(length.type)))
    if not length.perspective >= BLOCK:
        fail(
            tiles.SizedPlace(span=e.span, name=name, fault=f"its length differs between units of {length.perspective}")
        )
    kernel = env.context.kernel
    if kernel.kind != "global" or env.context.inlined is not None:
        fail(tiles.SizedPlace(span=e.span, name=name, fault="it stands in a device function"))
    if env.code != BLOCK:
        fail(
            tiles.SizedPlace(
                span=e.span, name=name, fault="it belongs to a cluster, whose objects have a constant size"
            )
        )
    if kernel.smem is not None:
        fail(tiles.SizedLimit(span=e.span, name=name))
    return length


def innermost(env: Env) -> str:
    """Return what narrowed the code last: `group`, `arm` or nothing."""
    return next((step.kind for step in reversed(env.path) if step.kind in ("group", "arm")), "")
