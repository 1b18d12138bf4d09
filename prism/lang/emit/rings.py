"""Rings in C++: a thread's counters of each cycle, the addresses of copies and mbarriers, and what a kernel does first.

For each cycle a thread keeps `slot`, the copy of the present round, and `phase`, the parity of the rounds over the copies: no
division. For arrivals of earlier rounds it also keeps the copy of so many rounds ago, below 0 while there was none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prism.lang.emit.names import identifier, is_copy
from prism.lang.emit.pieces import INIT, INIT_DONE
from prism.lang.place import statements
from prism.lang.plan import Arrive, Cycle, Expect, Layout, Mbarrier, Plan, Wait
from prism.lang.tree import Async, Body, Claim, Partition, Symbol
from prism.lang.types import Pointer


@dataclass(frozen=True, slots=True)
class Rings:
    """What a function's rings are called in C++. `delays`: of each cycle, how many rounds late arrivals come."""

    plan: Plan
    layout: Layout
    names: Mapping[Cycle, str] = field(default_factory=dict)
    barriers: Mapping[Mbarrier, str] = field(default_factory=dict)
    delays: Mapping[Cycle, tuple[int, ...]] = field(default_factory=dict)

    def slot(self, cycle: Cycle, delay: int = 0) -> str:
        """Return the copy of the present round, or of an earlier one."""
        if delay:
            return f"{self.names[cycle]}_late{delay}"
        return f"{self.names[cycle]}_slot" if cycle.copies > 1 else "0u"

    def phase(self, cycle: Cycle, lap: int) -> str:
        """Return the parity to wait for: of this lap's visit of the copy, or of the last."""
        return f"{self.names[cycle]}_phase{' ^ 1u' if lap else ''}"

    def at(self, barrier: Mbarrier, delay: int = 0) -> str:
        """Return the address of the mbarrier of a copy."""
        slot = self.slot(barrier.cycle, delay)
        return self.barriers[barrier] if slot == "0u" else f"{self.barriers[barrier]} + {slot}"

    def cycle_of(self, ring: Symbol) -> Cycle:
        """Return the cycle that a ring belongs to."""
        return next(cycle for cycle in self.plan.cycles if ring in cycle.rings)

    def copy(self, view: Symbol, ring: str) -> str:
        """Return the address of the copy that a view names."""
        assert is_copy(view) and view.view is not None and isinstance(view.view.source.type, Pointer)
        source = view.view.source
        slot, stride = self.slot(self.cycle_of(source)), self.layout.strides[source]
        assert isinstance(source.type, Pointer)
        return ring if slot == "0u" else f"{ring} + {slot} * {stride // source.type.element.bytes}u"


def rings_of(plan: Plan, layout: Layout, taken: Iterable[str] = ()) -> Rings:
    """Name what a plan's rings need, in the plan's order."""
    used = set(taken)
    names = {cycle: _name(cycle.name, used) for cycle in plan.cycles}
    barriers = {barrier: _name(barrier.name, used) for barrier in plan.mbarriers}
    delays: dict[Cycle, tuple[int, ...]] = {}
    for op in plan.operations:
        if isinstance(op, Arrive) and op.delay:
            cycle = op.barrier.cycle
            delays[cycle] = tuple(sorted({*delays.get(cycle, ()), op.delay}))
    return Rings(plan, layout, names, barriers, delays)


def _name(name: str, used: set[str]) -> str:
    return f"px_{identifier(re.sub(r'[^A-Za-z0-9]+', '_', name).strip('_'), used)}"


def counters(rings: Rings, cycles: Iterable[Cycle]) -> list[str]:
    """Return the lines that declare a thread's counters, before its first round."""
    lines = []
    for cycle in cycles:
        name = rings.names[cycle]
        slot = f"{name}_slot = 0u, " if cycle.copies > 1 else ""
        lines.append(f"unsigned int {slot}{name}_phase = 0u;")
        late = ", ".join(f"{name}_late{delay} = -{delay}" for delay in rings.delays.get(cycle, ()))
        lines += [f"int {late};"] if late else []
    return lines


def advance(rings: Rings, cycle: Cycle) -> list[str]:
    """Return the lines that go on to a cycle's next round."""
    name, copies = rings.names[cycle], cycle.copies
    late = [f"if (++{name}_late{delay} == {copies}) {name}_late{delay} = 0;" for delay in rings.delays.get(cycle, ())]
    if copies == 1:
        return [f"{name}_phase ^= 1u;", *late]
    return [f"if (++{name}_slot == {copies}u) {{ {name}_slot = 0u; {name}_phase ^= 1u; }}", *late]


def arrays(rings: Rings) -> list[str]:
    """Return the lines that name the mbarriers' places in shared memory."""
    lines = []
    for barrier, name in rings.barriers.items():
        place = f"px_shared + {rings.layout.mbarriers[barrier]}u"
        lines.append(f"unsigned long long* const {name} = reinterpret_cast<unsigned long long*>({place});")
    return lines


def initialise(rings: Rings, pieces: dict[str, None]) -> list[str]:
    """Return the lines in which one thread makes the mbarriers, for all to see once they have met."""
    if not rings.barriers:
        return []
    pieces.update((piece.strip("\n"), None) for piece in (INIT, INIT_DONE))
    lines = []
    for barrier, name in rings.barriers.items():
        count, copies = barrier.count, barrier.cycle.copies
        each = f"for (int px_k = 0; px_k < {copies}; ++px_k) px_init({name} + px_k, {count}u);"
        lines += [f"px_init({name}, {count}u);"] if copies == 1 else ["#pragma unroll", each]
    return ["if (threadIdx.x == 0u) {", *(f"    {line}" for line in lines), "    px_init_done();", "}"]


def cycles_in(body: Body, rings: Rings) -> list[Cycle]:
    """Return the cycles, in the plan's order, that some statements have to count: they name a copy, wait or arrive."""
    found = set(statements(body))
    views = (s.view.view for s in found if isinstance(s, Partition | Claim | Async) and is_copy(s.view))
    needed = {rings.cycle_of(view.source) for view in views if view is not None}
    needed |= {
        op.barrier.cycle for op in rings.plan.operations if isinstance(op, Wait | Arrive | Expect) and op.at in found
    }
    return [cycle for cycle in rings.plan.cycles if cycle in needed]
