"""Certificates of kernels with rings: accepted as planned, and not without a wait, an arrival, a count or a fence.

Tests of prism/lang/skeleton: rings, frames, turns, stages.
"""
# ruff: noqa: F821 -- names that kernels declare

from __future__ import annotations

from dataclasses import replace

import pytest

import prism
from docs.how.program import steps
from prism.lang import (
    attr,
    block,
    claim,
    const,
    float32,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    roles,
    shared,
    thread,
    turns,
    warp,
)
from prism.lang.certify import ACCEPTED, check_text
from prism.lang.pipeline import build
from prism.lang.skeleton import certificate_of, describe
from prism.lang.surface import Kernel
from prism.lang.tree.plan import Program, ProxyFence, Wait
from tests.certificates import certified
from tests.examples import published
from tests.lang.rings import test_ring_places
from tests.lang.skeleton.test_skeleton import shipped
from tests.mutation import program_mutants


@prism.kernel
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], warp[3])
def stored(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], rows: int32 @ grid[1]):
    """A warp's threads fill a ring by stores, and two warps read what others stored."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        row: shared(float32[32], ring=3)
        users, filler = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        for k in range(rows):
            with claim(row, filler) as coming, partition(coming, thread[1], t % 32) as mine, group(thread[1]):
                mine[0] = x[32 * k + t % 32]
            with claim(row, users) as here, group(thread[1]):
                total += here[31 - t % 32]
        with partition(out, thread[1], t) as mine, users, group(thread[1]):
            mine[0] = total


def checked(kernel: Kernel) -> Program:
    return prism.check(kernel)


@pytest.mark.parametrize("kernel", [steps, stored], ids=["steps", "stored"])
def test_each_mutant_of_a_ring_is_refused(kernel: Kernel) -> None:
    program = checked(kernel)
    found = certificate_of(program)
    assert found.finding.status == ACCEPTED, describe(found)
    assert "(round 0" in str(found) and check_text(str(found)).status == ACCEPTED
    mutants = 0
    for mutant, changed in program_mutants(program):
        assert certified(changed).finding.status != ACCEPTED or mutant.harmless, mutant.name
        mutants += 1
    assert mutants > 10


@pytest.mark.parametrize("name", ["follower", "handed_over", "released"])
def test_published_faults_of_rings_are_refused(name: str) -> None:
    """Of tensor cores that read a ring, of copies that are given back, and of registers."""
    program = build(getattr(published, name))
    assert certificate_of(program).finding.status == ACCEPTED
    for mutant, changed in program_mutants(program):
        assert certified(changed).finding.status != ACCEPTED or mutant.harmless, mutant.name


def test_products_whose_reads_are_in_flight() -> None:
    """A ring's copy is given back a round later, and behind the loop; the sums are read behind the wait for all."""
    program = shipped("hgemm")
    found = certificate_of(program)
    text = str(found)
    assert found.finding.status == ACCEPTED, describe(found)
    words = ("(free 1)", "(group wgmma", "(settle wgmma 1)", "(drain ", "(group bulk", "(lend write")
    assert all(word in text for word in words)
    rules = set()
    for mutant, changed in program_mutants(program):
        said = certified(changed).finding
        assert said.status != ACCEPTED or mutant.harmless, mutant.name
        rules.add(said.rule)
    assert {"rings", "registers", "form"} <= rules


def test_bytes_of_a_block_beside_a_clusters() -> None:
    """A block's ring is its own, though the cluster's sums lie in the same memory."""
    program = shipped("hgemm_in_parts")
    text = str(certificate_of(program))
    assert "(space 0 block)" in text and "(cluster" in text and certificate_of(program).finding.status == ACCEPTED


@prism.kernel
@attr("__launch_bounds__(96)")
@requires(grid[1], block[1], warp[3])
def in_turns(y: ptr(int32) @ grid[1], rounds: int32 @ grid[1]):
    """Two warps go through a passage, each in its turn."""
    with partition(y, block[1], 96 * id()) as out, group(block[1]):
        workers, rest = roles(warp, 2, 1)
        t: int32 @ thread[1] = id()
        with partition(out, thread[1], t) as mine:
            for k in range(rounds):
                with turns(workers), workers, group(thread[1]):
                    mine[0] += k


def test_turns_are_a_ring_of_one_copy() -> None:
    found = certificate_of(checked(in_turns))
    assert found.finding.status == ACCEPTED, describe(found)
    text = str(found)
    assert "(mbarrier 0 0 1 free 32" in text and "(mbarrier 1 0 1 filled 32" in text
    assert text.count("(wait ") == text.count("(tell ") == 2 and text.count("(acc 0)") == 2


@pytest.mark.parametrize("name", ["attend", "decode", "finish", "softmax_rows"])
def test_turns_pieces_of_loops_and_groups_beside_rings(name: str) -> None:
    """Rounds in several places, in turns, stores that wait for those before, and engines that touch what is no ring."""
    program = shipped(name)
    found = certificate_of(program)
    assert found.finding.status == ACCEPTED, describe(found)
    refused = 0
    for mutant, changed in list(program_mutants(program))[::3]:
        said = certified(changed).finding
        assert said.status != ACCEPTED or mutant.harmless, mutant.name
        refused += said.status != ACCEPTED
    assert refused or name == "softmax_rows"


def test_what_is_missing_is_named() -> None:
    program = checked(steps)
    plan = program.plans[program.entry]
    for kind in (Wait, ProxyFence):
        for step in (op for op in plan.operations if isinstance(op, kind)):
            found = certified(program.with_plan(plan.drop_step(step)))
            assert (found.finding.status, found.finding.rule) == ("rejected", "rings")
    counts = [replace(barrier, count=barrier.count + 1) for barrier in plan.mbarriers]
    assert counts and all(text in str(certified(program)) for text in ("row_read", "row_filled"))


def test_a_ring_in_a_loop_of_tiles() -> None:
    program = prism.check(test_ring_places.kernel("before"), template={"COPIES": 2})
    assert certificate_of(program).finding.status == ACCEPTED
