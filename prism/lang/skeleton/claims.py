"""Claims: what the prover says of two accesses of a skeleton, in terms that the checker of arguments takes.

A claim has the indices of both as the machine computes them, counted from their object on, what holds where each is made, and in
what unit they may meet. Calls stand inline. It is made from the program's text, not from what the prover read there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from prism.lang import tree
from prism.lang.arguments.express import Condition, Expr, Numbers, Reader, Scope, guards_of
from prism.lang.arguments.nests import rules
from prism.lang.arguments.search import find
from prism.lang.certify.machine import Claim, Rule
from prism.lang.certify.steps import Argument
from prism.lang.facts.addresses import Guard
from prism.lang.skeleton.frames import Frame, Link, Loop, Made
from prism.lang.types import INT32
from prism.lang.types.perspective import Level, Perspective

MOST = 64
"""Conditions around an access that are looked at."""


class Unsaid(Exception):
    """Something that a claim cannot say."""


class _Maker:
    """The numbers of one claim, and the scopes of the calls that both accesses are behind."""

    def __init__(self, one: Made, two: Made, loop: Loop | None, source: Perspective) -> None:
        self.one, self.two, self.loop = one, two, loop
        self.numbers = Numbers(one.links[0].frame.known, source)
        self.scopes: dict[int, Scope] = {}

    def scope(self, frame: Frame) -> Scope:
        """Return the scope of a frame."""
        found = self.scopes.get(id(frame))
        if found is None:
            caller = None if frame.caller is None else self.scope(frame.caller)
            found = Scope(frame.known, frame.given, caller, self.free(frame))
            self.scopes[id(frame)] = found
        return found

    def free(self, frame: Frame) -> frozenset[tree.Symbol] | None:
        """Return the names of a frame that may have another value at the other access; None: all."""
        if self.loop is not None and frame.depth > self.loop.frame.depth:
            return None
        apart = [*(set(self.one.loops) ^ set(self.two.loops))]
        if any(other.frame.depth < frame.depth for other in apart):
            return None
        loops = [other for other in apart if other.frame is frame]
        if self.loop is not None and self.loop.frame is frame:
            loops.append(self.loop)
        return frozenset().union(*(frame.known.renewed[other.statement] for other in loops))

    def reader(self, frame: Frame) -> Reader:
        return Reader(self.numbers, self.scope(frame))

    # -- where an access is

    def place(self, made: Made) -> tuple[tuple[Expr, ...], tuple[Condition, ...]]:
        """Return the indices of an access, from its object's first element on, and what holds where it is made."""
        inner = made.links[-1]
        use = inner.touch.use
        if use is None or not isinstance(use.expression, tree.Element):
            raise Unsaid
        element = use.expression
        given = tuple((self.reader(inner.frame).read(i), i.type) for i in element.indices)
        found = self.resolve(made.links, len(made.links) - 1, element.symbol, given)
        conditions = [*self.guards(inner.frame, element)]
        frame = inner.frame
        while frame.caller is not None and frame.call is not None:
            conditions += self.guards(frame.caller, frame.call)
            frame = frame.caller
        return found, tuple(dict.fromkeys(conditions))[:MOST]

    def distinct_rules(self) -> tuple[Rule, ...]:
        """Return what is said to be distinct, of values that both accesses had at one place."""
        left, right = (dict.fromkeys(self.distinct_places(made)) for made in (self.one, self.two))
        found = []
        for (frame, place), (other, same) in product(left, right):
            if place is same:  # one place in the text, in one call or in two
                values = ((self.reader(frame).read(v), self.reader(other).read(v)) for v in place.values)
                found.append(Rule(((), ()), tuple(values), tuple((e, e) for e in _name(self.numbers, place.unit))))
        return tuple(found)

    def nest_rules(self, one: Expr, two: Expr) -> Iterator[Rule]:
        """Yield what strides that nest, where both accesses are made, say of two places."""
        said = []
        for made in (self.one, self.two):
            found = dict.fromkeys(
                axes
                for frame, guard in self.guards_around(made)
                if isinstance(guard, tuple) and guard[1]
                for axes in self.reader(frame).nests(guard[0])
            )
            said.append(found)
        for axes in said[0]:
            if axes in said[1]:
                yield from rules(axes, one, two)

    def distinct_places(self, made: Made) -> Iterator[tuple[Frame, tree.Distinct]]:
        """Yield the places before an access where values are said to be distinct."""
        return ((frame, guard) for frame, guard in self.guards_around(made) if isinstance(guard, tree.Distinct))

    def guards_around(self, made: Made) -> Iterator[tuple[Frame, Guard]]:
        """Yield what holds where an access is made, in the frames of all calls."""
        inner = made.links[-1]
        at: tree.Element | tree.Call | None = inner.touch.use.expression  # type: ignore[union-attr, assignment]
        frame: Frame | None = inner.frame
        while frame is not None and at is not None:
            yield from ((frame, guard) for guard in guards_of(frame.known, at))
            at, frame = frame.call, frame.caller

    def guards(self, frame: Frame, at: tree.Element | tree.Call) -> list[Condition]:
        return [c for guard in guards_of(frame.known, at) for c in self.reader(frame).conditions(guard)]

    def resolve(  # noqa: C901
        self, links: tuple[Link, ...], place: int, symbol: tree.Symbol, given: tuple[tuple[Expr, object], ...]
    ) -> tuple[Expr, ...]:
        """Return the indices in the object behind a name, through views and calls."""
        link = links[place]
        reads, known = self.reader(link.frame), link.frame.known
        while symbol.view is not None:
            if len(symbol.view.params) != len(given):
                raise Unsaid
            values = {
                p: (e, type_)
                for p, (e, type_) in zip(symbol.view.params, given, strict=True)
                if isinstance(type_, tree.Scalar)
            }
            given = tuple((reads.read(i, values), reads.type_of(i, values)) for i in symbol.view.index)
            symbol = symbol.view.source
        if symbol is not link.touch.root or symbol in known.changed or symbol in known.definitions:
            raise Unsaid
        if not place:
            return tuple(e for e, _ in given)
        argument = link.frame.given[symbol]
        if not isinstance(argument, tree.Var | tree.Element) or len(given) != 1:
            raise Unsaid
        caller = self.reader(links[place - 1].frame)
        indices = argument.indices if isinstance(argument, tree.Element) else ()
        if len(indices) > 1:
            raise Unsaid
        at = (caller.read(indices[0]), indices[0].type) if indices else (0, None)
        inner = given[0][0]
        if at[0] == 0 and argument.symbol.view is None:
            return self.resolve(links, place - 1, argument.symbol, given)
        if argument.symbol.view is None:
            return self.resolve(links, place - 1, argument.symbol, ((("add", at[0], inner), at[1]),))
        if len(argument.symbol.view.params) != 1:
            raise Unsaid
        begin = self.resolve(links, place - 1, argument.symbol, ((at[0], at[1] or INT32),))
        if len(begin) != 1:
            raise Unsaid
        return (("add", begin[0], inner),)


def make(one: Made, two: Made, loop: Loop | None, unit: Perspective | None) -> Claim | None:
    """Return the claim that two accesses only meet inside one unit (None: never; in other trips of the loop of `loop`)."""
    left, right = one.links[0].touch, two.links[0].touch
    if left.root is not right.root or one.links[0].frame is not two.links[0].frame:
        return None
    maker = _Maker(one, two, loop, left.root.perspective)
    try:
        return _make(maker, unit)
    except (Unsaid, RecursionError):
        return None


def _make(maker: _Maker, unit: Perspective | None) -> Claim:
    one, two, numbers, loop = maker.one, maker.two, maker.numbers, maker.loop
    places = [maker.place(one)]
    places.append(places[0] if two is one else maker.place(two))
    indices = [[*found] for found, _ in places]
    addresses = [made.links[-1].touch.where for made in (one, two)]
    if any(a is None or any(rows != 1 for rows in a.rows) for a in addresses) or len(indices[0]) != len(indices[1]):
        raise Unsaid
    first, second = addresses
    assert first is not None and second is not None
    if not (first.aligned and second.aligned and first.width == second.width):
        for side, width in enumerate((first.width, second.width)):
            if width > 1:
                lane = numbers.number(("lane", side), False, 0, width - 1)
                indices[side][-1] = ("add", indices[side][-1], lane)
    goal: tuple[Expr, ...] | None
    if unit is not None:
        goal = _name(numbers, unit)
    elif loop is None:
        goal = None
    elif isinstance(loop.statement, tree.For):
        goal = (maker.reader(loop.frame).trip(loop.statement),)
    else:
        raise Unsaid
    agree, told = _agreed(numbers), maker.distinct_rules()
    if len(indices[0]) == 1:
        told += tuple(maker.nest_rules(indices[0][0], indices[1][0]))
    beside = tuple(dict.fromkeys(numbers.beside))
    where = tuple((*beside, *conditions) for _, conditions in places)
    found = Claim(tuple(numbers.rows), agree, where, tuple(zip(*indices, strict=True)), goal, told)  # type: ignore[arg-type]
    return _compact(found)


def _compact(claim: Claim) -> Claim:
    """Return a claim without the numbers that it does not speak of, in which equal expressions are one object."""
    used: dict[int, int] = {}
    memo: dict[int, Expr] = {}  # by identity: the claim holds all of them
    same: dict[tuple[object, ...], Expr] = {}

    def renamed(e: Expr) -> Expr:
        if not isinstance(e, tuple):
            return e
        found = memo.get(id(e))
        if found is None:
            named = ("var", used.setdefault(e[1], len(used))) if e[0] == "var" else (e[0], *map(renamed, e[1:]))
            key = tuple((id(part), "") if isinstance(part, tuple) else part for part in named)
            found = memo[id(e)] = same.setdefault(key, named)
        return found

    def renamed_rule(rule: Rule) -> Rule:
        one, two = (tuple((rel, renamed(a), renamed(b)) for rel, a, b in side) for side in rule.where)
        equal, therefore = (tuple((renamed(a), renamed(b)) for a, b in pairs) for pairs in (rule.equal, rule.therefore))
        return Rule((one, two), equal, therefore)

    index = tuple((renamed(a), renamed(b)) for a, b in claim.index)
    goal = None if claim.goal is None else tuple(map(renamed, claim.goal))
    agree = tuple(map(renamed, claim.agree))
    where = tuple(tuple((rel, renamed(a), renamed(b)) for rel, a, b in side) for side in claim.where)
    told = tuple(renamed_rule(rule) for rule in claim.told)
    return Claim(tuple(claim.vars[v] for v in used), agree, where, index, goal, told)  # type: ignore[arg-type]


def _name(numbers: Numbers, unit: Perspective) -> tuple[Expr, ...]:
    """Return what names a unit of a grid."""
    if unit.level == Level.THREAD:
        t = numbers.thread()
        return numbers.block(), t if unit.size == 1 else ("quo", t, unit.size)
    if unit.level == Level.BLOCK:
        b = numbers.block()
        return (b if unit.size == 1 else ("quo", b, unit.size),)
    return ()


def _agreed(numbers: Numbers) -> tuple[Expr, ...]:
    """Return what all threads of one unit of the source agree on."""
    source = numbers.source
    if source.level == Level.THREAD and source.size > 1:
        return (("quo", numbers.thread(), source.size),)
    if source.level == Level.BLOCK and source.size > 1:
        return (("quo", numbers.block(), source.size),)
    return ()


MOST_KEPT = 1 << 14
"""Claims of one process whose arguments are kept; then all are forgotten."""
_kept: dict[Claim, tuple[Argument | None]] = {}


def argue(one: Made, two: Made, loop: Loop | None, unit: Perspective | None) -> tuple[Claim, Argument] | None:
    """Return a claim of two accesses with an argument that the checker accepts; None where there is none."""
    try:
        claim = make(one, two, loop, unit)
        if claim is None:
            return None
        said = _kept.get(claim)  # once: a claim is long, and so is each look at it
        if said is None:
            if len(_kept) >= MOST_KEPT:
                _kept.clear()
            said = _kept[claim] = (find(claim),)
        (found,) = said
    except Exception:  # a fault of the search costs an argument, and no more
        return None
    return None if found is None else (claim, found)


def is_owner(one: Made, two: Made, unit: Perspective | None) -> bool:
    """Whether a unit has all threads that may touch an object: then nothing is to be shown."""
    return unit is not None and all(made.links[0].touch.root.perspective <= unit for made in (one, two))
