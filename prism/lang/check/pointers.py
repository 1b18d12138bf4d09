"""R28 PTR-REBIND: pointers declared, copied, swapped, returned: the same elements, the same owners, nothing that ends sooner."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.check.annotation import Annotation
from prism.lang.check.arguments import refuse_spread, refuse_swizzle
from prism.lang.check.axes import refuse_pointer
from prism.lang.check.env import Env, declaration_label, fail, refuse_write, require_no_broader
from prism.lang.check.expressions import check_scalar, must_agree, need_bool, visible
from prism.lang.check.table import check_expression
from prism.lang.diagnostics import Fields, Label, Span
from prism.lang.errors import ownership
from prism.lang.errors import pointers as errors
from prism.lang.errors.calls import CallLambda
from prism.lang.errors.tiles import ClusterRebind, SwizzleRebind
from prism.lang.facts.contiguous import shifts
from prism.lang.parse import syntax as s
from prism.lang.types import Mailbox, Pointer
from prism.lang.types.perspective import THREAD, Perspective, meet

Scope = tuple[int, ...]


def life_of(env: Env, symbol: tree.Symbol) -> Scope:
    """Return the statement list with which what a pointer names ends; `()` for what a function's caller gave."""
    return env.context.lives.get(symbol, ())


def declare_pointer(
    env: Env, st: s.Declare, meaning: Annotation, place: Perspective
) -> tuple[tuple[tree.Stmt, ...], Env]:
    """`q: ptr(T) @ block[1] = p`."""
    assert isinstance(meaning.type, Pointer)
    symbol = tree.Symbol(st.name, meaning.type, place, st.name_span, const=meaning.const)
    value, life = None, env.scope
    if st.value is not None:
        value, life = pointer_value(env, st.value, symbol, meaning.type)
    env.context.lives[symbol] = life
    return (tree.Declare(symbol=symbol, value=value, span=st.span),), env.bind(symbol)


def assign_pointer(env: Env, symbol: tree.Symbol, target: s.Name, value: s.Expr, span: Span) -> tree.Stmt:
    """`q = p`: no broader than the code, and not while a part of q is named."""
    assert isinstance(symbol.type, Pointer)
    if symbol.view is not None or symbol.type.shape is not None:
        fail(errors.PointerFixed(span=span, name=symbol.name, labels=(declaration_label(symbol),)))
    if symbol.const:
        refuse_write(symbol, span, f"const({symbol.type})")
    require_no_broader(env, symbol, span)
    for other in env.names.values():
        if isinstance(other, tree.Symbol) and other.view is not None and other.root() is symbol:
            labels = (Label(other.span, f"`{other.name}` is a part of it"),)
            fail(errors.PointerOpen(span=span, name=symbol.name, view=other.name, labels=labels))
    found, life = pointer_value(env, value, symbol, symbol.type)
    lives = life_of(env, symbol)
    if lives[: len(life)] != life:
        fail(errors.PointerLife(span=value.span, name=symbol.name, labels=(declaration_label(symbol),)))
    left = tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=target.span)
    return tree.Assign(target=left, value=found, span=span)


def return_pointer(env: Env, e: s.Expr, wanted: Pointer, place: Perspective) -> tree.Expr:
    """`return p`: what the caller gave, or a pointer of the same function's caller."""
    name = f"the result of {env.context.kernel.__name__}"
    result = tree.Symbol(name, wanted, place, e.span)
    value, life = pointer_value(env, e, result, wanted)
    if life:
        fail(errors.PointerLife(span=e.span, name=name))
    return value


def pointer_value(env: Env, e: s.Expr, target: tree.Symbol, wanted: Pointer) -> tuple[tree.Expr, Scope]:
    """Return a typed pointer that `target` may get, and how long what it names lives."""
    match e:
        case s.Name():
            return named_pointer(env, e, target, wanted)
        case s.Conditional():
            return chosen_pointer(env, e, target, wanted)
        case s.Call():
            value = check_expression(env, e, target.perspective)
            if isinstance(value, tree.Call) and isinstance(value.type, Pointer):
                result = tree.Symbol(f"{value.function.name}(...)", value.type, value.perspective, e.span)
                agree(e.span, result, target, wanted)
                lives = [life_of(env, a.symbol) for a in value.arguments if isinstance(a, tree.Var)]
                return value, max(lives, key=len, default=())
        case s.Binary(left=s.Name(name=source)):
            fail(errors.PointerRebind(span=e.span, name=target.name, source=source))
    fail(errors.PointerRebind(span=e.span, name=target.name))


def named_pointer(env: Env, e: s.Name, target: tree.Symbol, wanted: Pointer) -> tuple[tree.Expr, Scope]:
    """A pointer, a shared object or a view, by its name."""
    symbol = visible(env, e.name, e.span)
    if not isinstance(symbol.type, Pointer):
        fail(errors.PointerRebind(span=e.span, name=target.name))
    if symbol.root().axes:
        refuse_pointer(env.context.kernel.__name__, target, symbol, e.span)
    agree(e.span, symbol, target, wanted)
    changing = symbol.type.space == "global" and not symbol.type.const
    if wanted.const and changing and not target.perspective <= THREAD:
        labels = (declaration_label(symbol), Label(target.span, f"declared const @ {target.perspective}"))
        facts: Fields = {"name": target.name, "place": target.perspective, "memory": symbol.name}
        fail(ownership.LoadAlias(span=e.span, **facts, labels=labels))
    refuse_swizzle(symbol, e.span, SwizzleRebind)
    refuse_spread(symbol, e.span, ClusterRebind)
    if not shifts(symbol):
        fail(CallLambda(span=e.span, actual=symbol.name, labels=(Label(symbol.span, "made here"),)))
    value = tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=e.span)
    return value, life_of(env, symbol)


def chosen_pointer(env: Env, e: s.Conditional, target: tree.Symbol, wanted: Pointer) -> tuple[tree.Expr, Scope]:
    """`p if c else q`: the owners agree on which."""
    condition = need_bool(check_scalar(env, e.condition, target.perspective))
    must_agree(env, condition, target.perspective, "choice of a pointer")
    then, one = pointer_value(env, e.then, target, wanted)
    otherwise, two = pointer_value(env, e.otherwise, target, wanted)
    value = tree.Select(
        condition=condition, then=then, otherwise=otherwise, type=wanted,
        perspective=meet(then.perspective, otherwise.perspective), span=e.span,
    )  # fmt: skip
    return value, max(one, two, key=len)


def agree(span: Span, given: tree.Symbol, target: tree.Symbol, wanted: Pointer) -> None:
    """The same elements; never const to not const; memory that may be written at exactly the target's perspective."""
    assert isinstance(given.type, Pointer)
    labels = (declaration_label(given), *((declaration_label(target),) if target.span != span else ()))
    facts: Fields = {"span": span, "name": target.name, "given": given.name, "labels": labels}
    if given.type.element != wanted.element:
        found = "mailboxes" if isinstance(given.type.element, Mailbox) else str(given.type.element)
        fail(errors.PointerElement(wanted=str(wanted.element), found=found, **facts))
    if given.type.const and not wanted.const:
        fail(errors.PointerConst(**facts))
    same = target.perspective <= given.perspective if wanted.const else target.perspective == given.perspective
    if not same:
        fail(errors.PointerPlace(place=target.perspective, has=given.perspective, **facts))
