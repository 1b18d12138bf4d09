"""The syntax of Bundl, printed and corrected: all of it on this screen.

    h ::= Thread | Block | Grid            l ::= Local | Shared | Global            pi ::= (h, n)
    b ::= bool | int | float               t ::= b | b[]^l | Fun(x:^q t .., pi, m) | async_phi b[]^l
    e ::= x | n | f | true | false         Var Int Float Bool
        | partition_id                     Id           which unit of the demanded perspective this thread is in
        | e[e]                             Index
        | e bop e | e cmp e                Bop Cmp
    s ::= skip | s ; s                     Skip Seq
        | f(e ..)                          Call
        | split(n1, n2) {s} {s}            Split        first n1 members, next n2; the rest idle
        | destruct in s                    Destruct     the same unit, one level lower
        | group q s                        Group        q units of equal size, each runs s
        | x = e | e[e] = e                 Assign Store
        | x : t @ pi = e in s              Declare
        | x := alloc l b n [@ pi] in s     Alloc        `@`: for units narrower than the code's, if Local
        | if e then s else s | while e do s          If While
        | partition_psi x into y by c [at e, e, e] in s     Partition    the code stays; `at`: offset, step, length
        | claim_psi x into y at n [arm a] in s              Claim        the a-th unit of n owns y and runs s
        | lower_psi x into y in s                           Lower
        | async_partition_phi x into y in s | async_memcpy_phi(x, y) | memcpy(x, y)    AsyncPartition AsyncMemcpy Memcpy
    run time only, below (print lets all but the last five be written too):
        | init_psi | dec_psi | wait_psi    Init Dec Wait     in the corrected calculus `dec` arrives and init is unused
        | free n                           Free
        | leave x[n] l                     Leave        give the cells of x back, once each of their owners has arrived
        | arm a of n {s}                   Arm          a claim under way: a split of one arm
        | scope x : t @ pi [hides z] [holds m] {s}   Scope        x is bound while s runs, and m bytes of shared memory are used
        | frame (x : t @ q ..) @ pi uses m {s}       Frame        a call under way

`[..]` is the project's: with it left out a term is a printed one. Nodes are immutable, compare by structure and keep
their hash, so that a state of the machine can be a key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, TypeVar, dataclass_transform

from prism.lang.types.perspective import Perspective

C = TypeVar("C", bound="Node")


class Node:
    """A term or a type; its hash is computed once."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass_transform(frozen_default=True)
def node(cls: type[C]) -> type[C]:
    """Make a frozen dataclass with slots whose hash is kept and whose equality tries identity and hash first."""
    made = dataclass(frozen=True, slots=True)(cls)
    same: Callable[[Any, Any], bool] = made.__eq__  # compares tuples of fields, and those by identity first
    code: Callable[[Any], int] = made.__hash__
    salt = hash(made.__name__)

    def __hash__(self: Any) -> int:
        try:
            return self._hash  # type: ignore[no-any-return]
        except AttributeError:
            value = code(self) ^ salt
            object.__setattr__(self, "_hash", value)
            return value

    def __eq__(self: Any, other: object) -> bool:
        if self is other:
            return True
        return other.__class__ is made and hash(self) == hash(other) and same(self, other)

    made.__hash__ = __hash__  # type: ignore[method-assign]
    made.__eq__ = __eq__  # type: ignore[method-assign]
    return made


# Types. ------------------------------------------------------------------------------------------------------------


class Kind(Enum):
    """Where an array lives."""

    LOCAL = "local"
    SHARED = "shared"
    GLOBAL = "global"

    __hash__ = object.__hash__


class Base(Enum):
    """What a cell holds; `bytes` is what size(b) charges."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"

    __hash__ = object.__hash__

    @property
    def bytes(self) -> int:
        return 1 if self is Base.BOOL else 4

    @property
    def zero(self) -> bool | int | float:
        return {"bool": False, "int": 0, "float": 0.0}[self.value]


@node
class ArrayOf(Node):
    element: Base
    kind: Kind


@node
class Async(Node):
    """An array that copies are on their way to; only `async_memcpy` of the same phi may name it."""

    array: ArrayOf
    phi: str


@node
class Param(Node):
    name: str
    type: Base | ArrayOf
    at: Perspective


@node
class Fun(Node):
    params: tuple[Param, ...]
    at: Perspective
    budget: int


Type = Base | ArrayOf | Async | Fun

# Expressions. ------------------------------------------------------------------------------------------------------


@node
class Var(Node):
    name: str


@node
class Int(Node):
    value: int


@node
class Float(Node):
    value: float


@node
class Bool(Node):
    value: bool


@node
class Id(Node):
    pass


@node
class Index(Node):
    array: Expr
    index: Expr


@node
class Bop(Node):
    op: str  # + - * / %
    left: Expr
    right: Expr


@node
class Cmp(Node):
    op: str  # == != < <=
    left: Expr
    right: Expr


Expr = Var | Int | Float | Bool | Id | Index | Bop | Cmp

# Statements. -------------------------------------------------------------------------------------------------------


@node
class Skip(Node):
    pass


@node
class Seq(Node):
    first: Stmt
    second: Stmt


@node
class Call(Node):
    function: str
    args: tuple[Expr, ...]


@node
class Split(Node):
    left: int
    right: int
    first: Stmt
    second: Stmt


@node
class Destruct(Node):
    body: Stmt


@node
class Group(Node):
    parts: int
    body: Stmt


@node
class Assign(Node):
    name: str
    value: Expr


@node
class Store(Node):
    array: Expr
    index: Expr
    value: Expr


@node
class Declare(Node):
    name: str
    type: Base
    at: Perspective
    value: Expr
    body: Stmt


@node
class Alloc(Node):
    name: str
    kind: Kind
    element: Base
    count: int
    body: Stmt
    at: Perspective | None = None


@node
class If(Node):
    test: Expr
    then: Stmt
    other: Stmt


@node
class While(Node):
    test: Expr
    body: Stmt


@node
class View(Node):
    """Where element i of a part lies in the whole: at `offset + step*i`, for i < length."""

    offset: Expr
    step: Expr
    length: Expr


@node
class Partition(Node):
    psi: str
    source: str
    name: str
    parts: int
    body: Stmt
    view: View | None = None


@node
class Claim(Node):
    psi: str
    source: str
    name: str
    size: int
    body: Stmt
    arm: int = 0


@node
class Lower(Node):
    psi: str
    source: str
    name: str
    body: Stmt


@node
class AsyncPartition(Node):
    phi: str
    source: str
    name: str
    body: Stmt


@node
class AsyncMemcpy(Node):
    phi: str
    target: str
    source: str


@node
class Memcpy(Node):
    target: str
    source: str


# Run-time forms. ---------------------------------------------------------------------------------------------------


@node
class Init(Node):
    psi: str


@node
class Dec(Node):
    psi: str


@node
class Wait(Node):
    psi: str


@node
class Free(Node):
    bytes: int


@node
class Leave(Node):
    name: str
    kind: Kind
    count: int


@node
class Arm(Node):
    size: int
    index: int
    body: Stmt


@node
class Scope(Node):
    name: str
    type: Base | ArrayOf
    at: Perspective
    body: Stmt
    hides: str | None = None
    bytes: int = 0


@node
class Frame(Node):
    params: tuple[Param, ...]
    at: Perspective
    budget: int
    body: Stmt


Source = (
    Skip | Seq | Call | Split | Destruct | Group | Assign | Store | Declare | Alloc | If | While
    | Partition | Claim | Lower | AsyncPartition | AsyncMemcpy | Memcpy
)  # fmt: skip
Stmt = Source | Init | Dec | Wait | Free | Leave | Arm | Scope | Frame
RUNTIME = (Init, Dec, Wait, Free, Leave, Arm, Scope, Frame)

SKIP = Skip()

# Programs. ---------------------------------------------------------------------------------------------------------


@node
class Function(Node):
    name: str
    params: tuple[Param, ...]
    at: Perspective
    budget: int
    body: Stmt

    @property
    def type(self) -> Fun:
        return Fun(self.params, self.at, self.budget)


@node
class Input(Node):
    """An array in global memory that all of the grid owns when the program starts."""

    name: str
    element: Base
    cells: tuple[bool | int | float, ...]


@node
class Program(Node):
    """What every thread of the grid runs, at (Grid, 1)."""

    body: Stmt
    functions: tuple[Function, ...] = ()
    inputs: tuple[Input, ...] = ()
    budget: int = 0


def seq(*statements: Stmt) -> Stmt:
    """Return the statements one after the other, nested to the right."""
    if not statements:
        return SKIP
    result = statements[-1]
    for statement in reversed(statements[:-1]):
        result = Seq(statement, result)
    return result


def parts(term: Node) -> Iterator[Node]:
    """Yield the terms directly inside."""
    for field in fields(term):  # type: ignore[arg-type]
        value = getattr(term, field.name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Node))


def walk(term: Node) -> Iterator[Node]:
    """Yield the term and all terms inside it, outermost first."""
    yield term
    for part in parts(term):
        yield from walk(part)


def is_source(term: Node) -> bool:
    """Whether a person may have written this: it has no run-time form in it."""
    return not any(isinstance(part, RUNTIME) for part in walk(term))


def length(term: Node) -> int:
    """Return how many expressions and statements the term has: what shrinking makes small."""
    return sum(1 for _ in walk(term))
