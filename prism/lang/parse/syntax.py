"""The syntax tree: what parse makes of a Python function. Names are not yet resolved, nothing is typed.

    function  = Function(name, parameters, result?, body, ...)
    parameter = Parameter(name, annotation, place?, default?)   -- `x: ptr(T) @ grid[1]`; annotation = the part before `@`
    statement = Declare(name, annotation, place?, value?)       -- `x: int @ thread[1] = e`; the place after the last `@`
              | Assign(target, value) | Together(targets, values) | Unpack(targets, value) | Augment(target, op, value)
              | Evaluate(value)
              | If(condition, then, otherwise) | While(condition, body) | For(name, bounds, unroll?, body)
              | Break | Continue | Return(value?) | Pass
              | Group(unit, body) | Split(level, arms)          -- arms: Case(size, body)
              | Partition(source, unit, offset?, races?, name, body)
              | Claim(source, unit, offset?, in_flight?, name, body)   -- unit: a perspective, or the Name of a role
              | Roles(names, level, sizes)                      -- `a, b = roles(warpgroup, 2, 1)`
              | Enter(role, body) | One(level, body)            -- `with a:`, `with one(thread):`
              | Turns(role, body)                               -- `with turns(a):`
              | Async(source, name, body) | Batch(body) | Unsafe(text)
              | Nested(function, requires, shared)              -- `def` inside a function
    expression = Name | Literal | Resolved | Unary | Binary | Conditional | Call | Subscript | Attribute | Lambda | Braces
               | Listed | Tuple

A `with` of several items is parsed as one `with` inside the other; where items claim for a role, the role's `Enter` stands
inside the last of them. `Resolved` is made by instantiate: a Python object that a name stood for (a dtype, a device function,
an intrinsic, a construct, a perspective). After instantiate every remaining Name is a local of the function. A comparison
chain `a < b < c` is parsed as `a < b and b < c`; `and`/`or` of several operands as nested Binary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from prism.lang.diagnostics import Span
from prism.lang.keep.bases import Plain, node


@node
class Node(Plain):
    """What all nodes have."""

    span: Span


# -- expressions ----------------------------------------------------------------------------------------------------------


@node
class Name(Node):
    """An identifier."""

    name: str


@node
class Literal(Node):
    """`3`, `2.5`, `True`, `"text"`."""

    value: bool | int | float | str


@node
class Resolved(Node):
    """A Python object that a name stood for, and how the source spells it."""

    value: object
    text: str


@node
class Unary(Node):
    """`op` is `-`, `~` or `not`; unary plus is dropped."""

    op: str
    operand: Expr


@node
class Binary(Node):
    """`op` as in Python: `+ - * / // % << >> & | ^ @ == != < <= > >= and or`."""

    op: str
    left: Expr
    right: Expr


@node
class Conditional(Node):
    """`then if condition else otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr


@node
class Call(Node):
    """`function(arguments, keywords)`."""

    function: Expr
    arguments: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]


@node
class Subscript(Node):
    """`base[i]`, `base[i, j]` and `base[i][j]` (then base is a Subscript itself)."""

    base: Expr
    indices: tuple[Expr, ...]


@node
class Attribute(Node):
    """`base.name`."""

    base: Expr
    name: str


@node
class Lambda(Node):
    """`lambda i, j: body`."""

    parameters: tuple[str, ...]
    body: Expr


@node
class Braces(Node):
    """`{ 0 }`, an array's initialiser; also a list `[a, b]` (template arguments)."""

    items: tuple[Expr, ...]


@node
class Listed(Node):
    """`[a, b]`, an array's elements; of lists where it has several extents."""

    items: tuple[Expr, ...]


@node
class Tuple(Node):
    """`a, b`: the values that a function returns, or the types of a result."""

    items: tuple[Expr, ...]


Expr = (
    Name | Literal | Resolved | Unary | Binary | Conditional | Call | Subscript | Attribute | Lambda | Braces | Listed | Tuple
)  # fmt: skip


# -- statements -----------------------------------------------------------------------------------------------------------


@node
class Declare(Node):
    """`name: annotation @ place = value`; `place` is None where the source omits it."""

    name: str
    name_span: Span
    annotation: Expr
    place: Expr | None
    value: Expr | None


@node
class Assign(Node):
    """`target = value`; the target is a Name or Subscript."""

    target: Expr
    value: Expr


@node
class Together(Node):
    """`a, b = b, a`: all values, then all assignments."""

    targets: tuple[Expr, ...]
    values: tuple[Expr, ...]


@node
class Unpack(Node):
    """`a, b = f(x)`: the value once, then all assignments."""

    targets: tuple[Expr, ...]
    value: Expr


@node
class Augment(Node):
    """`target op= value`."""

    target: Expr
    op: str
    value: Expr


@node
class Evaluate(Node):
    """An expression as a statement: a call."""

    value: Expr


@node
class If(Node):
    """`if condition: then else: otherwise`."""

    condition: Expr
    then: Body
    otherwise: Body


@node
class While(Node):
    """`while condition: body`."""

    condition: Expr
    body: Body


@node
class For(Node):
    """`for name in range(start, stop, step, unroll=...)`; omitted bounds are Literals 0 and 1."""

    name: str
    name_span: Span
    start: Expr
    stop: Expr
    step: Expr
    unroll: Expr | None
    body: Body


@node
class Break(Node):
    """`break`."""


@node
class Continue(Node):
    """`continue`."""


@node
class Return(Node):
    """`return` or `return value`."""

    value: Expr | None


@node
class Pass(Node):
    """`pass`; a docstring or `...` is one too."""


@node
class Group(Node):
    """`with group(unit): body`."""

    unit: Expr
    body: Body


@node
class Case(Node):
    """One arm of a split; `size` may name a template parameter (written `case (N)` or a dotted or plain name)."""

    size: Expr
    body: Body


@node
class Split(Node):
    """`match split(level): case n: ...`; `match level:` is accepted too."""

    level: Expr
    arms: tuple[Case, ...]


@node
class Partition(Node):
    """`with partition(source, unit, offset) as name: body`; `offset` is a value, a Lambda, or None."""

    source: Expr
    unit: Expr
    offset: Expr | None
    races: Expr | None
    name: str
    name_span: Span
    body: Body


@node
class Claim(Node):
    """`with claim(source, unit, offset) as name: body`; `unit` may name a role."""

    source: Expr
    unit: Expr
    offset: Expr | None
    in_flight: Expr | None
    name: str
    name_span: Span
    body: Body


@node
class Async(Node):
    """`with async_(source) as name: body`."""

    source: Expr
    name: str
    name_span: Span
    body: Body


@node
class Batch(Node):
    """`with wgmma_async(): body`."""

    body: Body


@node
class Roles(Node):
    """`first, second = roles(level, 2, 1)`: a split that is named, not made yet."""

    names: tuple[Name, ...]
    level: Expr
    sizes: tuple[Expr, ...]


@node
class Enter(Node):
    """`with role: body`: the one arm of a split. Made too by a claim for a role, which may stay open instead: `claimed`."""

    role: Name
    body: Body
    claimed: bool = False


@node
class One(Node):
    """`with one(level): body`: the first such unit runs it."""

    level: Expr
    body: Body


@node
class Turns(Node):
    """`with turns(role): body`: the role's units go through the body one after the other."""

    role: Name
    body: Body


@node
class Unsafe(Node):
    """`unsafe("text", reads=[...], writes=[...])`."""

    text: Expr
    keywords: tuple[tuple[str, Expr], ...]


@node
class Nested(Node):
    """`@requires(...) def name(...)` inside a function; `requires` is None where that is not there.

    `shared`: the names of the function around it that it says it assigns, `nonlocal n`.
    """

    function: Function
    requires: tuple[Expr, ...] | None
    shared: frozenset[str]


Stmt = (
    Declare | Assign | Together | Unpack | Augment | Evaluate | If | While | For | Break | Continue | Return | Pass
    | Group | Split | Partition | Claim | Roles | Enter | One | Turns | Async | Batch | Unsafe | Nested
)  # fmt: skip
Body = tuple[Stmt, ...]


@node
class Parameter(Node):
    """`name: annotation @ place = default`; `place` is None where the source omits it (an error that check reports)."""

    name: str
    annotation: Expr
    place: Expr | None
    default: Expr | None


@node
class Function(Node):
    """A parsed function; `span` is that of its name. `extern` when the body is just `pass`.

    `result` is the annotation after `->` before its `@`, `result_place` after it. `decorators` are kept for spans: the name of
    the decorator -> its expression's span. `length` is how many statements it has.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Expr | None
    result_place: Expr | None
    body: Body
    extern: bool
    decorators: tuple[tuple[str, Span], ...]
    length: int


# -- what a function binds -----------------------------------------------------------------------------------------------


def locals_of(function: Function) -> frozenset[str]:
    """Return the names that the function binds anywhere in its body, and its parameters."""
    return frozenset((*(p.name for p in function.parameters), *_bound_names(function.body)))


def _bound_names(body: Body) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, Declare | For | Partition | Claim | Async):
            yield statement.name
        if isinstance(statement, Assign) and isinstance(statement.target, Name):
            yield statement.target.name
        if isinstance(statement, Together | Unpack):
            yield from (target.name for target in statement.targets if isinstance(target, Name))
        if isinstance(statement, Roles):
            yield from (name.name for name in statement.names)
        if isinstance(statement, Nested):
            yield statement.function.name
        for inner in bodies(statement):
            yield from _bound_names(inner)


def bodies(statement: Stmt) -> tuple[Body, ...]:
    """Return the statement lists inside a statement."""
    match statement:
        case If():
            return (statement.then, statement.otherwise)
        case Split():
            return tuple(arm.body for arm in statement.arms)
        case While() | For() | Group() | Partition() | Claim() | Async() | Enter() | One() | Turns() | Batch():
            return (statement.body,)
        case _:
            return ()


def copy_tree(part: Any) -> Any:
    """Return a tree of nodes of its own: nodes are compared by identity, and this one stands in several places."""
    if isinstance(part, tuple):
        return tuple(map(copy_tree, part))
    if not isinstance(part, Node):
        return part
    return replace(part, **{one.name: copy_tree(getattr(part, one.name)) for one in type(part)._fields})
