"""The named barriers of passages: one for each unit that takes turns, beside those at which parts of a block meet."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang import tree
from prism.lang.check.env import fail
from prism.lang.errors.turns import TurnsMany
from prism.lang.facts.budget import most_threads
from prism.lang.lower.limits import HARDWARE_BARRIERS
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import statements

Passage = tuple[object, ...]


def allocate_turns(program: Program, named: Mapping[int, int]) -> Mapping[Passage, int]:
    """Return, for each passage, the hardware's number of its first unit's barrier; `named`: the numbers that are taken.

    An arrival is left over at the end, so no other passage has the same numbers. Raises CompileError when 16 are not enough.
    """
    threads = most_threads(program.entry)
    free = max((base + max(1, threads // size) for size, base in named.items()), default=1)
    found: dict[Passage, int] = {}
    for s in statements(program.entry.body):
        if not isinstance(s, tree.Turns) or s.passage in found or s.number == 1:
            continue
        left = HARDWARE_BARRIERS - free
        if s.number > left:
            fail(TurnsMany(span=s.span, name=s.name, number=s.number, left=left, taken=free - 1))
        found[s.passage] = free
        free += s.number
    return found
