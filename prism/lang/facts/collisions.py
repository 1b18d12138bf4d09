"""Partitions whose units are sure to write one element: the two threads, and the element.

What every thread is sure to write is computed for each thread that is guaranteed; values that all of them agree on are left as
they are. Where two threads of different units have the same, they meet, whatever those values are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import prod

from prism.lang import tree
from prism.lang.diagnostics import Label, Span
from prism.lang.facts.addresses import address, address_in
from prism.lang.facts.definitions import Facts, surely_entered
from prism.lang.facts.polynomials import BLOCKS, THREADS, Base, Digit, operand_forms, substitute
from prism.lang.facts.touches import Address, Use
from prism.lang.keep.bases import Frozen
from prism.lang.tree.bind import operands_of
from prism.lang.tree.walk import assigned_names, has_jump, renewed_names, subexpressions
from prism.lang.types.perspective import BLOCK, Level, Perspective

MOST = 65536
"""Elements that are looked at, of one access."""
Values = Mapping[Base, int]


class Collision(Frozen):
    """Two threads (blocks, of a cluster) of different units, the element of the object that both write, and where."""

    who: str
    element: str
    labels: tuple[Label, ...]


def collision(known: Facts, partition: tree.Partition) -> Collision | None:
    """Return where two units of a partition are sure to write one element, or None."""
    view, meaning = partition.view, partition.view.view
    assert meaning is not None
    level = meaning.unit.level
    number = _sure_count(known, meaning.source.perspective, level)
    if meaning.unit.size >= number:
        return None
    free = frozenset(renewed_names(partition.body))
    spaces: list[Callable[[tree.Element], Address | None]] = [lambda element: address(known, Use(element, "write"))]
    if _stands_still(meaning.source, partition.body):
        # All units have the source in common: elements that are one in it are one, wherever it is itself.
        spaces.insert(0, lambda element: address_in(known, element, meaning.source))
    for place in spaces:
        seen: dict[object, tuple[int, Span]] = {}
        for element, loops in _surely(partition.body, view, ()):
            where = place(element)
            trips = [known.trips[loop.symbol] for loop in loops]
            if where is None or prod(trips) * number > MOST:
                continue
            for unit, turn in product(range(number), product(*map(range, trips))):
                values = {("trip", loop.symbol): k for loop, k in zip(loops, turn, strict=True)}
                found = _evaluate(where, values, unit, meaning.source.perspective, level, free)
                if found is None:
                    break
                # Equal, with what all agree on left as it is: n*4 + 1 and n*4 + 1 are one element, whatever n is.
                other, span = seen.setdefault(found, (unit, element.span))
                if other // meaning.unit.size != unit // meaning.unit.size:
                    (one, here), (two, there) = sorted([(other, span), (unit, element.span)], key=lambda pair: pair[0])
                    who = f"{level}s {one} and {two} of {_whole(meaning.source.perspective)}"
                    labels = Label(here, f"{level} {one} writes it here"), Label(there, f"{level} {two} writes it here")
                    both = (Label(here, "both write it here"),)
                    return Collision(who, _spell(where, found), both if here == there else labels)
    return None


def _whole(source: Perspective) -> str:
    """Name what threads or blocks are counted in: of a grid, its first block."""
    if source.level == Level.GRID:
        return "block 0"
    return "a block" if source == BLOCK else f"one {source}"


def _sure_count(known: Facts, source: Perspective, level: Level) -> int:
    """Return how many threads, or blocks, of one unit of the source are sure to be there."""
    # A claim of a collision refuses the program, so only threads that every launch has count: as many as are required.
    if source.level == level:
        return source.size
    return known.function.bound.thread or 1 if level == Level.THREAD else 1


def _surely(
    body: tree.Body, view: tree.Symbol, loops: tuple[tree.For, ...]
) -> Iterator[tuple[tree.Element, tuple[tree.For, ...]]]:
    """Yield what every thread is sure to write through the view: in no branch, in loops that are sure to be run."""
    for statement in body:
        match statement:
            case tree.Assign(target=tree.Element() as element) if view in _chain(element.symbol):
                yield element, loops
            case tree.Evaluate(value=tree.Apply() as apply) if (copied := copied_element(apply)) and view in _chain(
                copied.symbol
            ):
                yield copied, loops
            case tree.Group() | tree.Partition() | tree.Async() | tree.Turns():
                yield from _surely(statement.body, view, loops)
            # No `if`, no `while`, and no loop that a jump may leave: what is found here is made in every run.
            case tree.For() if surely_entered(statement) and not has_jump(statement.body):
                yield from _surely(statement.body, view, (*loops, statement))
            case _:
                pass


def copied_element(apply: tree.Apply) -> tree.Element | None:
    """Return the first element that an asynchronous copy is sure to write; None where it may write none, or another block's."""
    given = {parameter.name: argument for parameter, argument in operands_of(apply)}
    many, shift = given.get("n"), given.get("shift")
    if not apply.intrinsic.asynchronous or not (many is None or (isinstance(many, tree.Const) and many.value > 0)):
        return None
    found = [a for p, a in operands_of(apply) if p.effect == "write" and isinstance(a, tree.Element)]
    return found[0] if found and (shift is None or isinstance(shift, tree.Const)) else None


def _stands_still(source: tree.Symbol, body: tree.Body) -> bool:
    """Whether nothing in a body changes what a pointer or view is of: all the while, it has the same elements."""
    fixed = {source.root()}
    for symbol in _chain(source):
        assert symbol.view is not None
        parts = [part for index in symbol.view.index for part in subexpressions(index)]
        if any(isinstance(part, tree.Element) for part in parts):
            return False
        fixed.update(part.symbol for part in parts if isinstance(part, tree.Var))
    return fixed.isdisjoint(assigned_names(body))


def _chain(symbol: tree.Symbol) -> Iterator[tree.Symbol]:
    while symbol.view is not None:
        yield symbol
        symbol = symbol.view.source


# -- one thread's element ---------------------------------------------------------------------------------------------------

Left = tuple[tuple[tuple[Digit, ...], int], ...]
"""What is left of a polynomial: products of what all agree on, with their factors."""


def _evaluate(
    where: Address, values: Values, unit: int, source: Perspective, level: Level, free: frozenset[tree.Symbol]
) -> tuple[Left, ...] | None:
    """Return the indices of one thread's (or block's) element, or None where they depend on what is not known."""
    found: list[Left] = []
    for form in where.indices:
        left = substitute(form, lambda digit: _digit(digit, values, unit, source, level, free))
        if left is None:
            return None
        found.append(tuple(sorted(left.items(), key=lambda item: (hash(item[0]), item[1]))))
    return tuple(found)


def _digit(
    digit: Digit, values: Values, unit: int, source: Perspective, level: Level, free: frozenset[tree.Symbol]
) -> Digit | int | None:
    """Return a digit's value, the digit itself where all agree on it, or None where it is not known."""
    base = digit.base
    if base in values:
        return _cut(values[base], digit)
    match base:
        case ("id", of, _) if base in (THREADS, BLOCKS):
            return _position(digit, unit, source, level, of.level)
        case ("id", of, _):
            if source.level == Level.GRID and level == Level.THREAD:
                return _cut(unit // of.size, digit)
            return digit if source <= of else None
        case ("count" | "along", *_):
            return digit
        # A name that the body renews may have two values for the two: they would not have to meet.
        case ("name" | "trip", symbol):
            return digit if symbol not in free and source <= symbol.perspective else None
        case ("quotient" | "remainder" | "apply" | "xor" | "wrap", *_):
            parts = [
                _digit(d, values, unit, source, level, free) for form in operand_forms(base) for m in form for d in m
            ]
            return digit if all(isinstance(part, Digit) for part in parts) else None
        case _:
            return None


def _position(digit: Digit, unit: int, source: Perspective, level: Level, of: Level) -> Digit | int | None:
    """Return a digit of a thread's or a block's index: all have it in common, or it is the unit's; other blocks are the first."""
    if source.level < of or (source.level == of and digit.low % source.size == 0):
        return digit
    # Of a digit that reaches beyond the source, a part is the source's own number, which is not known: t / 8 in one of several
    # warps is 4 * warp + lane / 8.
    if source.level == of and (digit.high is None or digit.high > source.size):
        return None
    if of == level:
        return _cut(unit, digit)
    return 0 if of == Level.BLOCK else None


def _cut(value: int, digit: Digit) -> int:
    value //= digit.low
    return value if digit.high is None else value % (digit.high // digit.low)


def _spell(where: Address, found: tuple[Left, ...]) -> str:
    """Return an element as one would write it, or "one element" where its index is not made of names."""
    texts = []
    for left in found:
        terms = []
        for monomial, factor in left:
            names = [digit.base[1].name for digit in monomial if digit.base[0] == "name" and digit.low == 1]
            if len(names) < len(monomial):
                return f"one element of `{where.root.name}`"
            terms.append(" * ".join((*([str(factor)] if factor != 1 or not names else []), *names)))
        texts.append(" + ".join(sorted(terms, key=lambda text: (text[:1].isdigit() and "*" not in text, text))) or "0")
    return f"`{where.root.name}[{', '.join(texts)}]`"
