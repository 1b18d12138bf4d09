"""A small machine of the typed tree whose numbers are C++'s, bit by bit: what each thread accesses, and between which barriers.

It is an oracle for what the compiler proves of indices, and shares nothing with it but the tree. A number is a value and the type
in which C++ holds it: a view's parameter has the type of the index that it stands for, not the one of the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prism.lang import tree
from prism.lang.tree.plan import Plan
from prism.lang.types import INT32
from prism.lang.types.perspective import Level

TRIPS = 16
"""Trips of one loop that are looked at."""
NEVER_WRAPS = ("+", "-", "*")


class Undefined(Exception):
    """C++ gives the program no meaning for these inputs."""


@dataclass(frozen=True)
class Number:
    """A value, and the type that C++ has it in."""

    value: int
    type: tree.Scalar


@dataclass(frozen=True)
class Event:
    """An access of a thread: to which element of which object, and how many barriers of the block and of the warp came before.

    `parts`: the part of each partition that it is made through: the view, and which time it was opened.
    """

    thread: int
    root: tree.Symbol
    element: int
    write: bool
    epochs: tuple[int, int]
    parts: tuple[tuple[tree.Symbol, int], ...]

    def races(self, other: Event) -> bool:
        """Whether two accesses of two threads may be made at once, to one element, one of them a write."""
        if self.thread == other.thread or self.element != other.element or self.root is not other.root:
            return False
        same_warp = self.thread // 32 == other.thread // 32
        apart = self.epochs[0] != other.epochs[0] or (same_warp and self.epochs[1] != other.epochs[1])
        return (self.write or other.write) and not apart


def wrapped(value: int, type_: tree.Scalar) -> int:
    """Return a value modulo 2^bits, in a type's range."""
    value %= 1 << type_.bits
    return value - (1 << type_.bits) if type_.kind == "int" and value >> (type_.bits - 1) else value


def converted(number: Number, type_: tree.Scalar) -> Number:
    """Return C++'s conversion."""
    return Number(wrapped(number.value, type_), type_)


def common(one: tree.Scalar, two: tree.Scalar) -> tree.Scalar:
    """Return the type that C++'s usual conversions give two operands."""
    one, two = (INT32 if t.bits < 32 else t for t in (one, two))
    if one.bits != two.bits:
        return one if one.bits > two.bits else two
    return one if one.kind == "uint" else two


def defined(value: int, type_: tree.Scalar) -> int:
    """Return a result of arithmetic: unsigned ones wrap, signed ones must fit."""
    if type_.kind == "int" and wrapped(value, type_) != value:
        raise Undefined
    return wrapped(value, type_)


def operated(op: str, left: Number, right: Number) -> Number:
    """Return what C++ makes of two numbers, in the type that it computes in."""
    if op in ("<<", ">>"):
        type_ = INT32 if left.type.bits < 32 else left.type
        if not 0 <= right.value < type_.bits:
            raise Undefined
        return Number(wrapped(left.value << right.value if op == "<<" else left.value >> right.value, type_), type_)
    type_ = common(left.type, right.type)
    a, b = converted(left, type_).value, converted(right, type_).value
    if op in ("/", "%"):
        if b == 0:
            raise Undefined
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        defined(quotient, type_)
        return Number(quotient if op == "/" else a - b * quotient, type_)
    found = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[op]
    return Number(defined(found, type_), type_)


COMPARED = {
    "==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__,
}  # fmt: skip


@dataclass
class Thread:
    """One thread of a block: its names, and what it has accessed."""

    number: int
    threads: int
    barriers: Mapping[tree.Stmt, tuple[int, ...]]
    names: dict[tree.Symbol, Number]
    events: list[Event] = field(default_factory=list)
    epochs: list[int] = field(default_factory=lambda: [0, 0])
    opened: dict[tree.Symbol, int] = field(default_factory=dict)

    # -- numbers

    def number_of(self, e: tree.Expr) -> Number:
        """Return an integer, or a bool as 0 or 1."""
        assert isinstance(e.type, tree.Scalar)
        match e:
            case tree.Const(value=value):
                return Number(int(value), e.type)
            case tree.Var(symbol=symbol):
                return self.names[symbol]
            case tree.Id(unit=unit):
                return Number(self.number // unit.size if unit.level == Level.THREAD else 0, INT32)
            case tree.Count(unit=unit):
                return Number(self.threads // unit.size if unit.level == Level.THREAD else 1, INT32)
            case tree.Cast(operand=operand):
                return converted(self.number_of(operand), e.type)
            case tree.Unary(op="not", operand=operand):
                return Number(1 - self.number_of(operand).value, e.type)
            case tree.Unary(op=op, operand=operand):
                of = self.number_of(operand)
                type_ = INT32 if of.type.bits < 32 else of.type
                value = defined(-of.value, type_) if op == "-" else wrapped(~of.value, type_)
                return self.narrowed(Number(value, type_), e.type)
            case tree.Binary(op="and" | "or" as op, left=left, right=right):
                first = self.number_of(left)
                return first if bool(first.value) == (op == "or") else self.number_of(right)
            case tree.Binary(op=op, left=left, right=right):
                one, two = self.number_of(left), self.number_of(right)
                if op in COMPARED:
                    to = common(one.type, two.type)
                    return Number(int(COMPARED[op](converted(one, to).value, converted(two, to).value)), e.type)
                return self.narrowed(operated(op, one, two), e.type)
            case tree.Select(condition=condition, then=then, otherwise=otherwise):
                return self.number_of(then if self.number_of(condition).value else otherwise)
            case tree.Apply(intrinsic=intrinsic, arguments=(left, right)) if intrinsic.name in ("minimum", "maximum"):
                values = [converted(self.number_of(side), e.type).value for side in (left, right)]
                return Number(min(values) if intrinsic.name == "minimum" else max(values), e.type)
            case tree.Element():
                self.access(e, write=False)
                return Number(0, e.type)
            case _:
                raise NotImplementedError(type(e).__name__)

    def narrowed(self, number: Number, type_: tree.Scalar) -> Number:
        """Return a result as the emitted text has it: cast back where C++ widened."""
        return converted(number, type_) if type_.bits < 32 else number

    # -- memory

    def access(self, e: tree.Element, *, write: bool) -> None:
        """Note an access to what an element is of, behind all views."""
        symbol, parts = e.symbol, []
        indices = [self.number_of(index) for index in e.indices]
        while symbol.view is not None:
            parts.append((symbol, self.opened[symbol]))
            kept = dict(self.names)
            self.names.update(zip(symbol.view.params, indices, strict=True))
            indices = [self.number_of(index) for index in symbol.view.index]
            self.names, symbol = kept, symbol.view.source
        assert isinstance(symbol.type, tree.Pointer)
        place = 0
        for extent, index in zip(symbol.type.shape or (1,), indices, strict=True):
            place = place * extent + index.value
        self.events.append(Event(self.number, symbol, place, write, (self.epochs[0], self.epochs[1]), tuple(parts)))

    def read(self, e: tree.Expr) -> None:
        """Evaluate what is no integer, for its reads."""
        if isinstance(e.type, tree.Scalar) and e.type.kind in ("int", "uint", "bool"):
            self.number_of(e)
        else:
            for part in tree.operands(e):
                self.read(part)

    # -- statements

    def run(self, body: tuple[tree.Stmt, ...]) -> None:
        """Run statements, with the plan's barriers before them."""
        for statement in body:
            for kind in self.barriers.get(statement, ()):
                self.epochs[kind] += 1
            self.step(statement)

    def step(self, statement: tree.Stmt) -> None:
        """Run one statement."""
        match statement:
            case tree.Declare(symbol=symbol, value=value):
                if value is not None:
                    self.names[symbol] = self.number_of(value)
            case tree.Assign(target=tree.Var(symbol=symbol), value=value):
                self.names[symbol] = self.number_of(value)
            case tree.Assign(target=tree.Element() as target, value=value):
                self.read(value)
                self.access(target, write=True)
            case tree.Group(body=body):
                self.run(body)
            case tree.Partition(view=view, body=body):
                assert view.view is not None
                self.opened[view] = self.opened.get(view, -1) + 1
                if view.view.offset is not None:
                    name, value = view.view.offset
                    self.names[name] = self.number_of(value)
                self.run(body)
            case tree.If(condition=condition, then=then, otherwise=otherwise):
                self.run(then if self.number_of(condition).value else otherwise)
            case tree.For():
                self.loop(statement)
            case tree.SharedDeclare():
                pass
            case _:
                raise NotImplementedError(type(statement).__name__)

    def loop(self, s: tree.For) -> None:
        """A counted loop, as C++ has it; of a long one the first trips."""
        type_ = s.symbol.type
        assert isinstance(type_, tree.Scalar)
        at, stop, step = (self.number_of(e).value for e in (s.start, s.stop, s.step))
        trips = 0
        while (at < stop if step > 0 else at > stop) and trips < TRIPS:
            self.names[s.symbol] = Number(at, type_)
            self.run(s.body)
            trips += 1
            far = at + step
            at = defined(far, type_) if type_.bits >= 32 else wrapped(far, type_)
        if at < stop if step > 0 else at > stop:
            raise Undefined  # longer than is looked at


def before(plan: Plan) -> Mapping[tree.Stmt, tuple[int, ...]]:
    """Return the barriers before each statement: 0 for one of the block, 1 for one of the warp."""
    barriers: dict[tree.Stmt, tuple[int, ...]] = {}
    for barrier in plan.barriers:
        kind = {"block": 0, "warp": 1}[barrier.kind]
        barriers[barrier.before] = (*barriers.get(barrier.before, ()), kind)
    return barriers


def executed(
    function: tree.Function, barriers: Mapping[tree.Stmt, tuple[int, ...]], threads: int, inputs: Mapping[str, int]
) -> Iterator[Event]:
    """Yield what all threads of the one block access. Raises Undefined."""
    scalars = [p for p in function.parameters if isinstance(p.type, tree.Scalar)]
    for number in range(threads):
        names = {p: Number(wrapped(inputs[p.name], p.type), p.type) for p in scalars if isinstance(p.type, tree.Scalar)}
        thread = Thread(number, threads, barriers, names)
        thread.run(function.body)
        yield from thread.events
