"""`st_async`, a store into the ring of another block of the cluster: what waits for it, on every schedule; what is refused.

Tests of prism/lang/intrinsics/remote.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.interpret import run, schedules
from prism.lang import CompileError
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from prism.lang.tree.plan import Arrive, Expect, Program, ProxyFence, Wait
from prism.runtime.compile import compile_cubin
from tests.examples import sent as s
from tests.examples.programs import Launch
from tests.lang.check import test_rules as rules
from tests.mutation import TRIED, score

LAUNCHES = {
    f"{kind}-{tiles}-{copies}-{blocks}-{shift}-{clusters}": (kind, tiles, copies, blocks, shift, clusters)
    for kind, tiles, copies, blocks, shift, clusters in (
        ("int32", 0, 2, 2, 1, 1), ("int32", 1, 1, 2, 1, 1), ("int32", 5, 2, 2, 1, 2), ("uint64", 4, 3, 2, 1, 1),
        ("float32", 3, 2, 3, 1, 1), ("int32", 4, 1, 3, 2, 1), ("int32", 3, 2, 4, 6, 1),
    )
}  # fmt: skip


def program_of(launch: Launch) -> Program:
    return prism.check(launch.kernel, launch.template)


@pytest.mark.parametrize("name", LAUNCHES)
def test_on_the_reference_machine(name: str) -> None:
    launch = s.sent(*LAUNCHES[name])
    launch.compare(np.copy)
    for schedule, seed in schedules(8)[list(LAUNCHES).index(name) % 4 :: 4]:
        launch.compare(np.copy, check=True, schedule=schedule, seed=seed)


@pytest.mark.parametrize("blocks,base", [(2, 1), (3, -2), (4, 3)])
def test_a_shift_that_is_computed(blocks: int, base: int) -> None:
    """By the round, by the thread, and by a parameter: each thread's stores still make a permutation of the blocks."""
    launch = s.shuffled("int32", 4, 2, blocks, base, clusters=2 if blocks == 2 else 1)
    launch.compare(np.copy)
    for schedule, seed in schedules(8)[blocks % 4 :: 4]:
        launch.compare(np.copy, check=True, schedule=schedule, seed=seed)
    assert compile_cubin(emit(lower(program_of(launch))).source, "sm_90a").spills == 0


def test_what_the_plan_has() -> None:
    """Each block announces what it gets, which is what it sends; who sends waits for the readers of all blocks."""
    program = program_of(s.sent("int32", 4, 2, 3))
    plan = program.plans[program.entry]
    filled, read = plan.mbarriers
    assert (filled.name, filled.count, filled.blocks, filled.stores) == ("ring_filled", 2, 0, True)
    assert (read.name, read.count, read.blocks, read.stores) == ("ring_read", 4 * 3, 0b111, True)
    assert [op.bytes for op in plan.operations if isinstance(op, Expect)] == [4]
    assert [(op.barrier, op.lap) for op in plan.operations if isinstance(op, Wait)] == [(read, 1), (filled, 0)]
    assert sorted(op.barrier.name for op in plan.operations if isinstance(op, Arrive)) == ["ring_filled", "ring_read"]
    assert not any(isinstance(op, ProxyFence) for op in plan.operations) and not plan.barriers


@pytest.mark.parametrize("blocks", [2, 3])
def test_every_mutant_is_caught(blocks: int) -> None:
    launch = s.sent("int32", 3, 1, blocks)

    def right(program: Program, **options: Any) -> bool:
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in launch.arguments]
        run(program, *launch.shape, given, **options)
        return all(np.array_equal(given[place], expected) for place, expected in launch.results.items())

    found = score(program_of(launch), right, 192, TRIED)
    assert found.wrong > 10 and found.survivors == []


@pytest.mark.parametrize("kind", ["int32", "float32", "uint64", "float64"])
def test_machine_code(kind: str) -> None:
    text = emit(lower(program_of(s.sent(kind, 3, 2, 4, 3)))).source
    bits = 64 if "64" in kind else 32
    assert (
        f"px_st_async_{bits}(" in text
        and "px_bar_ring_filled + px_ring_slot, 3)" in text
        and "px_release_blocks_warp<0xfu>(" in text
    )
    assert "px_mbarrier_acquire_cluster(px_bar_ring_filled" in text and "fence.proxy.async;" not in text
    assert compile_cubin(text, "sm_90a").spills == 0


# -- refused ----------------------------------------------------------------------------------------------------------------

KERNEL = """
@prism("global")
@attr("__launch_bounds__(96)")
@requires(grid[1], {bound}, thread[96])
def f(y: ptr({type}) @ grid[1], n: int @ grid[1], p: ptr(const(int)) @ grid[1]):
    b: int @ block[1] = id()
    with group({outer}):
        m: int @ block[1] = b + n
        with group(block[1]):
            ring: shared({type}[64]{ring}) @ block[1]
            readers, senders = roles(warp, 2, 1)
            for k in range(0, {rounds}):
                with claim(ring, senders) as tile:
                    t: int @ thread[1] = id()
                    with partition(tile, thread[1], offset=2 * t) as mine, group(thread[1]):
                        {store}
                with claim(ring, readers) as tile:
                    t: int @ thread[1] = id()
                    with group(thread[1]):
                        v: {type} @ thread[1] = tile[t]
"""
STORE = "st_async(mine[0], t, shift=s)"
GOOD = {
    "bound": "block[2]",
    "outer": "block[2]",
    "type": "int",
    "ring": ", ring=2",
    "rounds": "n",
    "store": "st_async(mine[0], t)",
}
REFUSED = {
    "no ring": ({"ring": "", "rounds": "1"}, "ring", "is no ring"),
    "a condition": ({"store": "if t > 3: st_async(mine[0], t)"}, "ring", "under a condition"),
    "a loop": ({"store": "for j in range(n): st_async(mine[0], t)"}, "ring", "in a loop"),
    "to itself": ({"store": "st_async(mine[0], t, shift=2)"}, "ring", "stays in its own block"),
    "a shift of each block": ({"store": "st_async(mine[0], t, shift=b)"}, "ring", "`shift` varies at"),
    "a shift from memory": ({"store": "st_async(mine[0], t, shift=p[t])"}, "ring", "`shift` varies at"),
    "a shift that changes": (
        {"store": "s: int = n\n                        s += b\n" + " " * 24 + STORE},
        "ring",
        "`shift` varies at",
    ),
    "different rounds": ({"rounds": "m"}, "ring", "different numbers of rounds"),
    "used too": ({"store": "st_async(mine[0], mine[1])"}, "async", "used before the load has ended"),
    "no cluster": ({"bound": "block[1]", "outer": "block[1]"}, "ring", "there is no cluster"),
    "short": ({"type": "half", "store": "st_async(mine[0], 1.0)"}, "type", "4 or 8 bytes"),
}


def kernel(**changes: str) -> Any:
    return rules.load(KERNEL.format(**{**GOOD, **changes}))["f"]


@pytest.mark.parametrize(
    "changes", [
        {}, {"store": "for j in range(2): st_async(mine[j], t)"}, {"store": "st_async(mine[0], t, shift=-1)"},
        {"store": "st_async(mine[0], t, shift=n)"}, {"store": "st_async(mine[0], t, shift=1 + t // 8 * k)"},
        {"store": "for j in range(2): st_async(mine[j], t, shift=j + 1)"},
    ],
)  # fmt: skip
def test_accepted(changes: dict[str, str]) -> None:
    prism.check(kernel(**changes))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    changes, code, words = REFUSED[name]
    with pytest.raises(CompileError) as caught:
        prism.check(kernel(**changes))
    assert caught.value.code == code and words in str(caught.value), str(caught.value)


ARM = """
@prism("global")
@requires(grid[1], block[2], warp[2])
def f(n: int32 @ grid[1]):
    with group(block[2]):
        match split(block):
            case 1:
                row: shared(int32[32], ring=2)
                reader, writer = roles(warp, 1, 1)
                total: int32 @ thread[1] = 0
                for r in range(n):
                    with claim(row, writer) as coming, one(thread):
                        st_async(coming[0], r)
                    with claim(row, reader) as here, group(thread[1]):
                        total += here[0]
"""


def test_a_store_in_an_arm_that_the_other_block_does_not_run_is_refused() -> None:
    with pytest.raises(CompileError, match="an arm of a split that other blocks do not run") as found:
        prism.check(rules.load(ARM)["f"])
    assert found.value.code == "ring"
