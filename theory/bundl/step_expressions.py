"""Expressions: eta, sigma, Sigma, t, b, p |-^pi_d e => v, with pi the code's perspective and d the target's."""

from __future__ import annotations

from prism.lang.types.perspective import Perspective
from theory.bundl import syntax
from theory.bundl.perspectives import ONE_GRID, count, size
from theory.bundl.values import Array, Value
from theory.bundl.work import EvalRule, Stuck, Work, array


def e_var_printed(w: Work, e: syntax.Var, pi: Perspective, p: int, d: Perspective) -> Value:
    """x => get(x)"""
    return w.get("E-Var", e.name).value


def e_var(w: Work, e: syntax.Var, pi: Perspective, p: int, d: Perspective) -> Value:
    """x |->^q v, d <= q  =>  x => v"""
    bound = w.get("E-Var", e.name)
    if not w.leq(d, bound.at):
        raise Stuck("E-Var", f"{e.name} at {bound.at} read for {d}")
    return bound.value


def e_int(w: Work, e: syntax.Int, pi: Perspective, p: int, d: Perspective) -> Value:
    """n => n"""
    return e.value


def e_float(w: Work, e: syntax.Float, pi: Perspective, p: int, d: Perspective) -> Value:
    """f => f"""
    return e.value


def e_bool(w: Work, e: syntax.Bool, pi: Perspective, p: int, d: Perspective) -> Value:
    """b => b"""
    return e.value


def e_partition_id_printed(w: Work, e: syntax.Id, pi: Perspective, p: int, d: Perspective) -> Value:
    """pi < (Grid,1), d <= pi  =>  partition_id => pi/d - 1"""
    if pi == ONE_GRID or not w.leq(pi, ONE_GRID) or not w.leq(d, pi):
        raise Stuck("E-Partition-Id", f"{pi} for {d}")
    return count(pi, d, w.shape) - 1


def e_partition_id(w: Work, e: syntax.Id, pi: Perspective, p: int, d: Perspective) -> Value:
    """d <= pi  =>  partition_id => off(pi,p,t,b) div size(d)"""
    if not w.leq(d, pi):
        raise Stuck("E-Partition-Id", f"{pi} for {d}")
    return w.offset(pi, p) // size(d, w.shape)


def e_arr_access_printed(w: Work, e: syntax.Index, pi: Perspective, p: int, d: Perspective) -> Value:
    """e1 => <l,n>, e2 => i, i < n, d <= pi  =>  e1[e2] => get(l+i)"""
    if not w.leq(d, pi):
        raise Stuck("E-Arr-Access", f"{d} is not within {pi}")
    return e_arr_access(w, e, pi, p, d)


def e_arr_access(w: Work, e: syntax.Index, pi: Perspective, p: int, d: Perspective) -> Value:
    """e1 => <l,n>, e2 => i, 0 <= i < n  =>  e1[e2] => get(l+i); e1's own perspective is E-Var's business"""
    target = array("E-Arr-Access", w.value(e.array, pi, p, d))
    key = w.cell("E-Arr-Access", target, w.value(e.index, pi, p, d))
    value: Value = w.memory(target.kind)[key]
    return value


def e_bop(w: Work, e: syntax.Bop, pi: Perspective, p: int, d: Perspective) -> Value:
    """e1 => v1, e2 => v2, v = v1 bop v2  =>  e1 bop e2 => v"""
    left, right = w.value(e.left, pi, p, d), w.value(e.right, pi, p, d)
    if type(left) is not type(right) or not isinstance(left, (int, float)) or type(left) is bool:
        raise Stuck("E-Bop", f"{left!r} {e.op} {right!r}")
    assert isinstance(right, (int, float))
    return arithmetic(e.op, left, right)


def e_bop_shift(w: Work, e: syntax.Bop, pi: Perspective, p: int, d: Perspective) -> Value:
    """e1 => <l,n>, e2 => k  =>  e1 + e2 => <l+k,n>; otherwise as E-Bop

    In neither calculus: the most lenient reading of what S-Partition substitutes.
    """
    if e.op == "+":
        left = w.value(e.left, pi, p, d)
        if type(left) is Array:
            right = w.value(e.right, pi, p, d)
            if type(right) is int:
                return left._replace(base=left.base + right)
    return e_bop(w, e, pi, p, d)


def e_cmp(w: Work, e: syntax.Cmp, pi: Perspective, p: int, d: Perspective) -> Value:
    """e1 => v1, e2 => v2, v = v1 cmp v2  =>  e1 cmp e2 => v"""
    left, right = w.value(e.left, pi, p, d), w.value(e.right, pi, p, d)
    if type(left) is not type(right) or not isinstance(left, (int, float)) or type(left) is bool:
        raise Stuck("E-Cmp", f"{left!r} {e.op} {right!r}")
    assert isinstance(right, (int, float))
    return compare(e.op, left, right)


def arithmetic(op: str, left: int | float, right: int | float) -> int | float:
    """Return `left op right`; total, with whole numbers divided towards zero and x/0 = x%0 = 0."""
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*":
        return left * right
    if op not in ("/", "%"):
        raise Stuck("E-Bop", f"no operator {op}")
    if right == 0:
        return type(left)(0)
    if isinstance(left, float):
        return left / right if op == "/" else left - right * float(int(left / right))
    quotient = abs(left) // abs(int(right)) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if op == "/" else left - right * quotient


def compare(op: str, left: int | float, right: int | float) -> bool:
    """Return `left op right`."""
    if op == "==":
        return left == right
    if op == "!=":
        return left != right
    if op == "<":
        return left < right
    if op == "<=":
        return left <= right
    raise Stuck("E-Cmp", f"no comparison {op}")


SHARED_EVALS: dict[str, EvalRule] = {
    "E-Int": e_int,
    "E-Float": e_float,
    "E-Bool": e_bool,
    "E-Bop": e_bop,
    "E-Cmp": e_cmp,
}

PRINTED_EVALS: dict[str, EvalRule] = {
    **SHARED_EVALS,
    "E-Var": e_var_printed,
    "E-Partition-Id": e_partition_id_printed,
    "E-Arr-Access": e_arr_access_printed,
}

CORRECTED_EVALS: dict[str, EvalRule] = {
    **SHARED_EVALS,
    "E-Var": e_var,
    "E-Partition-Id": e_partition_id,
    "E-Arr-Access": e_arr_access,
}
