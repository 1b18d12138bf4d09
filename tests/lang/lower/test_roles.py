"""A kernel as one body a role does what it did before: on the reference machine, under every schedule, with all its checks.

Tests of prism/lang/lower/specialise.py; prism/lang/emit/single_thread.py.
"""

# ruff: noqa: F821 -- kernels declare shared memory without a value
from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from prism.compiler import check
from prism.interpret import SCHEDULES, run, schedules
from prism.kernels.hgemm import identity
from prism.lang import (
    block,
    claim,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    prism,
    ptr,
    requires,
    roles,
    shared,
    thread,
    warp,
)
from prism.lang.emit import emit
from prism.lang.lower.specialise import specialise
from prism.lang.pipeline import lower
from prism.lang.tree import Specialise
from prism.lang.tree.plan import Advance
from prism.lang.tree.walk import statements
from prism.lang.types import BFLOAT16
from prism.runtime.compile import compile_cubin
from tests.examples import asynchronous as a
from tests.kernels import test_hgemm as hgemms
from tests.lang.check.test_rules import load

LAUNCHES = {
    "piped": lambda: a.ring(a.piped, 2, 5, 160, COPIES=2),
    "drawn": lambda: a.drawn_by(3, 7, 2),
    "product": lambda: a.product(BFLOAT16, 8, 64, ahead=1, steps=4),
    "hgemm": lambda: a.hgemm_of(128, 64, 192, bn=64, stages=2, exact=True),
    "lasting": lambda: a.lasting_of(128, 32, 192, 1, 16, 2, 1),
    "registers": a.registers_moved,
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", LAUNCHES)
def test_roles_change_nothing(name, schedule):
    launch = LAUNCHES[name]()
    program = specialise(check(launch.kernel, launch.template))
    arguments = [x.copy() if isinstance(x, np.ndarray) else x for x in launch.arguments]
    run(program, *launch.shape, arguments, check=True, schedule=schedule)
    for place, wanted in launch.results.items():
        assert np.array_equal(launch.values(arguments[place]), wanted)


@pytest.mark.parametrize("name", LAUNCHES)
def test_each_role_has_its_own_statements_and_operations(name):
    launch = LAUNCHES[name]()
    before = check(launch.kernel, launch.template)
    program = specialise(before)
    plan, body = program.plans[program.entry], program.entry.body
    (roles,) = (s.roles for s in statements(body) if isinstance(s, Specialise))
    inside = [set(statements(role.body)) for role in roles]
    assert len(roles) >= 2 and not set.intersection(*inside)
    ends = [role.first + role.size for role in roles]
    assert roles[0].first == 0 and [role.first for role in roles[1:]] == ends[:-1] and ends[-1] == launch.shape[1]
    everything = set(statements(body))
    assert all(op.at in everything for op in plan.operations) and all(b.before in everything for b in plan.barriers)
    old = before.plans[before.entry]
    assert {type(op) for op in plan.operations} == {type(op) for op in old.operations}
    for cycle in plan.cycles:
        for role in inside:
            counted = [op for op in plan.operations if isinstance(op, Advance) and op.cycle is cycle and op.at in role]
            assert len(counted) <= 1
    assert specialise(program) is program


@pytest.mark.parametrize("kernel, template", [(a.in_turn, {"COPIES": 2}), (a.two_buffers, {}), (a.swapped, {})])
def test_a_kernel_of_one_role_stays_as_it_is(kernel, template):
    program = check(kernel, template)
    assert specialise(program) is program


REGISTERS = """
@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def f(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], rows: int32 @ grid[1]):
    with partition(y, block[1], 128 * id()) as y_block, group(block[1]):
        a: shared(float32[128], ring=2)
        b: shared(float32[128], ring=2)
        workers, helpers = roles(warpgroup, 1, 1)
        consumers, one_loader, other_loader = roles(warp, 4, 1, 1)
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        with helpers:
            set_registers(40)
        with workers:
            set_registers(208)
        for k in range(rows):
            with claim(a, one_loader) as coming, one(thread):
                bulk_load(coming, x[256 * k])
            with claim(b, other_loader) as coming, one(thread):
                bulk_load(coming, x[256 * k + 128])
            with claim(a, consumers) as now_a, claim(b, consumers) as now_b, group(thread[1]):
                total += now_a[t] - now_b[t]
        with partition(y_block, thread[1], t) as mine, consumers:
            with group(thread[1]):
                mine[0] = total
"""


def test_a_warpgroup_sets_its_registers_before_its_warps_part():
    kernel = load(REGISTERS)["f"]
    text = emit(lower(check(kernel))).source
    body = text[text.index("__global__") :]
    assert body.count("setmaxnreg") == 2  # `.sync.aligned`: one instruction, of all the warps of a warpgroup
    helpers = body[body.index("threads 128 to 255") :]
    assert helpers.index("setmaxnreg.dec") < helpers.index("threads 128 to 159") < helpers.index("threads 160 to 191")
    assert compile_cubin(text, "sm_90a").spills == 0
    x = np.random.default_rng(0).integers(0, 9, (5, 2, 128)).astype(np.float32)
    for schedule, seed in schedules(6):
        y = np.zeros(128, np.float32)
        run(check(kernel), 1, 256, [x, y, np.int32(5)], check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, (x[:, 0] - x[:, 1]).sum(0))


LOADER = """
@prism("device")
@requires(thread[1])
def twice(k: int32 @ thread[1]) -> int32 @ thread[1]:
    return 2 * k

@prism("global")
@attr("__launch_bounds__(64)")
@requires(grid[1], block[1], thread[64])
def f(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], rows: int32 @ grid[1]):
    with partition(y, block[1], 32 * id()) as out, group(block[1]):
        a: shared(float32[32], ring=2)
        consumers, loader = roles(warp, 1, 1)
        t: int32 @ thread[1] = id() % 32
        total: float32 @ thread[1] = 0
        for k in range(rows):
            LOAD
            with claim(a, consumers) as now, group(thread[1]):
                total += now[t]
        with partition(out, thread[1], t) as mine, consumers, group(thread[1]):
            mine[0] = total
"""
BY_ONE = ("with claim(a, loader) as coming, one(thread):", "    bulk_load(coming, x[32 * {row}])")
LOADS = {
    "one thread": (*BY_ONE,),
    "one thread, computed by all": ("row: int32 @ warp[1] = rows - 1 - k", *BY_ONE),
    "waits and arrivals of the warp": (
        "with claim(a, loader) as coming:",
        "    for part in range(2):",
        "        with one(thread):",
        "            bulk_load(coming[16 * part], x[32 * k + 16 * part], 16)",
    ),
    "all threads": (
        "with claim(a, loader) as coming, partition(coming, thread[1], t) as mine, group(thread[1]):",
        "    mine[0] = x[32 * k + t]",
    ),
    "a shuffle": ("row: int32 @ thread[1] = shuffle(k + t, 0)", *BY_ONE),
    "a call": ("row: int32 @ thread[1] = twice(k) // 2", *BY_ONE),
    "an element": ("row: int32 @ thread[1] = int32(x[32 * rows + k])", *BY_ONE),
}


def loaded(name):
    """A kernel that sums up rows which a warp brings in one of the ways."""
    lines = LOADS[name]
    row = "row" if any(line.startswith("row:") for line in lines) else "k"
    return load(LOADER.replace("LOAD", "\n            ".join(lines).replace("{row}", row)))["f"]


@pytest.mark.parametrize("name", LOADS)
def test_a_role_of_one_thread_is_that_threads_text(name):
    """Its warp's other lanes take no part in its loops; where they have something to do, they all go through them."""
    program = check(loaded(name))
    text = emit(lower(program), comments=False).source
    loader = text[text.rindex("} else {") :]
    if name.startswith("one thread"):
        assert loader.count("if (threadIdx.x == 32u) {") == loader.count("threadIdx.x") == 1, "no second guard inside"
        assert loader.index("px_a_slot = 0u") < loader.index("threadIdx.x == 32u") < loader.index("for (")
    else:
        assert "threadIdx.x == 32u" not in loader and loader.index("px_a_slot = 0u") < loader.index("for (")
    assert compile_cubin(text, "sm_90a").spills == 0
    x = np.random.default_rng(0).integers(0, 9, (6, 32)).astype(np.float32)
    x[5] = np.arange(32)  # which row is which: read where an element says it
    for schedule, seed in schedules(4):
        y = np.zeros(32, np.float32)
        run(program, 1, 64, [x, y, np.int32(5)], check=True, schedule=schedule, seed=seed)
        assert np.array_equal(y, x[:5].sum(0))


def test_what_all_threads_of_a_role_do_first_stands_before_the_ones_text():
    launch = LAUNCHES["hgemm"]()
    text = emit(lower(check(launch.kernel, launch.template)), comments=False).source
    producer = text[text.rindex("} else {") :]
    assert (
        producer.index("setmaxnreg.dec")
        < producer.index("if (threadIdx.x == 256u) {")
        < producer.index("for (int first")
    )
    assert producer.count("threadIdx.x") == 1
    assert compile_cubin(text, "sm_90a").spills == 0


def test_a_clusters_blocks_end_together_after_one_threads_text():
    """The lanes that skipped a role's text meet the first again before they arrive at the cluster's barrier as a warp."""
    alone = re.compile(r"unsigned int px_a_b_slot[^{}]*if \(threadIdx.x == (\d+)u\) \{")
    for clusters in (1, 2):
        cut = replace(hgemms.SMALL, cluster_m=clusters)
        code = hgemms.program("bfloat16", "bfloat16", (False, True), False, False, 0, identity, cut)
        text = emit(lower(code), comments=False).source
        assert alone.findall(text) == ["256"], "the loader, after two warpgroups"
        _, found, barrier = text.partition("void px_cluster_barrier() {")
        assert bool(found) == (clusters > 1) == ("__syncwarp();" in barrier.partition("barrier.cluster.arrive")[0])


@prism("device")
@requires(block[1], thread[128])
def chosen(n: int32 @ grid[1]) -> int32 @ block[1]:
    """A number that one thread finds, for all."""
    found: shared(int32[1])
    with claim(found, thread[1]) as own, one(thread):
        own[0] = n + 1
    result: int32 @ block[1] = 0
    with partition(found, block[1]) as now:
        result = now[0]
    return result


@prism("global")
@requires(grid[1], block[1], thread[128])
def begins_together(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    with partition(y, block[1]) as all_of_y, group(block[1]):
        tile: shared(int32[32], ring=1)
        trips: int32 @ block[1] = chosen(n)
        twice: int32 @ block[1] = 2 * trips
        readers, writer = roles(warp, 3, 1)
        for k in range(trips):
            with claim(tile, writer) as own, partition(own, thread[1], id() % 32) as mine, group(thread[1]):
                mine[0] = twice + k
            with claim(tile, readers) as now, claim(all_of_y, readers) as out:
                with partition(out, thread[1], id()) as mine, group(thread[1]):
                    mine[0] = now[0]


def test_a_function_with_barriers_is_called_once_before_the_roles():
    """In each role's text its barrier would be met by fewer threads than come to one of them: synccheck reports that."""
    program = check(begins_together, {})
    text = emit(lower(program), comments=False).source
    assert text.count("chosen(") == 2, "its definition and one call"
    assert text.rindex("chosen(") < text.index("if (threadIdx.x < 96u)")
    # The function's barrier, and the one behind the making of mbarriers: another kernel's roles may call the function.
    assert text.count('asm volatile("bar.sync 0;"') == 1 and text.count("__syncthreads") == 1
    y = np.zeros(96, np.int32)
    run(specialise(program), 1, 128, [y, np.int32(3)], check=True)
    assert (y == 11).all()
