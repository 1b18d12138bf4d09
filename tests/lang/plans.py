"""A plan in words, for tests: what stands before (`<`) and after (`>`) each line of a kernel, in the order of execution."""

from __future__ import annotations

from prism.lang.pipeline import build
from prism.lang.tree.plan import (
    Advance,
    Arrive,
    Barrier,
    Commit,
    Expect,
    Op,
    Plan,
    Program,
    ProxyFence,
    Wait,
    WaitGroup,
    WgmmaFence,
)
from prism.lang.tree.walk import statements


def entry_plan(kernel: object, **template: object) -> tuple[Program, Plan]:
    """Return a kernel's program and the plan of its entry."""
    program = build(kernel, template or None)
    return program, program.plans[program.entry]


def told(kernel: object, **template: object) -> list[str]:
    """Return what the plan puts before and after each line, counted from the kernel's `def`."""
    program, plan = entry_plan(kernel, **template)
    start = next(line for line in range(program.entry.span.line, 1 << 30) if is_def(program, line))
    before, after = plan.before(), plan.after()
    found = []
    for statement in statements(program.entry.body):
        line = statement.span.line - start
        found += [f"{line} < {words(step)}" for step in before.get(statement, ())]
        found += [f"{line} > {words(step)}" for step in after.get(statement, ())]
    assert len(found) == len(plan.barriers) + len(plan.operations)
    return sorted(found, key=lambda text: int(text.split()[0]))


def is_def(program: Program, line: int) -> bool:
    from prism.lang.diagnostics import source_lines

    return source_lines(program.entry.file)[line - 1].lstrip().startswith("def ")


def words(step: Barrier | Op) -> str:
    match step:
        case Barrier():
            return f"{step.kind} {step.unit}"
        case Wait():
            return f"wait {step.barrier.name}" + " of the last lap" * step.lap
        case Arrive():
            more = " by warps" * (step.every == 32) + " with copies" * step.copies
            return (
                f"arrive {step.barrier.name}{more}" + f" late {step.delay}" * (step.delay > 0) + " drain" * step.drain
            )
        case Expect():
            return f"expect {step.barrier.name} {step.bytes}"
        case Advance():
            return f"advance {step.cycle.name}"
        case ProxyFence():
            return "fence"
        case Commit():
            return f"commit {step.kind}"
        case WaitGroup():
            return f"pending {step.kind} {step.pending}" + " read" * step.read
        case WgmmaFence():
            return "registers"


def barriers(kernel: object, **template: object) -> list[str]:
    """Return the mbarriers: each with its copies and its arrivals."""
    _, plan = entry_plan(kernel, **template)
    per = {m: f" per {m.per} threads" if m.per else "" for m in plan.mbarriers}
    per = {m: text + (f" of blocks {m.blocks:#b}" if m.blocks else "") for m, text in per.items()}
    return [f"{m.name}[{m.cycle.copies}] {m.count}{per[m]}" for m in plan.mbarriers]
