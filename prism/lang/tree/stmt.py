"""The kinds of statements of the typed tree."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang.diagnostics import Span
from prism.lang.keep.bases import Frozen, node
from prism.lang.tree.expr import Element
from prism.lang.tree.nodes import Body, Expr, Stmt, Symbol
from prism.lang.types.perspective import Level, Perspective

__all__ = [
    "AnyStmt", "Arm", "Assert", "Assign", "Assume", "Async", "Batch", "Break", "Breakpoint", "Claim", "Continue",
    "Declare", "Distinct", "Evaluate", "For", "Group", "If", "Partition", "Piece", "Print", "Return", "Role",
    "SharedDeclare", "Specialise", "Split", "Turns", "Unsafe", "While", "Whole",
]  # fmt: skip


@node
class Declare(Stmt):
    """A local variable; `value` is None for arrays and where the source gives none."""

    symbol: Symbol
    value: Expr | None


@node
class SharedDeclare(Stmt):
    """A shared object of the block, uninitialised; `align` in bytes. `length`: how many elements, where the launch says that."""

    symbol: Symbol
    align: int
    length: Expr | None = None


@node
class Assign(Stmt):
    """`target = value`. Values are already cast to the target's type."""

    target: Expr
    value: Expr


@node
class Evaluate(Stmt):
    """A call for its effect."""

    value: Expr


@node
class If(Stmt):
    """A branch; the condition is uniform at the code's perspective."""

    condition: Expr
    then: Body
    otherwise: Body


@node
class While(Stmt):
    """A loop; the condition reads no memory (the checker rewrites one that does as `while True: if not c: break`)."""

    condition: Expr
    body: Body


class Whole(Frozen):
    """A range that several pieces of a loop have together, numbers `first` to `last`; `once`: at most one trip is in it."""

    start: Expr
    stop: Expr
    first: int
    last: int
    once: bool


class Piece(Frozen):
    """What a loop has of one that was split: the pieces with numbers `first` to `last`, from 1 on, of so many.

    `whole`: None, or what it has together with those beside it, which some threads need not have apart.
    """

    first: int
    last: int
    of: int
    whole: Whole | None = None


@node
class For(Stmt):
    """`for symbol in range(start, stop, step)`, bounds evaluated once; `unroll`: True, False, a factor or None.

    `part`: what piece it is of a loop that split_loops.py has split. `once`: it makes one trip at most.
    """

    symbol: Symbol
    start: Expr
    stop: Expr
    step: Expr
    body: Body
    unroll: bool | int | None = None
    part: Piece | None = None
    once: bool = False

    @property
    def part_text(self) -> str:
        """What a piece of a loop is called; nothing of a whole one."""
        if self.part is None:
            return ""
        first, last, of = self.part.first, self.part.last, self.part.of
        return f"part {first} of {of}" if first == last else f"parts {first} to {last} of {of}"


@node
class Break(Stmt):
    """Leaves the innermost loop."""


@node
class Continue(Stmt):
    """Goes to the innermost loop's next trip."""


@node
class Return(Stmt):
    """Leaves the function."""

    value: Expr | None


@node
class Group(Stmt):
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


@node
class Split(Stmt):
    """Different units run different arms; `level` is THREAD or BLOCK, sizes in its units; leftovers idle."""

    level: Level
    code: Perspective
    arms: tuple[Arm, ...]


@node
class Partition(Stmt):
    """In the body, `view` names each unit's own part of `view.view.source`; the whole of it, if the view is an `alias`."""

    view: Symbol
    code: Perspective
    body: Body


@node
class Claim(Stmt):
    """In the body, `view` names the source for the one unit whose arm uses it."""

    view: Symbol
    code: Perspective
    body: Body


@node
class Async(Stmt):
    """In the body, `view` names the source as the destination of asynchronous copies, which have ended when it is used again."""

    view: Symbol
    code: Perspective
    body: Body


@node
class Batch(Stmt):
    """wgmmas that are issued as one group: they read tiles and write accumulators until the group is waited for.

    A wgmma that stands alone is a batch of its own.
    """

    code: Perspective
    body: Body


@node
class Turns(Stmt):
    """The units of a role go through the body one after the other: unit i when unit i - 1 has left it, and then the first again.

    The role's threads are `first .. first + size - 1` of the block, and `unit` is what it is counted in; `name` is its name. It
    tells nobody of what others have done: it is an order of time alone.
    """

    name: str
    first: int
    size: int
    unit: Perspective
    code: Perspective
    body: Body

    @property
    def number(self) -> int:
        """How many units there are."""
        return self.size // self.unit.size

    @property
    def passage(self) -> tuple[object, ...]:
        """What its copies have in common: units of one role go through one place of the text in one order, wherever it stands."""
        return (self.span.file, self.span.line, self.span.column, self.first, self.size, self.unit)


class Role(Frozen):
    """Threads `first .. first + size - 1` of the block run `body`, a projection of the function's body onto them.

    Positions inside are as outside: `id()` and the like count from the block's first thread, not from the role's.
    """

    first: int
    size: int
    body: Body


@node
class Specialise(Stmt):
    """One body a role; threads of no role run nothing. Stands last in a kernel, or in a role; made by specialise.py."""

    roles: tuple[Role, ...]


@node
class Unsafe(Stmt):
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


@node
class Assert(Stmt):
    """`assert_(condition, text)`: the condition is uniform at the code's perspective."""

    condition: Expr
    text: str
    code: Perspective


@node
class Assume(Stmt):
    """`assume(condition)`: it holds for every thread that comes here; nothing is emitted. It reads no memory."""

    condition: Expr
    code: Perspective


@node
class Distinct(Stmt):
    """`assume(distinct(values))`: no two units of a launch ever have the same values here; nothing is emitted.

    `unit`: whose values they are, the narrowest of their perspectives.
    """

    values: tuple[Expr, ...]
    unit: Perspective
    code: Perspective


@node
class Print(Stmt):
    """`print_`: once for each unit of `code`; `texts` has None where the next value stands."""

    texts: tuple[str | None, ...]
    values: tuple[Expr, ...]
    code: Perspective


@node
class Breakpoint(Print):
    """`breakpoint()`: prints nothing; where the reference machine comes here, Python's debugger opens."""

    texts: tuple[str | None, ...] = ()
    values: tuple[Expr, ...] = ()


AnyStmt = (
    Declare | SharedDeclare | Assign | Evaluate | If | While | For | Break | Continue | Return | Group | Split |
    Partition | Claim | Async | Batch | Turns | Specialise | Unsafe | Assert | Assume | Distinct | Print
)  # fmt: skip
"""All kinds: what a `match` must know."""
