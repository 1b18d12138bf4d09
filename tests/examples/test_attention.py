"""`examples/flash_attention.py` on the CPU: its numbers, under every schedule, and what its loop waits for."""

from __future__ import annotations

import contextlib
import runpy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import prism
from examples import flash_attention
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang.tree.plan import Wait, WaitGroup
from tests.examples.library import CLOSE, checked_attention
from tests.mutation import named


@pytest.mark.parametrize(("heads", "n", "d"), [(1, 128, 64), (2, 256, 64), (1, 384, 128), (1, 128, 256)])
def test_against_numpy(heads: int, n: int, d: int) -> None:
    checked_attention(heads, n, d)(np.copy)


def ran(program: Any, schedule: str) -> float:
    """Run two heads, with all checks; return by how much the result is off."""
    q, k, v = np.random.default_rng(1).normal(size=(3, 2, 256, 64)).astype(np.float16)
    o = np.zeros(q.shape, np.float32)
    scale = np.float32(np.log2(np.e) / 8)
    maps = (x.reshape(512, 64) for x in (q, k, v))
    run(program, 4, 384, (*maps, o, 256, scale), check=True, schedule=schedule, seed=3)
    return float(np.abs(o - flash_attention.reference(q, k, v)).max())


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_with_all_checks(schedule: str) -> None:
    assert ran(prism.check(flash_attention.attention_rows, {"D": 64, "BN": 64}), schedule) < CLOSE


def test_no_barrier_and_a_loop_without_conditions() -> None:
    """The first trip, which has no values to add, and the last, which has no scores to make, are by themselves."""
    program: Any = prism.check(flash_attention.attention_rows, {"D": 64, "BN": 64})
    assert not program.plans[program.entry].barriers
    text = prism.explain(flash_attention.attention_rows, {"D": 64, "BN": 64})
    trips = [line.strip() for line in text.splitlines() if line.strip().startswith("producer, a trip")]
    assert [line.partition(", part ")[2] for line in trips] == [
        "1 of 3): 1 announcing arrival, 1 mbarrier wait",
        "2 of 3): 2 announcing arrivals, 2 mbarrier waits",
        "3 of 3): 1 announcing arrival, 1 mbarrier wait",
    ]


def test_each_wait_is_needed() -> None:
    """But those of a tile's first copies, which nobody has had before, and for wgmmas that each trip has waited for."""
    program: Any = prism.check(flash_attention.attention_rows, {"D": 64, "BN": 64})
    found = []
    for plan in program.plans.values():
        for step in (one for one in plan.operations if isinstance(one, Wait | WaitGroup)):
            mutant = program.with_plan(replace(plan, skewed=None).drop_step(step))
            with contextlib.suppress(MachineError):
                if ran(mutant, "random") < CLOSE:
                    found.append(named(step).partition(" line")[0])
    assert sorted(found) == ["Wait(k_tile_read) before", "Wait(q_tile_read) before", "WaitGroup(wgmma) after"]


@pytest.mark.parametrize(("d", "bn"), [(64, 128), (128, 128), (256, 64)])
def test_machine_code(d: int, bn: int) -> None:
    compiled = prism.compile(flash_attention.attention_rows, {"D": d, "BN": bn})
    assert compiled.cubin and compiled.spills == 0


def test_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(flash_attention.__file__), run_name="__main__")
    assert float(capsys.readouterr().out.split()[-1]) < CLOSE
