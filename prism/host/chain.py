"""Plans one after the other as one plan, where what one of them makes the next one reads: in scratch memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from prism.host.plan import ALIGNED, SCRATCH, WORDS, Buffer, Clear, Plan, Scratch, Step, move_steps, size_of


class Chain:
    """Plans that are added, in their order: `take` gives memory that lies between them.

    Each has words of its own; all have the same scratch memory, behind what was taken.
    """

    def __init__(self) -> None:
        self._taken = Scratch()
        self._links: list[tuple[Plan, Mapping[str, Buffer]]] = []

    def take(self, dtype: str, count: int) -> Buffer:
        """Return room for so many elements of a kernel's type, that all plans may use."""
        return self._taken.take(dtype, count)

    def add(self, plan: Plan, names: Mapping[str, Buffer]) -> None:
        """Add a plan whose arrays of some names are other memory: of the call, or what was taken."""
        self._links.append((plan, names))

    def plan(self) -> Plan:
        """Return the plan of them all."""
        steps: list[Step | Clear] = []
        words = 0
        for plan, names in self._links:
            beside = {WORDS: Buffer(WORDS, words), SCRATCH: Buffer(SCRATCH, self._taken.used)}
            steps += move_steps(plan.steps, partial(_placed, places={**beside, **names}))
            words += -(-plan.words // ALIGNED) * ALIGNED
        plans = [plan for plan, _ in self._links]
        tag = " and ".join(f"{plan.tag} {plan.words}" for plan in plans if plan.words)
        scratch = self._taken.used + max(plan.scratch for plan in plans)
        return Plan(tuple(steps), words, tag, scratch, any(plan.lent for plan in plans))


def _placed(value: Buffer, places: Mapping[str, Buffer]) -> Buffer:
    if value.name not in places:
        return value
    there = places[value.name]
    if value.name in (WORDS, SCRATCH):
        return replace(value, name=there.name, offset=there.offset + value.offset)
    behind = there.count - value.offset // size_of(there.dtype) if there.count else 0  # what it is a part of
    return Buffer(there.name, there.offset + value.offset, there.dtype, behind)


__all__ = ["Chain"]
