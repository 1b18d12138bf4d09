"""Pointers that are assigned: what they may name at each place of a text.

Those of a block are told apart together, as two that are exchanged in each trip: what follows is looked at once for each value
that they have. An access through any other is one to any of its objects.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prism.lang import tree
from prism.lang.tree.walk import statements, terms
from prism.lang.types.perspective import BLOCK, GRID, Perspective, meet

MOST = 8
"""Values of a block's pointers that are told apart."""
Values = Mapping[tree.Symbol, tree.Symbol]
"""What each pointer that was assigned names."""


class Names:
    """What pointers may name at the present place of a function: each of several values of them all."""

    def __init__(self) -> None:
        self.now: tuple[Values, ...] = ({},)
        self.left: list[tuple[Values, ...]] = []

    def groups(self, body: tree.Body) -> tuple[Perspective, list[tuple[Values, ...]]] | None:
        """Return the values by what the block's pointers have that some statements name, and who agrees on these; or None."""
        if len(self.now) < 2 or not body:
            return None
        named = frozenset[tree.Symbol]().union(*map(_named, body))
        wide = {name for values in self.now for name in values if name.perspective >= BLOCK}
        found: dict[tuple[object, ...], list[Values]] = {}
        for values in self.now:
            key = [values.get(name) for name in sorted(wide & named, key=lambda name: (name.name, id(name)))]
            found.setdefault(tuple(key), []).append(values)
        if not 1 < len(found) <= MOST:
            return None
        return meet(GRID, *(name.perspective for name in wide & named)), [tuple(some) for some in found.values()]

    def jump(self) -> None:
        """Note what the pointers have where a loop's trip is left."""
        self.left.append(self.now)

    def assign(self, pointer: tree.Symbol, sources: tuple[tree.Symbol, ...]) -> None:
        """Give a pointer the value of one of several names."""
        found = (
            {**values, pointer: values.get(source, source) if source.view is None else source}
            for values in self.now
            for source in sources or (pointer,)
        )
        self.now = distinct(found)

    def either(self, *walks: Callable[[], Any]) -> list[Any]:
        """Walk several ways from here; behind them the values are those behind any."""
        before, bodies, ends = self.now, [], []
        for walk in walks:
            self.now = before
            bodies.append(walk())
            ends.append(self.now)
        self.now = union(*ends)
        return bodies

    def repeat(self, walk: Callable[[], Any]) -> Any:
        """Walk a loop's body until nothing changes."""
        around, self.left = self.left, []
        while True:
            before = self.now
            found = walk()
            self.now = union(before, self.now, *self.left)
            if len(self.now) == len(before):
                self.left = around
                return found


@functools.lru_cache(maxsize=4096)
def _named(statement: tree.Stmt) -> frozenset[tree.Symbol]:
    """Return the objects and pointers that a statement names, anywhere inside."""
    parts = (part for s in statements((statement,)) for part in terms(s))
    return frozenset(part.symbol.root() for part in parts if isinstance(part, tree.Var | tree.Element))


def distinct(values: Iterator[Values]) -> tuple[Values, ...]:
    """Return values, each once."""
    return tuple({frozenset(one.items()): one for one in values}.values())


def union(*several: tuple[Values, ...]) -> tuple[Values, ...]:
    """Return what may be where several ways meet."""
    first = several[0]
    return first if all(one is first for one in several) else distinct(one for some in several for one in some)


def resolutions(
    symbol: tree.Symbol, names: tuple[Values, ...]
) -> Iterator[tuple[tuple[tree.Symbol, tree.Symbol], ...]]:
    """Yield what the pointers behind a name may name, each combination once."""
    yield from dict.fromkeys(_resolution(symbol, values) for values in names)


def _resolution(symbol: tree.Symbol, values: Values) -> tuple[tuple[tree.Symbol, tree.Symbol], ...]:
    found: list[tuple[tree.Symbol, tree.Symbol]] = []
    root = symbol.root()
    while root in values and root not in dict(found):
        found.append((root, values[root]))
        root = values[root].root()
    return tuple(found)
