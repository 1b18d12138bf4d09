"""Mutants of a plan: each barrier, operation, count and number of bytes deleted or weakened, one at a time.

The reference machine must report each of them on one of its schedules, or show a wrong result. What it does not is a survivor:
the mutant is as good as the plan, and its reason is in `harmless`, or there is a hole in the plan or in the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from prism.interpret import SCHEDULES, MachineError, schedules
from prism.lang.certify import ACCEPTED
from prism.lang.tree.plan import (
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
from prism.lang.tree.walk import used_objects
from prism.lang.types import Pointer
from prism.lang.types.perspective import BLOCK, THREAD, WARP, WARP1, WARPGROUP1, Level
from tests.certificates import certified

Step = Barrier | Op


LATER = "a copy that is given back a round later is still given back before its turn comes"
UNAWAITED = "the arrivals after the last round let the next fill begin sooner: nobody needs them"
WHOLE = "what stands behind a loop says all rounds that are left, with whichever it begins"
UNTOLD = "the round of one copy that no mbarrier tells of: it is counted for the checks alone, and emits nothing"
EMPTY = "the round of copies that nothing is in: no scale and no bias, say, where a kernel has none"
UNSEEN = "elements of global memory that nobody else touches, which the analysis cannot see"
ONE_WARP = "a block of one warp"
TOGETHER = "a warp's threads execute a wgmma together, as the machine has it"
IN_ORDER = (
    "both are instructions of a warp's, which it executes together, and one after the other, as the machine has it"
)
ELSEWHERE = "one access, which is elsewhere a trip later: the analysis cannot see that"


@dataclass(frozen=True)
class Mutant:
    """A plan with one fault, what the fault is, and why it is none after all, where it is not."""

    name: str
    plan: Plan
    harmless: str = ""
    step: Step | None = None
    what: str = ""


def mutants(plan: Plan) -> Iterator[Mutant]:
    """Return every mutant of one function's plan. None has another plan for fills ahead, which would be without the fault."""
    plan = replace(plan, skewed=None)
    steps: tuple[Step, ...] = (*plan.barriers, *plan.operations)
    for step in steps:
        yield Mutant(f"without {named(step)}", plan.drop_step(step), harmless(plan, step, ""), step)
        for what, changed in weaker(step):
            name = f"{named(step)}: {what}"
            yield Mutant(name, exchanged(plan, step, changed), harmless(plan, step, what), step, what)
    for barrier in plan.mbarriers:
        for by in (-1, 1):
            if barrier.count + by > 0:
                changed = replace(barrier, count=barrier.count + by)
                yield Mutant(f"`{barrier.name}` takes {by:+} arrivals", recounted(plan, barrier, changed))


def program_mutants(program: Program) -> Iterator[tuple[Mutant, Program]]:
    """Return the mutants of all plans of a program, their names with the function's."""
    for plan in program.plans.values():
        for mutant in mutants(plan):
            yield replace(mutant, name=f"{plan.function.name}: {mutant.name}"), program.with_plan(mutant.plan)


def memory_mutants(program: Program) -> Iterator[tuple[Mutant, Program]]:
    """Yield the mutants whose blocks do not wait until others have begun or ended, and those with fences for other memory."""
    for plan in program.plans.values():
        for name in ("begins", "ends", "late"):
            if getattr(plan, name):
                changed = replace(plan, skewed=None, **{name: False})  # type: ignore[arg-type]
                yield Mutant(f"{plan.function.name}: not `{name}`", changed), program.with_plan(changed)
        for step in plan.operations:
            for space in ("shared", "cluster", "global") if isinstance(step, ProxyFence) else ():
                if space not in (step.space, *(("cluster",) if step.space == "shared" else ())):
                    changed = exchanged(replace(plan, skewed=None), step, replace(step, space=space))  # type: ignore[call-arg]
                    name = f"{plan.function.name}: {named(step)}: for {space}"
                    yield Mutant(name, changed, step=step, what=f"for {space}"), program.with_plan(changed)


def harmless(plan: Plan, step: Step, what: str) -> str:
    """Return why a mutant is right: only slower than the plan, or the same program."""
    if isinstance(step, Advance):
        told = any(barrier.cycle is step.cycle for barrier in plan.mbarriers)
        if step.cycle.copies == 1 and not told and not what:
            return UNTOLD
        return EMPTY if used_objects(plan.function).isdisjoint(ring.root() for ring in step.cycle.rings) else ""
    if not isinstance(step, Arrive):
        return ""
    waits = waits_for(plan, step)
    given_back = all(wait.lap for wait in waits)  # and not: filled, which readers wait for, after the last round too
    if step.drain and given_back and what in ("", "one round later", "one round sooner"):
        return UNAWAITED
    if step.drain and what in ("one round later", "one round sooner"):
        return WHOLE
    rings = set(step.barrier.cycle.rings)
    same = [op for op in plan.operations if isinstance(op, Arrive) and rings & set(op.barrier.cycle.rings)]
    fills = [op.delay for op in same if not all(wait.lap for wait in waits_for(plan, op))]
    behind = max(fills, default=0)  # copies that are under way, of who gathers
    spare = step.barrier.cycle.copies > step.delay + 1 + behind and not any(wait.barrier.of for wait in waits)
    arrivals = [op for op in plan.operations if isinstance(op, Arrive) and op.barrier.itself is step.barrier.itself]
    alone = sum(not op.drain for op in arrivals) == 1  # in another place its rounds are not a round later
    return LATER if what == "one round later" and spare and alone and given_back else ""


def waits_for(plan: Plan, step: Arrive) -> list[Wait]:
    """Return the waits for what an arrival is at."""
    return [op for op in plan.operations if isinstance(op, Wait) and op.barrier.itself is step.barrier.itself]


def excused(step: Step, threads: int, what: str) -> str:
    """Return why a mutant of a barrier may be right in a launch, or in every one: it must not be reported then."""
    if not isinstance(step, Barrier):
        return ""
    root = step.first.root.type
    if isinstance(root, Pointer) and root.space == "global":
        return UNSEEN
    if step.loop and step.first.span == step.second.span:
        return ELSEWHERE
    if step.unit <= WARP1 and step.second.by == WARPGROUP1 and step.second.kind == "read":
        return TOGETHER
    if step.unit == WARP1 and step.first.by == step.second.by == WARP1:
        return IN_ORDER
    return ONE_WARP if threads <= WARP and what == f"of {WARP1} only" else ""


def without_barriers(program: Program) -> list[tuple[Barrier, Program]]:
    """Return the program without each of its barriers in turn."""
    return [(b, program.with_plan(plan.drop_step(b))) for plan in program.plans.values() for b in plan.barriers]


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
            if step.unit > BLOCK:
                yield f"of {BLOCK} only", replace(step, unit=BLOCK, kind="block")
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
        if not isinstance(op, Wait | Arrive | Expect) or op.barrier.itself is not old:
            return op
        return replace(op, barrier=exchange(op.barrier))

    def exchange(barrier: Mbarrier) -> Mbarrier:
        counted = replace(new, cycle=barrier.cycle, of=new)
        return new if barrier is old else counted if barrier.of is old else barrier

    return replace(
        plan,
        operations=tuple(moved(op) for op in plan.operations),
        mbarriers=tuple(new if barrier is old else barrier for barrier in plan.mbarriers),
        completes={copy: exchange(barrier) for copy, barrier in plan.completes.items()},
    )


# -- who survives ---------------------------------------------------------------------------------------------------------

Right = Callable[..., bool]
"""Run a program with `schedule`, `seed` and `check` as given; tell whether its results are right."""

TRIED = tuple((schedule, 0) for schedule in SCHEDULES)
THOROUGH = tuple(schedules(24))


@dataclass
class Score:
    """How many wrong mutants there were, which of them nothing reports, and which are excused.

    `rejected`: of how many that are reported the certificate is rejected; `accepted`: which are reported, and it is not. Of a
    program whose certificate is not covered, nothing is counted.
    """

    wrong: int = 0
    rejected: int = 0
    accepted: list[str] = field(default_factory=list)
    survivors: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)


def score(program: Program, right: Right, threads: int, tried: tuple[tuple[str, int], ...]) -> Score:
    """Try every mutant of a program. One that is said to be harmless must not be reported."""
    assert all(right(program, schedule=schedule, seed=seed, check=True) for schedule, seed in tried)
    found = Score()
    covered = certified(program).finding.status == ACCEPTED
    for mutant, changed in program_mutants(program):
        report = caught(changed, right, tried)
        if covered and report:
            accepted = certified(changed).finding.status == ACCEPTED
            found.accepted += [mutant.name] * accepted
            found.rejected += not accepted
        if mutant.harmless:
            assert not report, f"{mutant.name} is said to be right ({mutant.harmless}), and gives {report}"
            continue
        reason = "" if report or mutant.step is None else excused(mutant.step, threads, mutant.what)
        if reason:
            found.excused.append(f"{mutant.name} ({reason})")
            continue
        found.wrong += 1
        found.survivors += [] if report else [mutant.name]
    return found


def caught(program: Program, right: Right, tried: tuple[tuple[str, int], ...] = TRIED) -> str:
    """Return what reports a faulty program first, an error's code or `wrong result`; the empty string where nothing does."""
    for schedule, seed in tried:
        try:
            if not right(program, schedule=schedule, seed=seed, check=True):
                return "wrong result"
        except MachineError as error:
            return error.code
    return ""
