"""Asynchronous copies and wgmma: what their destinations are, which threads issue them, what a batch holds (R13, R18, R24)."""

from __future__ import annotations

from typing import NoReturn

from prism.lang import tree
from prism.lang.check.body import check_body
from prism.lang.check.data import head, make_view, memory, open_scope, view_pointer
from prism.lang.check.env import Env, Step, declaration_label, fail, refuse_write, why_here
from prism.lang.check.purity import touches_memory
from prism.lang.check.registers import check_code
from prism.lang.check.table import statement_rule
from prism.lang.diagnostics import Fields, Span, source_text
from prism.lang.errors import asynchronous as errors
from prism.lang.errors import ownership
from prism.lang.intrinsics import set_registers
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.parse import syntax as s
from prism.lang.tree.bind import operands_of
from prism.lang.types import Pointer, Scalar, Vector
from prism.lang.types.perspective import THREAD, WARPGROUP, Level, Perspective

WARPGROUP1 = Perspective(Level.THREAD, WARPGROUP)


@statement_rule(s.Async)
def check_async(env: Env, st: s.Async) -> tree.Stmt:
    """R24 ASYNC: the name is the destination of copies that have ended when the source is used again."""
    source = memory(env, st.source)
    type_, root = source.type, source.root()
    if not isinstance(type_, Pointer) or (root.parameter and env.context.host.kind == "global"):
        found = "global memory" if isinstance(type_, Pointer) else str(type_)
        fail(
            errors.AsyncSource(span=st.source.span, name=source.name, found=found, labels=(declaration_label(source),))
        )
    if type_.const:
        refuse_write(source, st.source.span, str(type_))
    if type_.ring:
        copies = f"{type_.ring} copies"
        fail(errors.RingUse(span=st.source.span, name=source.name, copies=copies, labels=(declaration_label(source),)))
    if not source.perspective <= env.code:
        facts: Fields = {"name": source.name, "place": source.perspective, "code_perspective": env.code}
        labels = (declaration_label(source), *why_here(env))
        fail(errors.AsyncOwners(span=st.source.span, labels=labels, **facts))
    view = make_view(env, source, source.perspective, None, "check", ownership.PartitionOffset)
    symbol = tree.Symbol(st.name, view_pointer(env, source, None), source.perspective, st.name_span, view=view)
    env.context.flights.add(symbol)
    step = Step("async", head(st.span), source.perspective, f"async_({source.name})")
    body = check_body(open_scope(env.enter(step), source, symbol), st.body)
    return tree.Async(view=symbol, code=env.code, body=body, span=st.span)


# -- Who issues -------------------------------------------------------------------------------------------------------


def check_issue(env: Env, intrinsic: Intrinsic, span: Span) -> None:
    """R13, R18: one warpgroup runs a wgmma; one thread issues a copy, for itself or for the one unit that it is part of."""
    if intrinsic is set_registers:
        check_code(env, span)
    if intrinsic.asynchronous == "wgmma":
        if env.code != WARPGROUP1:
            facts: Fields = {"name": intrinsic.name, "code_perspective": env.code}
            fail(errors.BatchCode(span=span, labels=why_here(env), **facts))
    elif intrinsic.asynchronous and env.code != THREAD:
        facts = {"function": intrinsic.name, "code_perspective": env.code, "bulk": intrinsic.asynchronous != "cp_async"}
        fail(errors.CopyCode(span=span, labels=why_here(env), **facts))


def copies_alone(env: Env, symbol: tree.Symbol, span: Span) -> None:
    """R18 PTR-WRITE for asynchronous copies: the thread owns the destination, or it is the one of the owner's that copies."""
    if symbol.perspective == THREAD:
        return
    thread = sole_thread(env, symbol.perspective)
    if thread is None:
        labels = (declaration_label(symbol), *why_here(env))
        fail(errors.CopyOwner(span=span, name=symbol.name, place=symbol.perspective, labels=labels))
    if env.context.writers.setdefault(symbol.itself(), thread) != thread:
        labels = (declaration_label(symbol), *why_here(env))
        fail(errors.CopyTwice(span=span, name=symbol.name, place=symbol.perspective, labels=labels))


def sole_thread(env: Env, unit: Perspective) -> tuple[int, int] | None:
    """Return which thread of `unit` runs this code, by its block and its number there; None where more than one does."""
    at = {Level.BLOCK: 0, Level.THREAD: 0}
    for step in reversed(env.path):
        if step.kind in ("group", "arm"):
            if step.unit == unit:
                return at[Level.BLOCK], at[Level.THREAD]
            if step.kind == "group":
                return None
            at[step.unit.level] += step.first
    return (at[Level.BLOCK], at[Level.THREAD]) if env.context.entry == unit else None


# -- Batches of wgmmas ------------------------------------------------------------------------------------------------


@statement_rule(s.Batch)
def check_batch(env: Env, st: s.Batch) -> tree.Stmt:
    """R13 CALL-BOUND and R24 ASYNC for `with wgmma_async():` one warpgroup issues wgmmas, and touches nothing else."""
    if env.code != WARPGROUP1:
        facts: Fields = {"name": "wgmma_async", "code_perspective": env.code}
        fail(errors.BatchCode(span=st.span, labels=why_here(env), **facts))
    if in_batch(env):
        fail(errors.BatchBody(span=st.span, what="`wgmma_async`"))
    body = check_body(env.enter(Step("batch", head(st.span), env.code, "wgmma_async()")), st.body)
    for statement in body:
        only_wgmmas(statement)
    return tree.Batch(code=env.code, body=body, span=st.span)


def in_batch(env: Env) -> bool:
    """Whether the code is inside `with wgmma_async():`."""
    return any(step.kind == "batch" for step in env.path)


def as_batch(env: Env, statement: tree.Evaluate) -> tree.Stmt:
    """Return a wgmma that stands alone as a batch of its own, and any other statement as it is."""
    value = statement.value
    if not (isinstance(value, tree.Apply) and value.intrinsic.asynchronous == "wgmma") or in_batch(env):
        return statement
    only_wgmmas(statement)
    return tree.Batch(code=env.code, body=(statement,), span=statement.span)


def only_wgmmas(statement: tree.Stmt) -> None:
    """Fail where a statement of a batch is no wgmma, no constant loop of them, no plain arithmetic."""
    match statement:
        case tree.Evaluate(value=tree.Apply() as apply) if apply.intrinsic.asynchronous == "wgmma":
            for parameter, e in operands_of(apply):
                for part in (e,) if parameter.kind == "value" else tree.operands(e):
                    arithmetic(part)
        case tree.Declare(symbol=symbol, value=value) if isinstance(symbol.type, Scalar | Vector):
            if value is not None:
                arithmetic(value)
        case tree.Assign(target=tree.Var() as target, value=value) if isinstance(target.type, Scalar | Vector):
            arithmetic(value)
        case tree.For() | tree.Partition():
            constant_bounds(statement) if isinstance(statement, tree.For) else only_alias(statement)
            for inner in statement.body:
                only_wgmmas(inner)
        case _:
            no_place(statement)


def only_alias(statement: tree.Partition) -> None:
    """Fail for a part of memory; what a function that is compiled in calls a tile is no part."""
    if statement.view.view is None or not statement.view.view.alias:
        no_place(statement)


def no_place(statement: tree.Stmt) -> NoReturn:
    """Fail for a statement that has no place in a batch."""
    if isinstance(statement, tree.If | tree.While):
        what = "`while`" if isinstance(statement, tree.While) else "a condition"
        change = "pass the condition, `wgmma(..., accumulate=k > 0)`, or put the batch inside it"
        fail(errors.BatchBody(span=statement.span, what=what, change=change))
    what = f"`{source_text(statement.span, type(statement).__name__.lower())}`"
    fail(errors.BatchBody(span=statement.span, what=what))


def constant_bounds(loop: tree.For) -> None:
    """Fail where a loop of wgmmas cannot be unrolled: a branch among them would make each wait for the one before."""
    for bound in (loop.start, loop.stop, loop.step):
        if not isinstance(bound, tree.Const):
            change = "use constant bounds, or put the batch inside the loop"
            fail(errors.BatchBody(span=bound.span, what="a loop bound that is no constant", change=change))


def arithmetic(e: tree.Expr) -> None:
    """Fail where an expression of a batch reads memory or a fragment, or meets other threads."""
    collective = isinstance(e, tree.Apply) and (e.intrinsic.requires != THREAD or touches_memory(e))
    called = isinstance(e, tree.Call) and not e.function.pure
    registers = isinstance(e, tree.Item) and isinstance(e.symbol.type, tree.Fragment)
    if isinstance(e, tree.Element) or called or collective or registers:
        fail(errors.BatchBody(span=e.span, what=f"`{source_text(e.span)}`"))
    for part in tree.operands(e):
        arithmetic(part)
