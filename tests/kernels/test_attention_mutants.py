"""Each wait, arrival, fence, group and count of attention's kernels deleted or weakened: found, but for those that are spare.

Waits deleted are in the kernels' own tests too, which every run makes; the rest is long.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from prism import interpret
from prism.interpret import run
from prism.kernels.attention import Cut, Terms, cut_of, cut_of_bytes, latent_cut_of
from prism.kernels.attention.backward import change_keys
from prism.lang.tree.plan import Program
from tests.kernels import (
    test_attention,
    test_attention8,
    test_attention_backward,
    test_attention_decode,
    test_attention_decode_latent,
    test_attention_packed,
)
from tests.kernels.test_attention import ONE
from tests.mutation import caught, program_mutants

SMALL = {"dim": 32, "dim_v": 32, "keys": 32}
"""Extents of tiles, in which all else is as in larger ones."""
TRIED = (("random", 0), ("reversed", 0), ("round-robin", 0))
Case = tuple[Program, Callable[..., bool]]
"""A program, and what runs another one in its place, and says whether results are right."""


def causal(cut: Cut, patch: pytest.MonkeyPatch) -> Case:
    """Causal attention: trips of every kind."""

    def right(program: Program, schedule: str, seed: int, check: bool) -> bool:
        patch.setattr(test_attention, "program", lambda *_, **__: program)
        how: dict[str, Any] = {"ahead": 3 * cut.keys, "lse": False, "blocks": 1, "schedule": schedule, "seed": seed}
        return test_attention.attended(cut.rows + 1, 6 * cut.keys, cut, **how)

    return test_attention.program("float16", cut, Terms(causal=True)), right


plain = functools.partial(causal, ONE)
chosen = functools.partial(causal, replace(cut_of(128, 128, 1 << 14), **SMALL))
"""Of one warpgroup; and of as many as there are with long sequences, their turns and tiles of queries."""


def packed(patch: pytest.MonkeyPatch) -> Case:
    """Six sequences, whose last keys are masked."""

    def right(program: Program, schedule: str, seed: int, check: bool) -> bool:
        patch.setattr(test_attention_packed, "program", lambda *_, **__: program)
        lengths, keys = (ONE.rows + 1,) * 6, (5 * ONE.keys - 5,) * 6
        return test_attention_packed.attended(lengths, keys, ONE, heads=1, blocks=1, schedule=schedule, seed=seed)

    return test_attention_packed.program("float16", ONE, Terms(lse=True, packed=True)), right


def eight_bits(patch: pytest.MonkeyPatch) -> Case:
    """As there are with long sequences: two warpgroups, turns, values that were transposed; many tiles of keys, and one."""
    cut = replace(cut_of_bytes(128, 128, 1 << 14), **SMALL)
    launches = [test_attention8.Launch(cut, rows, keys) for rows, keys in ((129, 140), (300, 20))]
    for launch in launches:
        launch.blocks = 1
    return launches[0].built, lambda program, **how: all(launch.right(program, **how) for launch in launches)


def decode(patch: pytest.MonkeyPatch) -> Case:
    """Blocks that have parts of a head's keys, and blocks of several heads."""
    cut, calls = test_attention_decode.CALLS["dense"]
    whole = test_attention_decode.instance_for("float16", cut).program

    def right(program: Program, **how: Any) -> bool:
        run_it = lambda given, *rest, **_: run(program if given is whole else given, *rest, **how)
        patch.setattr(interpret, "run", run_it)
        return all(test_attention_decode.attended(**call) for call in calls)

    return whole, right


def latent(patch: pytest.MonkeyPatch) -> Case:
    """Blocks that have parts of a head's keys, and blocks of several batches, of a latent cache."""
    whole = test_attention_decode.instance_for("float16", latent_cut_of(lse=True, once=True)).program

    def right(program: Program, **how: Any) -> bool:
        run_it = lambda given, *rest, **_: run(program if given is whole else given, *rest, **how)
        patch.setattr(interpret, "run", run_it)
        attended = test_attention_decode_latent.attended
        return attended(1, 3, 1, 500, [500]) and attended(4, 3, 1, 60, [60] * 4)

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


CASES = {
    "plain": plain, "chosen": chosen, "packed": packed, "eight bits": eight_bits, "decode": decode, "latent": latent,
    "backward": backward,
}  # fmt: skip
SPARE = {
    "WaitGroup(wgmma) after": "queries are read by the wgmmas of scores alone, which each trip has waited for",
    "Wait(k_tile_read) before": "of a tile's first keys: who loads them has waited until the last tile's queries were read",
    "Wait(v_tile_read) before": "of a tile's first trip, in which no values are loaded",
    "WgmmaFence() before": "of products with values: a trip has a fence before, after registers were written",
    "WaitGroup(bulk) before": "of stores of results, whose shared memory is waited for after each",
}
"""Steps without which nothing is wrong, and why: what the analysis can't see."""
ONCE = {
    "backward": ("k_tile_v_tile_read", "Advance() after"),  # a block fills them once: nobody has a copy before, or next
    "decode": ("q_tile_read", "Advance() after"),  # a block fills it once
}


@pytest.mark.fuzz
@pytest.mark.parametrize("case", CASES)
def test_every_mutant_is_found(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, right = CASES[case](monkeypatch)
    assert all(right(whole, schedule=schedule, seed=seed, check=True) for schedule, seed in TRIED)
    survivors, wrong = [], 0
    for mutant, program in program_mutants(whole):
        report = caught(program, right, TRIED)
        assert not (report and mutant.harmless), (mutant.name, report)
        wrong += not mutant.harmless
        survivors += [mutant.name] * (not report and not mutant.harmless)
    once = ONCE.get(case, ())
    steps = {
        re.sub(r"^\w+: (without )?| line \d+.*$", "", name) for name in survivors if not any(x in name for x in once)
    }
    assert wrong > (40 if case == "latent" else 50) and steps <= SPARE.keys(), survivors
