"""Statements in C++: what scopes become, loops, and the comments beside them."""

from __future__ import annotations

import functools
import re
from collections.abc import Set
from dataclasses import replace
from typing import assert_never, cast

from prism.lang import tree
from prism.lang.cuda.names import declarator, element_cuda, field_names, is_copy, registers, type_cuda
from prism.lang.cuda.raw_text import field_words, rename_words
from prism.lang.diagnostics import Span
from prism.lang.emit import turns
from prism.lang.emit.context import INDENT, Context
from prism.lang.emit.expressions import (
    Position,
    Scope,
    address,
    expression,
    in_one_block,
    place_text,
    remainder,
    thread_in,
    tight,
)  # fmt: skip
from prism.lang.emit.follow import WAIT
from prism.lang.emit.launch_text import launch_text
from prism.lang.emit.operations import step
from prism.lang.emit.pairs import pairs
from prism.lang.emit.rings import counters
from prism.lang.emit.single_thread import is_first, shared_part
from prism.lang.emit.speak import assert_lines, print_lines
from prism.lang.emit.trip_waits import move_wait
from prism.lang.facts.rooms import APART
from prism.lang.tree.walk import assigned_names, statements, subexpressions, terms
from prism.lang.types import BFLOAT16, FLOAT16, FLOAT32, INT32, Fragment, Pointer, Type
from prism.lang.types.perspective import BLOCK, WARP, Level, Perspective

_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')  # a text of a print or an assert may look like a remark
UNROLLED_TRIPS = 64  # of a loop that indexes registers: they are registers only if every index is a constant


def body(context: Context, statements: tree.Body) -> list[str]:
    """Return the lines of a statement list, with what the plan puts before and after each, not indented."""
    lines: list[str] = []
    pragma: list[str] = []
    said: tuple[str, int] | None = None
    for s in statements:
        line = s.span.file, s.span.line
        if context.said != (line if line == said else None):
            context = replace(context, said=line if line == said else None)
        said = line
        lines += [line for found in context.before.get(s, ()) for line in step(context, found)]
        if context.waits and s in context.waits.before:
            lines.append(WAIT + context.remark("for what the kernel before this one in its stream wrote"))
        if isinstance(s, tree.Unsafe) and s.text.startswith("#pragma"):
            pragma += statement(context, s)
            continue
        lines += before_loop(pragma, statement(context, s))
        pragma = []
        if isinstance(s, tree.Declare) and accumulates(s.symbol.type):
            context = replace(context, fragments=(*context.fragments, s.symbol))
        if context.waits and s in context.waits.behind:
            lines.append(WAIT + context.remark("if there was no trip"))
        lines += [line for found in context.after.get(s, ()) for line in step(context, found)]
    return [*lines, *pragma]


def accumulates(type_: Type) -> bool:
    """Whether a wgmma may add to it, or take it for its first operand."""
    wgmmas = (BFLOAT16, FLOAT16, FLOAT32, INT32)
    if not isinstance(type_, Fragment) or type_.threads != 128:
        return False
    return type_.element.bytes == 1 or type_.element in wgmmas


def before_loop(pragma: list[str], lines: list[str]) -> list[str]:
    """Return a statement's lines with a pragma before its loop, where it is one: bounds are evaluated before that."""
    at = next((k for k, line in enumerate(lines) if line.startswith(("for (", "while ("))), 0) if pragma else 0
    return [*lines[:at], *pragma, *lines[at:]]


def statement(context: Context, node: tree.Stmt) -> list[str]:  # noqa: C901
    """Return the lines of one statement."""
    s = cast(tree.AnyStmt, node)
    match s:
        case tree.Declare():
            return declare(context, s)
        case tree.SharedDeclare():
            return shared_declare(context, s)
        case tree.Assign():
            return assign(context, s)
        case tree.Evaluate():
            return [f"{expression(context.scope, s.value)};{context.note(s.span)}"]
        case tree.If():
            return branch(context, s)
        case tree.While():
            return block(f"while ({expression(context.scope, s.condition)})", context, s.span, body(context, s.body))
        case tree.For():
            return loop(context, s)
        case tree.Break():
            return [f"break;{context.note(s.span)}"]
        case tree.Continue():
            return [f"continue;{context.note(s.span)}"]
        case tree.Return():
            return leave(context, s)
        case tree.Group():
            return group(context, s)
        case tree.Split():
            return split(context, s)
        case tree.Partition() | tree.Claim() | tree.Async():
            return view(context, s)
        case tree.Batch():
            return batch(context, s)
        case tree.Turns():
            return turns.passage(context, s, block("", context, s.span, body(context, s.body)))
        case tree.Specialise():
            return specialise(context, s)
        case tree.Assert():
            return add_comment(context, s.span, assert_lines(context.scope, s, context.function))
        case tree.Breakpoint() | tree.Assume() | tree.Distinct():
            return []
        case tree.Print():
            return add_comment(context, s.span, print_lines(context.scope, s))
        case tree.Unsafe():
            note = context.note(s.span).strip()
            return [*([note] if note else []), *splice(context.scope, s).split("\n")]
        case _:
            assert_never(s)


def batch(context: Context, s: tree.Batch) -> list[str]:
    """The statements of a group; one that the source doesn't bracket has no braces here either."""
    lines = body(context, s.body)
    alone = len(s.body) == 1 and s.body[0].span.line == s.span.line
    return lines if alone or not s.body else block("", context, s.span, lines)


def add_comment(context: Context, span: Span, lines: list[str]) -> list[str]:
    """Return lines with the statement's line beside the first."""
    return [lines[0] + context.note(span), *lines[1:]]


def indent(lines: list[str]) -> list[str]:
    """Return lines one level further in."""
    return [INDENT + line for line in lines]


def block(head: str, context: Context, span: Span, lines: list[str]) -> list[str]:
    """Return `head { lines }`."""
    return [f"{head} {{".lstrip() + context.note(span), *indent(lines), "}"]


def scope(context: Context, span: Span, inner: tree.Body, lines: list[str]) -> list[str]:
    """Return `{ lines }`, the lines of `inner`; scopes of one `with` that do nothing in between have one pair of braces."""
    first = inner[0] if len(inner) == 1 else None
    if (
        isinstance(first, tree.Group | tree.Split | tree.Partition | tree.Claim | tree.Async)
        and (first.span.file, first.span.line) == (span.file, span.line)
        and context.bare(first)
    ):
        start = next((k for k, line in enumerate(lines) if line.startswith("{")), None)
        if start is not None and lines[-1] == "}":
            lines = [*lines[:start], *(line.removeprefix(INDENT) for line in lines[start + 1 : -1])]
    return block("", context, span, lines)


def is_used(name: str, lines: list[str]) -> bool:
    """Whether a name of the compiler's occurs in the code of some lines."""
    pattern = re.compile(rf"\b{re.escape(name)}\b")
    return any(pattern.search(_QUOTED.sub('""', line).split("  // ", 1)[0]) for line in lines)


def declare(context: Context, s: tree.Declare) -> list[str]:
    """`int x = e;`; an array is copied or filled by a loop, if it has a value at all."""
    name, note = context.scope.names[s.symbol], context.note(s.span)
    declared = declarator(s.symbol.type, name)
    if s.value is None:
        return [f"{declared};{note}"]
    value = expression(context.scope, s.value)
    if not registers(s.symbol.type):
        return [f"{declared} = {value};{note}"]
    return [f"{declared};{note}", *_fill(name, registers(s.symbol.type), value, s.value.type)]


def assign(context: Context, s: tree.Assign) -> list[str]:
    """`x = e;`; a fragment is filled, or copied, by a loop."""
    target, value = place_text(context.scope, s.target), expression(context.scope, s.value)
    if isinstance(s.target.type, Fragment):
        first, *more = _fill(target, registers(s.target.type), value, s.value.type)
        return [first, more[0] + context.note(s.span), *more[1:]]
    return [f"{target} = {value};{context.note(s.span)}"]


def _fill(name: str, shape: tuple[int, ...], value: str, type_: Type) -> list[str]:
    """Return the loops that copy an array into another, or one value into all its elements."""
    at = "".join(f"[px_k{k}]" for k in range(len(shape)))
    lines = [f"{name}{at} = {value}{at if registers(type_) else ''};"]
    for k, extent in reversed(list(enumerate(shape))):
        head = f"for (int px_k{k} = 0; px_k{k} < {extent}; ++px_k{k}) {{"
        lines = ["#pragma unroll", head, *indent(lines), "}"]
    return lines


def shared_declare(context: Context, s: tree.SharedDeclare) -> list[str]:
    """A typed pointer to the object's place in the frame."""
    assert isinstance(s.symbol.type, Pointer)
    element = element_cuda(s.symbol.type.element)
    layout = context.scope.layout
    start = context.scope.frame(layout.bytes if s.symbol in layout.sized else layout.offsets[s.symbol])
    start = f"{start}{room_before(context.scope, s.symbol)}"
    place = f"reinterpret_cast<{element}*>(px_shared{'' if start == '0u' else f' + {start}'})"
    return [f"{element}* const {context.scope.names[s.symbol]} = {place};{context.note(s.span)}"]


def room_before(scope: Scope, symbol: tree.Symbol) -> str:
    """Return what is added for the objects that are sized at launch and stand before one of them."""
    room, names = "", [*scope.names.values()]  # of parameters first
    for other, one in scope.layout.sized.items():
        if other is symbol:
            return room
        bytes_ = f"{launch_text(one.code, names, 'gridDim.x', 'blockDim.x')} * {one.bytes}ull"
        room += f" + ({bytes_} + {APART - 1}ull) / {APART}ull * {APART}ull"
    return ""


def leave(context: Context, s: tree.Return) -> list[str]:
    """`return e;`; of a kernel whose blocks reach into each other's memory, when none needs this one's any more."""
    value = "" if s.value is None else f" {expression(context.scope, s.value)}"
    return [*context.last, f"return{value};{context.note(s.span)}"]


def branch(context: Context, s: tree.If) -> list[str]:
    """`if ... else if ... else ...`: a chain where an `else` holds nothing but another `if`."""
    lines = block(f"if ({expression(context.scope, s.condition)})", context, s.span, body(context, s.then))
    if not s.otherwise:
        return lines
    rest = s.otherwise
    if len(rest) == 1 and isinstance(rest[0], tree.If) and context.bare(rest[0]):
        first, *more = branch(context, rest[0])
        return [*lines[:-1], f"}} else {first}", *more]
    return [*lines[:-1], "} else {", *indent(body(context, rest)), "}"]


# -- loops ------------------------------------------------------------------------------------------------------------


def loop(context: Context, s: tree.For) -> list[str]:
    """A counted loop; bounds that are not constants are evaluated once, before it."""
    if made := pairs(context, s):
        return made
    name, type_ = context.scope.names[s.symbol], type_cuda(s.symbol.type)
    before: list[str] = []
    start = expression(context.scope, s.start)
    stop, step = _bound(context, s.stop, "stop", before), _bound(context, s.step, "step", before)
    if counts_up(s.step, context.positive):
        more = f"{name} < {stop}"
    elif isinstance(s.step, tree.Const):
        more = f"{name} > {stop}"
    else:
        more = f"{step} > 0 ? {name} < {stop} : {name} > {stop}"
    if s.once:
        made = [f"const {type_} {name} = {start};", *body(context, s.body)]
        return [*before, *_part(context, s, f"if ({tight(start)} < {stop})", made)]
    advance = f"++{name}" if isinstance(s.step, tree.Const) and s.step.value == 1 else f"{name} += {step}"
    head, moved = f"for ({type_} {name} = {start}; {more}; {advance})", move_wait(context, s)
    lines = [*body(moved.context, s.body), *moved.lines]
    return [*before, *moved.lines, *_unrolling(s), *_part(context, s, head, lines)]


def _part(context: Context, s: tree.For, head: str, lines: list[str]) -> list[str]:
    """Return `head { lines }`; a piece of a loop says which it is."""
    first, *others = block(head, context, s.span, lines)
    return [first + (context.remark(f"{s.part_text} of the loop") if s.part else ""), *others]


def _bound(context: Context, e: tree.Expr, what: str, before: list[str]) -> str:
    text = expression(context.scope, e)
    if isinstance(e, tree.Const):
        return text
    name = f"px_{what}{next(context.fresh)}"
    before.append(f"const {type_cuda(e.type)} {name} = {text};")
    return name


def positive(body: tree.Body) -> frozenset[tree.Symbol]:
    """Return the variables that always have a value above 0: declared with one, as a number of units is, and never assigned."""
    changed = frozenset(assigned_names(body))
    found: set[tree.Symbol] = set()
    for s in statements(body):
        if (
            isinstance(s, tree.Declare)
            and s.symbol not in changed
            and s.value is not None
            and counts_up(s.value, found)
        ):
            found.add(s.symbol)
    return frozenset(found)


def counts_up(step: tree.Expr, above_0: Set[tree.Symbol]) -> bool:
    """Whether a step is known to be above 0."""
    match step:
        case tree.Const():
            return step.value > 0
        case tree.Var():
            return step.symbol in above_0
        case _:
            return isinstance(step, tree.Count)


def _unrolling(s: tree.For) -> list[str]:
    if s.unroll is True or (s.unroll is None and _wants_unrolling(s)):
        return ["#pragma unroll"]
    if s.unroll is False:
        return ["#pragma unroll 1"]
    return [] if s.unroll is None else [f"#pragma unroll {s.unroll}"]


def trips(s: tree.For) -> int | None:
    """Return a loop's number of trips, where it is a constant."""
    if (
        isinstance(s.start, tree.Const)
        and isinstance(s.stop, tree.Const)
        and isinstance(s.step, tree.Const)
        and s.step.value
    ):
        return len(range(int(s.start.value), int(s.stop.value), int(s.step.value)))
    return None


def _wants_unrolling(s: tree.For) -> bool:
    """Whether the loop indexes registers with its variable, or with what is computed from it, and is short.

    One over a fragment is unrolled however long: an accumulator must never be memory.
    """
    number = trips(s)
    if number is None:
        return False
    derived: set[tree.Symbol] = {s.symbol}
    for inner in statements(s.body):
        if isinstance(inner, (tree.Declare, tree.For)) and any(_mentions(e, derived) for e in tree.expressions(inner)):
            derived.add(inner.symbol)
        for part in terms(inner):
            fragment = isinstance(part, tree.Item) and isinstance(part.symbol.type, Fragment)
            if (fragment or number <= UNROLLED_TRIPS) and any(_mentions(i, derived) for i in _register_indices(part)):
                return True
    return False


def _register_indices(e: tree.Expr) -> tuple[tree.Expr, ...]:
    match e:
        case tree.Item():
            return e.indices
        case tree.Component():
            return (e.index,)
        case _:
            return ()


def _mentions(e: tree.Expr, symbols: set[tree.Symbol]) -> bool:
    return any(isinstance(part, tree.Var) and part.symbol in symbols for part in subexpressions(e))


# -- scopes -----------------------------------------------------------------------------------------------------------


def _positioned(context: Context, at: Position, inner: tree.Body) -> list[str]:
    """Return the lines of a scope: an index that is an expression gets a name, if it is used."""
    number = next(context.fresh)
    named = {"thread": f"px_t{number}", "block": f"px_b{number}"}
    texts = {"thread": at.thread, "block": at.block}
    position = {k: v if re.fullmatch(r"[\w.]+", v) else named[k] for k, v in texts.items()}
    lines = body(context.at(Position(at.code, position["thread"], position["block"], at.warp)), inner)
    names = [k for k in ("thread", "block") if position[k] == named[k] and is_used(named[k], lines)]
    return [*(f"const unsigned int {named[k]} = {texts[k]};" for k in names), *lines]


def group(context: Context, s: tree.Group) -> list[str]:
    """Every thread runs the body, with its index inside the unit."""
    here = context.scope.here
    at = replace(here, code=s.unit)
    if s.unit.level == Level.THREAD and s.unit != s.code:
        at = replace(at, thread=remainder(here.thread, s.unit.size), warp=here.index_in_group(s.unit.size))
    if s.unit.level == Level.BLOCK and s.unit != s.code:
        at = replace(at, block=remainder(here.block, s.unit.size))
    return scope(context, s.span, s.body, _positioned(context, at, s.body))


def split(context: Context, s: tree.Split) -> list[str]:
    """`if`s over the index of the thread, or of its block, inside the current unit; leftovers run nothing.

    In a role's text the arm is known where it has all of the role's threads that run the text.
    """
    here = context.scope.here
    index = here.block if s.level == Level.BLOCK else tight(thread_in(s.code, here))
    known = arm_of(context, s)
    if known is not None:
        return scope(context, known.span, known.body, _arm(context, s, known, index))
    whole = here if s.level == Level.THREAD and in_one_block(s.code) else replace(here, warp="")
    lines: list[str] = []
    before = 0
    for arm in s.arms:
        end = arm.first + arm.size
        tests = [_among(whole, index, ">=", arm.first)] if arm.first > before else []
        if not (s.level == s.code.level and end == s.code.size and (tests or lines)):
            tests.append(_among(whole, index, "<", end))
        head = f"if ({' && '.join(tests)})" if tests else ""
        head = f"}} else {head}".rstrip() if lines else head
        lines = [*lines[:-1], *block(head, context, arm.span, _arm(context, s, arm, index))]
        before = end if arm.first <= before else before  # past a gap, `else` doesn't keep out those in it
    return lines


def _among(here: Position, index: str, op: str, bound: int) -> str:
    """Return the test of a thread's index against a bound: of the warp's, where that is known, and the bound is a warp's end."""
    if here.warp and bound % WARP == 0:
        return f"{tight(here.warp)} {op} {bound // WARP}u"
    return f"{index} {op} {bound}u"


def arm_of(context: Context, s: tree.Split) -> tree.Arm | None:
    """Return the arm that all threads of the role, or of the block, run, where that is known; a role's one thread, if alone."""
    first, last = context.role or (0, context.threads)
    if context.alone and is_first(s, last - first):
        return s.arms[0]
    if s.code != BLOCK or s.level != Level.THREAD:
        return None
    return next((arm for arm in s.arms if arm.first <= first and last <= arm.first + arm.size), None)


def _arm(context: Context, s: tree.Split, arm: tree.Arm, index: str) -> list[str]:
    code = Perspective(s.level, arm.size)
    within = f"{index} - {arm.first}u" if arm.first else index
    here = context.scope.here
    if s.level == Level.BLOCK:
        return _positioned(context, replace(here, code=code, block=within), arm.body)
    warp = here.index_in_arm(arm.first, arm.size) if in_one_block(s.code) else ""
    return _positioned(context, replace(here, code=code, thread=within, warp=warp), arm.body)


def specialise(context: Context, s: tree.Specialise) -> list[str]:
    """One text a role, with counters of its own."""
    lines: list[str] = []
    before, end = context.role or (0, context.threads)
    for role in s.roles:
        first, last = role.first, role.first + role.size
        tests = [_among(context.scope.here, "threadIdx.x", ">=", first)] if first > before else []
        tests += [_among(context.scope.here, "threadIdx.x", "<", last)] if last < end else []
        head = f"if ({' && '.join(tests)})" if tests else ""
        head = f"}} else {head}".rstrip() if lines else head
        inner, shared = replace(context, role=(first, last)), shared_part(context, role)
        parted = any(isinstance(i, tree.Specialise) for i in role.body)  # then each of its roles counts for itself
        own = [] if parted else [*counters(context.rings, role.body), *turns.starts(inner, role.body)]
        made = [*own, *body(inner, role.body[:shared])]
        if shared < len(role.body):
            rest = body(replace(inner, alone=True), role.body[shared:])
            made += [f"if (threadIdx.x == {first}u) {{", *indent(rest), "}"]
        title = f"{head} {{".lstrip() + context.remark(f"threads {first} to {last - 1}")
        lines = [*lines[:-1], title, *indent(made), "}"]
        before = last if first <= before else before
    return lines


def view(context: Context, s: tree.Partition | tree.Claim | tree.Async) -> list[str]:
    """A scope whose name stands for elements of another: its offset, and a ring's copy, are evaluated here, once."""
    meaning, lines = s.view.view, body(context, s.body)
    if meaning is not None and meaning.offset is not None:
        symbol, value = meaning.offset
        name = context.scope.names[symbol]
        if is_used(name, lines):
            lines = [f"const {type_cuda(symbol.type)} {name} = {expression(context.scope, value)};", *lines]
    if meaning is not None and is_copy(s.view):
        name, ring = context.scope.names[s.view], meaning.source
        if is_used(name, lines):
            place = context.rings.copy(s.view, context.scope.names[ring])
            lines = [f"{type_cuda(s.view.type)} const {name} = {place};", *lines]
    return scope(context, s.span, s.body, lines) if s.body else []


# -- text of the user's ------------------------------------------------------------------------------------------------


def splice(scope: Scope, s: tree.Unsafe) -> str:
    """Return a text of the user's, in which a kernel's name is its variable's, a view's the address of its first element."""
    names = {name: functools.partial(_name, scope, symbol) for name, symbol in s.names.items()}
    return rename_words(s.text, names, field_words((symbol.type for symbol in s.names.values()), field_names))


def _name(scope: Scope, symbol: tree.Symbol) -> str:
    if symbol.view is None:
        return scope.names[symbol]
    return tight(address(scope, symbol, ("0",) * len(symbol.view.params)))
