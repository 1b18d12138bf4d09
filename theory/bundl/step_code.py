"""Steps that manage the code's perspective, barriers and the flow of control.

A docstring gives what differs between the two sides of `~>`; what a rule does not name stays as it was.
"""

from __future__ import annotations

from prism.lang.types.perspective import Perspective
from theory.bundl import syntax
from theory.bundl.perspectives import BLOCK, at, base, dn, enter, size
from theory.bundl.values import Bound, Closure, Value
from theory.bundl.work import StepRule, Stuck, Work

# Perspectives of code. ---------------------------------------------------------------------------------------------


def s_split(w: Work, s: syntax.Split, pi: Perspective, p: int) -> syntax.Stmt:
    """Choose among the five rules of split, all of which need n1, n2 align to n."""
    if not w.align(s.left, s.right, pi.size, base(pi, p, w.t, w.b, w.shape)):
        raise Stuck("S-Split", f"{s.left}, {s.right} do not align to {pi.size}")
    if p < s.left:
        return s_split_left_done(w, s) if type(s.first) is syntax.Skip else s_split_left(w, s, pi, p)
    if p < s.left + s.right:
        return s_split_right_done(w, s) if type(s.second) is syntax.Skip else s_split_right(w, s, pi, p)
    return s_split_none(w, s)


def s_split_left(w: Work, s: syntax.Split, pi: Perspective, p: int) -> syntax.Stmt:
    """p < n1, p |-^(h,n1) s1 ~> s1'  =>  p |-^(h,n) split(n1,n2){s1}{s2} ~> split(n1,n2){s1'}{s2}"""
    first = w.step(s.first, at(pi.level, s.left), p)
    w.via.append("S-Split-Left")
    return s if first is s.first else syntax.Split(s.left, s.right, first, s.second)


def s_split_left_done(w: Work, s: syntax.Split) -> syntax.Stmt:
    """p < n1  =>  split(n1,n2){skip}{s2} ~> skip"""
    w.rule = "S-Split-Left-Done"
    return syntax.SKIP


def s_split_right(w: Work, s: syntax.Split, pi: Perspective, p: int) -> syntax.Stmt:
    """n1 <= p < n1+n2, p-n1 |-^(h,n2) s2 ~> s2'  =>  p |-^(h,n) split(n1,n2){s1}{s2} ~> split(n1,n2){s1}{s2'}"""
    second = w.step(s.second, at(pi.level, s.right), p - s.left)
    w.via.append("S-Split-Right")
    return s if second is s.second else syntax.Split(s.left, s.right, s.first, second)


def s_split_right_done(w: Work, s: syntax.Split) -> syntax.Stmt:
    """n1 <= p < n1+n2  =>  split(n1,n2){s1}{skip} ~> skip"""
    w.rule = "S-Split-Right-Done"
    return syntax.SKIP


def s_split_none(w: Work, s: syntax.Split) -> syntax.Stmt:
    """n1+n2 <= p  =>  split(n1,n2){s1}{s2} ~> skip"""
    w.rule = "S-Split-None"
    return syntax.SKIP


def s_arm(w: Work, s: syntax.Arm, pi: Perspective, p: int) -> syntax.Stmt:
    """p div n' = a, p - a*n' |-^(h,n') s ~> s'  =>  p |-^(h,n) arm a of n' {s} ~> arm a of n' {s'}; else, or s = skip: skip"""
    if s.size < 1 or pi.size % s.size:
        raise Stuck("S-Arm", f"{s.size} does not divide {pi.size}")
    if p // s.size != s.index or type(s.body) is syntax.Skip:
        w.rule = "S-Arm-Done"
        return syntax.SKIP
    body = w.step(s.body, at(pi.level, s.size), p - s.index * s.size)
    w.via.append("S-Arm")
    return s if body is s.body else syntax.Arm(s.size, s.index, body)


def s_destruct(w: Work, s: syntax.Destruct, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Destruct-Block: t mod T |-^(Thread,T) s ~> s'  =>  0 |-^(Block,1) destruct in s ~> destruct in s'
    S-Destruct-Grid: b mod B |-^(Block,B) s ~> s'  =>  0 |-^(Grid,1) destruct in s ~> destruct in s'"""
    if type(s.body) is syntax.Skip:
        return s_destruct_done(w, s)
    lower = dn(pi, w.shape)
    if lower is None:
        raise Stuck("S-Destruct", f"dn {pi} is undefined")
    block = pi.level == BLOCK
    body = w.step(s.body, lower, w.t % w.shape.threads if block else w.b % w.shape.blocks)
    w.via.append("S-Destruct-Block" if block else "S-Destruct-Grid")
    return s if body is s.body else syntax.Destruct(body)


def s_destruct_done(w: Work, s: syntax.Destruct) -> syntax.Stmt:
    """destruct in skip ~> skip"""
    w.rule = "S-Destruct-Done"
    return syntax.SKIP


def s_group(w: Work, s: syntax.Group, pi: Perspective, p: int) -> syntax.Stmt:
    """p mod n |-^(h,n) s ~> s'  =>  p |-^(h,q*n) group q s ~> group q s'"""
    if type(s.body) is syntax.Skip:
        return s_group_done(w, s)
    if s.parts < 1 or pi.size % s.parts:
        raise Stuck("S-Group", f"{s.parts} does not divide {pi.size}")
    part = pi.size // s.parts
    body = w.step(s.body, at(pi.level, part), p % part)
    w.via.append("S-Group")
    return s if body is s.body else syntax.Group(s.parts, body)


def s_group_done(w: Work, s: syntax.Group) -> syntax.Stmt:
    """group q skip ~> skip"""
    w.rule = "S-Group-Done"
    return syntax.SKIP


# Barriers. ---------------------------------------------------------------------------------------------------------


def s_sync_init_printed(w: Work, s: syntax.Init, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Sync-Init-Zero: Psi(psi)(p) = 0, Psi' = Psi[psi,p -> size(pi)]  =>  init_psi ~> skip -| Psi'
    S-Sync-Init-Nonzero: Psi(psi)(p) != 0  =>  init_psi ~> skip"""
    w.touched = True
    if w.sync.get((s.psi, p), 0) == 0:
        w.rule = "S-Sync-Init-Zero"
        w.sync = w.sync.put((s.psi, p), size(pi, w.shape))
    else:
        w.rule = "S-Sync-Init-Nonzero"
    return syntax.SKIP


def s_sync_init(w: Work, s: syntax.Init, pi: Perspective, p: int) -> syntax.Stmt:
    """init_psi ~> skip: a barrier with phases needs no preparation"""
    w.rule = "S-Sync-Init"
    return syntax.SKIP


def s_sync_dec_printed(w: Work, s: syntax.Dec, pi: Perspective, p: int) -> syntax.Stmt:
    """Psi' = Psi[psi,p -> Psi(psi)(p) - 1]  =>  dec_psi ~> skip -| Psi'"""
    w.rule, w.touched = "S-Sync-Dec", True
    left = w.sync.get((s.psi, p), 0) - 1
    w.sync = w.sync.put((s.psi, p), left) if left else w.sync.drop((s.psi, p))
    return syntax.SKIP


def s_arrive(w: Work, s: syntax.Dec, pi: Perspective, p: int) -> syntax.Stmt:
    """u the unit of (pi, p), Psi(psi,u) = (k, f); Psi' = Psi[psi,u -> (k+1, f)], or (0, not f) when k+1 = size(pi)
    =>  dec_psi ~> skip -| Psi', eta[psi -> f]"""
    w.rule = "S-Arrive"
    arrive(w, s.psi, pi, p)
    return syntax.SKIP


def arrive(w: Work, psi: str, pi: Perspective, p: int) -> bool:
    """Arrive at a barrier of this thread's unit, and return whether all of the unit now has."""
    w.touched = True
    key = (psi, w.unit(pi, p))
    arrived, phase = w.sync.get(key, (0, False))
    last = bool(arrived + 1 == size(pi, w.shape))
    after = (0, not phase) if last else (arrived + 1, phase)
    w.sync = w.sync.put(key, after) if after != (0, False) else w.sync.drop(key)
    w.eta = w.eta.put(("@", psi), phase)
    return last


def s_sync_wait_printed(w: Work, s: syntax.Wait, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Sync-Wait-Done: Psi(psi)(p) = 0  =>  wait_psi ~> skip
    S-Sync-Wait-Spin: Psi(psi)(p) != 0  =>  wait_psi ~> wait_psi"""
    w.touched = True
    if w.sync.get((s.psi, p), 0) == 0:
        w.rule = "S-Sync-Wait-Done"
        return syntax.SKIP
    w.rule = "S-Sync-Wait-Spin"
    return s


def s_wait(w: Work, s: syntax.Wait, pi: Perspective, p: int) -> syntax.Stmt:
    """eta(psi) = f, Psi(psi,u) = (k, f')  =>  wait_psi ~> skip -| eta - psi  if f' != f,  wait_psi ~> wait_psi  if f' = f"""
    w.touched = True
    mine = w.eta.get(("@", s.psi))
    if mine is None:
        raise Stuck("S-Wait", f"this thread has not arrived at {s.psi}")
    if w.sync.get((s.psi, w.unit(pi, p)), (0, False))[1] == mine:
        w.rule = "S-Sync-Wait-Spin"
        return s
    w.rule = "S-Sync-Wait-Done"
    w.eta = w.eta.drop(("@", s.psi))
    return syntax.SKIP


# Control. ----------------------------------------------------------------------------------------------------------


def s_if(w: Work, s: syntax.If, pi: Perspective, p: int) -> syntax.Stmt:
    """S-If-True: e =>_pi true  =>  if e then s1 else s2 ~> s1.  S-If-False: e =>_pi false  =>  .. ~> s2"""
    test = w.value(s.test, pi, p, pi)
    if test is True:
        w.rule = "S-If-True"
        return s.then
    if test is False:
        w.rule = "S-If-False"
        return s.other
    raise Stuck("S-If", f"{test!r} is not a truth value")


def s_while(w: Work, s: syntax.While, pi: Perspective, p: int) -> syntax.Stmt:
    """while e do s ~> if e then (s; while e do s) else skip"""
    w.rule = "S-While"
    return syntax.If(s.test, syntax.Seq(s.body, s), syntax.SKIP)


def s_seq(w: Work, s: syntax.Seq, pi: Perspective, p: int) -> syntax.Stmt:
    """S-Seq-First: s1 ~> s1'  =>  s1; s2 ~> s1'; s2.  S-Seq-Done: skip; s2 ~> s2"""
    if type(s.first) is syntax.Skip:
        w.rule = "S-Seq-Done"
        return s.second
    first = w.step(s.first, pi, p)
    w.via.append("S-Seq-First")
    return s if first is s.first else syntax.Seq(first, s.second)


def s_skip(w: Work, s: syntax.Skip, pi: Perspective, p: int) -> syntax.Stmt:
    """skip does not step"""
    raise Stuck("S-Skip", "there is nothing to do")


def _function(w: Work, s: syntax.Call) -> Closure:
    value = w.get("S-Function-Call", s.function).value
    if type(value) is not Closure or len(value.function.params) != len(s.args):
        raise Stuck("S-Function-Call", f"{s.function} is not a function of {len(s.args)}")
    return value


def s_function_call_printed(w: Work, s: syntax.Call, pi: Perspective, p: int) -> syntax.Stmt:
    """Sigma(f) = {[x_i : t_i ..], s}, e_i =>_pi v_i, m' <= m  =>  f(e_i ..) ~> s -|_m eta[x_i ->^pi v_i]

    Nothing binds m'; it is read as the bytes that f may use, and m is what is in use.
    """
    function = _function(w, s).function
    if function.budget > w.used:
        raise Stuck("S-Function-Call", f"{s.function} may use {function.budget} bytes, {w.used} are in use")
    values = [w.value(e, pi, p, pi) for e in s.args]
    w.eta = w.eta.put_all({x.name: Bound(pi, v) for x, v in zip(function.params, values, strict=True)})
    w.rule = "S-Function-Call"
    return function.body


def s_function_call(w: Work, s: syntax.Call, pi: Perspective, p: int) -> syntax.Stmt:
    """Sigma(f) = {[x_i :^q_i t_i ..], pi_f, m', s}, pi_f <= pi, e_i =>_(q_i) v_i
    =>  f(e_i ..) ~> frame (x_i :^q_i t_i ..) @ pi_f uses m' {s} -| eta = x_i ->^q_i v_i .. (the caller's names kept aside)"""
    function = _function(w, s).function
    if not w.leq(function.at, pi):
        raise Stuck("S-Function-Call", f"{s.function} is at {function.at}, the code at {pi}")
    names = {}
    for param, e in zip(function.params, s.args, strict=True):
        exact = isinstance(param.type, syntax.ArrayOf)
        value = _array_argument(w, e, param.at) if exact else w.value(e, pi, p, param.at)
        names[param.name] = Bound(param.at, value)
    kept = w.eta.names()
    w.frames = (*w.frames, w.world.empty().put_all(kept))
    w.eta = w.eta.drop(*kept).put_all(names)
    w.rule = "S-Function-Call"
    return syntax.Frame(function.params, function.at, function.budget, function.body)


def _array_argument(w: Work, e: syntax.Expr, q: Perspective) -> Value:
    bound = w.get("S-Function-Call", e.name) if isinstance(e, syntax.Var) else None
    if bound is None or bound.at != q:
        raise Stuck("S-Function-Call", f"an array at {q} is needed")
    return bound.value


def s_frame(w: Work, s: syntax.Frame, pi: Perspective, p: int) -> syntax.Stmt:
    """p' the place of p in pi_f, p' |-^pi_f s ~> s'  =>  frame .. @ pi_f {s} ~> frame .. @ pi_f {s'}
    S-Frame-Done: frame .. {skip} ~> skip, with the caller's names back"""
    if type(s.body) is syntax.Skip:
        own = w.eta.names()
        w.eta = w.eta.drop(*own).put_all(w.frames[-1])
        w.frames = w.frames[:-1]
        w.rule = "S-Frame-Done"
        return syntax.SKIP
    body = w.step(s.body, s.at, enter(pi, p, w.t, w.b, s.at, w.shape))
    w.via.append("S-Frame")
    return s if body is s.body else syntax.Frame(s.params, s.at, s.budget, body)


SHARED_CODE_STEPS: dict[str, StepRule] = {
    "S-Split": s_split,
    "S-Arm": s_arm,
    "S-Destruct": s_destruct,
    "S-Group": s_group,
    "S-If": s_if,
    "S-While": s_while,
    "S-Seq": s_seq,
    "S-Skip": s_skip,
    "S-Frame": s_frame,
}

PRINTED_CODE_STEPS: dict[str, StepRule] = {
    **SHARED_CODE_STEPS,
    "S-Sync-Init": s_sync_init_printed,
    "S-Sync-Dec": s_sync_dec_printed,
    "S-Sync-Wait": s_sync_wait_printed,
    "S-Function-Call": s_function_call_printed,
}

CORRECTED_CODE_STEPS: dict[str, StepRule] = {
    **SHARED_CODE_STEPS,
    "S-Sync-Init": s_sync_init,
    "S-Sync-Dec": s_arrive,
    "S-Sync-Wait": s_wait,
    "S-Function-Call": s_function_call,
}
