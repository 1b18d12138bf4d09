"""Statements that manage the code's perspective and the flow of control: G |-^pi_m s."""

from __future__ import annotations

from math import gcd

from theory.bundl import syntax
from theory.bundl.judgement import Checker, Code, Context, IllTyped, StmtRule, premise
from theory.bundl.perspectives import at, dn


def t_function_call_printed(c: Checker, g: Context, code: Code, s: syntax.Call) -> int:
    """f :^pi Fun(x_i : t_i .., pi, m'), G |-^pi e_i : t_i, m' <= m  =>  G |-^pi_m f(e_i ..)"""
    rule, pi = "T-Function-Call", code.pi
    entry = g.get(s.function)
    if entry is None or not isinstance(entry.type, syntax.Fun):
        raise IllTyped(rule, f"{s.function} is not a function", s)
    premise(entry.at == pi == entry.type.at, rule, lambda: f"{s.function} is at {entry.at}, the code at {pi}", s)
    premise(len(s.args) == len(entry.type.params), rule, "another number of arguments", s)
    for argument, param in zip(s.args, entry.type.params, strict=True):
        c.demand(rule, g, pi, pi, argument, param.type)
    return entry.type.budget


def t_function_call(c: Checker, g: Context, code: Code, s: syntax.Call) -> int:
    """f : Fun(x_i :^q_i t_i .., pi_f, m'), pi_f <= pi, m' <= m; a scalar G |-^pi_(q_i) e_i : t_i; an array at exactly q_i,
    no array passed twice  =>  G |-^pi_m f(e_i ..)"""
    rule, pi = "T-Function-Call", code.pi
    entry = g.get(s.function)
    if entry is None or not isinstance(entry.type, syntax.Fun):
        raise IllTyped(rule, f"{s.function} is not a function", s)
    premise(c.leq(entry.type.at, pi), rule, f"{s.function} is at {entry.type.at}, the code at {pi}", s)
    premise(len(s.args) == len(entry.type.params), rule, "another number of arguments", s)
    arrays: set[str] = set()
    for argument, param in zip(s.args, entry.type.params, strict=True):
        if isinstance(param.type, syntax.ArrayOf):
            q, array = c.array(rule, g, argument)
            premise(q == param.at and array == param.type, rule, f"{param.name} is at {param.at}, not {q}", s)
            assert isinstance(argument, syntax.Var)
            premise(argument.name not in arrays, rule, f"{argument.name} is passed twice", s)
            arrays.add(argument.name)
        else:
            c.demand(rule, g, pi, param.at, argument, param.type)
    return entry.type.budget


def t_frame(c: Checker, g: Context, code: Code, s: syntax.Frame) -> int:
    """pi_f <= pi, fns G, x_i :^q_i t_i .. |-^pi_f_m' s, m' <= m  =>  G |-^pi_m frame (x_i .. ) @ pi_f uses m' {s}"""
    premise(c.leq(s.at, code.pi), "T-Frame", lambda: f"{s.at} is not within {code.pi}", s)
    inner = g.functions()
    for param in s.params:
        inner = inner.bind(param.name, param.at, param.type)
    need = c.stmt(inner, Code(s.at, c.whole(s.at)), s.body)
    premise(need <= s.budget, "T-Frame", lambda: f"needs {need} bytes of {s.budget}", s)
    return s.budget


def t_split(c: Checker, g: Context, code: Code, s: syntax.Split) -> int:
    """G |-^(h,n1)_m s1, G |-^(h,n2)_m s2, n1, n2 align to n at A  =>  G |-^(h,n)_m split(n1,n2){s1}{s2} at base A

    The first arm starts where the unit does, the second at a multiple of gcd(A, n1). With n2 = 0, s2 is skip.
    """
    level, whole = code.pi.level, code.pi.size
    premise(
        c.align(s.left, s.right, whole, code.base), "T-Split", lambda: f"{s.left}, {s.right} do not align to {whole}", s
    )
    need = c.stmt(g, Code(at(level, s.left), code.base), s.first)
    if s.right == 0:
        premise(isinstance(s.second, syntax.Skip), "T-Split", "an arm without members", s)
        return need
    return max(need, c.stmt(g, Code(at(level, s.right), gcd(code.base, s.left)), s.second))


def t_arm(c: Checker, g: Context, code: Code, s: syntax.Arm) -> int:
    """n' | n, (a+1) * n' <= n, G |-^(h,n')_m s  =>  G |-^(h,n)_m arm a of n' {s}"""
    whole = code.pi.size
    inside = s.index >= 0 and (s.index + 1) * s.size <= whole
    premise(
        s.size > 0 and whole % s.size == 0 and inside, "T-Arm", lambda: f"no arm {s.index} of {s.size} in {whole}", s
    )
    return c.stmt(g, Code(at(code.pi.level, s.size), gcd(code.base, s.index * s.size)), s.body)


def t_destruct(c: Checker, g: Context, code: Code, s: syntax.Destruct) -> int:
    """G |-^(dn pi)_m s  =>  G |-^pi_m destruct in s"""
    lower = dn(code.pi, c.shape)
    if lower is None:
        raise IllTyped("T-Destruct", f"dn {code.pi} is undefined", s)
    return c.stmt(g, Code(lower, 0), s.body)


def t_group(c: Checker, g: Context, code: Code, s: syntax.Group) -> int:
    """G |-^(h,n)_m s  =>  G |-^(h,q*n)_m group q s"""
    whole = code.pi.size
    premise(s.parts > 0 and whole % s.parts == 0, "T-Group", lambda: f"{s.parts} does not divide {whole}", s)
    part = whole // s.parts
    return c.stmt(g, Code(at(code.pi.level, part), gcd(code.base, part) if s.parts > 1 else code.base), s.body)


def t_if(c: Checker, g: Context, code: Code, s: syntax.If) -> int:
    """G |-^pi_pi e : bool, G |-^pi_m1 s1, G |-^pi_m2 s2  =>  G |-^pi_max(m1,m2) if e then s1 else s2"""
    c.demand("T-If", g, code.pi, code.pi, s.test, syntax.Base.BOOL)
    return max(c.stmt(g, code, s.then), c.stmt(g, code, s.other))


def t_while(c: Checker, g: Context, code: Code, s: syntax.While) -> int:
    """G |-^pi_pi e : bool, G |-^pi_m s  =>  G |-^pi_m while e do s"""
    c.demand("T-While", g, code.pi, code.pi, s.test, syntax.Base.BOOL)
    return c.stmt(g, code, s.body)


def t_seq(c: Checker, g: Context, code: Code, s: syntax.Seq) -> int:
    """G |-^pi_m1 s1, G |-^pi_m2 s2  =>  G |-^pi_max(m1,m2) s1; s2"""
    return max(c.stmt(g, code, s.first), c.stmt(g, code, s.second))


def t_skip(c: Checker, g: Context, code: Code, s: syntax.Skip) -> int:
    """G |-^pi_m skip"""
    return 0


def t_sync_init(c: Checker, g: Context, code: Code, s: syntax.Init) -> int:
    """G |-^pi_m init_psi"""
    return 0


def t_sync_dec(c: Checker, g: Context, code: Code, s: syntax.Dec) -> int:
    """G |-^pi_m dec_psi"""
    return 0


def t_sync_wait(c: Checker, g: Context, code: Code, s: syntax.Wait) -> int:
    """G |-^pi_m wait_psi"""
    return 0


def t_leave(c: Checker, g: Context, code: Code, s: syntax.Leave) -> int:
    """G |-^pi_m leave x"""
    return 0


SHARED_CODE: dict[str, StmtRule] = {
    "T-Split": t_split,
    "T-Destruct": t_destruct,
    "T-Group": t_group,
    "T-If": t_if,
    "T-While": t_while,
    "T-Seq": t_seq,
    "T-Skip": t_skip,
    "T-Sync-Init": t_sync_init,
    "T-Sync-Dec": t_sync_dec,
    "T-Sync-Wait": t_sync_wait,
    "T-Leave": t_leave,
    "T-Arm": t_arm,
    "T-Frame": t_frame,
}

PRINTED_CODE: dict[str, StmtRule] = {
    **SHARED_CODE,
    "T-Function-Call": t_function_call_printed,
}
CORRECTED_CODE: dict[str, StmtRule] = {**SHARED_CODE, "T-Function-Call": t_function_call}
