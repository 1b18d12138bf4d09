"""The typed tree: what the checker makes, and what flow, sync, races, place, emit and the reference machine read.

    function  = Function(name, kind, bound, parameters, result, body, ...)
    statement = Declare(symbol, value?)            -- a local; arrays without a value are uninitialised
              | SharedDeclare(symbol, align)       -- a shared object; symbol.type is Pointer(space="shared", shape=...)
              | Assign(target, value)              -- target = Var | Item | Element | Component; `+=` is spelled out
              | Evaluate(call)                     -- a call for its effect
              | If(condition, then, otherwise) | While(condition, body) | For(symbol, start, stop, step, body, unroll)
              | Break | Continue | Return(value?)
              | Group(unit, body)                  -- all units run the body, each for itself
              | Split(unit_level, arms)            -- Arm(first, size, body): sizes and offsets in threads or blocks
              | Partition(view, body) | Claim(view, body)   -- view.view tells what the new name means
              | Async(view, body)                  -- the view is the destination of copies that end after the body, not before
              | Batch(body)                        -- wgmma_async(): the wgmmas of the body are one group
              | Specialise(roles)                  -- made by specialise.py only: each thread runs the body of its role
              | Assert(condition, text) | Print(texts, values) | Breakpoint()
              | Unsafe(text, ...)                  -- text for the emitted code, with its effects as declared
    expression = Const | Var | Unary | Binary | Select | Cast | Item | Element | Component | Id | Count | Place | Call | Apply

Nodes are compared by identity: a statement is its own key in a plan. Each expression has `.type` and `.perspective`: the
value is the same for all threads of one such unit. `Element` is memory: read where it is an operand, written where it is a
target, an address where it is an argument of an intrinsic whose parameter is an `element`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prism.lang.diagnostics import Span
from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.perspective import GRID, Bound, Level, Perspective
from prism.lang.types import Array, Fragment, Pointer, Scalar, TensorMap, Type, Vector


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """What a partition's or claim's name means: `new[i]` is `source[index]`, `index` an expression over `params`.

    `offset` is evaluated once, on entry, into a symbol of its own (perspective: the unit's); a lambda has none. A view of a
    ring (`source.type.ring`) names the copy of the present visit; `in_flight`: how many visits later asynchronous readers of
    the copy are waited for. `ahead`, made by skew.py only: it names the copy that is filled ahead.
    """

    source: Symbol
    unit: Perspective
    params: tuple[Symbol, ...]
    index: tuple[Expr, ...]
    offset: tuple[Symbol, Expr] | None = None
    races: str = "check"
    in_flight: int = 0
    ahead: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Symbol:
    """A name in force: a parameter, a local, a shared object, a loop's index, a view."""

    name: str
    type: Type
    perspective: Perspective
    span: Span
    view: View | None = None
    parameter: bool = False
    const: bool = False

    def root(self) -> Symbol:
        """Return the object behind a chain of views."""
        symbol = self
        while symbol.view is not None:
            symbol = symbol.view.source
        return symbol


# -- expressions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Expression:
    """What all expressions have."""

    type: Type
    perspective: Perspective
    span: Span


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Const(Expression):
    """A literal or constexpr value; lives at grid[1]."""

    value: bool | int | float
    perspective: Perspective = GRID


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Var(Expression):
    """A symbol's value; for arrays, the array itself (by reference); for pointers, the pointer."""

    symbol: Symbol


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Unary(Expression):
    """`op` is `-`, `~` or `not`."""

    op: str
    operand: Expr


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Binary(Expression):
    """`op` is one of `+ - * / % << >> & | ^ == != < <= > >= and or`; both operands have the same type, but for shifts.

    Integer `/` and `%` are C's (truncating). Comparisons, `and`, `or` give bool.
    """

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Select(Expression):
    """`then if condition else otherwise`; only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Cast(Expression):
    """A conversion between scalars, as C converts."""

    operand: Expr


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Item(Expression):
    """An element of a local array, or of a thread's part of a fragment (one index, below its type's `size`)."""

    symbol: Symbol
    indices: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Element(Expression):
    """An element of memory, through a pointer, a shared object or a view. Indices are as written: views map them.

    Of a tensor map: the tile that begins there, the operand of a tensor copy. As a `tile` operand of an intrinsic: what
    begins there in its tile.
    """

    symbol: Symbol
    indices: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Component(Expression):
    """`vector[index]`; `vector` is a Var or Item of Vector type (any vector expression where it is read)."""

    vector: Expr
    index: Expr


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Id(Expression):
    """The index of unit `unit` inside the current unit of the code's perspective `code`."""

    unit: Perspective
    code: Perspective


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Count(Expression):
    """How many units `unit` the current unit of the code's perspective `code` has."""

    unit: Perspective
    code: Perspective


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Place(Expression):
    """Row (`axis` 0) or column (1) of element `index` of this thread's part of a fragment.

    With t the thread's index inside the fragment's unit, lane = t % 32, and strip the elements that it keeps of each 64 rows:
    row = index / strip * 64 + t / 32 * 16 + lane / 4 + index / 2 % 2 * 8, column = index % strip / 4 * 8 + lane % 4 * 2 +
    index % 2. (A warp's fragment has 16 rows: index / strip is 0.)
    """

    symbol: Symbol
    index: Expr
    axis: int


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Call(Expression):
    """A device function called; every `function.bound.code` unit inside the current one runs it."""

    function: Function
    arguments: tuple[Expr, ...]
    code: Perspective


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Apply(Expression):
    """An intrinsic applied. `statics` are its compile-time arguments."""

    intrinsic: Intrinsic
    arguments: tuple[Expr, ...]
    statics: Mapping[str, object] = field(default_factory=dict)
    code: Perspective


Expr = Const | Var | Unary | Binary | Select | Cast | Item | Element | Component | Id | Count | Place | Call | Apply


# -- statements -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Statement:
    """What all statements have."""

    span: Span


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Declare(Statement):
    """A local variable; `value` is None for arrays and where the source gives none."""

    symbol: Symbol
    value: Expr | None


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class SharedDeclare(Statement):
    """A shared object of the block, uninitialised; `align` in bytes."""

    symbol: Symbol
    align: int


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Assign(Statement):
    """`target = value`. Values are already cast to the target's type."""

    target: Expr
    value: Expr


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Evaluate(Statement):
    """A call for its effect."""

    value: Expr


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class If(Statement):
    """A branch; the condition is uniform at the code's perspective."""

    condition: Expr
    then: Body
    otherwise: Body


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class While(Statement):
    """A loop; the condition reads no memory (the checker rewrites one that does as `while True: if not c: break`)."""

    condition: Expr
    body: Body


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class For(Statement):
    """`for symbol in range(start, stop, step)`, bounds evaluated once; `unroll`: True, False, a factor or None."""

    symbol: Symbol
    start: Expr
    stop: Expr
    step: Expr
    body: Body
    unroll: bool | int | None = None


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Break(Statement):
    """Leaves the innermost loop."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Continue(Statement):
    """Goes to the innermost loop's next trip."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Return(Statement):
    """Leaves the function."""

    value: Expr | None


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Group(Statement):
    """Every unit of `unit` inside the current one runs the body."""

    unit: Perspective
    code: Perspective
    body: Body


@dataclass(frozen=True, eq=False, slots=True)
class Arm:
    """One case of a split: units `first .. first + size - 1` of the split's level run the body. `name`: a role's, or none."""

    first: int
    size: int
    body: Body
    span: Span
    name: str = ""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Split(Statement):
    """Different units run different arms; `level` is THREAD or BLOCK, sizes in its units; leftovers idle."""

    level: Level
    code: Perspective
    arms: tuple[Arm, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Partition(Statement):
    """In the body, `view` names each unit's own part of `view.view.source`."""

    view: Symbol
    code: Perspective
    body: Body


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Claim(Statement):
    """In the body, `view` names the source for the one unit whose arm uses it."""

    view: Symbol
    code: Perspective
    body: Body


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Async(Statement):
    """In the body, `view` names the source as the destination of asynchronous copies, which have ended when it is used again."""

    view: Symbol
    code: Perspective
    body: Body


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Batch(Statement):
    """wgmmas that are issued as one group: they read tiles and write accumulators until the group is waited for.

    A wgmma that stands alone is a batch of its own.
    """

    code: Perspective
    body: Body


@dataclass(frozen=True, eq=False, slots=True)
class Role:
    """Threads `first .. first + size - 1` of the block run `body`, a projection of the function's body onto them.

    Positions inside are as outside: `id()` and the like count from the block's first thread, not from the role's.
    """

    first: int
    size: int
    body: Body


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Specialise(Statement):
    """One body a role; threads of no role run nothing. Stands last in a kernel, or in a role; made by specialise.py."""

    roles: tuple[Role, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
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


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Assert(Statement):
    """`assert_(condition, text)`: the condition is uniform at the code's perspective."""

    condition: Expr
    text: str
    code: Perspective


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Print(Statement):
    """`print_`: once for each unit of `code`; `texts` has None where the next value stands."""

    texts: tuple[str | None, ...]
    values: tuple[Expr, ...]
    code: Perspective


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
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
    | Print
)
Body = tuple[Stmt, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Function:
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


def children(statement: Stmt) -> tuple[Body, ...]:
    """Return the statement lists inside a statement, in program order."""
    match statement:
        case If():
            return (statement.then, statement.otherwise)
        case While() | For() | Group() | Partition() | Claim() | Async() | Batch():
            return (statement.body,)
        case Specialise():
            return tuple(role.body for role in statement.roles)
        case Split():
            return tuple(arm.body for arm in statement.arms)
        case _:
            return ()


def operands(expression: Expr) -> tuple[Expr, ...]:
    """Return the direct subexpressions of an expression, in evaluation order."""
    match expression:
        case Unary() | Cast():
            return (expression.operand,)
        case Binary():
            return (expression.left, expression.right)
        case Select():
            return (expression.condition, expression.then, expression.otherwise)
        case Item() | Element():
            return expression.indices
        case Component():
            return (expression.vector, expression.index)
        case Place():
            return (expression.index,)
        case Call() | Apply():
            return expression.arguments
        case _:
            return ()


def expressions(statement: Stmt) -> tuple[Expr, ...]:
    """Return the expressions that a statement itself evaluates, in order (not those of statements inside it)."""
    match statement:
        case Declare():
            return () if statement.value is None else (statement.value,)
        case Assign():
            return (statement.value, statement.target)
        case Evaluate():
            return (statement.value,)
        case If() | While() | Assert():
            return (statement.condition,)
        case Print():
            return statement.values
        case For():
            return (statement.start, statement.stop, statement.step)
        case Return():
            return () if statement.value is None else (statement.value,)
        case Partition() | Claim():
            view = statement.view.view
            return () if view is None or view.offset is None else (view.offset[1],)
        case _:
            return ()


__all__ = [
    "Apply", "Arm", "Array", "Assert", "Assign", "Async", "Batch", "Binary", "Body", "Break", "Breakpoint", "Call", "Cast",
    "Claim", "Component", "Const", "Continue", "Count", "Declare", "Element", "Evaluate", "Expr", "Expression", "For", "Fragment",
    "Function", "Group", "Id", "If", "Item", "Partition", "Place", "Pointer", "Print", "Return", "Role", "Scalar", "Select",
    "SharedDeclare", "Specialise", "Split", "Statement", "Stmt", "Symbol", "TensorMap", "Unary", "Unsafe", "Var", "Vector",
    "View", "While", "children", "expressions", "operands",
]  # fmt: skip
