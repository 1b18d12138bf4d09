"""Expressions: G |-^pi_d e : t.  Rules with `_printed` are printed ones where the corrected calculus has another."""

from __future__ import annotations

from prism.lang.types.perspective import Perspective
from theory.bundl.judgement import Checker, Context, ExprRule, IllTyped, premise
from theory.bundl.perspectives import ONE_BLOCK, ONE_GRID
from theory.bundl.syntax import Base, Bool, Bop, Cmp, Expr, Float, Id, Index, Int, Type, Var


def t_var_printed(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Var) -> Type:
    """x :^pi t in G  =>  G |-^pi x : t"""
    entry = g.get(e.name)
    if entry is None or entry.at != d:
        raise IllTyped("T-Var", f"{e.name} is not in scope at exactly {d}", e)
    return entry.type


def t_var(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Var) -> Type:
    """x :^q t in G, d <= q  =>  G |-^pi_d x : t"""
    entry = g.get(e.name)
    if entry is None or not c.leq(d, entry.at):
        raise IllTyped("T-Var", f"{e.name} cannot be read at {d}", e)
    return entry.type


def t_int(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Int) -> Type:
    """G |-^pi_d n : int"""
    return Base.INT


def t_float(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Float) -> Type:
    """G |-^pi_d f : float"""
    return Base.FLOAT


def t_bool(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Bool) -> Type:
    """G |-^pi_d b : bool"""
    return Base.BOOL


def t_partition_id_printed(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Id) -> Type:
    """pi < (Grid,1)  =>  G |-^pi partition_id : int"""
    premise(
        pi != ONE_GRID and c.leq(pi, ONE_GRID), "T-Partition-Id", lambda: f"{pi} is not narrower than {ONE_GRID}", e
    )
    return Base.INT


def t_partition_id(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Id) -> Type:
    """d <= pi  =>  G |-^pi_d partition_id : int"""
    premise(c.leq(d, pi), "T-Partition-Id", lambda: f"{d} is not within the code's {pi}", e)
    return Base.INT


def t_arr_access(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Index) -> Type:
    """e1 :^q t[]^l, G |-^pi_d e2 : int, l in {Local, Global}, d <= q  =>  G |-^pi_d e1[e2] : t"""
    q, array = c.array("T-Arr-Access", g, e.array)
    c.demand("T-Arr-Access", g, pi, d, e.index, Base.INT)
    premise(c.leq(d, q), "T-Arr-Access", lambda: f"an array at {q} cannot be read at {d}", e)
    return array.element


def t_arr_access_shared(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Index) -> Type:
    """e1 :^q t[]^Shared, G |-^pi_d e2 : int, pi <= (Block,1), d <= q  =>  G |-^pi_d e1[e2] : t"""
    premise(c.leq(pi, ONE_BLOCK), "T-Arr-Access-Shared", lambda: f"{pi} is not within one block", e)
    return t_arr_access(c, g, pi, d, e)


def t_bop_printed(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Bop) -> Type:
    """G |-^pi e1 : int, G |-^pi e2 : int  =>  G |-^pi e1 bop e2 : int"""
    c.demand("T-Bop", g, pi, d, e.left, Base.INT)
    c.demand("T-Bop", g, pi, d, e.right, Base.INT)
    return Base.INT


def t_bop(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Bop) -> Type:
    """G |-^pi_d e1 : b, G |-^pi_d e2 : b, b in {int, float}  =>  G |-^pi_d e1 bop e2 : b"""
    return _numbers("T-Bop", c, g, pi, d, e.left, e.right)


def t_cmp_printed(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Cmp) -> Type:
    """G |-^pi e1 : int, G |-^pi e2 : int  =>  G |-^pi e1 cmp e2 : bool"""
    c.demand("T-Cmp", g, pi, d, e.left, Base.INT)
    c.demand("T-Cmp", g, pi, d, e.right, Base.INT)
    return Base.BOOL


def t_cmp(c: Checker, g: Context, pi: Perspective, d: Perspective, e: Cmp) -> Type:
    """G |-^pi_d e1 : b, G |-^pi_d e2 : b, b in {int, float}  =>  G |-^pi_d e1 cmp e2 : bool"""
    _numbers("T-Cmp", c, g, pi, d, e.left, e.right)
    return Base.BOOL


def _numbers(rule: str, c: Checker, g: Context, pi: Perspective, d: Perspective, left: Expr, right: Expr) -> Base:
    """Check that both are int or both float, and return which."""
    type_ = c.expr(g, pi, d, left)
    if type_ is not Base.INT and type_ is not Base.FLOAT:
        raise IllTyped(rule, f"{type_} is not a number", left)
    c.demand(rule, g, pi, d, right, type_)
    return Base.INT if type_ is Base.INT else Base.FLOAT


SHARED_EXPRESSIONS: dict[str, ExprRule] = {
    "T-Int": t_int,
    "T-Float": t_float,
    "T-Bool": t_bool,
    "T-Arr-Access": t_arr_access,
    "T-Arr-Access-Shared": t_arr_access_shared,
}

PRINTED_EXPRESSIONS: dict[str, ExprRule] = {
    **SHARED_EXPRESSIONS,
    "T-Var": t_var_printed,
    "T-Partition-Id": t_partition_id_printed,
    "T-Bop": t_bop_printed,
    "T-Cmp": t_cmp_printed,
}

CORRECTED_EXPRESSIONS: dict[str, ExprRule] = {
    **SHARED_EXPRESSIONS,
    "T-Var": t_var,
    "T-Partition-Id": t_partition_id,
    "T-Bop": t_bop,
    "T-Cmp": t_cmp,
}
