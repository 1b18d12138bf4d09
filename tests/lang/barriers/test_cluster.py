"""Whether a cluster's blocks begin and end together is decided on the plan; the machine finds each wrong decision.

Tests of prism/lang/barriers/cluster.py and prism/interpret/reach.py.
"""
# ruff: noqa: F821 -- names that the kernels declare

from dataclasses import replace

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    block,
    bulk_store,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    print_,
    ptr,
    requires,
    shared,
    thread,
    unsafe,
)
from prism.lang.barriers.walk_state import join_spaces
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.lang.tree.plan import ProxyFence
from prism.runtime.compile import compile_cubin
from tests.generated.edge_clusters import program as generated
from tests.generated.programs import loaded
from tests.lang.barriers.test_cluster_frames import both, often

T = 32


@prism.kernel
@requires(grid[1], block[2], thread[32])
def gives(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Writes into the other block, and reads its own memory behind a barrier: it must begin together."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        box: shared(int32[2, 32])
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % 32
        with partition(box, thread[1], lambda j: (1 - b, t + j)) as theirs, group(thread[1]):
            theirs[0] = i
        with group(thread[1]):
            mine[0] = box[b, t]


@prism.kernel
@requires(grid[1], block[2], thread[32])
def takes(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Reads what the other block has, and ends: it must end together."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        box: shared(int32[2, 32])
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % 32
        with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
            own[0] = i
        with group(thread[1]):
            mine[0] = box[1 - b, t]


@prism.kernel
@requires(grid[1], block[2], thread[32])
def meets_in_a_branch(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Reads what the other block has; the barrier behind it stands in a branch, which a launch may pass by."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        box: shared(int32[2, 32])
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % 32
        with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
            own[0] = i
        with group(thread[1]):
            mine[0] = box[1 - b, t]
        if n > 2:
            with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
                own[0] = -i


@prism.kernel
@requires(grid[1], block[2], thread[32])
def meets_in_a_loop(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Each trip reads what the other block wrote, behind a barrier: nobody meets behind the last one."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        box: shared(int32[2, 32])
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % 32
        for k in range(n):
            with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
                own[0] = i + k
            with group(thread[1]):
                mine[0] = box[1 - b, t]


@prism.kernel
@requires(grid[1], block[2], thread[32])
def reaches_before(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Writes into the other block in a branch alone, before anybody has met."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        box: shared(int32[2, 32])
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % 32
        if n > 1:
            with partition(box, thread[1], lambda j: (1 - b, t + j)) as theirs, group(thread[1]):
                theirs[0] = 100 + i
        else:
            with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
                own[0] = i
        with group(thread[1]):
            mine[0] = box[b, t]


@prism.device
@requires(block[2], thread[32])
def say(x: int32 @ thread[1]) -> int32 @ thread[1]:
    """Prints what the other block has, behind text that looks like a remark of C++."""
    box: shared(int32[2, 32])
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % 32
    with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
        own[0] = x
    print_("see http://{}", box[1, 0])
    return 0


@prism.kernel
@requires(grid[1], block[2], thread[32])
def prints(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        v: int32 @ thread[1] = say(i)
        with group(thread[1]):
            mine[0] = v


@prism.device
@requires(block[2], thread[32])
def ask(x: int32 @ thread[1], deep: int32 @ block[2]) -> int32 @ thread[1]:
    """What the other block has; where it is not deep, without a barrier behind it."""
    box: shared(int32[2, 32])
    b: int32 @ block[1] = id()
    t: int32 @ thread[1] = id() % 32
    with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
        own[0] = x
    v: int32 @ thread[1] = 0
    with group(thread[1]):
        v = box[1 - b, t]
    if deep == 0:
        return v
    with partition(box, thread[1], lambda j: (b, t + j)) as own, group(thread[1]):
        own[0] = v
    return v


@prism.kernel
@requires(grid[1], block[2], thread[32])
def returns_early(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        v: int32 @ thread[1] = ask(i, n - 1)
        with group(thread[1]):
            mine[0] = v


def decided(kernel):
    program = prism.check(kernel)
    plan = program.plans[program.entry]
    return plan.begins, plan.ends


def reported(program, threads=T, blocks=4, numbers=(0, 1, 2, 3)):
    """What the machine says of a program, in any launch and on any schedule."""
    found = []
    for n in numbers:
        for name in SCHEDULES:
            x = np.arange(blocks * threads, dtype=np.int32)
            try:
                run(program, blocks, threads, [x, n], check=True, schedule=name)
            except MachineError as error:
                found.append(error.code)
    return found


EXPECTED = {
    gives: (True, False),
    takes: (False, True),
    meets_in_a_branch: (False, True),
    meets_in_a_loop: (False, True),
    reaches_before: (True, False),
    prints: (False, True),
    returns_early: (False, True),
}


@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda kernel: kernel.__name__)
def test_what_is_decided_is_needed_and_enough(kernel):
    program = prism.check(kernel)
    plan = program.plans[program.entry]
    assert (plan.begins, plan.ends) == EXPECTED[kernel]
    assert not reported(program)
    for wrong in ({"begins": False}, {"ends": False}):
        if getattr(plan, *wrong):
            mutant = program.with_plan(replace(plan, **wrong))
            assert set(reported(mutant)) == {"machine-race"}, wrong


@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda kernel: kernel.__name__)
def test_what_is_decided_is_emitted(kernel):
    source = emit(lower(prism.check(kernel))).source
    text = source[source.index('extern "C"') :]
    assert ("px_cluster_begin();" in text, "px_cluster_barrier();" in text) == EXPECTED[kernel]


@prism.kernel
@requires(grid[1], block[2], thread[32])
def carried_out(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """The copy engine stores what threads of the other block wrote here."""
    i: int32 @ thread[1] = id()
    with partition(x, block[1], 32 * id()) as out, group(block[2]):
        box: shared(int32[2, 32], align=128)
        b: int32 @ block[1] = id()
        t: int32 @ thread[1] = i % 32
        with partition(box, thread[1], lambda j: (1 - b, t + j)) as theirs, group(thread[1]):
            theirs[0] = i
        with group(block[1]), one(thread):
            bulk_store(out[0], box[b, 0], 32)


def test_a_fence_for_what_was_stored_into_another_block_is_of_the_cluster():
    program = prism.check(carried_out)
    plan = program.plans[program.entry]
    (fence,) = (op for op in plan.operations if isinstance(op, ProxyFence))
    assert fence.space == "cluster" and "fence.proxy.async.shared::cluster;" in emit(lower(program)).source
    assert not reported(program)
    assert "machine-proxy" in reported(program.with_plan(plan.drop_step(fence)))


def other_one(r):
    return 1 - r


@prism.kernel
@requires(grid[1], block[2], thread[32])
def changed_by_text(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """What was the block's own number is another one's behind text that nobody reads."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        box: shared(int32[2, 32])
        b: int32 @ block[1] = id()
        r: int32 @ block[1] = id()
        with partition(box, thread[1], lambda j: (b, i % 32 + j)) as own, group(thread[1]):
            own[0] = i
        with group(block[1]):
            unsafe("r = 1 - r;", reads=[r], writes=[r], meaning=other_one)
        with group(thread[1]):
            mine[0] = box[r, i % 32]


def test_a_number_that_text_changes_is_no_more_the_blocks_own():
    source = emit(lower(prism.check(changed_by_text))).source
    assert "= px_map(box_, r_)[" in source and "px_map(box_, b_)" not in source
    assert decided(changed_by_text) == (False, True)


def test_one_fence_for_several_memories():
    """The block's own memory is a part of its cluster's."""
    assert [join_spaces(set(some)) for some in (["shared"], ["shared", "cluster"], ["global"], ["cluster", "global"])] == [
        "shared", "cluster", "global", "all",
    ]  # fmt: skip


@pytest.mark.parametrize("kernel", [both, often], ids=lambda kernel: kernel.__name__)
def test_bytes_that_are_used_again_bring_a_barrier(kernel):
    assert decided(kernel) == (False, kernel is often)


def test_decisions_of_generated_programs():
    """Where none of the blocks must wait, no schedule finds that one should; where they must, most mutants are found."""
    found, made = 0, 0
    for seed in range(40):
        edge = generated(seed)
        with loaded(edge.head + edge.text) as names:
            program = prism.check(names["kernel"])
        plan = program.plans[program.entry]
        for wrong in ({"begins": False}, {"ends": False}, {"late": False}):
            if not getattr(plan, *wrong):
                continue
            made += 1
            mutant = program.with_plan(replace(plan, **wrong))
            try:
                run(mutant, edge.blocks, edge.threads, edge.inputs(), check=True, schedule="reversed")
            except MachineError as error:
                found += error.code == "machine-race"
    assert made > 15 and found > made / 2, (made, found)


@pytest.mark.parametrize(("space", "wrong"), [("shared", True), ("global", True), ("cluster", False), ("all", False)])
def test_the_machine_tells_fences_for_other_memory(space, wrong):
    program = prism.check(carried_out)
    plan = program.plans[program.entry]
    changed = [replace(op, space=space) if isinstance(op, ProxyFence) else op for op in plan.operations]
    found = reported(program.with_plan(replace(plan, operations=tuple(changed))))
    assert set(found) == ({"machine-proxy"} if wrong else set())


@prism.kernel
@requires(grid[1], block[1], thread[64])
def prints_at_an_offset(x: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], 2 * i + 1) as mine, group(thread[1]):
        print_("see  // {}", mine[0])


def test_a_name_is_used_behind_text_that_looks_like_a_remark():
    """As `prints`, of what a scope declares only if its lines name it."""
    source = emit(lower(prism.check(prints_at_an_offset))).source
    assert "const int x_offset_ = (2 * i_) + 1;" in source
    assert compile_cubin(source, "sm_90a").spills == 0
