"""Statements: declarations, assignments, control flow (R6, R8-R11, R17, R18, R25, R28); data.py has partition, claim, split."""

from __future__ import annotations

from prism.lang import syntax as s
from prism.lang import tree
from prism.lang.check import annotation, data
from prism.lang.check.asynchronous import batched, check_async, check_batch
from prism.lang.check.conversion import coerce
from prism.lang.check.env import Env, Poisoned, Step, blame, changing, declared, evidence, fail, opaque, why_here
from prism.lang.check.expressions import (
    check_expression,
    check_field,
    check_index,
    check_scalar,
    check_value,
    element,
    flatten,
    must_agree,
    need_bool,
    visible,
)
from prism.lang.check.fragments import fill, fragment_item, placed
from prism.lang.check.intrinsics import check_results, results_of
from prism.lang.check.pointers import assign_pointer, declare_pointer, return_pointer
from prism.lang.check.purity import effect_conflict
from prism.lang.check.raw import check_unsafe
from prism.lang.check.roles import check_enter, check_one, check_roles
from prism.lang.check.shared import check_shared
from prism.lang.check.speak import check_speech, speaks
from prism.lang.check.structs import assign_field
from prism.lang.check.vectors import is_vector_cast, vector_store
from prism.lang.diagnostics import CompileError, Label, Span
from prism.lang.errors import calls as call_errors
from prism.lang.errors import names as name_errors
from prism.lang.errors import ownership, tiles
from prism.lang.errors import perspective as rules
from prism.lang.errors import types as errors
from prism.lang.perspective import THREAD, Perspective
from prism.lang.structs import Struct
from prism.lang.types import BOOL, INT32, VOID, Array, Fragment, Mailbox, Pointer, Scalar, TensorMap, Type, Vector


def check_body(env: Env, body: s.Body) -> tree.Body:
    """Check a statement list; a statement that fails is reported, its name poisoned, and the rest goes on."""
    done: list[tree.Stmt] = []
    env = env.nested()
    for statement in body:
        try:
            checked, env = check_statement(env, statement)
            for one in checked:
                one_effect(one)
            done.extend(checked)
        except CompileError as failure:
            env.context.errors.extend(failure.errors)
        except Poisoned:
            env.context.silent = True
        else:
            continue
        if isinstance(statement, s.Declare):
            env = env.poison(statement.name)
        if isinstance(statement, s.Roles):
            for name in statement.names:
                env = env.poison(name.name)
        check_rest(env, statement)
    return tuple(done)


def check_rest(env: Env, statement: s.Stmt) -> None:
    """Report the errors inside a statement whose head failed, where the code's perspective is what it would have been."""
    match statement:
        case s.Partition() | s.Claim() | s.Async():
            step = Step("partition", statement.span, env.code, "this `with`")
            check_body(env.enter(step).poison(statement.name), statement.body)
        case s.If():
            check_body(env, statement.then)
            check_body(env, statement.otherwise)
        case s.While():
            check_body(env.enter(Step("loop", statement.span, env.code, "while")), statement.body)
        case s.For():
            inner = env.enter(Step("loop", statement.span, env.code, "for"))
            check_body(inner.poison(statement.name), statement.body)
        case _:
            pass


def one_effect(statement: tree.Stmt) -> None:
    """A call that touches memory is the only access of its statement, so that order and barriers are defined."""
    found = effect_conflict(statement)
    if found is not None:
        fail(call_errors.Effects(span=found.span))


def check_statement(env: Env, st: s.Stmt) -> tuple[tuple[tree.Stmt, ...], Env]:  # noqa: C901 - one arm a construct
    """Check one statement; return what it becomes and the environment after it."""
    match st:
        case s.Declare():
            return check_declare(env, st)
        case s.Assign():
            return (check_assign(env, st.target, st.value, st.span),), env
        case s.Augment():
            value = s.Binary(op=st.op, left=st.target, right=st.value, span=st.span)
            return (check_assign(env, st.target, value, st.span),), env
        case s.Evaluate(value=s.Call() as call) if speaks(call):
            return (check_speech(env, call),), env
        case s.Evaluate():
            return check_evaluate(env, st), env
        case s.If():
            return (check_if(env, st),), env
        case s.While():
            return with_rings(env, check_while(env, st)), env
        case s.For():
            return with_rings(env, check_for(env, st)), env
        case s.Break() | s.Continue():
            return (check_jump(env, st),), env
        case s.Return():
            return (check_return(env, st),), env
        case s.Pass():
            return (), env
        case s.Group():
            return (data.check_group(env, st),), env
        case s.Split():
            return (data.check_split(env, st),), env
        case s.Partition():
            return (data.check_partition(env, st),), env
        case s.Claim():
            return (data.check_claim(env, st),), env
        case s.Roles():
            return (), check_roles(env, st)
        case s.Enter():
            return (check_enter(env, st),), env
        case s.One():
            return (check_one(env, st),), env
        case s.Async():
            return (check_async(env, st),), env
        case s.Batch():
            return (check_batch(env, st),), env
        case s.Unsafe():
            return (check_unsafe(env, st),), env


# -- declarations ---------------------------------------------------------------------------------------------------------


def check_declare(env: Env, st: s.Declare) -> tuple[tuple[tree.Stmt, ...], Env]:
    """R6 DECL, R25 SHARED-ALLOC: no broader than the code; shared memory in a block's code."""
    meaning = annotation.read(st.annotation)
    place = annotation.place(st.place) if st.place is not None else env.code
    if meaning.shared:
        return check_shared(env, st, meaning, place)
    if isinstance(meaning.type, Mailbox):
        fail(errors.NotAType(span=st.annotation.span))
    if isinstance(meaning.type, TensorMap):
        fail(tiles.MapPlace(span=st.annotation.span, name=st.name, what="declared inside a function"))
    if not place <= env.code:
        fail(
            rules.DeclareBroader(
                span=st.place.span if st.place else st.span,
                name=st.name,
                place=place,
                code_perspective=env.code,
                labels=why_here(env),
            )
        )
    if not env.bound.allows(place):
        fail(
            rules.DeclareUnits(
                span=st.place.span if st.place else st.span,
                name=st.name,
                place=place,
                bound=str(env.bound),
                size=place.size,
                level=str(place.level),
                labels=why_here(env),
            )
        )
    if isinstance(meaning.type, Pointer):
        return declare_pointer(env, st, meaning, place)
    type_: Type = meaning.type
    if isinstance(type_, Fragment):
        type_ = placed(type_, st.name, place, st.annotation.span, st.place.span if st.place else st.span)
    symbol = tree.Symbol(st.name, type_, place, st.name_span, const=meaning.const)
    value = initial(env, symbol, st)
    return (tree.Declare(symbol=symbol, value=value, span=st.span),), env.bind(symbol)


def initial(env: Env, symbol: tree.Symbol, st: s.Declare) -> tree.Expr | None:
    """Return the typed initial value; `{0}` zeroes an array, spelled as a Const of the element type."""
    if st.value is None:
        return None
    if isinstance(symbol.type, Array):
        zero = st.value.items[0] if isinstance(st.value, s.Braces) and len(st.value.items) == 1 else None
        if not isinstance(zero, s.Literal) or zero.value != 0:
            fail(errors.WholeArray(span=st.value.span, name=st.name, type=str(symbol.type), use="assigned"))
        return zeros(env, symbol, symbol.type.element, zero)
    if isinstance(symbol.type, Fragment):
        return fill(symbol, st.value)
    if isinstance(symbol.type, Vector) and isinstance(st.value, s.Braces) and len(st.value.items) == 1:
        return zeros(env, symbol, symbol.type, st.value.items[0])
    value = check_value(env, st.value, symbol.perspective, symbol.type)
    fits(symbol, value)
    return coerce(value, symbol.type, st.value.span)


def zeros(env: Env, symbol: tree.Symbol, element: Scalar | Vector, zero: s.Expr) -> tree.Expr:
    """`{0}`: what every element of an array starts as."""
    if isinstance(element, Scalar):
        return check_scalar(env, zero, symbol.perspective, element)
    made = s.Resolved(value=element, text=str(element), span=zero.span)
    call = s.Call(function=made, arguments=(zero,), keywords=(), span=zero.span)
    return check_value(env, call, symbol.perspective, element)


def fits(symbol: tree.Symbol, value: tree.Expr) -> None:
    """R8 WRITE-DOWN: the value is at least as broad as what it is assigned to."""
    if symbol.perspective <= value.perspective:
        return
    what, labels = evidence(value, symbol.perspective)
    labels = (*labels, declared(symbol))
    span, has, loaded = blame(value, symbol.perspective), value.perspective, varying_load(value, symbol.perspective)
    if loaded is None:
        fail(rules.WriteDown(span=span, name=symbol.name, place=symbol.perspective, what=what, has=has, labels=labels))
    memory = loaded.symbol
    if not symbol.perspective <= memory.perspective:
        error: type[ownership.LoadVaries] = ownership.LoadPart
    elif changing(loaded) and all(symbol.perspective <= index.perspective for index in loaded.indices):
        error = ownership.LoadChanging
    else:
        error = ownership.LoadIndex
    fail(error(span=span, name=symbol.name, place=symbol.perspective, memory=memory.name, has=has, labels=labels))


def varying_load(value: tree.Expr, needed: Perspective) -> tree.Element | None:
    """R19 PTR-READ: return the load from memory that makes a value narrower than `needed`, if it is one that does."""
    if isinstance(value, tree.Element):
        return value
    parts = [] if opaque(value) else [part for part in tree.operands(value) if not needed <= part.perspective]
    found = next((part for part in parts if part.perspective == value.perspective), None)
    return varying_load(found, needed) if found is not None else None


# -- assignments ----------------------------------------------------------------------------------------------------------


def check_assign(env: Env, target: s.Expr, value: s.Expr, span: Span) -> tree.Stmt:
    """R8 for locals, R17 for const, R18 for memory, R28 for pointers."""
    if isinstance(target, s.Name):
        if target.name not in env.names:
            fail(name_errors.Undeclared(span=target.span, name=target.name))
        symbol = visible(env, target.name, target.span)
        if isinstance(symbol.type, Pointer):
            return assign_pointer(env, symbol, target, value, span)
        if isinstance(symbol.type, Array):
            fail(errors.WholeArray(span=span, name=symbol.name, type=str(symbol.type), use="assigned"))
        if isinstance(symbol.type, TensorMap):
            fail(tiles.MapUse(span=target.span, name=symbol.name, labels=(declared(symbol),)))
        left: tree.Expr = tree.Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=target.span)
        return assign_local(env, symbol, left, value, span)
    if isinstance(target, s.Attribute):
        field = check_field(env, target, env.code)
        if isinstance(field, tree.Component) and isinstance(field.vector.type, Struct):
            return assign_field(env, field, target, value, span)
        target = by_number(target, field)
    if isinstance(target, s.Subscript):
        return assign_element(env, target, value, span)
    fail(errors.NotSubscriptable(span=target.span, found="the target of this assignment"))


def by_number(target: s.Attribute, field: tree.Expr) -> s.Subscript:
    """Return `v.y` as `v[1]`."""
    assert isinstance(field, tree.Component) and isinstance(field.index, tree.Const)
    which = s.Literal(value=field.index.value, span=target.span)
    return s.Subscript(base=target.base, indices=(which,), span=target.span)


def assign_element(env: Env, target: s.Subscript, value: s.Expr, span: Span) -> tree.Stmt:
    """An element of a local array, of memory, a component of a vector, or a vector's worth of memory."""
    if is_vector_cast(target.base):
        return tree.Evaluate(value=vector_store(env, target, value, span), span=span)
    base, indices = flatten(target)
    if isinstance(base, s.Name):
        symbol = visible(env, base.name, base.span)
        if isinstance(symbol.type, Pointer):
            return assign_memory(env, symbol, indices, target, value, span)
        if isinstance(symbol.type, Fragment):
            return assign_local(env, symbol, fragment_item(env, symbol, indices, target.span), value, span)
        if isinstance(symbol.type, Array | Vector):
            left = check_expression(env, target, symbol.perspective)
            indexed(symbol, left)
            return assign_local(env, symbol, left, value, span)
    fail(errors.NotSubscriptable(span=target.span, found="the target of this assignment"))


def indexed(symbol: tree.Symbol, left: tree.Expr) -> None:
    """R7 of a target in a local: which element it is, the threads that share the local agree on."""
    if symbol.perspective <= left.perspective:
        return
    what, labels = evidence(left, symbol.perspective)
    fail(
        rules.ReadUp(
            span=blame(left, symbol.perspective),
            what=what,
            has=left.perspective,
            needed=symbol.perspective,
            name=symbol.name,
            labels=(*labels, declared(symbol)),
        )
    )


def assign_local(env: Env, symbol: tree.Symbol, left: tree.Expr, value: s.Expr, span: Span) -> tree.Stmt:
    """R8: the target is no broader than the code, and the value no narrower than the target."""
    if symbol.const:
        fail(
            ownership.ConstWrite(span=span, name=symbol.name, type=f"const({symbol.type})", labels=(declared(symbol),))
        )
    if symbol in env.context.loop_variables:
        fail(rules.LoopVariable(span=span, name=symbol.name, labels=(declared(symbol),)))
    if isinstance(left, tree.Item) and isinstance(symbol.type, Fragment):
        right = check_value(env, value, THREAD, left.type)
        return tree.Assign(target=left, value=coerce(right, left.type, value.span), span=span)
    if not symbol.perspective <= env.code:
        fail(
            rules.WriteUp(
                span=span,
                name=symbol.name,
                place=symbol.perspective,
                code_perspective=env.code,
                labels=(declared(symbol), *why_here(env)),
            )
        )
    if isinstance(symbol.type, Fragment):
        return tree.Assign(target=left, value=fill(symbol, value), span=span)
    right = check_value(env, value, symbol.perspective, left.type)
    fits(symbol, right)
    return tree.Assign(target=left, value=coerce(right, left.type, value.span), span=span)


def assign_memory(
    env: Env, symbol: tree.Symbol, indices: tuple[s.Expr, ...], target: s.Subscript, value: s.Expr, span: Span
) -> tree.Stmt:
    """R18 PTR-WRITE: one thread stores, through a name that is its own."""
    assert isinstance(symbol.type, Pointer)
    if isinstance(symbol.type.element, Mailbox):
        fail(ownership.MailboxPlain(span=target.span, name=symbol.name))
    if symbol.type.const:
        fail(
            ownership.ConstWrite(span=target.span, name=symbol.name, type=str(symbol.type), labels=(declared(symbol),))
        )
    if env.code != THREAD:
        fail(ownership.StoreCode(span=target.span, name=symbol.name, code_perspective=env.code, labels=why_here(env)))
    if symbol.perspective != THREAD:
        fail(
            ownership.StoreView(
                span=target.span, name=symbol.name, place=symbol.perspective, labels=(declared(symbol),)
            )
        )
    left = element(env, symbol, indices, target.span, THREAD)
    right = check_value(env, value, THREAD, left.type)
    return tree.Assign(target=left, value=coerce(right, left.type, value.span), span=span)


def check_evaluate(env: Env, st: s.Evaluate) -> tuple[tree.Stmt, ...]:
    """A call as a statement; `out=[...]` of an intrinsic assigns its results."""
    if isinstance(st.value, s.Call) and (targets := results_of(st.value)) is not None:
        return check_results(env, st.value, targets, check_assign)
    value = check_expression(env, st.value, env.code)
    if not isinstance(value, tree.Call | tree.Apply):
        hint = "assign it, or remove the line"
        fail(errors.NotAValue(span=st.span, text="this expression", hint=hint))
    return (batched(env, tree.Evaluate(value=value, span=st.span)),)


# -- control flow ---------------------------------------------------------------------------------------------------------


def condition_of(env: Env, e: s.Expr, construct: str) -> tree.Expr:
    """R9 COND: a bool that the code's threads agree on."""
    condition = need_bool(check_scalar(env, e, env.code))
    must_agree(env, condition, env.code, construct)
    return condition


def check_if(env: Env, st: s.If) -> tree.Stmt:
    """R9 COND."""
    condition = condition_of(env, st.condition, "`if`")
    return tree.If(
        condition=condition, then=check_body(env, st.then), otherwise=check_body(env, st.otherwise), span=st.span
    )


def with_rings(env: Env, loop: tree.Stmt) -> tuple[tree.Stmt, ...]:
    """Return a loop behind the rings that are declared in it, where it is the outermost."""
    if any(step.kind == "loop" for step in env.path):
        return (loop,)
    rings, env.context.rings = tuple(env.context.rings), []
    return (*rings, loop)


def check_while(env: Env, st: s.While) -> tree.Stmt:
    """R9 COND; a condition that reads memory moves into the body, so that barriers can stand before it."""
    condition = condition_of(env, st.condition, "`while`")
    inner = env.enter(Step("loop", st.span, env.code, "while"))
    body = check_body(inner, st.body)
    if reads_memory(condition):
        stop = tree.Unary(
            op="not", operand=condition, type=BOOL, perspective=condition.perspective, span=condition.span
        )
        leave = tree.If(condition=stop, then=(tree.Break(span=condition.span),), otherwise=(), span=condition.span)
        body = (leave, *body)
        condition = tree.Const(value=True, type=BOOL, span=condition.span)
    return tree.While(condition=condition, body=body, span=st.span)


def reads_memory(e: tree.Expr) -> bool:
    """Whether evaluating an expression touches memory or calls something that may."""
    if isinstance(e, tree.Element | tree.Call) or (isinstance(e, tree.Apply) and e.intrinsic.touches_memory):
        return True
    return any(reads_memory(part) for part in tree.operands(e))


def check_for(env: Env, st: s.For) -> tree.Stmt:
    """R10 LOOP: bounds that the code's threads agree on; the variable is read-only, in its own scope."""
    bounds = []
    for part in (st.start, st.stop, st.step):
        bound = check_index(env, part, env.code)
        must_agree(env, bound, env.code, "loop bound")
        bounds.append(bound)
    if isinstance(bounds[2], tree.Const) and bounds[2].value == 0:
        fail(rules.LoopStep(span=st.step.span))
    kind = max((b.type for b in bounds if isinstance(b.type, Scalar) and not isinstance(b, tree.Const)),
               key=lambda t: t.bits, default=INT32)  # fmt: skip
    start, stop, step = (coerce(b, kind, b.span) for b in bounds)
    symbol = tree.Symbol(st.name, kind, env.code, st.name_span)
    env.context.loop_variables.add(symbol)
    inner = env.enter(Step("loop", st.span, env.code, "for")).bind(symbol)
    unroll = unroll_of(st)
    body = check_body(inner, st.body)
    return tree.For(symbol=symbol, start=start, stop=stop, step=step, body=body, unroll=unroll, span=st.span)


def unroll_of(st: s.For) -> bool | int | None:
    """`range(n, unroll=4)`: a constant."""
    if st.unroll is None:
        return None
    value = st.unroll.value if isinstance(st.unroll, s.Literal) else None
    if not isinstance(value, int) or (value < 1 and not isinstance(value, bool)):
        fail(errors.Unroll(span=st.unroll.span))
    return value


def check_jump(env: Env, st: s.Break | s.Continue) -> tree.Stmt:
    """R11 JUMP: no change of perspective between a jump and its loop."""
    word = "break" if isinstance(st, s.Break) else "continue"
    for step in reversed(env.path):
        if step.kind == "loop":
            return tree.Break(span=st.span) if isinstance(st, s.Break) else tree.Continue(span=st.span)
        if any(outer.kind == "loop" for outer in env.path):
            fail(
                rules.Jump(
                    span=st.span,
                    word=word,
                    construct=step.text,
                    target="its loop is",
                    labels=(Label(step.span, "left by the jump"),),
                )
            )
    raise AssertionError("Python itself refuses a jump outside a loop")


def check_return(env: Env, st: s.Return) -> tree.Stmt:
    """R11 JUMP for return, and R8 for the value."""
    context = env.context
    name = context.kernel.__name__
    for step in reversed(env.path):
        if step.kind != "loop":
            fail(
                rules.Jump(
                    span=st.span,
                    word="return",
                    construct=step.text,
                    target="the function's end is",
                    labels=(Label(step.span, "left by the return"),),
                )
            )
    if st.value is None:
        if context.result not in (None, VOID):
            hint = "write `return value`"
            fail(call_errors.ReturnValue(span=st.span, name=name, problem=f"returns {context.result}", hint=hint))
        return tree.Return(value=None, span=st.span)
    place = context.result_perspective or env.code
    if isinstance(context.result, Pointer):
        return tree.Return(value=return_pointer(env, st.value, context.result, place), span=st.span)
    value = check_value(env, st.value, place, context.result)
    if context.kernel.kind == "global" or (context.result_declared and context.result == VOID):
        problem = "is a kernel: it returns nothing" if context.kernel.kind == "global" else "returns nothing"
        fail(
            call_errors.ReturnValue(
                span=st.span, name=name, problem=problem, hint="store the value through a pointer parameter"
            )
        )
    if context.result is None:
        context.result, context.result_perspective = value.type, value.perspective
        place = value.perspective
    if not place <= value.perspective:
        what, labels = evidence(value, place)
        fail(
            call_errors.ReturnVaries(
                span=blame(value, place), name=name, needed=place, what=what, has=value.perspective, labels=labels
            )
        )
    return tree.Return(value=coerce(value, result_type(context.result), st.value.span), span=st.span)


def result_type(result: Type | None) -> Type:
    """Return the function's result type, which a return has fixed by now."""
    assert result is not None
    return result
