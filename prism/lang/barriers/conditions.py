"""Conditions that a block's threads agree on, and that a function asks more than once: the walk keeps their two cases apart.

`if c: write` and later `if c: read`, with nothing in `c` changed between, are taken both or not at all. What is known of a
condition is part of a state's key, until something in it changes. Blocks may differ in it: what they share is looked at in all
cases together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from prism.lang import tree
from prism.lang.barriers.walk_state import State, keep_latest
from prism.lang.facts.touches import Touch
from prism.lang.keep.bases import Frozen, Value
from prism.lang.tree.inlined import chain
from prism.lang.tree.walk import assigned_names, statements
from prism.lang.types.perspective import BLOCK

MOST = 3
"""Conditions of one function that are told apart: each doubles the states."""


class Condition(Value):
    """What is asked: a text that is the same for the same question, the names in it, and a number that orders conditions."""

    text: tuple[object, ...]
    names: frozenset[tree.Symbol]
    number: int = field(default=0, compare=False)


class Conditions(Frozen):
    """The branches that ask (`asked`: what, and whether its truth leads to `then`), and what statements change in them."""

    asked: Mapping[tree.If, tuple[Condition, bool]] = field(default_factory=dict)
    changed: Mapping[tree.Stmt, frozenset[Condition]] = field(default_factory=dict)


def conditions(function: tree.Function) -> Conditions:
    """Return the conditions of a function that are asked more than once."""
    found: dict[tree.If, tuple[Condition, bool]] = {}
    given = _given_values(function)
    for statement in statements(function.body):
        if isinstance(statement, tree.If) and statement.condition.perspective >= BLOCK:
            asked = _condition_of(statement.condition, given)
            if asked is not None:
                found[statement] = asked
    questions = [question for question, _ in found.values()]
    often = [question for question in dict.fromkeys(questions) if questions.count(question) > 1][:MOST]
    if not often:
        return Conditions()
    often = [replace(condition, number=number) for number, condition in enumerate(often)]
    changed = {s: frozenset(c for c in often if c.names & _changes(s)) for s in statements(function.body)}
    return Conditions(
        {branch: (often[often.index(c)], straight) for branch, (c, straight) in found.items() if c in often},
        {statement: gone for statement, gone in changed.items() if gone},
    )


def _given_values(function: tree.Function) -> Mapping[tree.Symbol, tree.Expr]:
    """Return what numbers stand for that functions which are compiled in are given: nothing in it changes while they run."""
    every = tuple(statements(function.body))
    inlined = {one for s in every for one in chain(s.inlined)}
    ours = {p for one in inlined for p in one.parameters if isinstance(p.type, tree.Scalar)} - set(
        assigned_names(function.body)
    )
    return {
        s.symbol: s.value for s in every if isinstance(s, tree.Declare) and s.symbol in ours and s.value is not None
    }


def _changes(statement: tree.Stmt) -> frozenset[tree.Symbol]:
    """Return the names that a statement gives a new value; a loop, those that it renews or assigns anywhere inside."""
    match statement:
        case tree.Declare(symbol=symbol) | tree.Assign(target=tree.Var(symbol=symbol) | tree.Item(symbol=symbol)):
            return frozenset({symbol})
        case tree.Unsafe(writes=writes):
            return frozenset(writes)
        case tree.For() | tree.While():
            own = frozenset({statement.symbol}) if isinstance(statement, tree.For) else frozenset[tree.Symbol]()
            return own.union(
                *(_changes(s) for s in statements(statement.body) if not isinstance(s, tree.For | tree.While))
            )
        case _:
            return frozenset()


def _condition_of(condition: tree.Expr, given: Mapping[tree.Symbol, tree.Expr]) -> tuple[Condition, bool] | None:
    """Return what a condition asks, and whether it asks it straight (not the opposite)."""
    if isinstance(condition, tree.Var) and condition.symbol in given:
        return _condition_of(given[condition.symbol], given)
    if isinstance(condition, tree.Unary) and condition.op == "not":
        inner = _condition_of(condition.operand, given)
        return None if inner is None else (inner[0], not inner[1])
    names: set[tree.Symbol] = set()
    text = _text(condition, names, given)
    return None if text is None or not names else (Condition(text, frozenset(names)), True)


def _text(
    expression: tree.Expr, names: set[tree.Symbol], given: Mapping[tree.Symbol, tree.Expr]
) -> tuple[object, ...] | None:
    """Return what tells an expression over plain variables from another, or None where it reads anything else."""
    match expression:
        case tree.Const(value=value):
            return ("const", expression.type, repr(value))  # 0.0 is not -0.0, and 1 not True
        case tree.Count(unit=unit, code=code):
            return ("count", unit, code)
        case tree.Var(symbol=symbol) if symbol in given:
            return _text(given[symbol], names, given)
        case tree.Var(symbol=symbol) if isinstance(symbol.type, tree.Scalar):
            names.add(symbol)
            return ("name", symbol)
        case tree.Unary(op=op, operand=operand):
            inner = _text(operand, names, given)
            return None if inner is None else (op, inner)
        case tree.Cast(operand=operand, type=type_):
            inner = _text(operand, names, given)
            return None if inner is None else ("cast", type_, inner)
        case tree.Binary(op=op, left=left, right=right):
            one, two = _text(left, names, given), _text(right, names, given)
            return None if one is None or two is None else (op, one, two)
        case _:
            return None


# -- states -----------------------------------------------------------------------------------------------------------------


def split_state(state: State, condition: Condition, straight: bool) -> tuple[State, State]:
    """Return the state where a branch is taken, and where it is not.

    On some ways here the condition is known, and on others it is not: those come into both cases, beside the former.
    """
    taken: State = {}
    other: State = {}
    for env, pending in state.items():
        known = dict(env).get(condition)
        for truth, into in ((straight, taken), (not straight, other)):
            # Where the condition is known to be the opposite, nobody comes this way: that case is left out.
            #     if c: s[t] = v       after it: {c: the write}, {not c: nothing}
            #     if not c: v += s[0]  only the second case comes here, so no barrier is needed
            if known is None or known == truth:
                key = env if known is not None else tuple(sorted((*env, (condition, truth)), key=in_order))
                into[key] = into[key] | pending if key in into else pending
    return {env: keep_latest(pending) for env, pending in taken.items()}, {e: keep_latest(p) for e, p in other.items()}


def in_order(item: tuple[tree.Symbol | Condition, object]) -> tuple[int, str, int, int]:
    """The order of what a state's key holds: conditions, then pointers as the text declares them."""
    named = item[0]
    if isinstance(named, Condition):
        return (named.number, "", 0, 0)
    return (MOST, named.name, named.span.line, named.span.column)


def forget(state: State, gone: frozenset[Condition]) -> State:
    """Return the state without what was known of conditions in which something has changed."""
    if not gone:
        return state
    found: State = {}
    for env, pending in state.items():
        # What was found under the old value stays pending: forgetting can only join cases, and lose no access.
        left = tuple(item for item in env if item[0] not in gone)
        found[left] = found[left] | pending if left in found else pending
    return {env: keep_latest(pending) for env, pending in found.items()}


def bare(state: State) -> State:
    """Return the state with all cases of conditions together."""
    found: State = {}
    for env, pending in state.items():
        left = tuple(item for item in env if not isinstance(item[0], Condition))
        found[left] = found[left] | pending if left in found else pending
    return found


def reaches_other_blocks(touch: Touch | None) -> bool:
    """Whether an access is to what other blocks may reach: they may be in another case."""
    if touch is None:
        return False
    type_ = touch.root.type
    return not (isinstance(type_, tree.Pointer) and type_.space == "shared" and touch.root.perspective <= BLOCK)
