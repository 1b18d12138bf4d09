"""What a function's text says of its names: definitions, loops, what changes; and offsets as sums of multiples of ids.

A partition maps its index `i` to `offset + i` of its source. The sums here are of `coefficient * atom` (atoms: `id`s, `count`s,
names that never change): enough for alignment, and for the span of what is touched. Whether two accesses can meet is asked in
disjoint.py, which knows quotients and remainders too. Signed arithmetic of 32 bits or more must not overflow; of any other,
only what is bounded, and fits, is known.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prism.lang.facts.budget import MOST_THREADS, most_threads
from prism.lang.keep.once import kept
from prism.lang.tree import (
    Assign,
    Async,
    Binary,
    Body,
    Cast,
    Const,
    Count,
    Declare,
    Expr,
    For,
    Function,
    Id,
    If,
    Item,
    Partition,
    Pointer,
    Scalar,
    Stmt,
    Symbol,
    Unary,
    Unsafe,
    Var,
    While,
)  # fmt: skip
from prism.lang.tree.walk import statements, subexpressions
from prism.lang.types.perspective import Level, Perspective

Atom = tuple[str, object, object]
"""`("id", unit, code)`, `("count", unit, code)` or `("name", symbol, None)`."""
Form = Mapping[tuple[Atom, ...], int]
"""A polynomial: monomials (sorted atoms) to coefficients; `()` is the constant's."""
Span = tuple[int, int]
"""The least and the greatest value, both included."""
MOST_TERMS, MOST_FACTORS = 1024, 16
"""Terms of a polynomial that is multiplied out, and factors of one term: of what is larger nothing is known."""


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """What a function's text says of its names: definitions of those that never change, and what a loop renews."""

    function: Function
    definitions: Mapping[Symbol, Expr]
    changed: frozenset[Symbol]
    ranges: Mapping[Symbol, Span]
    steps: Mapping[Symbol, int]
    renewed: Mapping[Stmt, frozenset[Symbol]] = field(default_factory=dict)
    same: frozenset[Symbol] = frozenset()
    """Names that `async_` opened, and aliases: the same bytes as their sources, for the same owners."""
    loops: Mapping[Symbol, For] = field(default_factory=dict)
    trips: Mapping[Symbol, int] = field(default_factory=dict)
    """By index: the loop, and how many trips it makes, where its bounds are constants."""
    threads: int = MOST_THREADS
    """The most that a block has."""
    found: dict[Any, Any] = field(default_factory=dict)
    """What digits, addresses, disjoint, overlap and touches (the modules) have found out so far."""


def facts(function: Function, threads: int | None = None) -> Facts:
    """Return the facts of a function; `threads`: the most that a block has, where its callers say so."""
    return _facts(function, most_threads(function) if threads is None else threads)


@kept
def _facts(function: Function, threads: int) -> Facts:
    definitions: dict[Symbol, Expr] = {}
    changed = set(assigned(function.body))
    ranges: dict[Symbol, Span] = {}
    steps: dict[Symbol, int] = {}
    renewed: dict[Stmt, frozenset[Symbol]] = {}
    same: set[Symbol] = set()
    loops: dict[Symbol, For] = {}
    trips: dict[Symbol, int] = {}
    for statement in statements(function.body):
        match statement:
            case Async(view=view):
                same.add(view)
            case Partition(view=view) if view.view is not None and view.view.alias:
                same.add(view)
            case Declare(symbol=symbol, value=value) if value is not None:
                definitions[symbol] = value
            case Declare(symbol=symbol):
                changed.add(symbol)
            case Partition(view=view) if view.view is not None and view.view.offset is not None:
                definitions[view.view.offset[0]] = view.view.offset[1]
            case For() | While():
                renewed[statement] = frozenset(_renewed(statement))
                if isinstance(statement, For):
                    loops[statement.symbol] = statement
                    _loop_facts(statement, ranges, steps, trips)
            case _:
                pass
    return Facts(
        function, definitions, frozenset(changed), ranges, steps, renewed, frozenset(same), loops, trips, threads
    )


def _renewed(loop: For | While) -> Iterator[Symbol]:
    if isinstance(loop, For):
        yield loop.symbol
    yield from renewed(loop.body)


def assigned(body: Body) -> Iterator[Symbol]:
    """Yield the names that are changed inside a body, after they are declared."""
    for statement in statements(body):
        match statement:
            case Unsafe(writes=writes):
                yield from writes
            case Assign(target=Var(symbol=symbol) | Item(symbol=symbol)):
                yield symbol
            case _:
                pass


def renewed(body: Body) -> Iterator[Symbol]:
    """Yield the names that get their values inside a body."""
    for statement in statements(body):
        match statement:
            case Declare(symbol=symbol) | For(symbol=symbol):
                yield symbol
            case Partition(view=view) if view.view is not None and view.view.offset is not None:
                yield view.view.offset[0]
            case _:
                pass


def _loop_facts(loop: For, ranges: dict[Symbol, Span], steps: dict[Symbol, int], number: dict[Symbol, int]) -> None:
    if isinstance(loop.step, Const) and int(loop.step.value) != 0:
        step = steps[loop.symbol] = int(loop.step.value)
        if isinstance(loop.start, Const) and isinstance(loop.stop, Const):
            trips = range(int(loop.start.value), int(loop.stop.value), step)
            if trips and isinstance(loop.symbol.type, Scalar) and not _holds(loop.symbol.type, *[trips[-1] + step] * 2):
                return  # the index wraps, or overflows, instead of ending the loop
            number[loop.symbol] = len(trips)
            if trips:
                ranges[loop.symbol] = (min(trips[0], trips[-1]), max(trips[0], trips[-1]))


def surely_entered(loop: For) -> bool:
    """Whether a loop's bounds are constants that give at least one trip."""
    if not all(isinstance(e, Const) for e in (loop.start, loop.stop, loop.step)):
        return False
    start, stop, step = (int(e.value) for e in (loop.start, loop.stop, loop.step) if isinstance(e, Const))
    return step != 0 and len(range(start, stop, step)) > 0


# -- forms ----------------------------------------------------------------------------------------------------------------


def affine(known: Facts, expression: Expr, modulo: bool = False) -> Form | None:
    """Return an integer expression as a polynomial over atoms that hold one value each, or None.

    `modulo`: one whose value is the expression's but for multiples of 2^32, or of 2^bits of a narrower type in it.
    """
    if not (isinstance(expression.type, Scalar) and expression.type.integral):
        return None
    form = _affine(known, expression, modulo)
    return form if form is None or modulo or _fits(known, expression, form) else None


def _affine(known: Facts, expression: Expr, modulo: bool) -> Form | None:
    match expression:
        case Const(value=value):
            return {(): int(value)} if not isinstance(value, float) else None
        case Id(unit=unit, code=code):
            return {(("id", unit, code),): 1}
        case Count(unit=unit, code=code):
            return {(("count", unit, code),): 1}
        case Cast(operand=operand):
            return affine(known, operand, modulo)
        case Unary(op="-", operand=operand):
            form = affine(known, operand, modulo)
            return None if form is None else _product(form, {(): -1})
        case Binary(op="+" | "-" | "*" | "<<"):
            return _binary(known, expression, modulo)
        case Var(symbol=symbol):
            return _name(known, symbol, modulo)
        case _:
            return None


def _fits(known: Facts, expression: Expr, form: Form) -> bool:
    """Whether an expression's value is sure to be the polynomial's: what is signed, of 32 bits or more, must not overflow."""
    type_ = expression.type
    assert isinstance(type_, Scalar)
    match expression:
        case Cast(operand=operand) if isinstance(operand.type, Scalar) and _holds(type_, *_values(operand.type)):
            return True
        case Unary() | Binary(op="+" | "-" | "*") if type_.kind == "int" and type_.bits >= 32:
            return True
        case Const() | Id() | Count() | Var():
            return True
        case _:
            pass
    span = span_of(known, form)
    return span is not None and _holds(type_, *span)


def _values(type_: Scalar) -> Span:
    """Return the least and the greatest value of an integer type."""
    return (0, 2**type_.bits - 1) if type_.kind == "uint" else (-(2 ** (type_.bits - 1)), 2 ** (type_.bits - 1) - 1)


def _holds(type_: Scalar, least: int, most: int) -> bool:
    low, high = _values(type_)
    return low <= least and most <= high


def _name(known: Facts, symbol: Symbol, modulo: bool) -> Form | None:
    """A name that never changes is its definition, or an atom; one that does is nothing. Each is read once."""
    if symbol in known.changed:
        return None
    memo: dict[Symbol, Form] = known.found.setdefault(("affine", modulo), {})
    if symbol not in memo:
        for name in read_first(known, symbol, memo):
            definition = known.definitions.get(name)
            form = None if definition is None else affine(known, definition, modulo)
            memo[name] = form if form is not None else {(("name", name, None),): 1}
    return memo[symbol]


def read_first(known: Facts, symbol: Symbol, done: Container[Symbol]) -> list[Symbol]:
    """Return the names that a name is defined by, each behind those that it is defined by itself, and the name last.

    Long chains of definitions are read in this order, without a call inside a call for each; names in `done` were read before.
    """
    found: dict[Symbol, None] = {}
    left = [(symbol, False)]
    while left:
        name, seen = left.pop()
        if seen:
            found[name] = None
        elif name not in found and name not in done and name not in known.changed:
            left.append((name, True))
            definition, loop = known.definitions.get(name), known.loops.get(name)
            inside = (loop.start, loop.step, loop.stop) if loop is not None else (definition,)
            parts = (part for e in inside if e is not None for part in subexpressions(e))
            left += [(part.symbol, False) for part in parts if isinstance(part, Var) and part.symbol is not name]
    return list(found)


def _binary(known: Facts, expression: Binary, modulo: bool) -> Form | None:
    left, right = affine(known, expression.left, modulo), affine(known, expression.right, modulo)
    if left is None or right is None:
        return None
    match expression.op:
        case "+":
            return add(left, right)
        case "-":
            return add(left, _product(right, {(): -1}))
        case "*":
            return None if too_large(left, right) else _product(left, right)
        case _:
            shift = right.get((), 0)
            return _product(left, {(): 1 << shift}) if set(right) <= {()} and 0 <= shift < 31 else None


def add(left: Form, right: Form) -> Form:
    """Return the sum of two polynomials."""
    total = dict(left)
    for monomial, factor in right.items():
        total[monomial] = total.get(monomial, 0) + factor
    return {m: f for m, f in total.items() if f}


def too_large(left: Mapping[tuple[Any, ...], int], right: Mapping[tuple[Any, ...], int]) -> bool:
    """Whether a product is not multiplied out: each sum in it may double the terms."""
    factors = sum(max(map(len, form), default=0) for form in (left, right))
    return len(left) * len(right) > MOST_TERMS or factors > MOST_FACTORS


def _product(left: Form, right: Form) -> Form:
    total: dict[tuple[Atom, ...], int] = {}
    for m, f in left.items():
        for n, g in right.items():
            monomial = tuple(sorted((*m, *n), key=_atom_order))
            total[monomial] = total.get(monomial, 0) + f * g
    return {m: f for m, f in total.items() if f}


def _atom_order(atom: Atom) -> tuple[str, int, str]:
    kind, what, code = atom
    return (kind, id(what) if isinstance(what, Symbol) else 0, f"{what} {code}" if kind != "name" else "")


def units_of(unit: object, code: object) -> int | None:
    """Return how many units a unit of `code` has, where the two perspectives alone say so."""
    if isinstance(unit, Perspective) and isinstance(code, Perspective) and unit.level == code.level:
        return code.size // unit.size
    return None


def most_units(known: Facts, unit: object, code: object) -> int | None:
    """Return how many units a unit of `code` has at most: a block has no more threads than its launch bounds allow."""
    if not isinstance(unit, Perspective) or not isinstance(code, Perspective):
        return None
    if (unit.level, code.level) == (Level.THREAD, Level.BLOCK):
        return known.threads * code.size // unit.size
    return units_of(unit, code)


def span_of(known: Facts, form: Form | None) -> Span | None:
    """Return the least and greatest value that a polynomial can have, where all its atoms are bounded."""
    if form is None:
        return None
    low = high = form.get((), 0)
    for monomial, factor in form.items():
        if not monomial:
            continue
        bounds = _bounds(known, monomial[0]) if len(monomial) == 1 else None
        if bounds is None:
            return None
        ends = (bounds[0] * factor, bounds[1] * factor)
        low, high = low + min(ends), high + max(ends)
    return (low, high)


def reach(known: Facts, expression: Expr) -> Span | None:
    """Return the least and greatest value of an integer expression, where they are known; `%` by a constant bounds it."""
    span = span_of(known, affine(known, expression))
    if span is not None:
        return span
    match expression:
        case Binary(op="%", left=left, right=Const(value=value)) if int(value) > 0:
            inner = reach(known, left)
            return (0 if inner is not None and inner[0] >= 0 else 1 - int(value), int(value) - 1)
        case Binary(op="+", left=left, right=right):
            one, two = reach(known, left), reach(known, right)
            total = None if one is None or two is None else (one[0] + two[0], one[1] + two[1])
            fits = total is not None and isinstance(expression.type, Scalar) and _holds(expression.type, *total)
            return total if fits else None
        case _:
            return None


def _bounds(known: Facts, atom: Atom) -> Span | None:
    kind, what, code = atom
    if kind == "name" and isinstance(what, Symbol):
        return known.ranges.get(what)
    number = units_of(what, code) if kind == "count" else most_units(known, what, code)
    if number is None:
        return None
    return (number, number) if kind == "count" else (0, number - 1)


def names(form: Form) -> frozenset[Symbol]:
    """Return the names that a polynomial mentions."""
    return frozenset(what for monomial in form for _, what, _ in monomial if isinstance(what, Symbol))


# -- judgements -----------------------------------------------------------------------------------------------------------


def uniform(atom: Atom, source: Perspective) -> bool:
    """Whether all units inside one unit of `source` see the same value of an atom."""
    kind, what, _ = atom
    if kind == "count":
        return True
    if isinstance(what, Symbol):
        return source <= what.perspective
    return isinstance(what, Perspective) and source <= what


def _digits(form: Form, source: Perspective) -> list[tuple[Perspective, Perspective, int]] | None:
    """Return the `id`s on which a unit's part depends, narrow to broad, or None where it depends on anything else."""
    digits: list[tuple[Perspective, Perspective, int]] = []
    for monomial, factor in form.items():
        if all(uniform(atom, source) for atom in monomial):
            continue
        kind, unit, code = monomial[0]
        if len(monomial) != 1 or kind != "id" or not isinstance(unit, Perspective) or not isinstance(code, Perspective):
            return None
        digits.append((unit, code, abs(factor)))
    return sorted(digits, key=lambda digit: (digit[0].level, digit[0].size))


def injective(form: Form | None, unit: Perspective, source: Perspective, used: Span | None) -> bool:
    """Whether different units' parts are proved disjoint for indices in `used`.

    The `id`s must be the digits of the unit's number inside the source's unit, and each coefficient at least what the
    narrower digits and the indices span together.
    """
    if form is None or used is None:
        return False
    digits = _digits(form, source)
    if not digits or digits[0][0] != unit or not source <= digits[-1][1]:
        return False
    if any(factor >= 2**31 for _, _, factor in digits):  # of 32 bits, such a product wraps
        return False
    extent = used[1] - used[0] + 1
    for place, (narrow, code, factor) in enumerate(digits):
        if factor < extent:
            return False
        if place + 1 < len(digits):
            number = units_of(narrow, code)
            if code != digits[place + 1][0] or number is None:
                return False
            extent += factor * (number - 1)
    return True


def flat(forms: list[Form | None], shape: tuple[int, ...] | None) -> Form | None:
    """Return the place, row by row, of an element of an object with this shape, or None."""
    if any(form is None for form in forms) or (len(forms) != 1 and len(forms) != len(shape or ())):
        return None
    total: Form = {}
    for form, extent in zip(forms, shape or (1,), strict=len(forms) != 1):
        assert form is not None
        total = add(_product(total, {(): extent}), form)
    return total


def offset_form(known: Facts, view: Symbol, modulo: bool = False) -> Form | None:
    """Return what a view adds to its index, or None where it does more than add; `modulo` as `affine` says."""
    meaning = view.view
    if meaning is None or len(meaning.params) != 1:
        return None
    shape = (
        meaning.source.type.shape if isinstance(meaning.source.type, Pointer) and meaning.source.view is None else None
    )
    form = flat([affine(known, index, modulo) for index in meaning.index], shape)
    index: Atom = ("name", meaning.params[0], None)
    if form is None or form.get((index,)) != 1 or any(index in m and m != (index,) for m in form):
        return None
    return {m: f for m, f in form.items() if m != (index,)}


__all__ = [
    "Facts", "Form", "If", "Span", "add", "affine", "facts", "injective", "names", "offset_form", "reach", "renewed",
    "span_of", "statements", "surely_entered", "uniform", "units_of",
]  # fmt: skip
