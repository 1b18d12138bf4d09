"""Conditions that a function asks more than once: a skeleton has what stands between in both cases."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang import tree
from prism.lang.barriers.conditions import Condition, Conditions, conditions
from prism.lang.facts.definitions import Facts
from prism.lang.tree.walk import statements
from prism.lang.types.perspective import Perspective


class Questions:
    """Which conditions a function's statements ask, and which they change, anywhere inside."""

    def __init__(self, found: Conditions) -> None:
        self.found = found
        self.asked: dict[tree.Stmt, Mapping[Condition, Perspective]] = {}
        self.gone: dict[tree.Stmt, frozenset[Condition]] = {}

    def asks(self, s: tree.Stmt) -> Mapping[Condition, Perspective]:
        """Return the conditions asked, each with who decides on it."""
        if not self.found.asked:
            return {}
        if s not in self.asked:
            self.asked[s] = {
                self.found.asked[inner][0]: inner.condition.perspective
                for inner in statements((s,))
                if isinstance(inner, tree.If) and inner in self.found.asked
            }
        return self.asked[s]

    def changes(self, s: tree.Stmt) -> frozenset[Condition]:
        """Return the conditions in which something changes."""
        if not self.found.asked:
            return frozenset()
        if s not in self.gone:
            every = (self.found.changed.get(inner, frozenset()) for inner in statements((s,)))
            self.gone[s] = frozenset[Condition]().union(*every)
        return self.gone[s]

    def known_inside(
        self, s: tree.If, cases: Mapping[Condition, bool]
    ) -> tuple[Mapping[Condition, bool], Mapping[Condition, bool]]:
        """Return the conditions that are known where a branch is taken, and where it is not."""
        asked = self.found.asked.get(s)
        if asked is None:
            return cases, cases
        return {**cases, asked[0]: asked[1]}, {**cases, asked[0]: not asked[1]}

    def truth(self, s: tree.If, cases: Mapping[Condition, bool]) -> bool | None:
        """Return whether a branch is taken, where that is known."""
        asked = self.found.asked.get(s)
        if asked is None or asked[0] not in cases:
            return None
        return cases[asked[0]] == asked[1]


NONE = Questions(Conditions())


def questions_of(known: Facts) -> Questions:
    """Return the conditions of a function that are asked more than once."""
    if "questions" not in known.found:
        known.found["questions"] = Questions(conditions(known.function))
    found: Questions = known.found["questions"]
    return found
