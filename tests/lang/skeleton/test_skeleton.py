"""Certificates of kernels: accepted as the compiler plans them, rejected without what it inferred, in the words of the text.

Tests of prism/lang/skeleton: cases, jumps, make, pointers, premises.
"""
# ruff: noqa: F821 -- names that kernels declare

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest

import prism
from prism.lang import (
    atomic_add,
    attr,
    block,
    claim,
    const,
    float32,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    ptr,
    requires,
    shared,
    skeleton,
    split,
    thread,
)  # fmt: skip
from prism.lang.certify import ACCEPTED, NOT_COVERED, REJECTED, check_text
from prism.lang.pipeline import build
from prism.lang.skeleton import Certified, certificate_of, describe
from prism.lang.surface import Kernel
from prism.lang.tree import For
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import statements
from prism.lib import artifacts, shipped_kernels
from tests.certificates import certified
from tests.examples import cooperative, published
from tests.lang.barriers import test_whole_units
from tests.lang.check import test_turns
from tests.lang.plans import words
from tests.mutation import excused, program_mutants


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def turned(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(float32[64])
        t: int32 @ thread[1] = id()
        for i in range(0, n):
            with partition(s, thread[1], t) as mine, group(thread[1]):
                mine[0] = x[64 * i + t]
            with partition(out, thread[1], t) as mine, group(thread[1]):
                mine[0] = s[63 - t]


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def asked_twice(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    """The barrier stands where `n` is large, and so does the read; who jumps out of the loop reads nothing."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = x[t]
        total: float32 @ thread[1] = 0
        if n > 3:
            total += s[63 - t]
        while True:
            total += 1
            if n < 5:
                break
            if n > 3:
                total += s[t ^ 1]
                break
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = total


def status(program: Program) -> tuple[str, str]:
    found = certified(program)
    assert check_text(str(found)).status == found.finding.status  # the text alone says the same
    return found.finding.status, found.finding.rule


# -- what is in it ------------------------------------------------------------------------------------------------------------


def test_the_text_of_a_small_kernel() -> None:
    found = certificate_of(prism.check(turned))
    file = f"{__name__.rpartition('.')[2]}.py"
    start = next(n for n, line in enumerate(open(__file__), 1) if line.startswith("def turned("))
    assert str(found) == (
        '(certificate 1)\n(kernel "turned")\n(threads 64)\n(space 1 grid)\n(space 0 block)\n(space 3 grid)\n'
        '(object 0 1 0 1 "x")\n(object 1 0 0 256 "s")\n(object 2 3 0 1 "y")\n'
        f'(access 0 0 read "{file}:{start + 6} x[...]")\n(access 1 1 write "{file}:{start + 6} mine[...]")\n'
        f'(access 2 1 read "{file}:{start + 8} s[...]")\n(access 3 2 write "{file}:{start + 8} mine[...]")\n'
        '(fact 1 1 same (thread 1) proved "")\n'
        '(fact 3 3 same (thread 1) proved "")\n(fact 3 3 0 (thread 1) proved "")\n'
        "(body\n (seq\n  (loop 0 grid\n   (seq\n    (bar block (named 0))\n    (acc 0)\n    (acc 1)\n"
        "    (bar block (named 0))\n    (acc 2)\n    (acc 3)\n   )\n  )\n )\n)\n"
    )
    assert describe(found) == "certificate: accepted, given facts: 3 proved"
    assert (
        found.facts["status"] == ACCEPTED and found.facts["facts"] == {"proved": 3} and found.facts["threads"] == [64]
    )


def test_conditions_that_are_asked_twice_are_told_apart() -> None:
    found = certified(prism.check(asked_twice))
    assert found.finding.status == ACCEPTED
    plan = prism.check(asked_twice).plans
    assert sum(len(p.barriers) for p in plan.values()) >= 1


def test_a_device_function_has_none_of_its_own() -> None:
    found = certificate_of(prism.check(test_whole_units.halves))
    assert found.finding.status == NOT_COVERED and "device function" in describe(found)


def test_what_cannot_be_said_is_not_accepted() -> None:
    found = certificate_of(prism.check(test_turns.in_the_roles_code))
    assert found.finding.status == NOT_COVERED and "(beyond " in str(found) and found.origins == {}


def test_a_kernel_that_needs_too_many_facts_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeleton, "MOST", 2)
    found = certified(prism.check(turned))
    assert describe(found) == "certificate: not covered: more than 2 facts" and found.origins == {}


# -- faults -------------------------------------------------------------------------------------------------------------------


COOPERATIVE = [
    one for one in vars(cooperative).values() if isinstance(one, Kernel) and one.kind == "global" and not one.template
]


@pytest.mark.parametrize("kernel", [turned, asked_twice, *COOPERATIVE], ids=lambda kernel: kernel.__name__)
def test_each_barrier_is_needed_and_each_weaker_one_too_weak(kernel: Kernel) -> None:
    program = prism.check(kernel)
    assert status(program)[0] == ACCEPTED
    for mutant, changed in program_mutants(program):
        assert status(changed)[0] != ACCEPTED, mutant.name


ORDERED = ("epilogue", "halves", "quantized", "normalized", "cleared")


@pytest.mark.parametrize("name", ORDERED)
def test_published_faults_are_rejected(name: str) -> None:
    program = build(getattr(published, name))
    plan = program.plans[program.entry]
    assert status(program) == (ACCEPTED, "")
    assert plan.barriers
    for barrier in plan.barriers:
        assert status(program.with_plan(plan.drop_step(barrier))) == (REJECTED, "race"), words(barrier)


@pytest.mark.parametrize(
    "kernel,size", [(test_whole_units.plain, 64), (test_whole_units.ringed, 256)], ids=["plain", "ringed"]
)
def test_a_barrier_of_256_threads_where_384_arrive_is_rejected(kernel: Kernel, size: int) -> None:
    """As an earlier compiler placed it: the program hung on the GPU; and with 64 of 96 threads, and no ring."""
    program = prism.check(kernel)
    plan = program.plans[program.entry]
    assert status(program) == (ACCEPTED, "")
    for loop in (s for s in statements(plan.function.body) if isinstance(s, For)):
        moved = tuple(replace(b, before=loop) if b.unit.size == size else b for b in plan.barriers)
        assert status(program.with_plan(replace(plan, barriers=moved))) == (REJECTED, "bars")


# -- what ships ---------------------------------------------------------------------------------------------------------------

SAMPLE = (
    "scan_block",
    "reduce_axis",
    "transpose",
    "sort_digit",
    "sort_resident",
    "sort_cluster",
    "select",
    "reduce",
    "ring",
)


def shipped(name: str) -> Program:
    """The first kernel of a name that ships for sm_90a."""
    found = (artifacts._reference(one) for one in shipped_kernels.instances("sm_90a") if one.kernel.__name__ == name)
    reference = min(found, key=lambda one: repr(one.template))
    module, kernel = reference.kernel
    return build(
        getattr(importlib.import_module(module), kernel),
        {key: artifacts._resolve(value) for key, value in reference.template},
    )


@pytest.mark.parametrize("name", SAMPLE)
def test_kernels_that_ship_are_accepted(name: str) -> None:
    found: Certified = certificate_of(shipped(name))
    assert found.finding.status == ACCEPTED, describe(found)


def test_their_mutants_are_rejected() -> None:
    for name in ("scan_block", "transpose"):
        program = shipped(name)
        threads = program.entry.bound.thread or 1
        for mutant, changed in program_mutants(program):
            excuse = mutant.harmless or (excused(mutant.step, threads, mutant.what) if mutant.step else "")
            assert status(changed)[0] == REJECTED or excuse, mutant.name


# -- what facts say -----------------------------------------------------------------------------------------------------------


@prism("global")
@attr("__launch_bounds__(32)")
@requires(grid[1], block[1], thread[32], cooperative=True)
def counted(y: ptr(int32) @ grid[1], apart: int32 @ grid[1]):
    """Whether blocks count in words of their own depends on an argument."""
    with partition(y, block[1], apart * id()) as mine, group(thread[1]):
        atomic_add(mine[0], 1, scope="block")


@prism("global")
@requires(grid[1], block[1], thread[32], cooperative=True)
def odd_and_first(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Behind the loop one thread has element 0, which no trip has touched."""
    i: int32 @ thread[1] = id()
    for k in range(n):
        with partition(x, thread[1], 2 * i + k % 2) as mine, group(thread[1]):
            mine[1] = i
    with claim(x, thread[1]) as first, one(thread):
        first[0] = 7


def test_what_is_not_proved_of_a_part_is_not_proved_of_its_atomics() -> None:
    found = certified(prism.check(counted))
    assert '(fact 0 0 same block runs "")' in str(found) and found.finding.status == ACCEPTED
    first, fact, last = describe(found).split("\n")
    assert first.startswith("certificate: accepted, if 1 fact holds that nothing proves, ")
    assert fact.endswith(" mine[...], by two threads: only inside one block") and last.endswith(
        "given other facts: none"
    )


@prism("global")
@requires(grid[1], block[1], thread[32])
def strided(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """A block may have more than 32 threads: then their elements meet."""
    with partition(y, block[1], 128 * id()) as out, group(block[1]):
        t: int32 @ thread[1] = id()
        with partition(out, thread[1], t) as mine, group(thread[1]):
            for k in range(0, 128 - t, 32):
                mine[k] = n


def test_a_fact_that_nothing_proves_is_nowhere_called_proved() -> None:
    found = certified(prism.check(strided))
    facts = [line for line in str(found).splitlines() if " runs " in line]
    assert facts and not any("proved disjoint" in line for line in facts)
    assert any(" never runs " in line and "and that is not proved" in line for line in facts)
    assert describe(found).startswith(f"certificate: accepted, if {len(facts)} facts hold that nothing proves, ")


@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def one_trip(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """What the one trip does before it is left is not done again."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 0
        for _k in range(0, 1):
            with partition(s, thread[1], t) as mine, group(thread[1]):
                mine[0] = t
            if n > 4:
                continue
            with group(thread[1]):
                total += s[63 - t]
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = total


def test_a_loop_of_one_trip_is_none() -> None:
    found = certified(prism.check(one_trip))
    assert found.finding.status == ACCEPTED and "(loop" not in str(found)


def test_what_lies_behind_a_loop() -> None:
    assert certified(prism.check(odd_and_first)).finding.status == ACCEPTED


@prism.kernel
@requires(grid[1], block[2], thread[32])
def blocks_apart(out: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """A block runs one arm: what it writes in one, and reads in the other, are never both its own."""
    with partition(out, block[1], 512 * id()) as part:
        match split(block):
            case 1:
                t: int32 @ thread[1] = id()
                with partition(part, thread[1], t) as mine, group(thread[1]):
                    mine[0] = n
            case 1:
                t: int32 @ thread[1] = id()
                v: int32 @ thread[1] = part[31 - t]


def test_a_block_runs_one_arm_at_most() -> None:
    assert certificate_of(prism.check(blocks_apart)).finding.status == ACCEPTED
