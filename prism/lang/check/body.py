"""Bodies: statement after statement; one that fails is reported, and the rest goes on."""

from __future__ import annotations

from functools import partial

from prism.lang import surface, tree
from prism.lang.check.env import Env, Expansion, Poison, Poisoned, Step, fail
from prism.lang.check.purity import effect_conflict
from prism.lang.check.table import check_statement
from prism.lang.diagnostics import CompileError, Error, Label, source_text
from prism.lang.errors import calls as call_errors
from prism.lang.parse import syntax as s
from prism.lang.types import Pointer


def check_body(env: Env, body: s.Body) -> tree.Body:
    """Check a statement list; a statement that fails is reported, its name poisoned, and the rest goes on."""
    done: list[tree.Stmt] = []
    env = env.nest()
    outer = env.context.expansion
    for statement in body:
        whole = None if isinstance(statement, s.Augment) else getattr(statement, "value", None)
        env.context.expansion = expansion = Expansion(whole)
        try:
            checked, env = check_statement(env, statement)
            checked = (*expansion.before, *checked)
            for one in checked:
                # A call that touches memory is the only access of its statement, so that order and barriers are defined.
                if (found := effect_conflict(one, partial(is_unwritten, env.context.kernel))) is not None:
                    fail(effects(*found))
            done.extend(checked)
        except CompileError as failure:
            env.context.errors.extend(failure.errors)
        except Poisoned:
            env.context.silent = True
        else:
            continue
        finally:
            env.context.expansion = outer
        if isinstance(statement, s.Declare):
            env = env.name(statement.name, Poison())
        if isinstance(statement, s.Roles):
            for name in statement.names:
                env = env.name(name.name, Poison())
        check_rest(env, statement)
    return tuple(done)


def is_unwritten(kernel: surface.Kernel, element: tree.Element) -> bool:
    """Whether an element is of global memory that a kernel takes as const, and under no other name: then nobody writes it."""
    root = element.symbol.root()
    const = isinstance(root.type, Pointer) and root.type.const and root.type.space == "global" and root.parameter
    return const and kernel.kind == "global" and not any(root.name in names for names in kernel.may_alias)


def effects(call: tree.Expr, given: tree.Element | None) -> Error:
    """Return the error of a call beside another access: of an element that it is given, that is what is to be assigned."""
    if given is None or (text := source_text(given.span)).endswith("..."):
        return call_errors.Effects(span=call.span)
    labels = (Label(given.span, "this is read in the same statement"),)
    return call_errors.EffectsGiven(
        span=call.span, labels=labels, element=text, type=given.type, perspective=given.perspective
    )


def check_rest(env: Env, statement: s.Stmt) -> None:
    """Report the errors inside a statement whose head failed, where the code's perspective is what it would have been."""
    match statement:
        case s.Partition() | s.Claim() | s.Async():
            step = Step("partition", statement.span, env.code, "this `with`")
            check_body(env.enter(step).name(statement.name, Poison()), statement.body)
        case s.If():
            check_body(env, statement.then)
            check_body(env, statement.otherwise)
        case s.While():
            check_body(env.enter(Step("loop", statement.span, env.code, "while")), statement.body)
        case s.For():
            inner = env.enter(Step("loop", statement.span, env.code, "for"))
            check_body(inner.name(statement.name, Poison()), statement.body)
        case _:
            pass
