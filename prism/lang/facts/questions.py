"""Questions about two accesses, and answers that are kept: instances of a kernel ask the same, of names that mean the same.

A proof is given no function, but what `pose` makes of one: two addresses in which other names stand for the function's, a
question of these, and how many threads a block has. All that is known of a name stands in the name itself: its type, its
perspective, its bounds, its trips. So there is nothing that a proof could read and that is not compared: where all of it was
asked before, of whichever function, the answer is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Any

from prism.lang.diagnostics import Span
from prism.lang.facts.definitions import Facts
from prism.lang.facts.definitions import Span as Bounds
from prism.lang.facts.polynomials import Base, Digit, Form, Known, all_digits, in_order
from prism.lang.facts.touches import Address
from prism.lang.keep.bases import Value
from prism.lang.tree import Symbol
from prism.lang.types import INT32
from prism.lang.types.perspective import GRID, Perspective

MOST = 1 << 16
"""Of addresses, and of answers, so many are kept; then all are forgotten."""


class Question(Value):
    """Whether two accesses inside one unit of `source` that meet are in one `unit`, or in one trip of the loop of `index`.

    With neither, whether they never meet. `free`: names that may have another value at the other access.
    """

    source: Perspective
    unit: Perspective | None
    index: Symbol | None
    free: frozenset[Symbol]


Prove = Callable[[Known, Address, Address, Question], bool]


class Name(Symbol):
    """What stands for a name of a function, and says what is known of it there: one object for all names of which that is so."""

    bounds: Bounds | None = None
    trips: int | None = None


class Scene(Value):
    """What is known of a function but for its names, as `polynomials.Known` says; of these, each says so itself."""

    threads: int
    whole: int | None
    found: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def span_of(self, symbol: Symbol) -> Bounds | None:
        """Return the least and the greatest value of a loop's index."""
        assert isinstance(symbol, Name)
        return symbol.bounds

    def trips_of(self, symbol: Symbol) -> int | None:
        """Return how many trips a loop makes."""
        assert isinstance(symbol, Name)
        return symbol.trips


class _Kept:
    """What is kept for the whole process: names and addresses, one for each that says something else, and answers."""

    def __init__(self) -> None:
        self.scenes: dict[Hashable, Scene] = {}
        self.names: dict[Hashable, Name] = {}
        self.addresses: dict[Hashable, Address] = {}
        self.answers: dict[Hashable, bool] = {}


_kept = _Kept()


def recall(known: Facts, one: Address, two: Address, question: Question, prove: Prove) -> bool:
    """Return the answer to a question, which is proved of no function if it was asked of another before."""
    global _kept
    if one.distinct or two.distinct:  # claims are of one place in the text
        return prove(known, one, two, question)
    if max(len(_kept.answers), len(_kept.addresses)) >= MOST:
        _kept = _Kept()
    renamed: _Renamed | None = known.found.get("renamed")
    if renamed is None or renamed.kept is not _kept:
        renamed = known.found["renamed"] = _Renamed(known, _kept)
    asked = renamed.pose(one, two, question)
    found = _kept.answers.get(asked)
    if found is None:
        found = _kept.answers[asked] = prove(*asked)
    return found


class _Renamed:
    """A function's addresses in terms of names that stand for its own, which tell apart what it tells apart."""

    def __init__(self, known: Facts, kept: _Kept) -> None:
        self.known, self.kept = known, kept
        self.scene = kept.scenes.setdefault((known.threads, known.whole), Scene(known.threads, known.whole))
        self.names: dict[Symbol, Name] = {}
        self.alike: dict[Hashable, int] = {}
        self.vague: dict[object, int] = {}
        self.digits: dict[Digit, Digit] = {}
        self.addresses: dict[Address, tuple[Address, frozenset[Symbol]]] = {}

    def pose(self, one: Address, two: Address, question: Question) -> tuple[Known, Address, Address, Question]:
        """Return all that a proof is given."""
        (first, names), (second, others) = self.address(one), self.address(two)
        index = None if question.index is None else self.name(question.index)
        free = frozenset(self.names[symbol] for symbol in question.free & (names | others))  # of no other is it asked
        return self.scene, first, second, Question(question.source, question.unit, index, free)

    def address(self, where: Address) -> tuple[Address, frozenset[Symbol]]:
        """Return an address in terms of the other names, one object for all that are the same; and the names in it."""
        found = self.addresses.get(where)
        if found is None:
            forms = (*where.indices, *where.guards)
            names = {d.base[1] for form in forms for d in all_digits(form) if d.base[0] in ("name", "trip")}
            indices, guards = tuple(map(self.form, where.indices)), tuple(map(self.form, where.guards))
            ordered = [tuple(tuple(form.items()) for form in forms) for forms in (indices, guards)]
            key = (*ordered, where.width, where.aligned, where.rows)
            same = self.kept.addresses.get(key)
            if same is None:
                same = Address(_ROOT, indices, guards, where.width, where.aligned, where.rows)
                self.kept.addresses[key] = same
            found = self.addresses[where] = same, frozenset(names)
        return found

    def form(self, form: Form) -> Form:
        return {in_order(map(self.digit, digits)): factor for digits, factor in form.items()}

    def digit(self, digit: Digit) -> Digit:
        found = self.digits.get(digit)
        if found is None:
            found = self.digits[digit] = Digit(self.base(digit.base), digit.low, digit.high)
        return found

    def key(self, key: Any) -> Any:
        return frozenset(self.form(dict(key)).items())

    def base(self, base: Base) -> Base:
        match base:
            case ("name" | "trip" as kind, symbol):
                return kind, self.name(symbol)
            case ("quotient" | "remainder" as kind, left, right):
                return kind, self.key(left), self.key(right)
            case ("apply", name, type_, keys):
                return "apply", name, type_, tuple(map(self.key, keys))
            case ("xor", keys):
                return "xor", frozenset(map(self.key, keys))
            case ("wrap", type_, key):
                return "wrap", type_, self.key(key)
            case ("unknown", number, *more):  # only which others are the same; new ones are not negative
                return "unknown", self.vague.setdefault(number, -1 - len(self.vague)), *more
            case _:
                return base

    def name(self, symbol: Symbol) -> Name:
        if symbol not in self.names:
            bounds, trips = self.known.span_of(symbol), self.known.trips_of(symbol)
            # Where it stands too: that gives a product's digits their order.
            said = symbol.name, symbol.type, symbol.perspective, symbol.span, bounds, trips
            several = self.alike[said] = self.alike.get(said, 0) + 1  # two names that are alike are two
            name = self.kept.names.get((said, several))
            if name is None:
                name = Name(*said[:4], bounds=bounds, trips=trips)
                self.kept.names[said, several] = name
            self.names[symbol] = name
        return self.names[symbol]


_ROOT = Symbol("root", INT32, GRID, Span("", 1, 0, 1, 0))
"""What all elements are of: a proof asks nothing of it."""
