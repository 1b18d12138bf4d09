"""Statements of the typed tree, and functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from operator import attrgetter
from typing import Any

from prism.lang.diagnostics import Span
from prism.lang.keep.bases import Frozen, Node
from prism.lang.tree.expression import Element, Expr, Symbol
from prism.lang.types import Type
from prism.lang.types.perspective import Bound, Level, Perspective


class Statement(Node):
    """What all statements have.

    `inlined`: the function at the top of whose text it stands, where that is compiled into another one; None of all others.
    """

    span: Span
    inlined: Inlined | None = None


class Declare(Statement):
    """A local variable; `value` is None for arrays and where the source gives none."""

    symbol: Symbol
    value: Expr | None


class SharedDeclare(Statement):
    """A shared object of the block, uninitialised; `align` in bytes."""

    symbol: Symbol
    align: int


class Assign(Statement):
    """`target = value`. Values are already cast to the target's type."""

    target: Expr
    value: Expr


class Evaluate(Statement):
    """A call for its effect."""

    value: Expr


class If(Statement):
    """A branch; the condition is uniform at the code's perspective."""

    condition: Expr
    then: Body
    otherwise: Body


class While(Statement):
    """A loop; the condition reads no memory (the checker rewrites one that does as `while True: if not c: break`)."""

    condition: Expr
    body: Body


class For(Statement):
    """`for symbol in range(start, stop, step)`, bounds evaluated once; `unroll`: True, False, a factor or None."""

    symbol: Symbol
    start: Expr
    stop: Expr
    step: Expr
    body: Body
    unroll: bool | int | None = None


class Break(Statement):
    """Leaves the innermost loop."""


class Continue(Statement):
    """Goes to the innermost loop's next trip."""


class Return(Statement):
    """Leaves the function."""

    value: Expr | None


class Group(Statement):
    """Every unit of `unit` inside the current one runs the body."""

    unit: Perspective
    code: Perspective
    body: Body


class Arm(Frozen):
    """One case of a split: units `first .. first + size - 1` of the split's level run the body. `name`: a role's, or none."""

    first: int
    size: int
    body: Body
    span: Span
    name: str = ""


class Split(Statement):
    """Different units run different arms; `level` is THREAD or BLOCK, sizes in its units; leftovers idle."""

    level: Level
    code: Perspective
    arms: tuple[Arm, ...]


class Inlined(Frozen):
    """A device function whose text is compiled into another one, and the call that it stands for.

    `within`: the function in whose text that call stands, where that is compiled in too.
    """

    name: str
    bound: Bound
    parameters: tuple[Symbol, ...]
    template: Mapping[str, object]
    span: Span
    call: Span
    within: Inlined | None


class Partition(Statement):
    """In the body, `view` names each unit's own part of `view.view.source`; the whole of it, if the view is an `alias`."""

    view: Symbol
    code: Perspective
    body: Body


class Claim(Statement):
    """In the body, `view` names the source for the one unit whose arm uses it."""

    view: Symbol
    code: Perspective
    body: Body


class Async(Statement):
    """In the body, `view` names the source as the destination of asynchronous copies, which have ended when it is used again."""

    view: Symbol
    code: Perspective
    body: Body


class Batch(Statement):
    """wgmmas that are issued as one group: they read tiles and write accumulators until the group is waited for.

    A wgmma that stands alone is a batch of its own.
    """

    code: Perspective
    body: Body


class Role(Frozen):
    """Threads `first .. first + size - 1` of the block run `body`, a projection of the function's body onto them.

    Positions inside are as outside: `id()` and the like count from the block's first thread, not from the role's.
    """

    first: int
    size: int
    body: Body


class Specialise(Statement):
    """One body a role; threads of no role run nothing. Stands last in a kernel, or in a role; made by specialise.py."""

    roles: tuple[Role, ...]


class Unsafe(Statement):
    """Text spliced into the emitted code; nothing in it is checked.

    `names`: what the words of the text stand for. `uses`: all that it touches, in order, as `meaning` takes them; `writes`: the
    local variables among those that it writes; `accesses`: the memory, each with `read` or `write`. `listed`: whether the
    source says so, or it is what the text mentions. `returns`: it is the body of an extern function with a result.
    """

    text: str
    names: Mapping[str, Symbol]
    uses: tuple[Symbol, ...]
    writes: tuple[Symbol, ...]
    accesses: tuple[tuple[Element, str], ...]
    listed: bool
    meaning: object
    code: Perspective
    returns: bool = False


class Assert(Statement):
    """`assert_(condition, text)`: the condition is uniform at the code's perspective."""

    condition: Expr
    text: str
    code: Perspective


class Assume(Statement):
    """`assume(condition)`: it holds for every thread that comes here; nothing is emitted. It reads no memory."""

    condition: Expr
    code: Perspective


class Distinct(Statement):
    """`assume(distinct(values))`: no two units of a launch ever have the same values here; nothing is emitted.

    `unit`: whose values they are, the narrowest of their perspectives.
    """

    values: tuple[Expr, ...]
    unit: Perspective
    code: Perspective


class Print(Statement):
    """`print_`: once for each unit of `code`; `texts` has None where the next value stands."""

    texts: tuple[str | None, ...]
    values: tuple[Expr, ...]
    code: Perspective


class Breakpoint(Print):
    """`breakpoint()`: prints nothing; where the reference machine comes here, Python's debugger opens."""

    texts: tuple[str | None, ...] = ()
    values: tuple[Expr, ...] = ()


Stmt = (
    Declare
    | SharedDeclare
    | Assign
    | Evaluate
    | If
    | While
    | For
    | Break
    | Continue
    | Return
    | Group
    | Split
    | Partition
    | Claim
    | Async
    | Batch
    | Specialise
    | Unsafe
    | Assert
    | Assume
    | Distinct
    | Print
)
Body = tuple[Stmt, ...]


class Function(Node):
    """A checked function, all template arguments bound. `identifier` is unique in a program and safe in C++."""

    name: str
    identifier: str
    kind: str
    bound: Bound
    parameters: tuple[Symbol, ...]
    result: Type
    result_perspective: Perspective | None
    body: Body
    shared_limit: int | None
    attributes: tuple[str, ...]
    may_alias: tuple[frozenset[str], ...]
    pure: bool
    template: Mapping[str, object]
    file: str
    span: Span
    trusts: frozenset[str] = frozenset()
    """Const pointer parameters that are loaded once for several threads: nobody may write that memory meanwhile."""
    cooperative: bool = False
    """Whether all blocks of the grid run at once, and can meet at a barrier."""
    demands: tuple[tuple[int, Span], ...] = ()
    """Of how many threads the block that runs it must be, and where that is said."""
    inlined: Inlined | None = None
    """What it is, where it is shown as if it stood alone, and is compiled into another one."""
    launch_bounds: tuple[int, ...] = ()
    """The numbers of its `__launch_bounds__`: threads of a block, blocks of a multiprocessor; none where it has none."""
    notes: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    """What was found out about it (once.py), by what was asked."""


def children(statement: Stmt) -> tuple[Body, ...]:
    """Return the statement lists inside a statement, in program order."""
    of = _CHILDREN.get(type(statement))
    return () if of is None else of(statement)


def expressions(statement: Stmt) -> tuple[Expr, ...]:
    """Return the expressions that a statement itself evaluates, in order (not those of statements inside it)."""
    of = _EXPRESSIONS.get(type(statement))
    return () if of is None else of(statement)


def _value(statement: Declare | Return) -> tuple[Expr, ...]:
    return () if statement.value is None else (statement.value,)


def _offset(statement: Partition | Claim) -> tuple[Expr, ...]:
    view = statement.view.view
    return () if view is None or view.offset is None else (view.offset[1],)


# By class, as no `match` is as fast: what looks through a program asks this of all its statements.
_CHILDREN: Mapping[type, Callable[[Any], tuple[Body, ...]]] = {
    If: attrgetter("then", "otherwise"),
    **dict.fromkeys((While, For, Group, Partition, Claim, Async, Batch), lambda s: (s.body,)),
    Specialise: lambda s: tuple(role.body for role in s.roles),
    Split: lambda s: tuple(arm.body for arm in s.arms),
}
_EXPRESSIONS: Mapping[type, Callable[[Any], tuple[Expr, ...]]] = {
    Declare: _value,
    Return: _value,
    Assign: attrgetter("value", "target"),
    Evaluate: lambda s: (s.value,),
    **dict.fromkeys((If, While, Assert, Assume), lambda s: (s.condition,)),
    **dict.fromkeys((Print, Breakpoint, Distinct), attrgetter("values")),
    For: attrgetter("start", "stop", "step"),
    Partition: _offset,
    Claim: _offset,
}
