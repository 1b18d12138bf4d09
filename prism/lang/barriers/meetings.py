"""Whether units of a partition that a loop opens anew are seen to meet: one in a trip where another was in a trip before.

This is looked for in the smallest launch of two blocks (or clusters), with the least number of threads that the kernel
promises, in the first trips of each loop. Names that the whole grid agrees on, and that never change, have any value, the same
for all. Where an index depends on anything else (on memory, or a number that was drawn), nothing is seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod

from prism.lang.facts.addresses import address
from prism.lang.facts.definitions import Facts
from prism.lang.facts.polynomials import Base, Digit, Form, all_digits, operand_forms, substitute
from prism.lang.facts.touches import Address, Touch
from prism.lang.keep.bases import Value
from prism.lang.tree import Assign, Binary, Const, For, Partition, Symbol, Var, While
from prism.lang.tree.walk import assigned_names, statements
from prism.lang.types.perspective import GRID, Level, Perspective

MOST = 4096
"""Places that are looked at, of one access."""
TRIPS, THREADS = 8, 64
"""The first trips of a loop, and the first threads of a block, that are looked at."""
LANES = 16
"""Elements of one access that are looked at."""

Turn = tuple[int, ...]
Known = Mapping[tuple[Digit, ...], int]
"""What an index is: a number, and multiples of what nobody knows but all agree on."""
Key = tuple[frozenset[tuple[tuple[Digit, ...], int]], ...]


def meet(known: Facts, view: Symbol, one: Touch, two: Touch) -> bool:
    """Whether two units are seen to touch one element in different trips of the loops around their partition."""
    memo: dict[object, bool] = known.found.setdefault("meetings", {})
    if (view, one, two) not in memo:
        counted = _counting(known)
        around = _loops_around(counted, view)
        first, second = (_where(known, counted, touch) for touch in (one, two))
        memo[view, one, two] = (
            around is not None
            and first is not None
            and second is not None
            and first.root is second.root
            and len(first.indices) == len(second.indices)
            and _met(counted, view, around, first, second)
        )
    return memo[view, one, two]


def _where(known: Facts, counted: Facts, touch: Touch) -> Address | None:
    return touch.where if counted is known or touch.use is None or touch.where is None else address(counted, touch.use)


def _counting(known: Facts) -> Facts:
    """Return the facts with names that a `while` loop counts up read as indices of loops: each trip adds one number, once."""
    if "counting" not in known.found:
        changes = Counter(assigned_names(known.function.body))
        loops = dict(
            (symbol, loop)
            for outer in known.renewed
            if isinstance(outer, While)
            for symbol, loop in _counters(outer, known, changes)
        )
        changed = known.changed - set(loops)
        counted = replace(known, changed=changed, loops={**known.loops, **loops}, found={}) if loops else known
        known.found["counting"] = counted
    found: Facts = known.found["counting"]
    return found


def _counters(outer: While, known: Facts, assigned: Mapping[Symbol, int]) -> Iterator[tuple[Symbol, For]]:
    for st in outer.body:
        match st:
            case Assign(target=Var(symbol=symbol), value=Binary(op="+", left=Var(symbol=same), right=Const() as step)):
                start = known.definitions.get(symbol)
                if symbol is same and assigned[symbol] == 1 and start is not None and symbol.perspective >= GRID:
                    yield symbol, For(symbol=symbol, start=start, stop=step, step=step, body=outer.body, span=st.span)
            case _:
                pass


def _loops_around(known: Facts, view: Symbol) -> frozenset[Symbol] | None:
    """Return the indices of the loops around a view's partition; None for a claim, of which one unit has all."""
    if not any(isinstance(s, Partition) and s.view is view for s in statements(known.function.body)):
        return None
    return frozenset(
        index
        for index, loop in known.loops.items()
        if any(isinstance(s, Partition) and s.view is view for s in statements(loop.body))
    )


def _met(known: Facts, view: Symbol, around: frozenset[Symbol], one: Address, two: Address) -> bool:
    assert view.view is not None
    found: list[dict[Key, set[tuple[int, Turn]]]] = []
    every = True  # whether the loops around are all counted: then two trips differ in a count
    for where in (one, two):
        search = _Search(known, where, view.view.unit)
        places: dict[Key, set[tuple[int, Turn]]] = {}
        for unit, turn, element in search.places():
            # Only a witness counts: what may be anywhere is taken for no meeting, and is listed as not proved.
            if element is None:
                return False
            mine = tuple(turn.get(index, 0) for index in known.loops if index in around)
            for lane in range(min(where.width, LANES)):
                places.setdefault(_moved(element, lane), set()).add((unit, mine))
        every = every and around <= set(search.loops) and _counted(known, view)
        found.append(places)
    # Two units at one element in one trip are the partition's own affair, which its verdict speaks of.
    return any(
        unit != other and not (every and turn == theirs)
        for element, here in found[1].items()
        for unit, turn in here
        for other, theirs in found[0].get(element, ())
    )


def _counted(known: Facts, view: Symbol) -> bool:
    """Whether all loops around a view's partition count their trips."""
    loops = (loop for loop in known.renewed if not isinstance(loop, For))
    bodies = (getattr(loop, "body", ()) for loop in loops)
    return not any(isinstance(s, Partition) and s.view is view for body in bodies for s in statements(body))


def _moved(element: tuple[Known, ...], lane: int) -> Key:
    last = dict(element[-1])
    last[()] = last.get((), 0) + lane
    return tuple(frozenset((m, f) for m, f in form.items() if f) for form in (*element[:-1], last))


class _Place(Value):
    """A thread of a block, and the trip that it is in, of each loop that is looked at."""

    block: int
    thread: int
    turn: Mapping[Symbol, int]


class _Search:
    """The elements of one access, by thread and trip, in the launch that is looked at."""

    def __init__(self, known: Facts, where: Address, unit: Perspective) -> None:
        bound = known.function.bound
        self.known, self.where, self.unit = known, where, unit
        self.threads, self.blocks = bound.thread or 1, 2 * (bound.block or 1)
        forms = (*where.indices, *where.guards)
        indices = {d.base[1] for form in forms for d in all_digits(form) if d.base[0] == "trip"}
        self.loops = [index for index in known.loops if index in indices]
        self.changing = frozenset[Symbol]().union(*known.renewed.values())

    def places(self) -> Iterator[tuple[int, Mapping[Symbol, int], tuple[Known, ...] | None]]:
        """Yield unit, trips and element; None for an element that depends on what is not known."""
        most = [min(self.known.trips.get(index, TRIPS), TRIPS) for index in self.loops]
        threads = min(self.threads, THREADS)
        while prod(most) * threads * self.blocks > MOST and max((threads, *most)) > 2:
            if threads > max((2, *most)):
                threads //= 2
            else:
                most[most.index(max(most))] -= 1
        for block, thread in product(range(self.blocks), range(threads)):
            for turn in product(*map(range, most)):
                place = _Place(block, thread, dict(zip(self.loops, turn, strict=True)))
                if all(self._may_hold(guard, place) for guard in self.where.guards):
                    indices = [self.form(form, place) for form in self.where.indices]
                    known = [index for index in indices if index is not None]
                    yield self._unit(place), place.turn, tuple(known) if len(known) == len(indices) else None

    def _unit(self, place: _Place) -> int:
        if self.unit.level == Level.BLOCK:
            return place.block // self.unit.size
        return (place.block * self.threads + place.thread) // self.unit.size

    def _may_hold(self, guard: Form, place: _Place) -> bool:
        found = self.form(guard, place)
        return found is None or any(found) or found.get((), 0) >= 0

    # -- one thread's numbers

    def form(self, form: Form, place: _Place) -> Known | None:
        """Return what a polynomial is for one thread in one trip, or None."""
        return substitute(form, lambda digit: self._digit(digit, place))

    def _digit(self, digit: Digit, place: _Place) -> Digit | int | None:
        value = self._base(digit.base, place)
        if isinstance(value, int):
            if value < 0 and (digit.low > 1 or digit.high is not None):
                return None
            value //= digit.low
            return value if digit.high is None else value % (digit.high // digit.low)
        return None if value is None else Digit(value, digit.low, digit.high)

    def _base(self, base: Base, place: _Place) -> Base | int | None:
        """Return a number's value, what it is called where all agree on it, or None."""
        match base:
            case ("id", unit, code):
                return self._id(unit, code, place)
            case ("count", unit, code):
                return self._count(unit, code)
            case ("trip", index):
                return place.turn.get(index)
            case ("name", symbol):
                fixed = symbol not in self.changing and symbol not in self.known.changed
                return base if fixed and symbol.perspective >= GRID else None
            case ("along", *_):
                return base
            case ("quotient" | "remainder" | "xor" | "apply", *_):
                return self._compute(base, place)
            case _:
                return None

    def _id(self, unit: Perspective, code: Perspective, place: _Place) -> int | None:
        if unit.level == Level.BLOCK:
            return (place.block if code == GRID else place.block % code.size) // unit.size
        if code.level == Level.THREAD:
            return place.thread % code.size // unit.size
        first = {Level.GRID: place.block, Level.BLOCK: place.block % code.size}.get(code.level)
        return None if first is None else (first * self.threads + place.thread) // unit.size

    def _count(self, unit: Perspective, code: Perspective) -> int:
        blocks = self.blocks if code == GRID else code.size
        return (blocks if unit.level == Level.BLOCK else blocks * self.threads) // unit.size

    def _compute(self, base: Base, place: _Place) -> Base | int | None:
        """Return a quotient, a remainder, an xor: as a number where it is of numbers, as C has it."""
        parts = [self.form(form, place) for form in operand_forms(base)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        numbers = [part.get((), 0) for part in known if not any(part)]
        keys = tuple(frozenset(part.items()) for part in known)
        if len(numbers) == len(parts):
            return _calculate(base, numbers)
        match base[0]:
            case "apply":
                return ("apply", base[1], base[2], keys)
            case "xor":
                return ("xor", frozenset(keys))
            case kind:
                return (kind, *keys)


def _calculate(base: Base, numbers: list[int]) -> int | None:
    match base[0], numbers:
        case "quotient" | "remainder", [above, below]:
            if not below:
                return None
            quotient = abs(above) // abs(below) * (1 if (above < 0) == (below < 0) else -1)
            return quotient if base[0] == "quotient" else above - quotient * below
        case "xor", _:
            total = 0
            for number in numbers:
                total ^= number
            return total
        case "apply", [left, right] if min(left, right) >= 0 and right < 64:
            return {"&": left & right, "|": left | right, "<<": left << right, ">>": left >> right}.get(base[1])
        case _:
            return None
