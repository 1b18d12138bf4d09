"""Pieces of a loop that are alike for a role, made one again: a loader does the same on a mask's diagonal as off it.

Loops are split for all roles at once (split_loops.py), since all visit rings in step. What a condition around a loop over a
fragment cuts apart is often the same for those who have no fragment. Their text has one loop then, over the range that the pieces
have together: fewer instructions, and fewer registers, of which a loader has few.

Pieces are alike if their statements are, but for names that they declare, with the same waits, arrivals and fences beside them.
Barriers are met by others, in a piece each: where one stands, pieces stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace

from prism.lang import tree
from prism.lang.keep.bases import Frozen, Plain
from prism.lang.rings.hoisting import declared_names
from prism.lang.tree.plan import Barrier, Op

APART = {"span", "inlined", "at", "first", "second", "copy", "body", "then", "otherwise", "arms", "part"}
"""Fields that are not compared: places, statement lists, what a step's witnesses are."""


class Role(Frozen):
    """What of a body is a role's: its statement lists, and what it does beside each statement."""

    lists: Callable[[tree.Stmt], tuple[tree.Body, ...]]
    kept: Callable[[tree.Body], tree.Body]
    steps: Callable[[tree.Stmt], Sequence[Barrier | Op]]

    def merges(self, body: tree.Body) -> Iterator[tuple[tree.For, tuple[tree.For, ...]]]:
        """Yield loops in place of pieces that are alike, with these pieces."""
        body = self.kept(body)
        for at, s in enumerate(body):
            whole = s.part.whole if isinstance(s, tree.For) and s.part is not None else None
            if whole is not None and isinstance(s, tree.For) and s.part is not None and s.part.first == whole.first:
                run = tuple(t for t in body[at : at + whole.last - whole.first + 1] if isinstance(t, tree.For))
                if self._is_one(run, whole):
                    part = replace(s.part, last=whole.last, whole=None)
                    yield replace(s, start=whole.start, stop=whole.stop, once=whole.once, part=part), run
            for inner in self.lists(s):
                yield from self.merges(inner)

    def _is_one(self, run: tuple[tree.For, ...], whole: tree.Whole) -> bool:
        together = all(s.part is not None and s.part.whole is whole for s in run)
        # Steps beside a piece itself stand between the pieces: in one loop they would have no place.
        if not together or len(run) != whole.last - whole.first + 1 or any(map(self.steps, run)):
            return False
        return all(self._alike(run[0].body, s.body, {run[0].symbol: s.symbol}) for s in run[1:])

    def _alike(self, one: tree.Body, two: tree.Body, names: dict[tree.Symbol, tree.Symbol]) -> bool:
        """Whether two lists do the same, with names of the one for those of the other."""
        one, two = self.kept(one), self.kept(two)
        return len(one) == len(two) and all(self._alike_statements(s, t, names) for s, t in zip(one, two, strict=True))

    def _alike_statements(self, s: tree.Stmt, t: tree.Stmt, names: dict[tree.Symbol, tree.Symbol]) -> bool:
        made = list(declared_names(s)), list(declared_names(t))
        if type(s) is not type(t) or len(made[0]) != len(made[1]) or _threads(s) != _threads(t):
            return False
        names |= dict(zip(*made, strict=True))  # before the steps are compared, which may name what is declared here
        steps = self.steps(s), self.steps(t)
        if any(isinstance(step, Barrier) for step in steps[0]) or not same(steps[0], steps[1], names):
            return False
        lists = self.lists(s), self.lists(t)
        return (
            same(s, t, names)
            and all(same(x.view, y.view, names) for x, y in zip(*made, strict=True))
            and len(lists[0]) == len(lists[1])
            and all(self._alike(x, y, names) for x, y in zip(*lists, strict=True))
        )


def _threads(s: tree.Stmt) -> list[tuple[int, int]]:
    """Return whom the arms of a split are for, or a passage that is taken in turns."""
    if isinstance(s, tree.Split):
        return [(arm.first, arm.size) for arm in s.arms]
    return [(s.first, s.size)] if isinstance(s, tree.Turns) else []


def same(one: object, two: object, names: Mapping[tree.Symbol, tree.Symbol]) -> bool:
    """Whether two parts of a tree are alike, with names of the one for those of the other."""
    if one is two:
        return not (isinstance(one, tree.Symbol) and one in names) or names[one] is two
    if isinstance(one, tree.Symbol) or isinstance(two, tree.Symbol):
        return isinstance(one, tree.Symbol) and names.get(one, one) is two
    if isinstance(one, tuple | list) and isinstance(two, tuple | list):
        return len(one) == len(two) and all(same(x, y, names) for x, y in zip(one, two, strict=True))
    if isinstance(one, Plain) and type(one) is type(two) and one != two:
        compared = (f.name for f in fields(one) if f.name not in APART)  # type: ignore[arg-type]
        return all(same(getattr(one, name), getattr(two, name), names) for name in compared)
    return one == two
