"""The nodes of the typed tree: names in force, expressions, statements, functions.

They stand in one module, as an expression may call a function, which has statements, which have expressions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from prism.lang.diagnostics import Span
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.keep.bases import Frozen, Node
from prism.lang.types import Type
from prism.lang.types.perspective import GRID, Bound, Level, Perspective

__all__ = [
    "Apply", "Arm", "Assert", "Assign", "Assume", "Async", "Batch", "Binary", "Body", "Break", "Breakpoint", "Call", "Cast",
    "Claim", "Component", "Const", "Continue", "Count", "Declare", "Distinct", "Element", "Evaluate", "Expr", "Expression",
    "For", "Function", "Group", "Id", "If", "Inlined", "Item", "Partition", "Piece", "Place", "Print", "Return", "Role", "Select",
    "SharedDeclare", "Specialise", "Split", "Statement", "Stmt", "Symbol", "Turns", "Unary", "Unsafe", "Var", "View", "While",
    "Whole",
]  # fmt: skip


class View(Frozen):
    """What a partition's or claim's name means: `new[i]` is `source[index]`, `index` an expression over `params`.

    `offset` is evaluated once, on entry, into a symbol of its own (perspective: the unit's); a lambda has none. A view of a
    ring (`source.type.ring`) names the copy of the present visit; `in_flight`: how many visits later asynchronous readers of
    the copy are waited for. `ahead`, made by skew.py only: it names the copy that is filled ahead. `alias`: a parameter of a
    function that is compiled in here; it is the source itself, by another name.
    """

    source: Symbol
    unit: Perspective
    params: tuple[Symbol, ...]
    index: tuple[Expr, ...]
    offset: tuple[Symbol, Expr] | None = None
    races: str = "check"
    in_flight: int = 0
    ahead: bool = False
    alias: bool = False


class Symbol(Frozen):
    """A name in force: a parameter, a local, a shared object, a loop's index, a view."""

    name: str
    type: Type
    perspective: Perspective
    span: Span
    view: View | None = None
    parameter: bool = False
    const: bool = False
    default: bool | int | float | None = None
    """What a parameter is where a call leaves it out."""

    def itself(self) -> Symbol:
        """Return what an alias is another name of; any other symbol as it is."""
        symbol = self
        while symbol.view is not None and symbol.view.alias:
            symbol = symbol.view.source
        return symbol

    def root(self) -> Symbol:
        """Return the object behind a chain of views."""
        symbol = self
        while symbol.view is not None:
            symbol = symbol.view.source
        return symbol


class Expression(Node):
    """What all expressions have."""

    type: Type
    perspective: Perspective
    span: Span


class Const(Expression):
    """A literal or constexpr value; lives at grid[1]."""

    value: bool | int | float
    perspective: Perspective = GRID


class Var(Expression):
    """A symbol's value; for arrays, the array itself (by reference); for pointers, the pointer."""

    symbol: Symbol


class Unary(Expression):
    """`op` is `-`, `~` or `not`."""

    op: str
    operand: Expr


class Binary(Expression):
    """`op` is one of `+ - * / % << >> & | ^ == != < <= > >= and or`; both operands have the same type, but for shifts.

    Integer `/` and `%` are C's (truncating). Comparisons, `and`, `or` give bool.
    """

    op: str
    left: Expr
    right: Expr


class Select(Expression):
    """`then if condition else otherwise`; only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr


class Cast(Expression):
    """A conversion between scalars, as C converts."""

    operand: Expr


class Item(Expression):
    """An element of a local array, or of a thread's part of a fragment (one index, below its type's `size`)."""

    symbol: Symbol
    indices: tuple[Expr, ...]


class Element(Expression):
    """An element of memory, through a pointer, a shared object or a view. Indices are as written: views map them.

    Of a tensor map: the tile that begins there, the operand of a tensor copy. As a `tile` operand of an intrinsic: what
    begins there in its tile.
    """

    symbol: Symbol
    indices: tuple[Expr, ...]


class Component(Expression):
    """`vector[index]`; `vector` is a Var or Item of Vector type (any vector expression where it is read)."""

    vector: Expr
    index: Expr


class Id(Expression):
    """The index of unit `unit` inside the current unit of the code's perspective `code`."""

    unit: Perspective
    code: Perspective


class Count(Expression):
    """How many units `unit` the current unit of the code's perspective `code` has."""

    unit: Perspective
    code: Perspective


class Place(Expression):
    """Row (`axis` 0) or column (1) of element `index` of this thread's part of a fragment.

    With t the thread's index inside the fragment's unit, lane = t % 32, and strip the elements that it keeps of each 64 rows:
    row = index / strip * 64 + t / 32 * 16 + lane / 4 + index / 2 % 2 * 8, column = index % strip / 4 * 8 + lane % 4 * 2 +
    index % 2. (A warp's fragment has 16 rows: index / strip is 0.)
    """

    symbol: Symbol
    index: Expr
    axis: int


class Call(Expression):
    """A device function called; every `function.bound.code` unit inside the current one runs it."""

    function: Function
    arguments: tuple[Expr, ...]
    code: Perspective


class Apply(Expression):
    """An intrinsic applied. `statics` are its compile-time arguments."""

    intrinsic: Intrinsic
    arguments: tuple[Expr, ...]
    statics: Mapping[str, object] = field(default_factory=dict)
    code: Perspective


Expr = Const | Var | Unary | Binary | Select | Cast | Item | Element | Component | Id | Count | Place | Call | Apply


# -- statements --------------------------------------------------------------------------------------------------------


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


class For(Statement):
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


class Turns(Statement):
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
    | Turns
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
