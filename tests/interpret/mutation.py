"""Mutants of a plan: each barrier, operation, count and number of bytes deleted or weakened, one at a time.

The reference machine must report each of them on one of its schedules, or show a wrong result. What it does not is a survivor:
the mutant is as good as the plan, and its reason is in `harmless`, or there is a hole in the plan or in the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from prism.interpret import MachineError
from prism.interpret.schedules import SCHEDULES
from prism.lang.perspective import THREAD, WARP1, Level
from prism.lang.plan import (
    Advance,
    Arrive,
    Barrier,
    Commit,
    Expect,
    Mbarrier,
    Op,
    Plan,
    Program,
    ProxyFence,
    Wait,
    WaitGroup,
    WgmmaFence,
)

Step = Barrier | Op


@dataclass(frozen=True)
class Mutant:
    """A plan with one fault, and what the fault is."""

    name: str
    plan: Plan


def mutants(plan: Plan, *, barriers: bool = True) -> Iterator[Mutant]:
    """Return every mutant of one function's plan."""
    steps: tuple[Step, ...] = (*(plan.barriers if barriers else ()), *plan.operations)
    for step in steps:
        yield Mutant(f"without {named(step)}", plan.without(step))
        for what, changed in weaker(step):
            yield Mutant(f"{named(step)}: {what}", exchanged(plan, step, changed))
    for barrier in plan.mbarriers:
        for by in (-1, 1):
            if barrier.count + by > 0:
                changed = replace(barrier, count=barrier.count + by)
                yield Mutant(f"`{barrier.name}` takes {by:+} arrivals", recounted(plan, barrier, changed))


def program_mutants(program: Program) -> Iterator[tuple[str, Program]]:
    """Return the mutants of all plans of a program."""
    for plan in program.plans.values():
        for mutant in mutants(plan):
            yield f"{plan.function.name}: {mutant.name}", program.with_plan(mutant.plan)


def named(step: Step) -> str:
    """Return what a step is and where it stands."""
    if isinstance(step, Barrier):
        return f"the {step.kind} barrier at line {step.before.span.line}"
    facts = [step.barrier.name] if isinstance(step, Wait | Arrive | Expect) else []
    facts += [step.kind] if isinstance(step, Commit | WaitGroup) else []
    drain = "the drain " if isinstance(step, Arrive) and step.drain else ""
    return f"{drain}{type(step).__name__}({', '.join(facts)}) {step.side} line {step.at.span.line}"


def weaker(step: Step) -> Iterator[tuple[str, Step]]:
    """Return what may be wrong with a step that is there."""
    match step:
        case Barrier():
            for unit in (WARP1, THREAD):
                if step.unit.level > Level.THREAD or unit < step.unit:
                    yield f"of {unit} only", replace(step, unit=unit, kind="warp")
        case Wait():
            yield "of the other lap", replace(step, lap=1 - step.lap)
        case Arrive():
            yield "one round later", replace(step, delay=step.delay + 1)
            if step.delay:
                yield "one round sooner", replace(step, delay=step.delay - 1)
            yield "by the others too", replace(step, every=1 if step.every > 1 else 32)
            if step.copies:
                yield "not after the copies", replace(step, copies=False)
        case Expect(bytes=int(count)):
            yield "of 16 bytes more", replace(step, bytes=count + 16)
            yield "of 16 bytes less", replace(step, bytes=count - 16)
        case WaitGroup():
            yield "with one more pending", replace(step, pending=step.pending + 1)
            if step.kind == "bulk" and not step.read:
                yield "of the reads only", replace(step, read=True)
        case Advance() | Commit() | ProxyFence() | WgmmaFence():
            pass


def exchanged(plan: Plan, old: Step, new: Step) -> Plan:
    """Return the plan with one step in place of another."""
    return replace(
        plan,
        barriers=tuple(new if b is old else b for b in plan.barriers),  # type: ignore[misc]
        operations=tuple(new if op is old else op for op in plan.operations),  # type: ignore[misc]
    )


def recounted(plan: Plan, old: Mbarrier, new: Mbarrier) -> Plan:
    """Return the plan with one mbarrier in place of another."""

    def moved(op: Op) -> Op:
        return replace(op, barrier=new) if isinstance(op, Wait | Arrive | Expect) and op.barrier is old else op

    return replace(
        plan,
        operations=tuple(moved(op) for op in plan.operations),
        mbarriers=tuple(new if barrier is old else barrier for barrier in plan.mbarriers),
        completes={copy: new if barrier is old else barrier for copy, barrier in plan.completes.items()},
    )


# -- who survives ---------------------------------------------------------------------------------------------------------

Right = Callable[..., bool]
"""Run a program with `schedule`, `seed` and `check` as given; tell whether its results are right."""

TRIED = tuple((schedule, 0) for schedule in SCHEDULES)


def caught(program: Program, right: Right, tried: tuple[tuple[str, int], ...] = TRIED) -> str:
    """Return what reports a faulty program first, an error's code or `wrong result`; the empty string where nothing does."""
    for schedule, seed in tried:
        try:
            if not right(program, schedule=schedule, seed=seed, check=True):
                return "wrong result"
        except MachineError as error:
            return error.code
    return ""
