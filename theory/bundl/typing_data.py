"""Statements that manage data: variables, arrays, their perspectives, and copies. G |-^pi_m s."""

from __future__ import annotations

from math import gcd

from prism.lang.types.perspective import Perspective
from theory.bundl import syntax
from theory.bundl.judgement import Checker, Code, Context, IllTyped, StmtRule, premise
from theory.bundl.perspectives import ONE_BLOCK, ONE_THREAD, at, dn, shrink

# Variables. --------------------------------------------------------------------------------------------------------


def t_assn_printed(c: Checker, g: Context, code: Code, s: syntax.Assign) -> int:
    """x :^q t in G, G |-^pi e : t, q <= pi  =>  G |-^pi_m x = e"""
    return _assign(c, g, code, s, code.pi)


def t_assn(c: Checker, g: Context, code: Code, s: syntax.Assign) -> int:
    """x :^q t in G, G |-^pi_q e : t, q <= pi  =>  G |-^pi_m x = e"""
    return _assign(c, g, code, s, None)


def _assign(c: Checker, g: Context, code: Code, s: syntax.Assign, demand: Perspective | None) -> int:
    entry = g.get(s.name)
    if entry is None or not isinstance(entry.type, syntax.Base):
        raise IllTyped("T-Assn", f"{s.name} is not a variable in scope", s)
    premise(c.leq(entry.at, code.pi), "T-Assn", lambda: f"{s.name} at {entry.at} is not within {code.pi}", s)
    c.demand("T-Assn", g, code.pi, demand or entry.at, s.value, entry.type)
    return 0


def t_decl_printed(c: Checker, g: Context, code: Code, s: syntax.Declare) -> int:
    """G |-^pi e : t, G, x :^q t |-^pi_m s, q <= pi, t not an array  =>  G |-^pi_m x : t @ q = e in s"""
    premise(c.leq(s.at, code.pi), "T-Decl", lambda: f"{s.at} is not within {code.pi}", s)
    c.demand("T-Decl", g, code.pi, code.pi, s.value, s.type)
    return c.stmt(g.bind(s.name, s.at, s.type), code, s.body)


def t_decl(c: Checker, g: Context, code: Code, s: syntax.Declare) -> int:
    """q <= pi, G |-^pi_q e : t, x not in G, G, x :^q t |-^pi_m s  =>  G |-^pi_m x : t @ q = e in s"""
    premise(c.leq(s.at, code.pi), "T-Decl", lambda: f"{s.at} is not within {code.pi}", s)
    premise(not g.is_bound(s.name), "T-Decl", lambda: f"{s.name} is taken", s)
    c.demand("T-Decl", g, code.pi, s.at, s.value, s.type)
    return c.stmt(g.bind(s.name, s.at, s.type), code, s.body)


def t_scope(c: Checker, g: Context, code: Code, s: syntax.Scope) -> int:
    """G - z, x :^q t |-^pi_m' s  =>  G |-^pi_(m'+m) scope x : t @ q hides z holds m {s}"""
    return s.bytes + c.stmt(g.hide(s.hides).bind(s.name, s.at, s.type), code, s.body)


# Arrays. -----------------------------------------------------------------------------------------------------------


def t_arr_assn_printed(c: Checker, g: Context, code: Code, s: syntax.Store) -> int:
    """e1 :^q t[]^l, G |-^pi e2 : int, G |-^pi e3 : t, l in {Local, Global}, q <= pi  =>  G |-^pi_m e1[e2] = e3"""
    q, array = c.array("T-Arr-Assn", g, s.array)
    premise(c.leq(q, code.pi), "T-Arr-Assn", lambda: f"an array at {q} is not within {code.pi}", s)
    c.demand("T-Arr-Assn", g, code.pi, code.pi, s.index, syntax.Base.INT)
    c.demand("T-Arr-Assn", g, code.pi, code.pi, s.value, array.element)
    return 0


def t_arr_assn_shared_printed(c: Checker, g: Context, code: Code, s: syntax.Store) -> int:
    """e1 :^q t[]^Shared, G |-^pi e2 : int, G |-^pi e3 : t, pi <= (Block,1), q <= pi  =>  G |-^pi_m e1[e2] = e3"""
    premise(c.leq(code.pi, ONE_BLOCK), "T-Arr-Assn-Shared", lambda: f"{code.pi} is not within one block", s)
    return t_arr_assn_printed(c, g, code, s)


def t_arr_assn_down(c: Checker, g: Context, code: Code, s: syntax.Store) -> int:
    """e1 :^q t[]^l, q <= pi, G |-^pi_q e2 : int, G |-^pi_q e3 : t  =>  G |-^pi_m e1[e2] = e3

    Half-way: values at the array's perspective, but still stores by many threads. Uniformity fails with it; it is kept to
    show that.
    """
    q, array = c.array("T-Arr-Assn", g, s.array)
    premise(c.leq(q, code.pi), "T-Arr-Assn", lambda: f"an array at {q} is not within {code.pi}", s)
    c.demand("T-Arr-Assn", g, code.pi, q, s.index, syntax.Base.INT)
    c.demand("T-Arr-Assn", g, code.pi, q, s.value, array.element)
    return 0


def t_arr_assn(c: Checker, g: Context, code: Code, s: syntax.Store) -> int:
    """e1 :^q t[]^l, q <= pi, l != Local implies q = pi = (Thread,1), G |-^pi_q e2 : int, G |-^pi_q e3 : t
    =>  G |-^pi_m e1[e2] = e3"""
    q, array = c.array("T-Arr-Assn", g, s.array)
    alone = q == ONE_THREAD and code.pi == ONE_THREAD
    premise(
        array.kind is syntax.Kind.LOCAL or alone,
        "T-Arr-Assn",
        "memory that threads share is stored to by one thread",
        s,
    )
    return t_arr_assn_down(c, g, code, s)


def t_alloc_printed(c: Checker, g: Context, code: Code, s: syntax.Alloc) -> int:
    """G, x :^pi t[]^l |-^pi_m s, l in {Local, Global}  =>  G |-^pi_(m + n*size(t)) x := alloc l t n in s"""
    premise(s.at is None, "T-Alloc", "no such form", s)
    inner = g.bind(s.name, code.pi, syntax.ArrayOf(s.element, s.kind))
    return c.stmt(inner, code, s.body) + s.count * s.element.bytes


def t_alloc_shared_printed(c: Checker, g: Context, code: Code, s: syntax.Alloc) -> int:
    """G, x :^(Block,1) t[]^Shared |-^(Block,1)_m s  =>  G |-^(Block,1)_(m + n*size(t)) x := alloc Shared t n in s"""
    premise(code.pi == ONE_BLOCK, "T-Alloc-Shared", lambda: f"{code.pi} is not one block", s)
    return t_alloc_printed(c, g, code, s)


def t_alloc(c: Checker, g: Context, code: Code, s: syntax.Alloc) -> int:
    """x not in G, G, x :^q t[]^l |-^pi_m s, l in {Local, Global}, q <= pi, q != pi implies l = Local
    =>  G |-^pi_m x := alloc l t n @ q in s  (q left out: pi)"""
    q = code.pi if s.at is None else s.at
    premise(not g.is_bound(s.name) and s.count >= 0, "T-Alloc", lambda: f"{s.name} is taken", s)
    premise(
        s.at is None or (s.kind is syntax.Kind.LOCAL and c.leq(q, code.pi)), "T-Alloc", lambda: f"{q} in {code.pi}", s
    )
    return c.stmt(g.bind(s.name, q, syntax.ArrayOf(s.element, s.kind)), code, s.body)


def t_alloc_shared(c: Checker, g: Context, code: Code, s: syntax.Alloc) -> int:
    """x not in G, G, x :^(Block,1) t[]^Shared |-^(Block,1)_m s
    =>  G |-^(Block,1)_(m + n*size(t)) x := alloc Shared t n in s"""
    premise(code.pi == ONE_BLOCK, "T-Alloc-Shared", lambda: f"{code.pi} is not one block", s)
    return t_alloc(c, g, code, s) + s.count * s.element.bytes


def t_free_printed(c: Checker, g: Context, code: Code, s: syntax.Free) -> int:
    """n <= m  =>  G |-^pi_m free n"""
    return s.bytes


def t_free(c: Checker, g: Context, code: Code, s: syntax.Free) -> int:
    """G |-^pi_m free n; what it gives back is held by the scope around it"""
    return 0


# Perspectives of data. ---------------------------------------------------------------------------------------------


def t_partition_printed(c: Checker, g: Context, code: Code, s: syntax.Partition) -> int:
    """G, y :^(h,n/c) t[]^l |-^(h,n)_m s, c | n, l != Local  =>  G, x :^(h,n) t[]^l |-^(h,n)_m partition_psi x into y by c in s"""
    premise(s.view is None, "T-Partition", "no such form", s)
    array, part = _partition(c, g, code, s)
    return c.stmt(g.hide(s.source).bind(s.name, part, array), code, s.body)


def t_partition(c: Checker, g: Context, code: Code, s: syntax.Partition) -> int:
    """x :^(h,n) t[]^l, c | n, l != Local, G |-^pi_(h,n/c) each of the view's e : int, y not in G, G - x, y :^(h,n/c) t[]^l
    |-^(h,n)_m s  =>  G |-^(h,n)_m partition_psi x into y by c at view in s"""
    array, part = _partition(c, g, code, s)
    premise(not g.is_bound(s.name), "T-Partition", lambda: f"{s.name} is taken", s)
    if s.view is not None:
        for e in (s.view.offset, s.view.step, s.view.length):
            c.demand("T-Partition", g, code.pi, part, e, syntax.Base.INT)
    return c.stmt(g.hide(s.source).bind(s.name, part, array), code, s.body)


def _partition(c: Checker, g: Context, code: Code, s: syntax.Partition) -> tuple[syntax.ArrayOf, Perspective]:
    array = _owned_array("T-Partition", c, g, code, s.source)
    part = shrink(code.pi, s.parts)
    if part is None:
        raise IllTyped("T-Partition", f"{s.parts} does not divide {code.pi}", s)
    return array, part


def _owned_array(rule: str, c: Checker, g: Context, code: Code, name: str) -> syntax.ArrayOf:
    """Return the type of the array `name`, which all of the code's unit must own and share."""
    q, array = c.array(rule, g, name)
    premise(q == code.pi, rule, lambda: f"{name} is at {q}, the code at {code.pi}")
    premise(array.kind is not syntax.Kind.LOCAL, rule, lambda: f"{name} is not shared between threads")
    return array


def t_claim_printed(c: Checker, g: Context, code: Code, s: syntax.Claim) -> int:
    """G, y :^(h,n') t[]^l |-^(h,n')_m s, n' <= n, l != Local  =>  G, x :^(h,n) t[]^l |-^(h,n)_m claim_psi x into y at n' in s"""
    premise(s.arm == 0, "T-Claim", "no such form", s)
    array = _owned_array("T-Claim", c, g, code, s.source)
    premise(1 <= s.size <= code.pi.size, "T-Claim", lambda: f"{s.size} is more than {code.pi.size}", s)
    part = at(code.pi.level, s.size)
    return c.stmt(g.hide(s.source).bind(s.name, part, array), Code(part, s.size), s.body)


def t_claim(c: Checker, g: Context, code: Code, s: syntax.Claim) -> int:
    """x :^(h,n) t[]^l, l != Local, n' | n, (a+1) * n' <= n, y not in G, G - x, y :^(h,n') t[]^l |-^(h,n')_m s
    =>  G |-^(h,n)_m claim_psi x into y at n' arm a in s"""
    array = _owned_array("T-Claim", c, g, code, s.source)
    premise(not g.is_bound(s.name), "T-Claim", lambda: f"{s.name} is taken", s)
    whole = code.pi.size
    inside = s.size > 0 and whole % s.size == 0 and 0 <= s.arm < whole // s.size
    premise(inside, "T-Claim", lambda: f"no arm {s.arm} of {s.size} in {whole}", s)
    part = at(code.pi.level, s.size)
    base = gcd(code.base, s.arm * s.size)
    return c.stmt(g.hide(s.source).bind(s.name, part, array), Code(part, base), s.body)


def t_lower_printed(c: Checker, g: Context, code: Code, s: syntax.Lower) -> int:
    """G, y :^(dn pi) t[]^l |-^pi_m s, l != Local  =>  G, x :^pi t[]^l |-^pi_m lower_psi x into y in s"""
    array = _owned_array("T-Lower", c, g, code, s.source)
    part = dn(code.pi, c.shape)
    if part is None:
        raise IllTyped("T-Lower", f"dn {code.pi} is undefined", s)
    return c.stmt(g.hide(s.source).bind(s.name, part, array), code, s.body)


def t_lower(c: Checker, g: Context, code: Code, s: syntax.Lower) -> int:
    """x :^pi t[]^l, l != Local, y not in G, G - x, y :^(dn pi) t[]^l |-^pi_m s  =>  G |-^pi_m lower_psi x into y in s"""
    premise(not g.is_bound(s.name), "T-Lower", lambda: f"{s.name} is taken", s)
    return t_lower_printed(c, g, code, s)


# Copies. -----------------------------------------------------------------------------------------------------------


def t_async_partition_printed(c: Checker, g: Context, code: Code, s: syntax.AsyncPartition) -> int:
    """G, y :^(Thread,1) async t[]^l |-^(Thread,1)_m s
    =>  G, x :^(Thread,1) t[]^l |-^(Thread,1)_m async_partition_phi x into y in s"""
    q, array = c.array("T-Async-Partition", g, s.source)
    premise(
        q == ONE_THREAD and code.pi == ONE_THREAD, "T-Async-Partition", lambda: f"{q} in {code.pi}: not one thread", s
    )
    outer = frozenset(name for name, _ in g.names() if name != s.source)
    inner = g.hide(s.source).bind(s.name, ONE_THREAD, syntax.Async(array, s.phi), outer)
    return c.stmt(inner, code, s.body)


def t_async_partition(c: Checker, g: Context, code: Code, s: syntax.AsyncPartition) -> int:
    """x :^(Thread,1) t[]^l, y not in G, phi of no type in G, G - x, y :^(Thread,1) async_phi t[]^l |-^(Thread,1)_m s
    =>  G |-^(Thread,1)_m async_partition_phi x into y in s"""
    premise(not g.is_bound(s.name), "T-Async-Partition", lambda: f"{s.name} is taken", s)
    open_ = any(isinstance(entry.type, syntax.Async) and entry.type.phi == s.phi for _, entry in g.names())
    premise(not open_, "T-Async-Partition", lambda: f"{s.phi} is open already", s)
    return t_async_partition_printed(c, g, code, s)


def t_async_memcpy_printed(c: Checker, g: Context, code: Code, s: syntax.AsyncMemcpy) -> int:
    """G, x :^(Thread,1) async t[]^l, y :^(Thread,1) t[]^l' |-^(Thread,1)_m async_memcpy(x, y)"""
    q, _ = _in_flight(c, g, code, s)
    premise(q == ONE_THREAD, "T-Async-Memcpy", lambda: f"{s.source} is at {q}", s)
    return 0


def t_async_memcpy(c: Checker, g: Context, code: Code, s: syntax.AsyncMemcpy) -> int:
    """x :^(Thread,1) async_phi t[]^l, y :^q t[]^l', (Thread,1) <= q, y bound outside of phi's scope
    =>  G |-^(Thread,1)_m async_memcpy_phi(x, y)"""
    q, outer = _in_flight(c, g, code, s)
    premise(c.leq(ONE_THREAD, q), "T-Async-Memcpy", lambda: f"{s.source} cannot be read by one thread", s)
    premise(s.source in outer, "T-Async-Memcpy", lambda: f"{s.source} may be gone when the copy takes place", s)
    return 0


def _in_flight(c: Checker, g: Context, code: Code, s: syntax.AsyncMemcpy) -> tuple[Perspective, frozenset[str]]:
    rule = "T-Async-Memcpy"
    premise(code.pi == ONE_THREAD, rule, lambda: f"{code.pi} is not one thread", s)
    entry = g.get(s.target)
    if entry is None or not isinstance(entry.type, syntax.Async):
        raise IllTyped(rule, f"{s.target} is not an array in flight", s)
    premise(entry.type.phi == s.phi, rule, f"{s.target} belongs to {entry.type.phi}", s)
    q, array = c.array(rule, g, s.source)
    premise(array.element is entry.type.array.element, rule, "elements of two types", s)
    return q, entry.outer


def t_memcpy_printed(c: Checker, g: Context, code: Code, s: syntax.Memcpy) -> int:
    """G, x :^pi t[]^l, y :^pi t[]^l' |-^pi_m memcpy(x, y)"""
    q, to = c.array("T-Memcpy", g, s.target)
    r, source = c.array("T-Memcpy", g, s.source)
    premise(q == code.pi == r, "T-Memcpy", lambda: f"{q} and {r} are not both {code.pi}", s)
    premise(to.element is source.element, "T-Memcpy", "elements of two types", s)
    return 0


def t_memcpy(c: Checker, g: Context, code: Code, s: syntax.Memcpy) -> int:
    """x :^q t[]^l, y :^r t[]^l', q <= pi, q <= r, l != Local implies q = pi = (Thread,1), l' = Shared implies
    pi <= (Block,1)  =>  G |-^pi_m memcpy(x, y)"""
    rule = "T-Memcpy"
    q, to = c.array(rule, g, s.target)
    r, source = c.array(rule, g, s.source)
    alone = q == ONE_THREAD and code.pi == ONE_THREAD
    premise(to.kind is syntax.Kind.LOCAL or alone, rule, "memory that threads share is stored to by one thread", s)
    premise(c.leq(q, code.pi) and c.leq(q, r), rule, lambda: f"{s.source} at {r} into {q} by {code.pi}", s)
    premise(source.kind is not syntax.Kind.SHARED or c.leq(code.pi, ONE_BLOCK), rule, "shared memory is one block's", s)
    premise(to.element is source.element, rule, "elements of two types", s)
    return 0


PRINTED_DATA: dict[str, StmtRule] = {
    "T-Assn": t_assn_printed,
    "T-Decl": t_decl_printed,
    "T-Arr-Assn": t_arr_assn_printed,
    "T-Arr-Assn-Shared": t_arr_assn_shared_printed,
    "T-Alloc": t_alloc_printed,
    "T-Alloc-Shared": t_alloc_shared_printed,
    "T-Free": t_free_printed,
    "T-Partition": t_partition_printed,
    "T-Claim": t_claim_printed,
    "T-Lower": t_lower_printed,
    "T-Async-Partition": t_async_partition_printed,
    "T-Async-Memcpy": t_async_memcpy_printed,
    "T-Memcpy": t_memcpy_printed,
    "T-Scope": t_scope,
}

CORRECTED_DATA: dict[str, StmtRule] = {
    "T-Assn": t_assn,
    "T-Decl": t_decl,
    "T-Arr-Assn": t_arr_assn,
    "T-Arr-Assn-Shared": t_arr_assn,
    "T-Alloc": t_alloc,
    "T-Alloc-Shared": t_alloc_shared,
    "T-Free": t_free,
    "T-Partition": t_partition,
    "T-Claim": t_claim,
    "T-Lower": t_lower,
    "T-Async-Partition": t_async_partition,
    "T-Async-Memcpy": t_async_memcpy,
    "T-Memcpy": t_memcpy,
    "T-Scope": t_scope,
}
