"""Reads integer expressions as the machine computes them, for claims that the checker of arguments takes.

Nothing is simplified here: a sum is a sum in its type, a name is what it is defined as. What is not understood is a number of
its own. A signed sum, difference, product or opposite of 32 bits or more is said to fit, as the language has it, unless its
bounds are known and it may not: what no two units could keep is no promise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prism.lang import tree
from prism.lang.arguments.ranges import Bounds, Rows, span, type_range
from prism.lang.facts.addresses import Among, Guard, sites
from prism.lang.facts.definitions import Facts, facts
from prism.lang.facts.polynomials import EXTREMES
from prism.lang.facts.wraps import computation_type
from prism.lang.intrinsics.layouts import strides_nest
from prism.lang.types.perspective import BLOCK, Level, Perspective

Expr = Any
Condition = tuple[str, Expr, Expr]
OPS = {"+": "add", "-": "sub", "*": "mul", "/": "quo", "%": "rem", "&": "and", "|": "or", "^": "xor"}
FLIPPED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
MOST = 400
"""Parts of an expression: what has more is a number of its own."""
MOST_SHIFT = 63


@dataclass(eq=False, slots=True)
class Scope:
    """A function as one call runs it: what is known of its names, and what its parameters are given, in the caller's scope."""

    known: Facts
    given: Mapping[tree.Symbol, tree.Expr] = field(default_factory=dict)
    caller: Scope | None = None
    free: frozenset[tree.Symbol] | None = frozenset()
    """Names that may have another value at the other access; None: all of them."""
    names: dict[tree.Symbol, Expr] = field(default_factory=dict)


class Numbers:
    """The numbers of a claim. `source`: both accesses are made inside one unit of it."""

    def __init__(self, known: Facts, source: Perspective) -> None:
        self.known, self.source = known, source
        self.rows: Rows = []
        self.places: dict[object, int] = {}
        self.beside: list[Condition] = []
        """What holds of these numbers wherever they are."""
        self.vague: set[int] = set()
        """Those of which nothing is known but their type."""
        self.told: set[int] = set()
        """Of units of so many threads it is said how they are made of threads."""
        self.spans: dict[int, tuple[Expr, Bounds]] = {}
        self.sizes: dict[int, tuple[Expr, int, bool]] = {}
        """Of expressions that were looked at, by their identities: themselves, how many parts they have, whether any is vague."""

    def number(self, key: object, shared: bool, low: int | None, high: int | None) -> Expr:
        """Return a number of its own."""
        if key not in self.places:
            self.places[key] = len(self.rows)
            self.rows.append((shared, low, high))
        return ("var", self.places[key])

    def unknown(self, type_: object) -> Expr:
        """Return a number of which nothing is known but its type."""
        found = self.number(object(), False, *type_range(type_))
        self.vague.add(found[1])
        return found

    def span(self, e: Expr) -> Bounds:
        """Return what an expression is at least and at most."""
        return span(self.rows, e, self.spans)

    def is_shared(self, e: Expr) -> bool:
        """Whether an expression is made of numbers that are one for both accesses."""
        if isinstance(e, int):
            return True
        if e[0] == "var":
            return bool(self.rows[e[1]][0])
        return all(self.is_shared(part) for part in e[1:] if not isinstance(part, str))

    def size_of(self, e: Expr) -> int:
        """Return how many parts an expression has."""
        return self.look_at(e)[1] if isinstance(e, tuple) else 1

    def is_vague(self, e: Expr) -> bool:
        """Whether an expression has numbers of which nothing is known."""
        return self.look_at(e)[2] if isinstance(e, tuple) else False

    def look_at(self, e: Expr) -> tuple[Expr, int, bool]:
        """Return what `sizes` has of an expression."""
        found = self.sizes.get(id(e))
        if found is None:
            size, vague = len(e), e[0] == "var" and e[1] in self.vague
            for part in e[1:]:
                if isinstance(part, tuple):
                    _, parts, unknown = self.look_at(part)
                    size, vague = size + parts - 1, vague or unknown
            found = self.sizes[id(e)] = e, size, vague
        return found

    # -- threads and blocks

    def thread(self) -> Expr:
        """Return a thread's index in its block."""
        shared = self.source == Perspective(Level.THREAD, 1)
        known = ("thread",) in self.places
        found = self.number(("thread",), shared, 0, self.known.threads - 1)
        if not known:
            self.beside.append(("less", found, self.units(1)))
        return found

    def block(self) -> Expr:
        """Return a block's index in the grid."""
        known = ("block",) in self.places
        shared = self.source.level == Level.THREAD or self.source == BLOCK
        found = self.number(("block",), shared, 0, None)
        if not known:
            self.beside.append(("less", found, self.blocks()))
        return found

    def blocks(self) -> Expr:
        """Return how many blocks a grid has."""
        return self.number(("blocks",), True, 1, None)

    def units(self, n: int) -> Expr:
        """Return how many units of n threads a block has."""
        most, least = -(-self.known.threads // n), max(1, -(-(self.known.whole or 1) // n))
        if most == least:
            return most
        found = self.number(("units", n), True, least, most)
        if n > 1 and n not in self.told:
            self.told.add(n)
            one = self.units(1)
            self.beside += [("atmost", one, ("mul", n, found)), ("less", ("mul", n, found), ("add", one, n))]
        return found

    def place(self, unit: Perspective, code: Perspective) -> Expr | None:
        """Return a unit's index inside another."""
        n, m = unit.size, code.size
        if unit.level == Level.BLOCK:
            b = self.block() if code.level == Level.GRID else _rem(self.block(), m)
            return _quo(b, n)
        if unit.level != Level.THREAD:
            return 0
        if code.level == Level.THREAD:
            return _quo(_rem(self.thread(), m), n)
        t = _quo(self.thread(), n)
        if code == BLOCK:
            return t
        b = self.block() if code.level == Level.GRID else _rem(self.block(), m)
        if n > 1:
            self.beside.append(("less", t, self.units(n)))
        return ("add", ("mul", b, self.units(n)), t)

    def count(self, unit: Perspective, code: Perspective) -> Expr | None:
        """Return how many units another unit has."""
        n, m = unit.size, code.size
        if unit.level == code.level:
            return m // n if unit.level != Level.GRID else 1
        if unit.level == Level.BLOCK:
            return _quo(self.blocks(), n)
        if code.level == Level.BLOCK:
            return self.units(n) if m == 1 else ("mul", m, self.units(n))
        return ("mul", self.blocks(), self.units(n))


def _quo(e: Expr, by: int) -> Expr:
    return e if by == 1 else ("quo", e, by)


def _rem(e: Expr, by: int) -> Expr:
    return 0 if by == 1 else ("rem", e, by)


def spell(type_: tree.Scalar) -> str:
    """Return a type as claims write it."""
    return f"{'i' if type_.kind == 'int' else 'u'}{type_.bits if type_.kind != 'bool' else 1}"


class Reader:
    """Reads expressions of one scope as the machine computes them."""

    def __init__(self, numbers: Numbers, scope: Scope) -> None:
        self.numbers, self.scope = numbers, scope

    def read(self, e: tree.Expr, given: Mapping[tree.Symbol, tuple[Expr, tree.Scalar]] | None = None) -> Expr:
        """Return an expression; `given`: what a view's parameters stand for, in their types."""
        found = self._read(e, given or {})
        return found if self.numbers.size_of(found) <= MOST else self.numbers.unknown(e.type)

    def type_of(self, e: tree.Expr, given: Mapping[tree.Symbol, tuple[Expr, tree.Scalar]]) -> tree.Scalar:
        """Return the type in which an expression is computed."""
        return computation_type(e, {symbol: type_ for symbol, (_, type_) in given.items()})

    def _read(self, e: tree.Expr, given: Mapping[tree.Symbol, tuple[Expr, tree.Scalar]]) -> Expr:  # noqa: C901
        if not (isinstance(e.type, tree.Scalar) and e.type.integral):
            return self.numbers.unknown(e.type)
        match e:
            case tree.Const(value=value) if not isinstance(value, float):
                return int(value)
            case tree.Var(symbol=symbol):
                return given[symbol][0] if symbol in given else self.name(symbol)
            case tree.Cast(operand=operand):
                return self.convert(self.read(operand, given), operand.type, e.type)
            case tree.Unary(op="-", operand=operand):
                return self.fit("sub", 0, self.read(operand, given), self.type_of(e, given))
            case tree.Unary(op="~", operand=operand):
                return ("as", spell(self.type_of(e, given)), ("sub", -1, self.read(operand, given)))
            case tree.Binary():
                return self.binary(e, given)
            case tree.Id(unit=unit, code=code):
                found = self.numbers.place(unit, code)
                return found if code.level == Level.THREAD or code == BLOCK else self.promise(found, e.type)
            case tree.Count(unit=unit, code=code):
                return self.promise(self.numbers.count(unit, code), e.type)
            case tree.Select():
                return self.choose(e, given)
            case tree.Apply(intrinsic=intrinsic) if (
                intrinsic.elementwise and not e.statics and intrinsic.source != "user"
            ):
                return self.apply(e, given)
            case tree.Call():
                return self.call(e, given)
            case _:
                return self.numbers.unknown(e.type)

    def promise(self, e: Expr, type_: tree.Scalar) -> Expr:
        """Return a number that fits in its type, or the launch is none."""
        return e if isinstance(e, int) else ("fits", spell(type_), e)

    def convert(self, e: Expr, of: object, to: tree.Scalar) -> Expr:
        """Return a number as another type has it."""
        if not (isinstance(of, tree.Scalar) and (of.integral or of.kind == "bool")):
            return self.numbers.unknown(to)
        wide = to.bits > of.bits and (of.kind != "int" or to.kind == "int")
        if of == to or wide or of.kind == "bool":
            return e
        low = -(1 << to.bits - 1) if to.kind == "int" else 0
        if isinstance(e, int) and low <= e < low + (1 << to.bits):
            return e
        return ("as", spell(to), e)

    def fit(self, op: str, a: Expr, b: Expr, type_: tree.Scalar) -> Expr:
        """Return a sum, difference or product in a type: it wraps, or is said to fit."""
        raw = (op, a, b)
        if b == 0 and op != "mul" and not isinstance(a, int) and type_.kind == "int":
            return a
        if b == 1 and op == "mul" and not isinstance(a, int) and type_.kind == "int":
            return a
        if isinstance(a, int) and isinstance(b, int):
            value = {"add": a + b, "sub": a - b, "mul": a * b}[op]
            low = -(1 << type_.bits - 1) if type_.kind == "int" else 0
            if low <= value < low + (1 << type_.bits):
                return value
        if type_.kind != "int" or type_.bits < 32:
            return ("as", spell(type_), raw)
        low_, high_ = self.numbers.span(raw)
        inside = (
            low_ is not None and high_ is not None and low_ >= -(1 << type_.bits - 1) and high_ < 1 << type_.bits - 1
        )
        far = (low_ is not None and low_ < -(1 << type_.bits - 1)) or (
            high_ is not None and high_ >= 1 << type_.bits - 1
        )
        return ("as" if far and not inside else "fits", spell(type_), raw)

    def binary(self, e: tree.Binary, given: Mapping[tree.Symbol, tuple[Expr, tree.Scalar]]) -> Expr:
        """Return an operator's result in its type."""
        type_ = self.type_of(e, given)
        a, b = self.read(e.left, given), self.read(e.right, given)
        if e.op in ("+", "-", "*"):
            return self.fit(OPS[e.op], a, b, type_)
        if e.op == "<<":
            if not isinstance(b, int) or not 0 <= b <= MOST_SHIFT:
                return self.numbers.unknown(e.type)
            return ("as", spell(type_), ("mul", a, 1 << b))
        if e.op == ">>":
            known = isinstance(b, int) and 0 <= b <= MOST_SHIFT
            return (
                ("shr", self.convert(a, self.type_of(e.left, given), type_), b)
                if known
                else self.numbers.unknown(e.type)
            )
        if e.op not in OPS:
            return self.numbers.unknown(e.type)
        one, two = (self.convert(x, self.type_of(s, given), type_) for x, s in ((a, e.left), (b, e.right)))
        if two == 1 and e.op in "/%":
            return one if e.op == "/" else 0
        return (OPS[e.op], one, two)

    def choose(self, e: tree.Select, given: Mapping[tree.Symbol, tuple[Expr, tree.Scalar]]) -> Expr:
        """Return a choice: of two numbers that are one."""
        truth = self.decide(e.condition, given)
        if truth is not None:
            return self.read(e.then if truth else e.otherwise, given)
        then, otherwise = self.read(e.then, given), self.read(e.otherwise, given)
        return then if then == otherwise else self.numbers.unknown(e.type)

    def decide(self, e: tree.Expr, given: Mapping[tree.Symbol, tuple[Expr, tree.Scalar]]) -> bool | None:
        """Return whether a condition holds, where it compares constants."""
        match e:
            case tree.Const(value=value):
                return bool(value)
            case tree.Binary(op=op, left=left, right=right) if op in FLIPPED:
                if not (isinstance(left.type, tree.Scalar) and left.type.integral):
                    return None
                one, two = self.read(left, given), self.read(right, given)
                if not (isinstance(one, int) and isinstance(two, int) and min(one, two) >= 0):
                    return None
                return {"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}.get(
                    op, (one == two) == (op == "==")
                )
            case _:
                return None

    def apply(self, e: tree.Apply, given: Mapping[tree.Symbol, tuple[Expr, tree.Scalar]]) -> Expr:
        """Return the result of a function of integers: the same for the same."""
        if not all(isinstance(a.type, tree.Scalar) and a.type.integral for a in e.arguments):
            return self.numbers.unknown(e.type)
        read = [self.read(a, given) for a in e.arguments]
        if e.intrinsic.name in EXTREMES and len(read) == 2 and isinstance(e.type, tree.Scalar):
            one, two = (self.convert(x, self.type_of(a, given), e.type) for x, a in zip(read, e.arguments, strict=True))
            return (e.intrinsic.name[:3], one, two)
        if not all(map(self.numbers.is_shared, read)):
            return self.numbers.unknown(e.type)
        types = tuple(str(self.type_of(a, given)) for a in e.arguments)
        return self.numbers.number((e.intrinsic.name, str(e.type), types, tuple(read)), True, *type_range(e.type))

    def call(self, e: tree.Call, given: Mapping[tree.Symbol, tuple[Expr, tree.Scalar]]) -> Expr:
        """Return the result of a function that only computes it."""
        *before, last = e.function.body or (None,)
        plain = all(isinstance(s, tree.Declare) for s in before)
        if not plain or not isinstance(last, tree.Return) or last.value is None or given:
            return self.numbers.unknown(e.type)
        arguments = dict(zip(e.function.parameters, e.arguments, strict=False))
        inside = Scope(facts(e.function, self.scope.known.threads), arguments, self.scope, None)
        return Reader(self.numbers, inside).read(last.value)

    # -- names

    def is_one(self, symbol: tree.Symbol) -> bool:
        """Whether a name has one value for both accesses."""
        free = self.scope.free
        return free is not None and symbol not in free and self.numbers.source <= symbol.perspective

    def name(self, symbol: tree.Symbol) -> Expr:
        """Return what a name stands for."""
        found = self.scope.names.get(symbol)
        if found is None:
            found = self._name(symbol)
            if not self.numbers.is_vague(found):
                self.scope.names[symbol] = found
        return found

    def _name(self, symbol: tree.Symbol) -> Expr:
        known, numbers = self.scope.known, self.numbers
        if symbol.along is not None:
            most = known.threads if symbol.along[0] == "threads" else None
            return numbers.number(("along", symbol.along), True, 1, most)
        if symbol in known.changed or not (isinstance(symbol.type, tree.Scalar) and symbol.type.integral):
            return numbers.unknown(symbol.type)
        if symbol in self.scope.given and self.scope.caller is not None:
            argument = self.scope.given[symbol]
            return self.convert(Reader(numbers, self.scope.caller).read(argument), argument.type, symbol.type)
        own = numbers.number(
            (self.scope, symbol), self.is_one(symbol), *(known.ranges.get(symbol) or type_range(symbol.type))
        )
        loop, definition = known.loops.get(symbol), known.definitions.get(symbol)
        if loop is not None:
            return self.of_loop(loop)
        if definition is None:
            return own
        found = self.convert(self.read(definition), definition.type, symbol.type)
        return own if self.numbers.is_vague(found) else found

    def trip(self, loop: tree.For) -> Expr:
        """Return the number of a loop's trip."""
        trips = self.scope.known.trips.get(loop.symbol)
        high = None if trips is None else max(0, trips - 1)
        return self.numbers.number((self.scope, loop), self.is_one(loop.symbol), 0, high)

    def of_loop(self, loop: tree.For) -> Expr:
        """Return a loop's index."""
        start, step, type_ = self.read(loop.start), self.read(loop.step), loop.symbol.type
        assert isinstance(type_, tree.Scalar)
        start = self.convert(start, loop.start.type, type_)
        trips = self.trip(loop)
        along = trips if step == 1 else ("mul", step, trips)
        index = along if start == 0 else ("add", start, along)
        if start == 0 and step == 1 and self.numbers.rows[trips[1]][2] is not None:
            return trips
        signed = type_.kind == "int" and type_.bits >= 32
        return ("fits" if signed else "as", spell(type_), index)

    # -- conditions

    def conditions(self, guard: Guard) -> Iterator[Condition]:
        """Yield the comparisons that hold behind a guard."""
        if isinstance(guard, Among):
            index = self.numbers.place(Perspective(guard.level, 1), guard.code)
            yield ("atmost", guard.first, index)
            yield ("less", index, guard.first + guard.size)
        elif isinstance(guard, tree.Distinct):
            pass
        elif not isinstance(guard, tree.For):
            yield from self.condition(*guard)
        else:
            step = self.read(guard.step)
            if isinstance(step, int) and step:
                index, stop = self.name(guard.symbol), self.read(guard.stop)
                stop = self.convert(stop, guard.stop.type, guard.symbol.type)  # type: ignore[arg-type]
                yield ("less", index, stop) if step > 0 else ("less", stop, index)
            else:
                low, high = self.numbers.span(step)
                if (low or 0) > 0 or (high is not None and high < 0):
                    index, stop = self.name(guard.symbol), self.read(guard.stop)
                    stop = self.convert(stop, guard.stop.type, guard.symbol.type)  # type: ignore[arg-type]
                    yield ("less", index, stop) if (low or 0) > 0 else ("less", stop, index)

    def condition(self, e: tree.Expr, truth: bool) -> Iterator[Condition]:
        """Yield the comparisons that hold where a condition does, or does not."""
        known = self.scope.known
        match e:
            case tree.Unary(op="not", operand=operand):
                yield from self.condition(operand, not truth)
            case tree.Binary(op="and" | "or" as op, left=left, right=right):
                if (op == "and") == truth:
                    yield from self.condition(left, truth)
                    yield from self.condition(right, truth)
            case tree.Binary(op=op, left=left, right=right) if (
                isinstance(left.type, tree.Scalar) and left.type.integral
            ):
                yield from self.compare(op if truth else FLIPPED.get(op, ""), left, right)
            case tree.Var(symbol=symbol) if symbol not in known.changed and symbol in known.definitions:
                yield from self.condition(known.definitions[symbol], truth)
            case tree.Var(symbol=symbol) if symbol in self.scope.given and self.scope.caller is not None:
                yield from Reader(self.numbers, self.scope.caller).condition(self.scope.given[symbol], truth)
            case _:
                pass

    def nests(self, e: tree.Expr) -> Iterator[tuple[tuple[Expr, Expr], ...]]:
        """Yield the axes, extents and strides, that are said to nest where a condition holds."""
        match e:
            case tree.Binary(op="and", left=left, right=right):
                yield from self.nests(left)
                yield from self.nests(right)
            case tree.Apply(intrinsic=intrinsic, arguments=arguments) if intrinsic is strides_nest:
                read = [self.read(a) for a in arguments]
                if all(map(self.numbers.is_shared, read)):
                    yield tuple(zip(read[::2], read[1::2], strict=True))
            case _:
                pass

    def compare(self, op: str, left: tree.Expr, right: tree.Expr) -> Iterator[Condition]:
        """Yield a comparison, in the type in which it is made."""
        one, two = self.type_of(left, {}), self.type_of(right, {})
        wide = one if one.bits > two.bits or (one.bits == two.bits and one.kind == "uint") else two
        a, b = self.convert(self.read(left), one, wide), self.convert(self.read(right), two, wide)
        match op:
            case "<":
                yield ("less", a, b)
            case "<=":
                yield ("atmost", a, b)
            case ">":
                yield ("less", b, a)
            case ">=":
                yield ("atmost", b, a)
            case "==":
                yield ("equal", a, b)
            case _:
                pass


def guards_of(known: Facts, at: tree.Element | tree.Call) -> tuple[Guard, ...]:
    """Return what stands around an element or a call."""
    site = sites(known).get(at)
    return () if site is None else site.guards


__all__ = ["Numbers", "Reader", "Scope", "guards_of", "spell"]
