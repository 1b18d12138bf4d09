"""Steps that manage data: variables, arrays, their perspectives, and copies.

In the printed rules an array's name is bound where its cells are, so in sigma or Sigma other threads see it; in the
corrected ones every name is the thread's own, in eta, and only cells are shared. Cells are keyed by the unit that owns them.
"""

from __future__ import annotations

from prism.lang.types.perspective import Perspective
from theory.bundl import syntax
from theory.bundl.perspectives import ONE_BLOCK, ONE_THREAD, at, dn, shrink
from theory.bundl.step_code import arrive
from theory.bundl.substitute import substitute
from theory.bundl.values import Array, Bound, InFlight, Memory, Value
from theory.bundl.work import StepRule, Stuck, Work, array

# Variables. --------------------------------------------------------------------------------------------------------


def s_decl_printed(w: Work, s: syntax.Declare, pi: Perspective, p: int) -> syntax.Stmt:
    """e =>_q v, q <= pi  =>  x : t @ q = e in s ~> s -| eta[x ->^q v]"""
    _declare(w, s, pi, p)
    return s.body


def s_decl(w: Work, s: syntax.Declare, pi: Perspective, p: int) -> syntax.Stmt:
    """e =>_q v, q <= pi  =>  x : t @ q = e in s ~> scope x : t @ q {s} -| eta[x ->^q v]"""
    _declare(w, s, pi, p)
    return syntax.Scope(s.name, s.type, s.at, s.body)


def _declare(w: Work, s: syntax.Declare, pi: Perspective, p: int) -> None:
    if not w.leq(s.at, pi):
        raise Stuck("S-Decl", f"{s.at} is not within {pi}")
    w.eta = w.eta.put(s.name, Bound(s.at, w.value(s.value, pi, p, s.at)))
    w.rule = "S-Decl"


def s_scope(w: Work, s: syntax.Scope, pi: Perspective, p: int) -> syntax.Stmt:
    """s ~> s'  =>  scope x .. {s} ~> scope x .. {s'}.  S-Scope-Done: scope x .. {skip} ~> skip -| eta - x"""
    if type(s.body) is syntax.Skip:
        w.eta = w.eta.drop(s.name)
        w.rule = "S-Scope-Done"
        return syntax.SKIP
    body = w.step(s.body, pi, p)
    w.via.append("S-Scope")
    return s if body is s.body else syntax.Scope(s.name, s.type, s.at, body, s.hides, s.bytes)


def s_assn(w: Work, s: syntax.Assign, pi: Perspective, p: int) -> syntax.Stmt:
    """x in^q eta, sigma, Sigma, e =>_q v, q <= pi  =>  x = e ~> skip -| update(x, v)"""
    q = w.get("S-Assn", s.name).at
    if not w.leq(q, pi):
        raise Stuck("S-Assn", f"{s.name} at {q} is not within {pi}")
    w.update("S-Assn", s.name, w.value(s.value, pi, p, q))
    w.rule = "S-Assn"
    return syntax.SKIP


# Arrays. -----------------------------------------------------------------------------------------------------------


def _root(w: Work, rule: str, e: syntax.Expr) -> Perspective:
    """Return the perspective of the variable that an array's expression starts from."""
    while type(e) is syntax.Bop:
        e = e.left
    if type(e) is not syntax.Var:
        raise Stuck(rule, "not an array")
    return w.get(rule, e.name).at


def s_arr_assn_printed(w: Work, s: syntax.Store, pi: Perspective, p: int) -> syntax.Stmt:
    """e1 =>_pi <l,n>, e2 =>_pi i, e3 =>_q v, i < n, q <= pi, with q that of e1's variable
    =>  e1[e2] = e3 ~> skip -| update(l+i, v)"""
    q = _root(w, "S-Arr-Assn", s.array)
    return _store(w, s, pi, p, q, pi)


def s_arr_assn(w: Work, s: syntax.Store, pi: Perspective, p: int) -> syntax.Stmt:
    """e1 =>_q <l,n>, e2 =>_q i, e3 =>_q v, 0 <= i < n, q <= pi, with q that of e1's variable
    =>  e1[e2] = e3 ~> skip -| update(l+i, v)"""
    q = _root(w, "S-Arr-Assn", s.array)
    return _store(w, s, pi, p, q, q)


def _store(w: Work, s: syntax.Store, pi: Perspective, p: int, q: Perspective, d: Perspective) -> syntax.Stmt:
    if not w.leq(q, pi):
        raise Stuck("S-Arr-Assn", f"an array at {q} is not within {pi}")
    target = array("S-Arr-Assn", w.value(s.array, pi, p, d))
    key = w.cell("S-Arr-Assn", target, w.value(s.index, pi, p, d))
    value = w.value(s.value, pi, p, q)
    w.set_memory(target.kind, w.memory(target.kind).put(key, value))
    w.rule = "S-Arr-Assn"
    return syntax.SKIP


def s_alloc_printed(w: Work, s: syntax.Alloc, pi: Perspective, p: int) -> syntax.Stmt:
    """x := alloc l t n in s ~> s; free n*size(t) -|_(m + n*size(t)) eta/sigma/Sigma[x ->^pi <x,n>]; Shared: pi = (Block,1)

    Cells x, x+1 .. are kept apart from the name x, or the descriptor would be its own first element.
    """
    if s.kind is syntax.Kind.SHARED and pi != ONE_BLOCK:
        raise Stuck("S-Alloc-Shared", f"{pi} is not one block")
    bound = Bound(pi, Array((s.name, 0, None), 0, 1, s.count, s.element, s.kind))
    w.set_memory(s.kind, w.memory(s.kind).put(s.name, bound))
    w.used += s.count * s.element.bytes
    w.rule = f"S-Alloc-{s.kind.name.title()}"
    return syntax.Seq(s.body, syntax.Free(s.count * s.element.bytes))


def s_alloc_cells(w: Work, s: syntax.Alloc, pi: Perspective, p: int) -> syntax.Stmt:
    """As printed, and x, x+1 .. x+n-1 -> 0 where they are not there yet. In neither calculus: the least repair."""
    result = s_alloc_printed(w, s, pi, p)
    place = (s.name, 0, None)
    memory = w.memory(s.kind)
    cells = {(place, i): s.element.zero for i in range(s.count) if (place, i) not in memory}
    w.set_memory(s.kind, memory.put_all(cells))
    return result


def s_alloc(w: Work, s: syntax.Alloc, pi: Perspective, p: int) -> syntax.Stmt:
    """u the unit of (pi, p), l the place (x, depth of calls, u), q <= pi
    =>  x := alloc .. @ q in s ~> scope x : t[]^l @ q {s}; leave x[n] l; wait_x -| eta[x ->^q <l,n>], cells of l zero unless a
    member of u made them. Shared: pi = (Block,1), n*size(t) bytes are held, and s is followed by free. Local: each thread
    has cells of its own, and there is nothing to wait for. q left out: pi."""
    q = pi if s.at is None else s.at
    if s.kind is syntax.Kind.SHARED and pi != ONE_BLOCK:
        raise Stuck("S-Alloc-Shared", f"{pi} is not one block")
    if s.at is not None and (s.kind is not syntax.Kind.LOCAL or not w.leq(q, pi)):
        raise Stuck("S-Alloc", f"{q} in {pi}")
    local = s.kind is syntax.Kind.LOCAL
    place = (s.name, len(w.frames), None if local else w.unit(pi, p))
    memory = w.memory(s.kind)
    if (place, 0) not in memory:
        zero = s.element.zero
        w.set_memory(s.kind, memory.put_all({(place, i): zero for i in range(s.count)}))
    w.eta = w.eta.put(s.name, Bound(q, Array(place, 0, 1, s.count, s.element, s.kind)))
    w.rule = f"S-Alloc-{s.kind.name.title()}"
    held = s.count * s.element.bytes if s.kind is syntax.Kind.SHARED else 0
    w.used += held
    body = syntax.seq(s.body, syntax.Free(held)) if held else s.body
    scope = syntax.Scope(s.name, syntax.ArrayOf(s.element, s.kind), q, body, None, held)
    leave = syntax.Leave(s.name, s.kind, s.count)
    return syntax.seq(scope, leave) if local else syntax.seq(scope, leave, syntax.Wait(s.name))


def s_leave(w: Work, s: syntax.Leave, pi: Perspective, p: int) -> syntax.Stmt:
    """As dec_x at pi, for Shared and Global; the last to arrive, and for Local each, takes the cells of x away"""
    local = s.kind is syntax.Kind.LOCAL
    w.rule = "S-Leave"
    if local or arrive(w, s.name, pi, p):
        place = (s.name, len(w.frames), None if local else w.unit(pi, p))
        w.set_memory(s.kind, w.memory(s.kind).drop(*[(place, i) for i in range(s.count)]))
    return syntax.SKIP


def s_free(w: Work, s: syntax.Free, pi: Perspective, p: int) -> syntax.Stmt:
    """free n ~> skip -|_(m - n)"""
    w.used -= s.bytes
    w.rule = "S-Free"
    return syntax.SKIP


# Perspectives of data. ---------------------------------------------------------------------------------------------


def fence_printed(psi: str, body: syntax.Stmt) -> syntax.Stmt:
    """init_psi; s; dec_psi; wait_psi"""
    return syntax.seq(syntax.Init(psi), body, syntax.Dec(psi), syntax.Wait(psi))


def fence_after(psi: str, body: syntax.Stmt) -> syntax.Stmt:
    """s; dec_psi; wait_psi.  In neither calculus: phases, but no barrier before s."""
    return syntax.seq(body, syntax.Dec(psi), syntax.Wait(psi))


def fence(psi: str, body: syntax.Stmt) -> syntax.Stmt:
    """dec_psi; wait_psi; s; dec_psi; wait_psi: who still reads x keeps it until then"""
    return syntax.seq(syntax.Dec(psi), syntax.Wait(psi), body, syntax.Dec(psi), syntax.Wait(psi))


def _rename(w: Work, rule: str, source: str, name: str, pi: Perspective) -> None:
    """rename: bind `name` at pi to what `source` is bound to, in the same memory."""
    w.bind_beside(source, name, Bound(pi, w.get(rule, source).value))


def s_partition_printed(w: Work, s: syntax.Partition, pi: Perspective, p: int) -> syntax.Stmt:
    """s' = s[(y + c*p)/y]  =>  partition_psi x into y by c in s ~> init_psi; s'; dec_psi; wait_psi -| rename(x, y, pi/c)"""
    part = shrink(pi, s.parts)
    if part is None:
        raise Stuck("S-Partition", f"{s.parts} does not divide {pi}")
    _rename(w, "S-Partition", s.source, s.name, part)
    w.rule = "S-Partition"
    shifted = syntax.Bop("+", syntax.Var(s.name), syntax.Int(s.parts * p))
    return w.fence(s.psi, substitute(s.body, s.name, shifted))


def s_partition(w: Work, s: syntax.Partition, pi: Perspective, p: int) -> syntax.Stmt:
    """x ->^pi <l,n>, d = pi/c, the view's offset, step, length =>_d o, k, n' (else: (n/c) * part, 1, n/c)
    =>  partition_psi x into y by c at view in s ~> scope y : t[]^l @ d hides x {dec; wait; s; dec; wait} -| eta[y ->^d v],
    where element i of v is element o + k*i of x, for i < n'"""
    part = shrink(pi, s.parts)
    bound = w.get("S-Partition", s.source)
    if part is None or bound.at != pi:
        raise Stuck("S-Partition", f"{s.parts} of {s.source} at {bound.at} in {pi}")
    whole = array("S-Partition", bound.value)
    if s.view is None:
        length = whole.length // s.parts
        view = (length * (p // part.size), 1, length)
    else:
        view = _view(w, s.view, pi, p, part)
        whole = whole._replace(view=True)
    value = whole._replace(base=whole.base + whole.step * view[0], step=whole.step * view[1], length=view[2])
    w.eta = w.eta.put(s.name, Bound(part, value))
    w.rule = "S-Partition"
    return syntax.Scope(s.name, syntax.ArrayOf(whole.element, whole.kind), part, w.fence(s.psi, s.body), s.source)


def _view(w: Work, view: syntax.View, pi: Perspective, p: int, part: Perspective) -> tuple[int, int, int]:
    values = [w.value(e, pi, p, part) for e in (view.offset, view.step, view.length)]
    offset, step, length = values
    if type(offset) is not int or type(step) is not int or type(length) is not int:
        raise Stuck("S-Partition", "a view's parts are whole numbers")
    return offset, step, length


def s_claim_printed(w: Work, s: syntax.Claim, pi: Perspective, p: int) -> syntax.Stmt:
    """p |-^(h,n1+n2) claim_psi x into y at n1 in s ~> init_psi; split(n1,n2){s}{skip}; dec_psi; wait_psi
    -| rename(x, y, (h,n1))"""
    if s.size > pi.size:
        raise Stuck("S-Claim", f"{s.size} is more than {pi.size}")
    _rename(w, "S-Claim", s.source, s.name, at(pi.level, s.size))
    w.rule = "S-Claim"
    return w.fence(s.psi, syntax.Split(s.size, pi.size - s.size, s.body, syntax.SKIP))


def s_claim(w: Work, s: syntax.Claim, pi: Perspective, p: int) -> syntax.Stmt:
    """x ->^(h,n) v, n' | n  =>  claim_psi x into y at n' arm a in s ~> scope y : t[]^l @ (h,n') hides x
    {dec; wait; arm a of n' {s}; dec; wait} -| eta[y ->^(h,n') v]"""
    whole = _owned_array(w, "S-Claim", s.source, pi)
    if s.size < 1 or pi.size % s.size:
        raise Stuck("S-Claim", f"{s.size} does not divide {pi.size}")
    part = at(pi.level, s.size)
    w.eta = w.eta.put(s.name, Bound(part, whole))
    w.rule = "S-Claim"
    body = w.fence(s.psi, syntax.Arm(s.size, s.arm, s.body))
    return syntax.Scope(s.name, syntax.ArrayOf(whole.element, whole.kind), part, body, s.source)


def s_lower_printed(w: Work, s: syntax.Lower, pi: Perspective, p: int) -> syntax.Stmt:
    """lower_psi x into y in s ~> init_psi; s; dec_psi; wait_psi -| rename(x, y, dn pi)"""
    part = dn(pi, w.shape)
    if part is None:
        raise Stuck("S-Lower", f"dn {pi} is undefined")
    _rename(w, "S-Lower", s.source, s.name, part)
    w.rule = "S-Lower"
    return w.fence(s.psi, s.body)


def s_lower(w: Work, s: syntax.Lower, pi: Perspective, p: int) -> syntax.Stmt:
    """x ->^pi v  =>  lower_psi x into y in s ~> scope y : t[]^l @ dn pi hides x {dec; wait; s; dec; wait} -| eta[y ->^(dn pi) v]

    dn pi is the same unit under another name, so there is nothing to shift.
    """
    whole = _owned_array(w, "S-Lower", s.source, pi)
    part = dn(pi, w.shape)
    if part is None:
        raise Stuck("S-Lower", f"dn {pi} is undefined")
    w.eta = w.eta.put(s.name, Bound(part, whole))
    w.rule = "S-Lower"
    return syntax.Scope(s.name, syntax.ArrayOf(whole.element, whole.kind), part, w.fence(s.psi, s.body), s.source)


def _owned_array(w: Work, rule: str, name: str, pi: Perspective) -> Array:
    bound = w.get(rule, name)
    if bound.at != pi:
        raise Stuck(rule, f"{name} is at {bound.at}, the code at {pi}")
    return array(rule, bound.value)


# Copies. -----------------------------------------------------------------------------------------------------------


def _one_thread(rule: str, pi: Perspective) -> None:
    if pi != ONE_THREAD:
        raise Stuck(rule, f"{pi} is not one thread")


def s_async_partition_printed(w: Work, s: syntax.AsyncPartition, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Async-Partition-Congr: rename(x, y, (Thread,1)), s ~> s'  =>  async_partition_phi x into y in s ~> .. in s'
    S-Async-Partition-Unwind: Phi(phi) = {d} + D  =>  .. in skip ~> .. in d -| Phi[phi -> D]
    S-Async-Partition-Done: Phi(phi) = {}  =>  .. in skip ~> skip"""
    _one_thread("S-Async-Partition", pi)
    if type(s.body) is not syntax.Skip:
        _rename(w, "S-Async-Partition", s.source, s.name, ONE_THREAD)
        return _inside(w, s, pi, p)
    d = _pop(w, s.phi)
    if d is None:
        return syntax.SKIP
    return syntax.AsyncPartition(s.phi, s.source, s.name, d)


def s_async_partition(w: Work, s: syntax.AsyncPartition, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Async-Partition-Congr: y ->^(Thread,1) the array in flight (phi, x), s ~> s'  =>  .. in s ~> .. in s'
    S-Async-Partition-Unwind: Phi(phi,t,k) = {d} + D  =>  .. in skip ~> d; .. in skip -| Phi[phi,t,k -> D]
    S-Async-Partition-Done: Phi(phi,t,k) = {}  =>  .. in skip ~> skip -| eta - y
    with t the thread and k how deep in calls it is"""
    _one_thread("S-Async-Partition", pi)
    if type(s.body) is not syntax.Skip:
        if s.name not in w.eta:
            w.eta = w.eta.put(s.name, Bound(ONE_THREAD, InFlight(s.phi, s.source)))
        return _inside(w, s, pi, p)
    d = _pop(w, (s.phi, w.t, len(w.frames)))
    if d is None:
        w.eta = w.eta.drop(s.name)
        return syntax.SKIP
    return syntax.Seq(d, s)


def _inside(w: Work, s: syntax.AsyncPartition, pi: Perspective, p: int) -> syntax.Stmt:
    body = w.step(s.body, pi, p)
    w.via.append("S-Async-Partition-Congr")
    return s if body is s.body else syntax.AsyncPartition(s.phi, s.source, s.name, body)


def _pop(w: Work, key: object) -> syntax.Stmt | None:
    """Take one of the deferred statements, any; which is the machine's choice."""
    w.touched = True
    waiting = sorted(w.deferred.get(key, ()), key=repr)
    if not waiting:
        w.rule = "S-Async-Partition-Done"
        return None
    w.rule = "S-Async-Partition-Unwind"
    w.choices = len(waiting)
    chosen: syntax.Stmt = waiting[w.choice]
    rest = frozenset(waiting) - {chosen}
    w.deferred = w.deferred.put(key, rest) if rest else w.deferred.drop(key)
    return chosen


def _defer(w: Work, key: object, d: syntax.Stmt) -> syntax.Stmt:
    w.touched = True
    w.deferred = w.deferred.put(key, w.deferred.get(key, frozenset()) | {d})
    w.rule = "S-Async-Memcpy"
    return syntax.SKIP


def s_async_memcpy_printed(w: Work, s: syntax.AsyncMemcpy, pi: Perspective, p: int) -> syntax.Stmt:
    """async_memcpy(x, y) ~> skip -| Phi[phi -> Phi(phi) + {memcpy(x, y)}], with phi that of x's async_partition"""
    _one_thread("S-Async-Memcpy", pi)
    return _defer(w, s.phi, syntax.Memcpy(s.target, s.source))


def s_async_memcpy(w: Work, s: syntax.AsyncMemcpy, pi: Perspective, p: int) -> syntax.Stmt:
    """x -> in flight (phi, z)  =>  async_memcpy_phi(x, y) ~> skip -| Phi[phi,t,k -> Phi(phi,t,k) + {memcpy(z, y)}]"""
    _one_thread("S-Async-Memcpy", pi)
    value: Value = w.get("S-Async-Memcpy", s.target).value
    if type(value) is not InFlight or value.phi != s.phi:
        raise Stuck("S-Async-Memcpy", f"{s.target} is not in flight under {s.phi}")
    return _defer(w, (s.phi, w.t, len(w.frames)), syntax.Memcpy(value.source, s.source))


def s_memcpy_printed(w: Work, s: syntax.Memcpy, pi: Perspective, p: int) -> syntax.Stmt:
    """memcpy(x, y) ~> skip -| update(x, get(y))"""
    w.update("S-Memcpy", s.target, w.get("S-Memcpy", s.source).value)
    w.rule = "S-Memcpy"
    return syntax.SKIP


def s_memcpy(w: Work, s: syntax.Memcpy, pi: Perspective, p: int) -> syntax.Stmt:
    """x ->^q <l,n>, y ->^r <l',n'>, q <= pi, q <= r, n <= n'
    =>  memcpy(x, y) ~> skip -| update(l+i, get(l'+i)) for each i < n"""
    x, y = w.get("S-Memcpy", s.target), w.get("S-Memcpy", s.source)
    if not w.leq(x.at, pi) or not w.leq(x.at, y.at):
        raise Stuck("S-Memcpy", f"{s.source} at {y.at} into {s.target} at {x.at} by {pi}")
    to, source = array("S-Memcpy", x.value), array("S-Memcpy", y.value)
    keys = [w.cell("S-Memcpy", source, i) for i in range(to.length)]
    memory = w.memory(source.kind)
    values = [memory[key] for key in keys]
    cells = {w.cell("S-Memcpy", to, i): v for i, v in enumerate(values)}
    target: Memory = w.memory(to.kind)
    w.set_memory(to.kind, target.put_all(cells))
    w.rule = "S-Memcpy"
    return syntax.SKIP


SHARED_DATA_STEPS: dict[str, StepRule] = {
    "S-Assn": s_assn,
    "S-Scope": s_scope,
    "S-Free": s_free,
    "S-Leave": s_leave,
}

PRINTED_DATA_STEPS: dict[str, StepRule] = {
    **SHARED_DATA_STEPS,
    "S-Decl": s_decl_printed,
    "S-Arr-Assn": s_arr_assn_printed,
    "S-Alloc": s_alloc_printed,
    "S-Partition": s_partition_printed,
    "S-Claim": s_claim_printed,
    "S-Lower": s_lower_printed,
    "S-Async-Partition": s_async_partition_printed,
    "S-Async-Memcpy": s_async_memcpy_printed,
    "S-Memcpy": s_memcpy_printed,
}

CORRECTED_DATA_STEPS: dict[str, StepRule] = {
    **SHARED_DATA_STEPS,
    "S-Decl": s_decl,
    "S-Arr-Assn": s_arr_assn,
    "S-Alloc": s_alloc,
    "S-Partition": s_partition,
    "S-Claim": s_claim,
    "S-Lower": s_lower,
    "S-Async-Partition": s_async_partition,
    "S-Async-Memcpy": s_async_memcpy,
    "S-Memcpy": s_memcpy,
}
