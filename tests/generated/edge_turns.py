"""Turns: programs of roles, tiles and rings (edge_roles.py) in which units of some role go through passages one after the other.

In a passage stand statements of its role, one or a few, perhaps in a loop; and each unit takes the next number of a counter.
That number, modulo the units, is the unit's own if and only if they came in their order. What is refused with cause is written
too: tiles that warps hand to each other inside a passage, more units than there are named barriers for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.generated.derive import indent
from tests.generated.edge_roles import PRIME, Do, Node, Role, State, Writer
from tests.generated.edges_verify import Edge

WARP = 32
COUNTERS = 64
"""Passages that a program may have."""


class TurnsWriter(Writer):
    """Writes one program; `passages`: the units of each; `doubtful`: whether something in one may be refused."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        while not self.warps:  # units are whole warps
            super().__init__(self.random.getrandbits(30))
        self.passages: list[int] = []
        self.doubtful = False

    def statements(self, depth: int, index: tuple[str, ...]) -> list[Node]:
        """Some statements of the block's code, one or two passages among them."""
        found = super().statements(depth, index)
        for _ in range(self.random.choice((0, 1, 1, 2))):
            if self.is_room(role := self.role()):
                found.insert(self.random.randint(0, len(found)), self.passage(role, index))
        return found

    def write(self, tile: tuple[str, Role], index: tuple[str, ...]) -> Do:
        """As a role's, and now and then in a passage: a tile's, or a ring's visit that fills it."""
        return self.perhaps_in_turns(super().write(tile, index), tile[1])

    def use(self, name: str, role: Role, size: int) -> Do:
        """As a role's, and now and then in a passage."""
        return self.perhaps_in_turns(super().use(name, role, size), role)

    def is_room(self, role: Role) -> bool:
        """Whether there are barriers for its units; now and then also where there are not."""
        taken = sum(self.passages) + role.size // WARP
        return len(self.passages) < COUNTERS and (taken <= 10 or self.random.random() < 0.02)

    def perhaps_in_turns(self, do: Do, role: Role) -> Do:
        if self.random.random() < 0.7 or not self.is_room(role):
            return do
        return self.in_turns(role, do.lines, do.run)

    def passage(self, role: Role, index: tuple[str, ...]) -> Do:
        """A passage with what its role does for itself, with tiles of its own or without."""
        parts, inside = [self.own_of(role, index)], ("write", "read", "own")
        tiles = [tile for tile in self.tiles.items() if tile[1] == role]
        for _ in range(self.random.choice((0, 1, 1, 2)) if tiles else 0):
            kind, tile = self.random.choice(inside), self.random.choice(tiles)
            self.doubtful |= kind != "own"  # warps may hand something to each other
            made = {"write": lambda t: Writer.write(self, t, index), "read": self.read, "own": lambda _: parts[0]}
            parts.append(made[kind](tile))
        lines, trips = [line for part in parts for line in part.lines], self.random.choice((1, 1, 1, 2))
        if trips > 1:
            lines = [f"for turn in range({trips}):", *indent(lines)]

        def run(state: State) -> None:
            for _ in range(trips):
                for part in parts:
                    part.run(state)

        return self.in_turns(role, lines, run)

    def own_of(self, role: Role, index: tuple[str, ...]) -> Do:
        """The threads of a role compute."""
        text, value = self.value(index)

        def run(state: State) -> None:
            mine = slice(role.first, role.first + role.size)
            state.total[mine] = value(state)[mine]

        return Do([f"with {role.name}, group(thread[1]):", f"    total = {text}"], run)

    def in_turns(self, role: Role, lines: list[str], run: Callable[[State], None]) -> Do:
        """Statements in a passage, with the number that each unit takes there."""
        number, units = len(self.passages), role.size // WARP
        self.passages.append(max(units, 1))
        counted = [
            f"with {role.name}, group(warp[1]), one(thread):",
            f"    when: int32 @ thread[1] = atomic_add(came[{number * self.blocks} + number], 1)",
            f"    total = (total * 3 + when % {max(units, 1)}) % {PRIME}",
        ]
        first = self.random.random() < 0.5

        def both(state: State) -> None:
            if not first:
                run(state)
            at = role.first + WARP * np.arange(units)
            state.total[at] = (state.total[at] * 3 + np.arange(units)) % PRIME
            if first:
                run(state)

        inner = [*counted, *lines] if first else [*lines, *counted]
        return Do([f"with turns({role.name}):", *indent(inner)], both)

    def program(self) -> Edge:
        """The whole of it, with a counter for each passage of each block."""
        edge = super().program()
        head = "n: int32 @ grid[1]):\n"
        text = edge.text.replace(
            head, "n: int32 @ grid[1], came: ptr(int32) @ grid[1]):\n    number: int32 @ block[1] = id()\n"
        )
        assert text != edge.text
        inputs = edge.inputs

        def with_counters() -> list[Any]:
            return [*inputs(), np.zeros(COUNTERS * self.blocks, np.int32)]

        barriers = sum(units for units in self.passages if units > 1)
        barriers += sum(self.threads // size for size in {role.size for role in self.roles if role.size > WARP})
        legal = None if self.doubtful or barriers > 15 else edge.legal
        return replace(edge, text=text, inputs=with_counters, legal=legal)


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return TurnsWriter(seed).program()
