"""Rings in C++: a thread's counters of each cycle, the addresses of copies and mbarriers, and what a kernel does first.

For each cycle a thread keeps `slot`, the copy of the present round, and, where somebody waits by it, `phase`, the parity of the
rounds over the copies: no division. For an mbarrier at which it arrives some rounds late, it also keeps how many rounds it has
not yet arrived for, and the copy of the first of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from prism.lang.cuda.names import is_copy, variable_name
from prism.lang.intrinsics.asynchronous import mbarrier_init, mbarrier_init_fence
from prism.lang.keep.bases import Value
from prism.lang.tree import Async, Body, Claim, Partition, Symbol
from prism.lang.tree.plan import Arrive, Cycle, Expect, Layout, Mbarrier, Plan, Wait
from prism.lang.tree.walk import statements
from prism.lang.types import Pointer


class Rings(Value):
    """What a function's rings are called in C++."""

    plan: Plan
    layout: Layout
    names: Mapping[Cycle, str] = field(default_factory=dict)
    barriers: Mapping[Mbarrier, str] = field(default_factory=dict)

    def slot(self, cycle: Cycle) -> str:
        """Return the copy of the present round."""
        return f"{self.names[cycle]}_slot" if cycle.copies > 1 else "0u"

    def phase(self, cycle: Cycle, lap: int) -> str:
        """Return the parity to wait for: of this lap's visit of the copy, or of the last."""
        return f"{self.names[cycle]}_phase{' ^ 1u' if lap else ''}"

    def at(self, barrier: Mbarrier, late: bool = False) -> str:
        """Return the address of the mbarrier of the present round's copy, or of the first that was not arrived for."""
        name = self.barriers[barrier.itself]
        if barrier.cycle.copies == 1:
            return name
        return f"{name} + {f'{name}_late' if late else self.slot(barrier.cycle)}"

    @property
    def waited(self) -> frozenset[Cycle]:
        """The cycles of whose rounds the parity is asked for."""
        return frozenset(op.barrier.cycle for op in self.plan.operations if isinstance(op, Wait))

    def cycle_of(self, view: Symbol) -> Cycle:
        """Return the cycle whose round says which copy a view means."""
        cycle = self.plan.cycle_of(view)
        assert cycle is not None
        return cycle

    def copy(self, view: Symbol, ring: str) -> str:
        """Return the address of the copy that a view names."""
        assert is_copy(view) and view.view is not None and isinstance(view.view.source.type, Pointer)
        source = view.view.source
        slot, stride = self.slot(self.cycle_of(view)), self.layout.strides[source]
        assert isinstance(source.type, Pointer)
        return ring if slot == "0u" else f"{ring} + {slot} * {stride // source.type.element.bytes}u"


def rings_of(plan: Plan, layout: Layout) -> Rings:
    """Name what a plan's rings need, in the plan's order."""
    used: set[str] = set()
    names = {cycle: f"px_{_name(cycle.name, used)}" for cycle in plan.cycles}
    barriers = {barrier: f"px_bar_{_name(barrier.name, used)}" for barrier in plan.mbarriers}
    return Rings(plan, layout, names, barriers)


def _count(barrier: Mbarrier) -> str:
    if not barrier.per:
        return f"{barrier.count}u"
    threads = "blockDim.x" if barrier.count == 1 else f"{barrier.count}u * blockDim.x"
    return threads if barrier.per == 1 else f"{threads} / {barrier.per}u"


def _name(name: str, used: set[str]) -> str:
    return variable_name(name, used).removesuffix("_")


def counters(rings: Rings, body: Body) -> list[str]:
    """Return the lines that declare the counters of the threads that run some statements, before the first round."""
    found = set(statements(body))
    views = [s.view for s in found if isinstance(s, Partition | Claim | Async) and is_copy(s.view)]
    here = [op for op in rings.plan.operations if isinstance(op, Wait | Arrive | Expect) and op.at in found]
    counted = {rings.cycle_of(view) for view in views} | {op.barrier.cycle for op in here}
    late = {op.barrier for op in here if isinstance(op, Arrive) and op.delay}
    lines = []
    for cycle in (cycle for cycle in rings.plan.cycles if cycle in counted):
        name = rings.names[cycle]
        counts = [f"{name}_slot = 0u"] if cycle.copies > 1 else []
        counts += [f"{name}_phase = 0u"] if cycle in rings.waited else []
        lines += [f"unsigned int {', '.join(counts)};"] if counts else []
    for barrier in (barrier for barrier in rings.barriers if barrier in late):
        name = rings.barriers[barrier]
        slot = f"{name}_late = 0u, " if barrier.cycle.copies > 1 else ""
        lines.append(f"unsigned int {slot}{name}_left = 0u;")
    return lines


def advance(rings: Rings, cycle: Cycle) -> list[str]:
    """Return the line that goes on to a cycle's next round; none where all rounds are the same."""
    name, copies = rings.names[cycle], cycle.copies
    if copies == 1:
        return [f"{name}_phase ^= 1u;"] if cycle in rings.waited else []
    if cycle not in rings.waited:
        return [f"if (++{name}_slot == {copies}u) {name}_slot = 0u;"]
    return [f"if (++{name}_slot == {copies}u) {{ {name}_slot = 0u; {name}_phase ^= 1u; }}"]


def arrive_late(rings: Rings, op: Arrive, call: str) -> list[str]:
    """Return the lines that arrive for an earlier round, once there is one; or, behind the loop, for all that are left."""
    name, copies = rings.barriers[op.barrier], op.barrier.cycle.copies
    next_ = [f"if (++{name}_late == {copies}u) {name}_late = 0u;"] if copies > 1 else []
    if op.drain:
        return [f"for (; {name}_left; --{name}_left) {{", *(f"    {line}" for line in (call, *next_)), "}"]
    lines = [*(f"    {line}" for line in (call, *next_))]
    return [f"if ({name}_left == {op.delay}u) {{", *lines, f"}} else ++{name}_left;"]


def arrays(rings: Rings) -> list[str]:
    """Return the lines that name the mbarriers' places in shared memory."""
    lines = []
    for barrier, name in rings.barriers.items():
        place = f"px_shared + {rings.layout.mbarriers[barrier]}u"
        lines.append(f"unsigned long long* const {name} = reinterpret_cast<unsigned long long*>({place});")
    return lines


def initialise(rings: Rings) -> list[str]:
    """Return the lines in which one thread makes the mbarriers, for all to see once they have met."""
    if not rings.barriers:
        return []
    lines = []
    for barrier, name in rings.barriers.items():
        count, copies = _count(barrier), barrier.cycle.copies
        if copies == 1:
            lines.append(mbarrier_init(name, count))
        else:
            each = mbarrier_init(f"{name} + px_k", count)
            lines += ["#pragma unroll", f"for (int px_k = 0; px_k < {copies}; ++px_k) {each}"]
    return ["if (threadIdx.x == 0u) {", *(f"    {line}" for line in (*lines, mbarrier_init_fence())), "}"]
