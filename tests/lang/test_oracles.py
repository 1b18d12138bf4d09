"""LANGUAGE.md's worked results W1-W15 and conformance tests T1-T16: where each is tested; those that were nowhere are here.

Where the language differs from the oracle's text on purpose (a named barrier in W15, a cooperative launch beside W14), the test
named says so.
"""

from __future__ import annotations

import functools
import importlib
import re

import numpy as np
import pytest

import prism
from prism.lang import (
    CompileError,
    block,
    device,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    shared,
    split,
    thread,
    uint32,
)
from prism.lang.emit import emit
from prism.lang.pipeline import build, lower
from prism.lang.tree import Body, Split, Stmt, children
from prism.lang.tree.plan import Program
from prism.lang.types.perspective import BLOCK
from tests.errors import test_errors as errors
from tests.examples import asynchronous, cooperative, test_paper
from tests.lang.check import test_rules as rules

HERE = "tests.lang.test_oracles:"
ORACLES = {
    "W1": [
        f"{HERE}test_w1_a_device_function_takes_a_position_and_a_frame",
        "tests.lang.emit.test_emit:test_device_functions_take_a_position_and_a_frame",
    ],
    "W2": [
        f"{HERE}test_w2_a_group_under_the_second_arm",
        "tests.lang.emit.test_emit:test_groups_and_splits_erase_to_arithmetic_and_ifs",
    ],
    "W3": ["tests.lang.test_sync:test_w3_reads_need_none_and_writes_do"],
    "W4": ["tests.lang.test_sync:test_w4_after_a_branch_the_barrier_is_at_the_join"],
    "W5": [
        "tests.lang.check.test_pointers:test_w5_a_swap_takes_one_barrier_a_trip",
        "tests.lang.test_sync_pointers:test_w5_a_swap_takes_one_barrier_a_trip",
    ],
    "W6": [
        "tests.lang.barriers.test_groups:test_w6_w10_slots_in_a_loop_two_groups_stay_pending_and_the_end_waits_for_one_after_the_other"
    ],
    "W7": ["tests.lang.test_sync:test_w7_t15_a_claim_then_the_block_meets_outside_the_arm"],
    "W8": ["tests.lang.rings.test_rings:test_w8_w9_a_handoff_between_arms"],
    "W9": ["tests.lang.rings.test_rings:test_w8_w9_a_handoff_between_arms"],
    "W10": ["tests.lang.barriers.test_groups:test_w10_each_use_waits_for_its_own_copy_alone"],
    "W11": ["tests.lang.test_sync:test_w11_bytes_that_are_used_again_are_a_conflict"],
    "W12": [f"{HERE}test_w12_nothing_of_perspectives_is_left"],
    "W13": ["tests.lang.test_sync:test_w13_the_end_of_a_kernel_needs_none"],
    "W14": [
        "tests.lang.test_sync:test_w14_a_conflict_between_blocks_is_refused",
        "tests.lang.barriers.test_grid:test_the_least_number_of_them",
    ],
    "W15": ["tests.lang.test_sync:test_w15_whole_warps_take_a_named_barrier"],
    "T1": [
        f"{HERE}test_t1_the_illegal_program_of_each_rule",
        f"{HERE}test_t1_each_rule_has_its_messages",
        "tests.lang.check.test_rules:test_legal",
        "tests.errors.test_errors:test_error",
    ],
    "T2": [f"{HERE}test_t2_the_figures_programs"],
    "T3": [f"{HERE}test_t3_illegal_reads_and_writes"],
    "T4": [f"{HERE}test_t4_where_arms_may_start"],
    "T5": ["tests.interpret.test_ids:test_ids", "tests.interpret.test_ids:test_arms"],
    "T6": ["tests.examples.test_paper:test_tf32_has_the_barriers_of_the_figure"],
    "T7": [
        "errors/hide/paper_naive_product.py",
        "errors/hide/paper_tiled_product.py",
        "tests.examples.test_paper:test_tiled_products_have_two_barriers_a_step",
        "tests.examples.test_paper:test_reference_machine",
    ],
    "T8": ["errors/claim-one/paper_tile_of_the_product.py"],
    "T9": ["tests.examples.test_paper:test_the_overlapping_runs_of_warps_are_found"],
    "T10": [
        "tests.examples.test_paper:test_scan_has_one_barrier_a_step_of_the_ping_pong",
        "tests.lang.test_sync:test_t10_a_callees_effects_are_the_callers_to_order",
    ],
    "T11": [f"{HERE}test_t11_the_products_roles"],
    "T12": [
        "tests.theory.bundl.test_counterexamples:TestClaim",
        "tests.theory.bundl.test_counterexamples:TestPartition",
        "tests.theory.bundl.test_counterexamples:TestPartitionId",
        "tests.theory.bundl.test_counterexamples:TestBarriers",
        "tests.theory.bundl.test_counterexamples:TestMemory",
    ],
    "T13": [f"{HERE}test_t13_the_target_decides_what_may_be_read"],
    "T14": [
        "tests.lang.test_sync_generated:test_generated_programs_do_not_race",
        "tests.lang.rings.test_rings_generated:test_generated_programs_with_rings",
        "tests.lang.rings.test_rings_run:test_every_number_of_copies_and_trips_means_the_same",
    ],
    "T15": [
        "tests.lang.test_sync:test_w7_t15_a_claim_then_the_block_meets_outside_the_arm",
        f"{HERE}test_t15_no_barrier_of_the_block_inside_an_arm",
    ],
    "T16": [f"{HERE}test_t16_shared_memory"],
}


def test_all_oracles_are_listed() -> None:
    assert set(ORACLES) == {f"W{k}" for k in range(1, 16)} | {f"T{k}" for k in range(1, 17)}


@pytest.mark.parametrize("oracle", ORACLES)
def test_each_is_tested_where_the_list_says(oracle: str) -> None:
    for place in ORACLES[oracle]:
        if place.endswith(".py"):
            path = errors.HERE / place.removeprefix("errors/")
            assert path in errors.CASES, f"{oracle}: no case {place}"
            continue
        module, name = place.split(":")
        found = getattr(importlib.import_module(module), name, None)
        assert callable(found) and name.lower().startswith("test"), f"{oracle}: no test {place}"


# -- erasure ------------------------------------------------------------------------------------------------------------


@device
@requires(block[1], thread[32])
def numbered(x: ptr(int32) @ block[1]):
    t: int32 @ thread[1] = id()
    with partition(x, thread[1], t) as mine, group(thread[1]):
        mine[0] = t


@device
@requires(block[1], thread[32])
def cleared(x: ptr(int32) @ block[1], t: int32 @ thread[1]):
    with partition(x, thread[1], t) as mine:
        pass


@prism.lang.kernel
@requires(grid[1], block[1], thread[32])
def calls(x: ptr(int32) @ grid[1]):
    with partition(x, block[1], 32 * id()) as part, group(block[1]):
        t: int32 @ thread[1] = id()
        numbered(part)
        cleared(part, t)


def test_w1_a_device_function_takes_a_position_and_a_frame() -> None:
    """Only one that asks for an index or for shared memory, itself or in what it calls."""
    text = emit(lower(build(calls)), comments=False).source
    position = "const unsigned int px_t, const unsigned int px_b, const unsigned int px_s"
    assert f"void prism_numbered(int* x_, {position}) {{" in text
    assert re.search(r"prism_numbered\([^;]*, threadIdx\.x, 0u, 0u\);", text)  # each block is alone in its unit
    assert "void prism_cleared(int* x_, int t_) {" in text


PART = 8  # by a name: where the source has the numbers, an index of the code's own unit is an error


@prism.lang.kernel
@requires(grid[1], block[1], thread[64])
def under_the_second_arm(y: ptr(int32) @ grid[1], z: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as a, partition(z, thread[1], i) as b, group(block[1]), group(thread[64]):
        match split(thread):
            case 32:
                with group(thread[1]):
                    a[0] = -1
                    b[0] = -1
            case 32:
                outside: int32 @ thread[8] = id()
                with group(thread[PART]):
                    lane: int32 @ thread[1] = id()
                    inside: int32 @ thread[PART] = id()
                    with group(thread[1]):
                        a[0] = 100 * inside + lane
                        b[0] = outside


def test_w2_a_group_under_the_second_arm() -> None:
    y, z = np.zeros(64, np.int32), np.zeros(64, np.int32)
    under_the_second_arm[1, 64](y, z, check=True)
    lanes = np.arange(32)
    assert np.array_equal(y, [-1] * 32 + [*(lanes % 8)]) and np.array_equal(z, [-1] * 32 + [*(lanes // 8)])


@functools.cache
def programs() -> dict[str, Program]:
    """The paper's programs, and some with rings, roles, clusters and barriers of the grid."""
    found = {name: build(kernel, template) for name, (kernel, template, _) in test_paper.PROGRAMS.items()}
    found["hgemm"] = build(asynchronous.hgemm, {"BN": 256, "BK": 64, "STAGES": 4})
    for launch in (asynchronous.exchanged(), cooperative.less_total(2, 64), cooperative.through_a_ring(2, 2)):
        found[launch.kernel.__name__] = build(launch.kernel, launch.template)
    return found


@pytest.mark.parametrize("name", [*test_paper.PROGRAMS, "hgemm", "swapped", "total", "passed_on"])
def test_w12_nothing_of_perspectives_is_left(name: str) -> None:
    text = emit(lower(programs()[name]), comments=False).source
    assert not re.search(r"\b(grid|block|thread|warp|warpgroup)\s*\[", text)
    assert not re.search(r"\b(perspective|partition|claim|group|split)\b", text)
    assert not re.search(r"assert|\btrap\b|printf", text)


# -- what is refused ------------------------------------------------------------------------------------------------------

# Rule, code, bound, parameters, body (as in `rules.device`), and words of the message: the illegal column of section 2.B.
ILLEGAL = [
    ("R1", "bound-wf", "thread[0]", "", "x: int = 0", "positive constant size"),
    ("R2", "group", "thread[64]", "", "with group(thread[48]): ;> pass", "48 does not divide 64"),
    ("R2", "group", "block[1], thread[32]", "", "with group(thread[64]): ;> pass", "32 threads that are guaranteed"),
    ("R3", "split-sum", "thread[4]", "", "match split(thread): ;> case 4: ;>> pass;> case 1: ;>> pass", "5"),
    ("R4", "split-align", "block[1], warp[12]", "", "match split(warp): ;> case 4: ;>> pass;> case 8: ;>> pass", "8"),
    (
        "R5", "split-body", "block[1], thread[32]", "",
        "match split(thread): ;> case 32: ;>> s: shared(int[4]) @ block[1]", "block[1]",
    ),
    ("R6", "decl", "block[1], thread[1]", "", "x: int @ grid[1] = 0", "block[1]"),
    ("R10", "loop", "block[1], thread[1]", "", "t: int @ thread[1] = id(); for i in range(0, t, 1): ;> pass", "t"),
    ("R8", "write-down", "block[1], thread[1]", "", "t: int @ thread[1] = id(); b: int @ block[1] = t", "thread[1]"),
    ("R9", "cond", "block[1], thread[1]", "", "t: int @ thread[1] = id(); if t > 0: ;> pass", "group(thread[1])"),
    ("R10", "loop", "thread[32]", "", "for i in range(0, 4, 1): ;> i = 2", "i"),
    (
        "R11", "jump", "block[1], thread[1]", "n: int @ block[1]",
        "while n > 0: ;> with group(thread[1]): ;>> break", "break",
    ),
    ("R12", "decl", "block[1], thread[32]", "", "with group(thread[1]): ;> w: int @ thread[32] = id()", "thread[32]"),
    (
        "R13", "call-bound", "block[1], thread[32]", "p: ptr(const(int)) @ block[1]",
        "with group(thread[1]): ;> warp_load(p, 4)", "thread[32]",
    ),
    (
        "R14", "call-scalar", "block[1], thread[32]", "p: ptr(const(int)) @ block[1]",
        "t: int @ thread[1] = id(); block_load(p, t)", "varies per thread[1]",
    ),
    (
        "R15", "call-ptr", "block[1], thread[32]", "C: ptr(float) @ block[1]",
        "match split(thread): ;> case 32: ;>> fill(C)", "thread[32]",
    ),
    ("R17", "const", "thread[1]", "p: ptr(const(int)) @ thread[1]", "p[0] = 1", "const"),
    ("R18", "ptr-write", "block[1], thread[1]", "", "S: shared(int[4]) @ block[1]; S[0] = 1", "thread[1]"),
    (
        "R19", "ptr-read", "block[1], thread[1]", "u: int @ thread[1]",
        "S: shared(float[64]) @ block[1]; b: float @ block[1] = S[u]", "thread[1]",
    ),
    (
        "R20", "partition", "block[1], thread[32]", "S: ptr(int) @ block[1]",
        "t: int @ thread[1] = id(); with partition(S, p=thread[32], offset=t) as s: ;> pass", "thread[32]",
    ),
    (
        "R21", "hide", "block[1], thread[1]", "S: ptr(int) @ block[1]",
        "with partition(S, thread[1], id()) as s: ;> x: int @ thread[1] = S[0]", "hidden",
    ),
    (
        "R22", "claim", "block[1], thread[32]", "S: ptr(int) @ block[1]",
        "with group(thread[1]): ;> with claim(S, p=thread[1]) as s: ;>> pass", "block[1]",
    ),
    (
        "R23", "claim-one", "block[1], thread[64]", "S: ptr(const(int)) @ block[1]",
        "with claim(S, thread[32]) as s: ;> match split(thread): ;>> case 32: ;>>> a: int = s[0];"
        ">> case 32: ;>>> b: int = s[0]", "two arms use it",
    ),
    ("R24", "async", "thread[1]", "S: ptr(int) @ thread[1]", "with async_(S) as d: ;> d[0] = 1", "d"),
    (
        "R25", "shared-alloc", "block[1], thread[1]", "",
        "with group(thread[1]): ;> s: shared(int[4]) @ block[1]", "block[1]",
    ),
    ("R27", "unsafe", "block[1], thread[1]", "n: int @ block[1]", "unsafe(n)", "text"),
    ("R28", "ptr-rebind", "block[1], thread[1]", "p: ptr(int) @ block[1]", "q: ptr(int) @ thread[1] = p", "partition"),
    (
        "R29", "call-bound", "thread[1]", "v: uint32 @ thread[1]",
        "w: uint32 @ thread[1] = shuffle_up(v, 1)", "thread[32]",
    ),
    ("R30", "recursion", "thread[1]", "", "f()", "f"),
]  # fmt: skip


@pytest.mark.parametrize("case", ILLEGAL, ids=[f"{n}-{case[0]}-{case[1]}" for n, case in enumerate(ILLEGAL)])
def test_t1_the_illegal_program_of_each_rule(case: tuple[str, ...]) -> None:
    _, code, bound, parameters, body, words = case
    with pytest.raises(CompileError) as caught:
        rules.device(bound, parameters, body, before=rules.LOAD)
    assert caught.value.code == code and words in str(caught.value), str(caught.value)


def test_t1_each_rule_has_its_messages() -> None:
    """In tests/errors, its texts in full; and a legal program."""
    seen = {fault.rule for path in errors.CASES for fault in errors.refuse(errors.load(path)).errors}
    missing = {f"R{k}" for k in range(1, 31)} - seen
    assert missing == set(), missing
    told = {case[0].split()[0] for case in rules.LEGAL}
    assert {f"R{k}" for k in range(1, 26)} - told == {"R24"}  # asynchronous: tests/lang/check/test_async_front.py


@device
@requires(block[1], thread[1], smem=512)
def too_much():
    s: shared(float[129]) @ block[1]


def test_t1_more_shared_memory_than_is_allowed() -> None:
    with pytest.raises(CompileError, match="516") as caught:
        build(too_much)
    assert (caught.value.code, caught.value.rule) == ("call-smem", "R16")


def refused(bound: str, body: str, parameters: str = "") -> str:
    with pytest.raises(CompileError) as caught:
        rules.device(bound, parameters, body)
    return str(caught.value.code)


def test_t2_the_figures_programs() -> None:
    arms = "match split(thread): " + "".join(f";> case {{{k}}}: ;>> pass" for k in range(2))
    assert refused("block[6], thread[1]", "with group(block[6]): ;> with group(block[5]): ;>> pass") == "group"
    assert refused("block[1], thread[2]", "with group(thread[2]): ;> with group(block[1]): ;>> pass") == "group"
    assert refused("thread[4]", arms.format(4, 1)) == "split-sum"
    assert refused("thread[3]", arms.format(1, 2)) == "split-align"
    rules.device("thread[4]", "", f"{arms.format(2, 1)};> case 1: ;>> pass")


def test_t3_illegal_reads_and_writes() -> None:
    body = "flag: int @ thread[1] = id(); if flag > 0: ;> pass"
    assert refused("block[1], thread[32]", body) == "cond"
    body = "x: int @ thread[1] = id(); y: int @ block[1] = 0; y = x"
    assert refused("block[1], thread[32]", body) == "write-down"


def test_t4_where_arms_may_start() -> None:
    arms = "match split({level}): ;{more}> case {0}: ;{more}>> pass;{more}> case {1}: ;{more}>> pass"
    rules.device("block[1], warp[12]", "", arms.format(8, 4, level="warp", more=""))
    assert refused("block[1], warp[12]", arms.format(4, 8, level="warp", more="")) == "split-align"
    inner = arms.format(256, 128, level="thread", more=">")
    assert refused("block[1], thread[768]", f"with group(thread[384]): ;> {inner}") == "split-align"
    rules.device(
        "block[1], thread[768]", "", f"with group(thread[384]): ;> {arms.format(192, 192, level='thread', more='>')}"
    )


def test_t13_the_target_decides_what_may_be_read() -> None:
    rules.device(
        "thread[32]",
        "",
        "tid: int @ thread[1] = id(); A: int[32] @ thread[1]; for i in range(32): ;> A[i] = tid * 4 + 1",
    )
    assert refused("thread[32]", "tid: int @ thread[1] = id(); if tid > 0: ;> pass") == "cond"


# -- roles, arms, shared memory ---------------------------------------------------------------------------------------------


def test_t11_the_products_roles() -> None:
    """The paper's kernel takes registers from a warpgroup that computes; here who loads gives, and who multiplies takes."""
    program = build(asynchronous.hgemm, {"BN": 256, "BK": 64, "STAGES": 4})
    text = emit(lower(program)).source
    kernel = text[text.index('extern "C" __global__') :]
    parts = re.split(r"// threads (\d+) to (\d+)", kernel)[1:]
    texts = {
        (int(first), int(last)): part for first, last, part in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }
    loading = [role for role, part in texts.items() if "px_tma_load" in part]
    multiplying = [role for role, part in texts.items() if "px_wgmma" in part or "wgmma.mma_async" in part]
    assert loading == [(256, 383)] and multiplying == [(0, 255)]
    assert "setmaxnreg.dec" in texts[256, 383] and "setmaxnreg.inc" in texts[0, 255]


def inside_arms(body: Body, inside: bool = False) -> dict[Stmt, bool]:
    """Whether each statement stands in an arm of a split of threads."""
    found: dict[Stmt, bool] = {}
    for statement in body:
        found[statement] = inside
        arm = inside or (isinstance(statement, Split) and statement.code <= BLOCK)
        for part in children(statement):
            found |= inside_arms(part, arm)
    return found


@pytest.mark.parametrize("name", [*test_paper.PROGRAMS, "hgemm", "swapped", "total", "passed_on"])
def test_t15_no_barrier_of_the_block_inside_an_arm(name: str) -> None:
    for plan in programs()[name].plans.values():
        arms = inside_arms(plan.function.body)
        assert not [b for b in plan.barriers if b.unit >= BLOCK and arms.get(b.before, False)]


@prism.lang.kernel
@requires(grid[1], block[1], thread[512], smem=69632)
def the_scans_memory():
    with group(block[1]):
        values: shared(uint32[16384]) @ block[1]
        ends: shared(uint32[512]) @ block[1]
        other: shared(uint32[512]) @ block[1]


def test_t16_shared_memory() -> None:
    """The high-water marks of the paper's tf32 product, scan and hgemm: the last has its mbarriers behind 4 tiles of A and B."""
    kernel, template, _ = test_paper.PROGRAMS["tf32"]
    assert prism.compile(kernel, template).shared_bytes == 1280
    assert prism.compile(the_scans_memory).shared_bytes == 69632
    program = build(asynchronous.hgemm, {"BN": 256, "BK": 64, "STAGES": 4})
    layout = program.layouts[program.entry]
    assert min(layout.mbarriers.values()) == 196608 and layout.bytes == 196608 + 8 * 4 * len(layout.mbarriers)
