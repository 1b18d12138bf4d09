"""Statements: expressions as such, and control flow (R9-R11); assign.py has declarations, data.py has partition, claim, split."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.check.assign import check_assign
from prism.lang.check.asynchronous import as_batch
from prism.lang.check.body import check_body
from prism.lang.check.calls import check_inlined
from prism.lang.check.conversion import coerce
from prism.lang.check.env import Context, Env, Step, evidence, fail, in_parts
from prism.lang.check.expressions import check_index, check_scalar, check_value, must_agree, need_bool
from prism.lang.check.intrinsics import check_results, results_of
from prism.lang.check.pointers import return_pointer
from prism.lang.check.purity import touches_memory
from prism.lang.check.rings import in_loops
from prism.lang.check.speak import check_speech, speaks
from prism.lang.check.table import check_expression, statement_rule
from prism.lang.diagnostics import Label, Span
from prism.lang.errors import calls as call_errors
from prism.lang.errors import inlined
from prism.lang.errors import perspective as rules
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.tree.walk import subexpressions
from prism.lang.types import BOOL, INT32, VOID, Pointer, Scalar, Vector
from prism.lang.types.structs import Struct


@statement_rule(s.Evaluate)
def check_evaluate(env: Env, st: s.Evaluate) -> tree.Body:
    """A call as a statement; `out=[...]` of an intrinsic assigns its results."""
    if isinstance(st.value, s.Call) and speaks(st.value):
        return check_speech(env, st.value)
    if isinstance(st.value, s.Call) and (targets := results_of(st.value)) is not None:
        return check_results(env, st.value, targets, check_assign)
    if isinstance(st.value, s.Call) and (body := check_inlined(env, st.value)) is not None:
        return body
    value = check_expression(env, st.value, env.code)
    if not isinstance(value, tree.Call | tree.Apply):
        hint = "assign it, or remove the line"
        fail(errors.NotAValue(span=st.span, text="this expression", hint=hint))
    return (as_batch(env, tree.Evaluate(value=value, span=st.span)),)


# -- control flow ---------------------------------------------------------------------------------------------------------


def condition_of(env: Env, e: s.Expr, construct: str) -> tree.Expr:
    """R9 COND: a bool that the code's threads agree on."""
    condition = need_bool(check_scalar(env, e, env.code))
    must_agree(env, condition, env.code, construct)
    return condition


@statement_rule(s.If)
def check_if(env: Env, st: s.If) -> tree.Stmt:
    """R9 COND."""
    condition = condition_of(env, st.condition, "`if`")
    return tree.If(
        condition=condition, then=check_body(env, st.then), otherwise=check_body(env, st.otherwise), span=st.span
    )


def with_rings(env: Env, loop: tree.Stmt) -> tuple[tree.Stmt, ...]:
    """Return a loop behind the rings that are declared in it, where it is the outermost."""
    if in_loops(env):
        return (loop,)
    rings = tuple(env.context.rings)
    env.context.rings.clear()
    return (*rings, loop)


@statement_rule(s.While)
def check_while(env: Env, st: s.While) -> tree.Body:
    """R9 COND; a condition that reads memory moves into the body, so that barriers can stand before it."""
    with in_parts(env):
        condition = condition_of(env, st.condition, "`while`")
    inner = env.enter(Step("loop", st.span, env.code, "while"))
    body = check_body(inner, st.body)
    if any(isinstance(e, tree.Element | tree.Call) or touches_memory(e) for e in subexpressions(condition)):
        stop = tree.Unary(
            op="not", operand=condition, type=BOOL, perspective=condition.perspective, span=condition.span
        )
        leave = tree.If(condition=stop, then=(tree.Break(span=condition.span),), otherwise=(), span=condition.span)
        body = (leave, *body)
        condition = tree.Const(value=True, type=BOOL, span=condition.span)
    return with_rings(env, tree.While(condition=condition, body=body, span=st.span))


@statement_rule(s.For)
def check_for(env: Env, st: s.For) -> tree.Body:
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
    loop = tree.For(symbol=symbol, start=start, stop=stop, step=step, body=body, unroll=unroll, span=st.span)
    return with_rings(env, loop)


def unroll_of(st: s.For) -> bool | int | None:
    """`range(n, unroll=4)`: a constant."""
    if st.unroll is None:
        return None
    value = st.unroll.value if isinstance(st.unroll, s.Literal) else None
    if not isinstance(value, int) or (value < 1 and not isinstance(value, bool)):
        fail(errors.Unroll(span=st.unroll.span))
    return value


@statement_rule(s.Break)
def check_break(env: Env, st: s.Break) -> tree.Stmt:
    """R11 JUMP."""
    check_jump(env, "break", st.span)
    return tree.Break(span=st.span)


@statement_rule(s.Continue)
def check_continue(env: Env, st: s.Continue) -> tree.Stmt:
    """R11 JUMP."""
    check_jump(env, "continue", st.span)
    return tree.Continue(span=st.span)


@statement_rule(s.Pass)
def check_pass(env: Env, st: s.Pass) -> tree.Body:
    """Nothing comes of it."""
    return ()


def check_jump(env: Env, word: str, span: Span) -> None:
    """R11 JUMP: no change of perspective between a jump and its loop."""
    for step in reversed(env.path):
        if step.kind == "loop":
            return
        if any(outer.kind == "loop" for outer in env.path):
            labels = (Label(step.span, "left by the jump"),)
            fail(rules.Jump(span=span, word=word, construct=step.text, target="its loop is", labels=labels))
    raise AssertionError("Python itself refuses a jump outside a loop")


@statement_rule(s.Return)
def check_return(env: Env, st: s.Return) -> tree.Stmt | tree.Body:
    """R11 JUMP for return, and R8 for the value."""
    context = env.context
    name = context.kernel.__name__
    if context.into is not None and st is not context.last:
        fail(inlined.InlinedReturn(span=st.span, name=name, why=context.why))
    left = next((step for step in reversed(env.path if context.into is None else ()) if step.kind != "loop"), None)
    if left is not None:
        leaves, target = (Label(left.span, "left by the return"),), "the function's end is"
        fail(rules.Jump(span=st.span, word="return", construct=left.text, target=target, labels=leaves))
    if st.value is None:
        if context.result not in (None, VOID):
            hint = "write `return value`"
            fail(call_errors.ReturnValue(span=st.span, name=name, problem=f"returns {context.result}", hint=hint))
        return tree.Return(value=None, span=st.span)
    place = context.result_perspective or env.code
    if isinstance(context.result, Pointer):
        return tree.Return(value=return_pointer(env, st.value, context.result, place), span=st.span)
    given = make_result(context, st.value) if isinstance(st.value, s.Tuple) else st.value
    value = check_value(env, given, place, context.result)
    if context.kernel.kind == "global" or (context.result_declared and context.result == VOID):
        problem = "is a kernel: it returns nothing" if context.kernel.kind == "global" else "returns nothing"
        hint = "store the value through a pointer parameter"
        fail(call_errors.ReturnValue(span=st.span, name=name, problem=problem, hint=hint))
    if context.result is None:
        context.result, context.result_perspective = value.type, value.perspective
        place = value.perspective
    if not place <= value.perspective:
        fail(call_errors.ReturnVaries(name=name, needed=place, **evidence(value, place)))
    assert context.result is not None
    value = coerce(value, context.result, st.value.span)
    if context.last is not None:
        context.value = value
        return ()
    return tree.Return(value=value, span=st.span)


def make_result(context: Context, values: s.Tuple) -> s.Expr:
    """`return a, b`: the declared result, made of its fields or components."""
    name, result = context.kernel.__name__, context.result
    wanted = len(result.fields) if isinstance(result, Struct) else result.length if isinstance(result, Vector) else 0
    if wanted != len(values.items):
        problem = f"returns {len(values.items)} values" + (f", and declares {result}" if result else "")
        hint = "declare a type for each: `-> (int32, int32) @ unit`"
        if context.kernel.kind == "global":
            problem, hint = "is a kernel: it returns nothing", "store the values through a pointer parameter"
        fail(call_errors.ReturnValue(span=values.span, name=name, problem=problem, hint=hint))
    function = s.Resolved(value=result, text=str(result), span=values.span)
    return s.Call(function=function, arguments=values.items, keywords=(), span=values.span)
