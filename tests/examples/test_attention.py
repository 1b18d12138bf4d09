"""`examples/flash_attention.py` on the CPU: its numbers, under every schedule, and what its loop waits for."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pytest

import prism
from examples import flash_attention
from prism.interpret import SCHEDULES, run
from tests.examples.library import CLOSE, checked_attention


@pytest.mark.parametrize(("heads", "n", "d"), [(1, 64, 64), (2, 128, 64), (1, 192, 128)])
def test_against_numpy(heads: int, n: int, d: int) -> None:
    checked_attention(heads, n, d)(np.copy)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_with_all_checks(schedule: str) -> None:
    q, k, v = np.random.default_rng(1).normal(size=(3, 1, 128, 64)).astype(np.float16)
    o = np.zeros(q.shape, np.float32)
    program = prism.check(flash_attention.attention_rows, {"D": 64, "BN": 64})
    scale = np.float32(np.log2(np.e) / 8)
    run(program, 2, 256, (q, k[0], v[0], o, 128, scale), check=True, schedule=schedule, seed=3)
    assert np.abs(o - flash_attention.reference(q, k, v)).max() < CLOSE


def test_the_producer_runs_ahead() -> None:
    """No barrier of the block in the loop: q_tile, which all threads fill, is ordered once, before it."""
    program: Any = prism.check(flash_attention.attention_rows, {"D": 64, "BN": 64})
    assert sorted(b.kind for b in program.plans[program.entry].barriers) == ["block", "named", "named"]
    text = prism.explain(flash_attention.attention_rows, {"D": 64, "BN": 64})
    producer = next(line for line in text.splitlines() if line.strip().startswith("producer, a trip"))
    assert producer.endswith(": 1 announcing arrival, 1 mbarrier wait")


@pytest.mark.parametrize("d", [64, 128])
def test_machine_code(d: int) -> None:
    compiled = prism.compile(flash_attention.attention_rows, {"D": d, "BN": 64})
    assert compiled.cubin and compiled.spills == 0


def test_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(flash_attention.__file__), run_name="__main__")
    assert float(capsys.readouterr().out.split()[-1]) < CLOSE
