"""`return` and `continue` of some threads, as conditions: what follows is for the others.

    with group(thread[1]):            with group(thread[1]):
        if i >= n:                        if not i >= n:
            return                            mine[0] = i
        mine[0] = i

A jump out of a change of perspective would leave threads behind that the others wait for. Where nothing follows the change, in
the function or in the trip, the two programs do the same, and the right one jumps nowhere. All else stays, and is refused (R11).
"""

from __future__ import annotations

from dataclasses import replace

from prism.lang.parse import syntax as s

SCOPES = (s.Group, s.Partition, s.Claim, s.One, s.Enter)
"""Statements with one body that changes who speaks, or what a name means."""
Jump = type[s.Return] | type[s.Continue]


def without_jumps(function: s.Function) -> s.Function:
    """Return a function whose last scopes are left by no `return`, and whose trips' last scopes by no `continue`."""
    body = _trips(function.body)
    if function.result is None and not any(isinstance(st, s.Return) and st.value for st in _all(body)):
        body = _tail(body, s.Return)
    return function if body is function.body else replace(function, body=body)


def _trips(body: s.Body) -> s.Body:
    """Return statements in which each loop's trips end without a `continue` out of a scope."""
    found = tuple(map(_trips_of, body))
    return found if any(a is not b for a, b in zip(found, body, strict=True)) else body


def _trips_of(st: s.Stmt) -> s.Stmt:
    match st:
        case s.For() | s.While():
            inner = _tail(_trips(st.body), s.Continue)
            return st if inner is st.body else replace(st, body=inner)
        case s.If():
            then, otherwise = _trips(st.then), _trips(st.otherwise)
            return st if then is st.then and otherwise is st.otherwise else replace(st, then=then, otherwise=otherwise)
        case s.Split():
            arms = tuple(_arm(arm, _trips(arm.body)) for arm in st.arms)
            return st if all(a is b for a, b in zip(arms, st.arms, strict=True)) else replace(st, arms=arms)
        case s.Group() | s.Partition() | s.Claim() | s.One() | s.Enter() | s.Async() | s.Batch() | s.Turns():
            inner = _trips(st.body)
            return st if inner is st.body else replace(st, body=inner)
        case _:
            return st


def _arm(arm: s.Case, body: s.Body) -> s.Case:
    return arm if body is arm.body else replace(arm, body=body)


def _tail(body: s.Body, jump: Jump) -> s.Body:
    """Return statements whose last one is a scope that no jump leaves; a jump outside of scopes stays."""
    if not body or not _jumps(body[-1], jump):
        return body
    last = body[-1]
    if isinstance(last, s.If):
        return (*body[:-1], replace(last, then=_tail(last.then, jump), otherwise=_tail(last.otherwise, jump)))
    changed = _scope(last, jump)
    return body if changed is last else (*body[:-1], changed)


def _scope(st: s.Stmt, jump: Jump) -> s.Stmt:
    """Return a scope behind which nothing follows, without the jumps out of it."""
    if isinstance(st, SCOPES):
        return replace(st, body=_inside(st.body, jump))
    if isinstance(st, s.Split):
        return replace(st, arms=tuple(replace(arm, body=_inside(arm.body, jump)) for arm in st.arms))
    return st


def _inside(body: s.Body, jump: Jump) -> s.Body:
    """Return the statements of such a scope, or of a branch in it: a jump skips the rest of them, and that is all there is."""
    for k, st in enumerate(body):
        before, rest = body[:k], body[k + 1 :]
        if not _jumps(st, jump):
            continue
        if isinstance(st, jump):
            return before if not rest else body  # what follows a jump is never reached: the error says so
        if isinstance(st, s.If):
            changed = _branches(st, rest, jump)
            return body if changed is None else (*before, changed)
        return body if rest else (*before, _scope(st, jump))
    return body


def _branches(st: s.If, rest: s.Body, jump: Jump) -> s.If | None:
    """Return a condition with the rest in the branch that goes on; None where both might."""
    then, otherwise = st.then, st.otherwise
    if _ends(then, jump):
        otherwise = (*otherwise, *rest)
    elif _ends(otherwise, jump):
        then = (*then, *rest)
    elif rest:
        return None
    then, otherwise = _inside(then, jump), _inside(otherwise, jump)
    if then or not otherwise:
        return replace(st, then=then, otherwise=otherwise)
    opposite = s.Unary(op="not", operand=st.condition, span=st.condition.span)
    return replace(st, condition=opposite, then=otherwise, otherwise=())


def _ends(body: s.Body, jump: Jump) -> bool:
    return bool(body) and isinstance(body[-1], jump)


def _jumps(st: s.Stmt, jump: Jump) -> bool:
    """Whether a statement has such a jump, of the function or of this loop."""
    if isinstance(st, jump):
        return not isinstance(st, s.Return) or st.value is None
    if isinstance(st, s.Nested) or (jump is s.Continue and isinstance(st, s.For | s.While)):
        return False
    return any(_jumps(inner, jump) for inner in _children(st))


def _children(st: s.Stmt) -> s.Body:
    match st:
        case s.If():
            return (*st.then, *st.otherwise)
        case s.Split():
            return tuple(inner for arm in st.arms for inner in arm.body)
        case s.Nested():
            return ()
        case _:
            found: s.Body = getattr(st, "body", ())
            return found


def _all(body: s.Body) -> s.Body:
    return tuple(one for st in body for one in (st, *_all(_children(st))))
