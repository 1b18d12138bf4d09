"""Typed statements as closures over a frame. A statement tells whether no thread goes on after it.

A statement in which something may wait is a generator instead: those are in `coroutines`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import groupby
from typing import Any, cast

import numpy as np

from prism.interpret import coroutines
from prism.interpret.assign import compile_assign, compile_declare, compile_shared
from prism.interpret.barriers import agreement
from prism.interpret.calls import add_call, call_label, narrow
from prism.interpret.frame import Frame
from prism.interpret.lanes import both, minus, union
from prism.interpret.operations import steps_after, steps_before
from prism.interpret.raw import compile_unsafe
from prism.interpret.regions import mix_pointers
from prism.interpret.scope import Code, Eval, Piece, Run, Scope, Shop, Steps, uses
from prism.interpret.speak import compile_assert, compile_breakpoint, compile_distinct, compile_print
from prism.interpret.turns import compile_turns
from prism.interpret.undefined_arithmetic import counts_past, require_end, require_step
from prism.interpret.values import merging
from prism.lang import tree
from prism.lang.tree.inlined import chain
from prism.lang.types.perspective import Level, Perspective


def compile_function(shop: Shop, function: tree.Function) -> Code:
    """Return a function's code; functions are compiled once a program."""
    found = shop.codes.get(function)
    if found is not None:
        return found
    scope = Scope(shop, function, function.bound.code, shop.program.layouts.get(function))
    plan = shop.program.plans.get(function)
    if plan is not None:
        scope.before, scope.after, scope.completes = plan.before(), plan.after(), plan.completes
        scope.cycles = {ring: cycle for cycle in plan.cycles if cycle.leads is None for ring in cycle.rings}
        scope.leads = {ring: cycle for cycle in plan.cycles if cycle.leads is not None for ring in cycle.rings}
    parameters = tuple(scope.slot(parameter) for parameter in function.parameters)
    body = compile_body(scope, function.body)
    bytes_ = max(scope.high, scope.layout.bytes if scope.layout is not None else 0)
    code = shop.codes[function] = Code(function, body, scope.count, bytes_, parameters)
    return code


def compile_body(scope: Scope, body: tree.Body) -> Piece:
    """Return the closure of a statement list; shared objects declared in it end with it."""
    live, within = scope.live, scope.within
    pieces: list[Piece] = []
    for inlined, statements in groupby(body, lambda statement: statement.inlined):
        scope.within = inlined or within
        inner = [piece for statement in statements for piece in compile_statement(scope, statement)]
        if inlined is not None:
            found = in_turn(inner)
            for one in chain(inlined, within):
                found = add_call(call_label(one.name, one.call), found)
            inner = [found]
        pieces += inner
    scope.live, scope.within = live, within
    return in_turn(pieces)


def in_turn(pieces: list[Piece]) -> Piece:
    """Return what runs pieces one after the other."""
    if any(piece.run is None for piece in pieces):
        return Piece(None, coroutines.sequence(pieces))
    runs = [piece.run for piece in pieces if piece.run is not None]
    if len(runs) == 1:
        return Piece(runs[0])

    def run(frame: Frame) -> bool:
        for statement in runs:  # noqa: SIM110 -- a generator inside any() would cost more than the loop
            if statement(frame):
                return True
        return False

    return Piece(run)


def compile_statement(scope: Scope, statement: tree.Stmt) -> list[Piece]:
    """Return what runs for a statement: its barriers, what its expressions wait for, itself, and what comes after it."""
    pieces = steps_before(scope, statement)
    outer, scope.waits = scope.waits, []
    piece = _dispatch(scope, statement)
    pieces.extend(Piece(None, coroutines.wait(step)) for step in scope.waits)
    scope.waits = outer
    return [*pieces, piece, *steps_after(scope, statement)]


def _dispatch(scope: Scope, node: tree.Stmt) -> Piece:  # noqa: C901
    statement = cast(tree.AnyStmt, node)
    match statement:
        case tree.Declare():
            return Piece(compile_declare(scope, statement))
        case tree.SharedDeclare():
            return Piece(compile_shared(scope, statement))
        case tree.Assign():
            return Piece(compile_assign(scope, statement))
        case tree.Evaluate():
            return compile_evaluate(scope, statement)
        case tree.If():
            return compile_if(scope, statement)
        case tree.While():
            return compile_while(scope, statement)
        case tree.For():
            return compile_for(scope, statement)
        case tree.Break():
            return compile_break()
        case tree.Continue():
            return compile_continue()
        case tree.Return():
            return compile_return(scope, statement)
        case tree.Group():
            return compile_group(scope, statement)
        case tree.Split():
            return compile_split(scope, statement)
        case tree.Partition() | tree.Claim() | tree.Async():
            return compile_view(scope, statement)
        case tree.Batch():
            return compile_body(scope, statement.body)
        case tree.Turns():
            return compile_turns(scope, statement, compile_body(scope, statement.body))
        case tree.Specialise():
            return compile_roles(scope, statement)
        case tree.Assert() | tree.Assume():
            return Piece(compile_assert(scope, statement))
        case tree.Distinct():
            return Piece(compile_distinct(scope, statement))
        case tree.Breakpoint():
            return Piece(compile_breakpoint(scope, statement))
        case tree.Print():
            return Piece(compile_print(scope, statement))
        case tree.Unsafe():
            return Piece(compile_unsafe(scope, statement))


def compile_evaluate(scope: Scope, statement: tree.Evaluate) -> Piece:
    """A call for its effect."""
    value = scope.evaluate(statement.value)

    def run(frame: Frame) -> bool:
        value(frame)
        return False

    return Piece(run)


# -- branches and loops ---------------------------------------------------------------------------------------------------


def condition_of(scope: Scope, statement: tree.If | tree.While) -> Eval:
    """Return the closure of a condition; checked, that the threads of a unit agree."""
    condition = scope.evaluate(statement.condition)
    check = agreement(scope, scope.code, statement.condition.span, "condition")
    if check is None:
        return condition

    def checked(frame: Frame) -> Any:
        value = condition(frame)
        check(frame, value)
        return value

    return checked


def compile_if(scope: Scope, statement: tree.If) -> Piece:
    """A branch."""
    condition = condition_of(scope, statement)
    then, otherwise = compile_body(scope, statement.then), compile_body(scope, statement.otherwise)
    if then.run is None or otherwise.run is None:
        return Piece(None, coroutines.branch(condition, coroutines.steps_of(then), coroutines.steps_of(otherwise)))
    return Piece(_branch(condition, then.run, otherwise.run))


def _branch(condition: Eval, then: Run, otherwise: Run) -> Run:
    def run(frame: Frame) -> bool:
        chosen = condition(frame)
        if not isinstance(chosen, np.ndarray):
            return then(frame) if chosen else otherwise(frame)
        mask = frame.mask
        yes = both(mask, chosen)
        no = minus(mask, yes)
        if no is False:
            return then(frame)
        if yes is False:
            return otherwise(frame)
        frame.mask = yes
        first = False if then(frame) else frame.mask
        frame.mask = no
        second = False if otherwise(frame) else frame.mask
        frame.mask = mask if first is yes and second is no else union(first, second)
        return frame.mask is False

    return run


def compile_while(scope: Scope, statement: tree.While) -> Piece:
    """A loop: it runs until no thread is left in it."""
    condition = condition_of(scope, statement)
    body = compile_body(scope, statement.body)
    polls = scope.shop.waits(statement)
    if body.run is None or polls:
        return Piece(
            None, coroutines.loop(condition, coroutines.steps_of(body), None, statement.span if polls else None)
        )
    return Piece(_loop(condition, body.run, None))


def _loop(condition: Eval, body: Run, advance: Callable[[Frame], None] | None) -> Run:
    def run(frame: Frame) -> bool:
        breaking, continuing = frame.breaking, frame.continuing
        frame.breaking = frame.continuing = False
        done: Any = False
        while True:
            stay = condition(frame)
            inside = both(frame.mask, stay) if isinstance(stay, np.ndarray) else frame.mask if stay else False
            if inside is False:
                done = union(done, frame.mask)
                break
            if inside is not frame.mask:
                done = union(done, minus(frame.mask, inside))
                frame.mask = inside
            left = False if body(frame) else frame.mask
            left = union(left, frame.continuing)
            frame.continuing = False
            if left is False:
                break
            frame.mask = left
            if advance is not None:
                advance(frame)
        frame.mask = union(done, frame.breaking)
        frame.breaking, frame.continuing = breaking, continuing
        return frame.mask is False

    return run


def compile_for(scope: Scope, statement: tree.For) -> Piece:
    """A counted loop; the bounds are evaluated once."""
    first, last, by = (scope.evaluate(bound) for bound in (statement.start, statement.stop, statement.step))
    slot = scope.slot(statement.symbol)
    body = compile_body(scope, statement.body)
    jumps = uses(statement.body, (tree.Break, tree.Continue, tree.Return))
    stop_slot, step_slot = scope.fresh(), scope.fresh()
    known, type_ = isinstance(statement.step, tree.Const), statement.symbol.type
    assert isinstance(type_, tree.Scalar)
    ends = scope.check and not uses(statement.body, (tree.Break, tree.Return)) and counts_past(type_, statement.step)

    def begin(frame: Frame) -> None:
        start, stop, step = first(frame), last(frame), by(frame)
        frame.values[slot], frame.values[stop_slot], frame.values[step_slot] = start, stop, step
        if not known:
            require_step(frame, statement.step, step)
        if ends:
            require_end(frame, statement.step, type_, (start, stop, step))

    def condition(frame: Frame) -> Any:
        at, stop, step = frame.values[slot], frame.values[stop_slot], frame.values[step_slot]
        if isinstance(step, np.ndarray):
            return np.where(step > 0, np.less(at, stop), np.greater(at, stop))
        return at < stop if step > 0 else at > stop

    def advance(frame: Frame) -> None:
        frame.values[slot] = frame.values[slot] + frame.values[step_slot]

    if body.run is None:
        loop = coroutines.loop(condition, coroutines.steps_of(body), advance, None)
        return Piece(None, coroutines.after(begin, loop))
    general = _loop(condition, body.run, advance)
    return Piece(_counted_loop(begin, (slot, stop_slot, step_slot), general, body.run, jumps))


def _counted_loop(
    begin: Callable[[Frame], None], slots: tuple[int, int, int], general: Run, body: Run, jumps: bool
) -> Run:
    slot, stop_slot, step_slot = slots

    def run(frame: Frame) -> bool:
        begin(frame)
        values = frame.values
        start, stop, step = values[slot], values[stop_slot], values[step_slot]
        if jumps or type(start) is not int or type(stop) is not int or type(step) is not int:
            return general(frame)
        for at in range(start, stop, step):
            values[slot] = at
            body(frame)
        return False

    return run


def compile_break() -> Piece:
    """`break`."""

    def run(frame: Frame) -> bool:
        frame.breaking = union(frame.breaking, frame.mask)
        return True

    return Piece(run)


def compile_continue() -> Piece:
    """`continue`."""

    def run(frame: Frame) -> bool:
        frame.continuing = union(frame.continuing, frame.mask)
        return True

    return Piece(run)


def compile_return(scope: Scope, statement: tree.Return) -> Piece:
    """`return`, for the threads that reach it."""
    if statement.value is None:
        return Piece(lambda frame: True)
    value, type_ = scope.keep(statement.value), statement.value.type
    merge = merging(type_) if isinstance(type_, tree.Scalar | tree.Vector) else None

    def run(frame: Frame) -> bool:
        found = value(frame)
        if frame.mask is not True and frame.result is not None and merge is not None:
            found = merge(frame.mask, found, frame.result)
        elif frame.mask is not True and frame.result is not None:
            found = mix_pointers((frame.mask, found), (minus(True, frame.mask), frame.result))
        frame.result = found
        return True

    return Piece(run)


# -- perspectives ---------------------------------------------------------------------------------------------------------


def compile_group(scope: Scope, statement: tree.Group) -> Piece:
    """Every unit runs the body, each for itself."""
    unit, outer = statement.unit, scope.code
    scope.code = unit
    body = compile_body(scope, statement.body)
    scope.code = outer
    if body.run is None:
        return Piece(None, coroutines.group(unit, coroutines.steps_of(body)))
    inner = body.run

    def run(frame: Frame) -> bool:
        lanes, bid = frame.lanes, frame.bid
        narrow(frame, unit)
        dead = inner(frame)
        frame.lanes, frame.bid = lanes, bid
        return dead

    return Piece(run)


def compile_roles(scope: Scope, statement: tree.Specialise) -> Piece:
    """One body a role, each with variables of its own from here on; threads of no role have ended."""
    roles = [(role.first, role.size, coroutines.steps_of(compile_body(scope, role.body))) for role in statement.roles]

    def steps(frame: Frame) -> Generator[None, None, bool]:
        lanes, left = frame.block.machine.everyone, frame.mask
        strands = []
        for first, size, body in roles:
            mask = both(frame.mask, (lanes >= first) & (lanes < first + size))
            left = minus(left, mask)
            if mask is not False:
                strands.append(_role(frame.fork(mask), body))
        frame.block.live[lanes if left is True else left] = False
        yield from coroutines.interleave(strands)
        return False  # what the plan puts behind the roles' texts is still to be done, as waits for stores

    return Piece(None, steps)


def _role(frame: Frame, body: Steps) -> Generator[None, None, None]:
    lanes = frame.active()
    yield from body(frame)
    frame.block.live[lanes] = False


Arms = list[tuple[int, int, Piece]]


def _arms_of(arms: Arms, level: Level, code: Perspective) -> Callable[[Frame], list[tuple[Piece, Frame]]]:
    """Return the function that gives a frame's arms, and a frame for each that some of its threads run.

    `code` is what the split stands in. All arms fit into one block: where the code has several, that is its first.
    """
    several = level == Level.THREAD and (code.level == Level.GRID or (code.level == Level.BLOCK and code.size > 1))

    def block_arms(frame: Frame) -> list[tuple[Piece, Frame]]:
        return [
            (body, frame.arm(frame.mask, frame.lanes, frame.bid - first))
            for first, size, body in arms
            if first <= frame.bid < first + size
        ]

    def thread_arms(frame: Frame) -> list[tuple[Piece, Frame]]:
        found: list[tuple[Piece, Frame]] = []
        if several and frame.bid > 0:
            return found
        for number in frame.block.machine.order(len(arms)):
            first, size, body = arms[number]
            lanes, inside = frame.lanes.arm(first, size)
            mask = both(frame.mask, inside)
            if mask is not False:
                found.append((body, frame.arm(mask, lanes, frame.bid)))
        return found

    return block_arms if level == Level.BLOCK else thread_arms


def compile_split(scope: Scope, statement: tree.Split) -> Piece:
    """Different units run different arms, interleaved where one may wait."""
    outer = scope.code
    arms: Arms = []
    for arm in statement.arms:
        scope.code = Perspective(statement.level, arm.size)
        arms.append((arm.first, arm.size, compile_body(scope, arm.body)))
    scope.code = outer
    frames = _arms_of(arms, statement.level, statement.code)

    def steps(frame: Frame) -> Generator[None, None, bool]:
        yield from coroutines.interleave([coroutines.steps_of(body)(inner) for body, inner in frames(frame)])
        return False

    if any(body.run is None for _, _, body in arms):
        return Piece(None, steps)

    def run(frame: Frame) -> bool:
        for body, inner in frames(frame):
            if body.run is not None:
                body.run(inner)
        return False

    return Piece(run)


def _names_units(node: tree.Expr) -> bool:
    return isinstance(node, tree.Id) or any(map(_names_units, tree.operands(node)))


def _opener(frame: Frame) -> Frame:
    """Return who opens a view: the indices that its lambda's `id()` speaks of."""
    return frame.arm(frame.mask, frame.lanes, frame.bid)


def compile_view(scope: Scope, statement: tree.Partition | tree.Claim | tree.Async) -> Piece:
    """A view's name costs nothing but its offset, which is evaluated once."""
    view = statement.view.view
    if view is None or (view.offset is None and not any(map(_names_units, view.index))):
        return compile_body(scope, statement.body)
    if view.offset is None:
        slot = scope.origins[statement.view] = scope.fresh()
        offset: Eval = _opener
    else:
        slot, offset = scope.slot(view.offset[0]), scope.keep(view.offset[1])
    body = compile_body(scope, statement.body)

    def begin(frame: Frame) -> None:
        frame.values[slot] = offset(frame)

    if body.run is None:
        return Piece(None, coroutines.after(begin, coroutines.steps_of(body)))
    inner = body.run

    def run(frame: Frame) -> bool:
        begin(frame)
        return inner(frame)

    return Piece(run)
