"""Each wait, arrival, fence, group and count of attention's kernels deleted or weakened: found, but for those that are spare.

Waits deleted are in the kernels' own tests too, which every run makes; the rest is long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from prism import interpret
from prism.interpret import run
from prism.kernels.attention import Cut, Terms
from prism.kernels.attention.backward import change_keys
from prism.lang.tree.plan import Program
from tests.kernels import (
    test_attention,
    test_attention8,
    test_attention_backward,
    test_attention_decode,
    test_attention_packed,
)
from tests.kernels.test_attention import ONE
from tests.mutation import caught, program_mutants

TRIED = (("random", 0), ("reversed", 0), ("round-robin", 0))
Case = tuple[Program, Callable[..., bool]]
"""A program, and what runs another one in its place, and says whether results are right."""


def plain(patch: pytest.MonkeyPatch) -> Case:
    """Causal attention: trips of every kind."""

    def right(program: Program, schedule: str, seed: int, check: bool) -> bool:
        patch.setattr(test_attention, "program", lambda *_, **__: program)
        how: dict[str, Any] = {"ahead": 3 * ONE.keys, "lse": False, "blocks": 1, "schedule": schedule, "seed": seed}
        return test_attention.attended(ONE.rows + 1, 6 * ONE.keys, ONE, **how)

    return test_attention.program("float16", ONE, Terms(causal=True)), right


def packed(patch: pytest.MonkeyPatch) -> Case:
    """Six sequences, whose last keys are masked."""

    def right(program: Program, schedule: str, seed: int, check: bool) -> bool:
        patch.setattr(test_attention_packed, "program", lambda *_, **__: program)
        lengths, keys = (ONE.rows + 1,) * 6, (5 * ONE.keys - 5,) * 6
        return test_attention_packed.attended(lengths, keys, ONE, heads=1, blocks=1, schedule=schedule, seed=seed)

    return test_attention_packed.program("float16", ONE, Terms(lse=True, packed=True)), right


def eight_bits(patch: pytest.MonkeyPatch) -> Case:
    """Turns of two warpgroups, and values that were transposed."""
    launch = test_attention8.Launch(Cut(32, 32, 32, width=1), 129, 140)
    launch.blocks = 1
    return launch.built, lambda program, **how: launch.right(program, **how)


def decode(patch: pytest.MonkeyPatch) -> Case:
    """Blocks that have parts of a head's keys, and blocks of several heads."""
    cut, calls = test_attention_decode.CALLS["dense"]
    whole = test_attention_decode.instance_for("float16", cut).program

    def right(program: Program, **how: Any) -> bool:
        run_it = lambda given, *rest, **_: run(program if given is whole else given, *rest, **how)
        patch.setattr(interpret, "run", run_it)
        return all(test_attention_decode.attended(**call) for call in calls)

    return whole, right


def backward(patch: pytest.MonkeyPatch) -> Case:
    """Gradients of keys, of two heads that share one."""
    kept, small = test_attention_backward.program, test_attention_backward.SMALL
    terms = test_attention_backward.Terms(causal=True)
    whole = kept(change_keys, "float16", small, TERMS=terms, **test_attention_backward.FULL)

    def right(program: Program, schedule: str, seed: int, check: bool) -> bool:
        asked = lambda kernel, *rest, **facts: program if kernel is change_keys else kept(kernel, *rest, **facts)
        patch.setattr(test_attention_backward, "program", asked)
        return not test_attention_backward.wrong(4 * small.rows, small.keys, ahead=32, share=2, schedule=schedule)

    return whole, right


CASES = (plain, packed, eight_bits, decode, backward)
SPARE = {
    "WaitGroup(wgmma) after": "queries are read by the wgmmas of scores alone, which each trip has waited for",
    "Wait(k_tile_read) before": "of a tile's first keys: who loads them has waited until the last tile's queries were read",
    "WgmmaFence() before": "of products with values: a trip has a fence before, after registers were written",
    "WaitGroup(bulk) before": "of stores of results, whose shared memory is waited for after each",
}
"""Steps without which nothing is wrong, and why: what the analysis can't see."""
ONCE = {
    "backward": ("k_tile_v_tile_read", "Advance() after"),  # a block fills them once: nobody has a copy before, or next
    "decode": ("q_tile_read", "Advance() after"),  # a block fills it once
}


@pytest.mark.fuzz
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_every_mutant_is_found(case: Callable[[pytest.MonkeyPatch], Case], monkeypatch: pytest.MonkeyPatch) -> None:
    whole, right = case(monkeypatch)
    assert all(right(whole, schedule=schedule, seed=seed, check=True) for schedule, seed in TRIED)
    survivors, wrong = [], 0
    for mutant, program in program_mutants(whole):
        report = caught(program, right, TRIED)
        assert not (report and mutant.harmless), (mutant.name, report)
        wrong += not mutant.harmless
        survivors += [mutant.name] * (not report and not mutant.harmless)
    once = ONCE.get(case.__name__, ())
    steps = {
        re.sub(r"^\w+: (without )?| line \d+.*$", "", name) for name in survivors if not any(x in name for x in once)
    }
    assert wrong > 50 and steps <= SPARE.keys(), survivors
