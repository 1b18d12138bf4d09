"""`all_gather`: what warps of a cluster give reaches all of them; what is refused; that two rooms are enough, and one is not.

Tests of prism/lang/intrinsics/gathers.py, prism/lang/facts/gathers.py, prism/lang/lower/gathers.py,
prism/lang/emit/gathers.py and prism/interpret/gathers.py.
"""

# ruff: noqa: F821 -- names that the kernels declare

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run, schedules
from prism.lang import (
    CompileError,
    all_gather,
    attr,
    block,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    shared,
    thread,
)
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.runtime.compile import compile_cubin, compile_ptx
from tests.examples import gathered as g
from tests.kernels.test_rows import CLUSTER_BESIDE, norm_backward_program
from tests.lang.check import test_rules as rules

CASES = {
    "once": ("int32", 2), "none": ("int32", 0), "rounds": ("float32", 7), "several": ("uint64", 4, 3),
    "three blocks": ("int32", 5, 2, 3, 2),
    "sixteen": ("int32", 3, 1, 16), "skipped": ("float64", 9, 1, 2, 1, 3), "met": ("int32", 4, 1, 2, 2, 100, True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_on_the_reference_machine(name: str) -> None:
    launch = g.gathered(*CASES[name])
    launch.compare(np.copy)
    for schedule, seed in schedules(8)[list(CASES).index(name) % 4 :: 4]:
        launch.compare(np.copy, check=True, schedule=schedule, seed=seed)


@pytest.mark.parametrize("kind,n,blocks", [("float32", 1, 8), ("float64", 3, 2), ("uint64", 2, 16)])
def test_machine_code(kind: str, n: int, blocks: int) -> None:
    """No barrier of the cluster but that its blocks have begun, waited for where the first values go; none at the end."""
    launch = g.gathered(kind, 3, n, blocks)
    emitted = emit(lower(prism.check(launch.kernel, launch.template)))
    text = emitted.source
    kernel = text[text.index('extern "C"') :]
    assert (
        kernel.count("px_cluster_arrive();") == 1 and "px_cluster_barrier" not in text and "px_cluster_meet" not in text
    )
    assert "px_gather_late = true" in text and kernel.rstrip().endswith("if (px_round == 0u) px_cluster_wait();\n}")
    room = -(-g.WARPS * blocks * n * np.dtype(kind).itemsize // 16) * 16
    assert emitted.shared_bytes == 16 + 2 * room
    assert compile_cubin(text, "sm_90a").spills == 0


def test_values_of_16_bytes_are_sent_at_once() -> None:
    program = norm_backward_program(CLUSTER_BESIDE, True, "float16")  # whose sums are four of float64
    sent = re.findall(r"st\.async\S*bytes\.(\S+)", compile_ptx(emit(lower(program)).source, "sm_90a"))
    assert sent and set(sent) == {"v4.b32"}


def test_blocks_that_meet_for_other_reasons_have_begun_then() -> None:
    text = emit(lower(prism.check(g.added_up, g.gathered("int32", 1, met=True).template))).source
    assert "px_gather_late = false" in text and "px_cluster_arrive();" not in text
    assert text.index("px_mbarrier_init(px_shared + px_gather_at") < text.index("px_cluster_begin();")


@pytest.mark.parametrize(
    "body,rooms",
    [
        ("all_gather(values, found)", 1), ("all_gather(values, found)\n        all_gather(values, found)", 2),
        ("for k in range(n): all_gather(values, found)", 2), ("if n > 3: all_gather(values, found)", 1),
    ],
)  # fmt: skip
def test_a_kernel_that_comes_to_one_gather_has_one_room(body: str, rooms: int) -> None:
    emitted = emit(lower(prism.check(kernel(body=body))))
    assert emitted.shared_bytes == 16 + rooms * 2 * 16 * 4, "two numbers of each of 16 warps"


KERNEL = """
@prism("global")
@attr("__launch_bounds__({threads})")
@requires(grid[1], {bound}, thread[32])
def f(y: ptr(float) @ grid[1], n: int @ grid[1]):
    with group({outer}):
        t: int @ thread[1] = id()
        b: int @ block[1] = id() if {blocks} else 0
        values: {type}[2] @ thread[1]
        found: {type}[{room}] @ thread[1]
        {body}
"""
GOOD = {
    "threads": "256", "bound": "block[2]", "outer": "block[2]", "blocks": "True", "type": "float", "room": "2",
    "body": "all_gather(values, found)",
}  # fmt: skip
REFUSED = {
    "a condition of threads": ({"body": "if t > 3: all_gather(values, found)"}, "cond", "varies"),
    "a condition of blocks": ({"body": "if b == 0: all_gather(values, found)"}, "cond", "varies"),
    "rounds of blocks": ({"body": "for k in range(b): all_gather(values, found)"}, "loop", "varies"),
    "a thread": ({"body": "with group(thread[1]): all_gather(values, found)"}, "call-bound", "all_gather"),
    "a warp": ({"body": "with group(thread[32]): all_gather(values, found)"}, "type", "speaks for thread[32]"),
    "a block": ({"body": "with group(block[1]): all_gather(values, found)"}, "type", "speaks for block[1]"),
    "no cluster": ({"bound": "block[1]", "outer": "block[1]", "blocks": "False"}, "type", "several blocks"),
    "room": ({"threads": "544"}, "type", "34 warps, and `found` has room for 32"),
    "odd room": ({"room": "3"}, "type", "no multiple of the 2"),
    "short": ({"type": "half"}, "type", "a multiple of 4 bytes"),
    "not written": ({"body": "all_gather(values, y)"}, "type", "a local array"),
}  # fmt: skip


def kernel(**changes: str) -> Any:
    return rules.load(KERNEL.format(**{**GOOD, **changes}))["f"]


def test_accepted() -> None:
    prism.check(kernel())
    prism.check(kernel(body="for k in range(n): all_gather(values, found)"))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    changes, code, words = REFUSED[name]
    with pytest.raises(CompileError) as caught:
        prism.check(kernel(**changes))
    assert caught.value.code == code and words in str(caught.value), str(caught.value)


# -- the protocol, in every order -----------------------------------------------------------------------------------------


def explore(warps: int, rounds: int, rooms: int, waits: bool = True, ends: bool = True) -> str:
    """Run one warp of each block, and each store on its way, in every order; return what goes wrong first, or nothing.

    A warp sends to all blocks, waits for its own block's bytes, reads, and goes on. `rooms`: of a block. Mutants: it does not
    wait for the bytes; it leaves before it has read the last ones.
    """
    # Of each warp its round, and whether it has sent; stores that are there, and those on their way: to whom, whose, which round.
    start = (((0, False),) * warps, frozenset[tuple[int, int, int]](), frozenset[tuple[int, int, int]]())
    seen, left = {start}, [start]
    while left:
        state = left.pop()
        nexts, wrong = _steps(state, warps, rounds, rooms, waits, ends)
        if wrong:
            return wrong
        if not nexts and any(number < rounds for number, _ in state[0]):
            return "nobody can go on"
        for one in nexts:
            if one not in seen:
                seen.add(one)
                left.append(one)
    return ""


def _steps(state: Any, warps: int, rounds: int, rooms: int, waits: bool, ends: bool) -> tuple[list[Any], str]:
    at, there, under_way = state
    nexts = []
    for store in under_way:
        block, sender, number = store
        gone = at[block][0] >= rounds
        if gone:
            return [], "a store into a block that has left"
        if any((b, s) == (block, sender) and n % rooms == number % rooms and n >= at[block][0] for b, s, n in there):
            return [], "overwritten before it was read"
        nexts.append((at, there | {store}, under_way - {store}))
    for warp, (number, sent) in enumerate(at):
        if number == rounds:
            continue
        if not sent:
            new = frozenset((block, warp, number) for block in range(warps))
            moved = (*at[:warp], (number, True), *at[warp + 1 :])
            nexts.append((moved, there, under_way | new))
            continue
        here = sum((warp, s, number) in there for s in range(warps))
        last = number + 1 == rounds
        if here == warps or not waits or (last and not ends):
            if waits and ends and here < warps:
                return [], "read before it came"
            moved = (*at[:warp], (number + 1, False), *at[warp + 1 :])
            nexts.append((moved, there, under_way))
    return nexts, ""


@pytest.mark.parametrize("warps,rounds", list(itertools.product((2, 3), (1, 2, 3))))
def test_two_rooms_are_enough_in_every_order(warps: int, rounds: int) -> None:
    assert explore(warps, rounds, 2) == ""


def test_what_is_left_out_is_missed() -> None:
    assert explore(2, 2, 1) == "overwritten before it was read"
    assert explore(2, 1, 2, ends=False) == "a store into a block that has left"
    assert explore(2, 3, 2, waits=False) in ("overwritten before it was read", "a store into a block that has left")


@prism.kernel
@attr("__launch_bounds__(32)")
@requires(grid[1], block[2], thread[32])
def looks_beside(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Gathers, and writes into the other block first."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        box: shared(int32[2, 32])
        b: int32 @ block[1] = id()
        with partition(box, thread[1], lambda j: (1 - b, i % 32 + j)) as theirs, group(thread[1]):
            theirs[0] = i
        with group(thread[1]):
            mine[0] = box[b, i % 32]
        v: int32[1] @ thread[1]
        w: int32[1] @ thread[1]
        with group(thread[1]):
            v[0] = i
            w[0] = 0
        all_gather(v, w)
        with group(thread[1]):
            mine[0] = w[0]


@prism.kernel
@attr("__launch_bounds__(32)")
@requires(grid[1], block[2], thread[32])
def leaves_early(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    """Gathers, or returns before."""
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        if n == 0:
            return
        v: int32[1] @ thread[1]
        w: int32[1] @ thread[1]
        with group(thread[1]):
            v[0] = i
            w[0] = 0
        all_gather(v, w)
        with group(thread[1]):
            mine[0] = w[0]


@prism.kernel
@attr("__launch_bounds__(32)")
@requires(grid[1], block[2], thread[32])
def gathers_alone(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(block[2]):
        v: int32[1] @ thread[1]
        w: int32[1] @ thread[1]
        with group(thread[1]):
            v[0] = i
            w[0] = 0
        if n > 0:
            all_gather(v, w)
        with group(thread[1]):
            mine[0] = w[0]


@pytest.mark.parametrize(
    "kernel, decided",
    [(looks_beside, (True, False)), (leaves_early, (False, True)), (gathers_alone, (False, True))],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_blocks_have_begun_before_values_are_sent_to_them(kernel: Any, decided: tuple[bool, bool]) -> None:
    """They meet at the begin, or the first gather waits for all; where neither is done, the machine says so."""
    program = prism.check(kernel)
    plan = program.plans[program.entry]
    assert (plan.begins, plan.late) == decided
    text = emit(lower(program)).source
    assert ("px_cluster_begin();" in text, "px_cluster_arrive();" in text) == decided

    def codes(one: Any) -> set[str]:
        found = set()
        for n, name in itertools.product((0, 1), SCHEDULES):
            try:
                run(one, 4, 32, [np.arange(128, dtype=np.int32), n], check=True, schedule=name)
            except MachineError as error:
                found.add(error.code)
        return found

    assert not codes(program)
    assert codes(program.with_plan(replace(plan, begins=False, late=False))) == {"machine-race"}


@prism.device
@requires(block[2], thread[32])
def gather_before(k: int32 @ block[2]) -> int32 @ block[2]:
    v: int32[1] @ thread[1]
    w: int32[2] @ thread[1]
    with group(thread[1]):
        v[0] = 1
        w[0] = 0
    all_gather(v, w)
    return k - 1


@prism.kernel
@attr("__launch_bounds__(64)")
@requires(grid[1], block[2], thread[32])
def gathers_in_a_condition(x: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    k: int32 @ block[2] = n
    with group(block[2]):
        while gather_before(k) > 0:
            k = k - 1


def test_a_loops_condition_gathers_in_each_trip() -> None:
    """So there is room for two, though the text has one."""
    program = prism.check(gathers_in_a_condition)
    assert program.layouts[program.entry].rooms == 2
