"""Attention of 8-bit floats: values transposed beforehand, the kernel on the reference machine, its waits, its registers.

Tests of kernels/attention/{forward,transposed}.py. tests/gpu/test_attention8.py runs them on a GPU.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prism import check
from prism.interpret import SCHEDULES, MachineError, run
from prism.kernels.attention import Cut, Terms, as_it_is, attend, cut_of_bytes, transpose_values
from prism.kernels.attention.cut import Sizes
from prism.lang.tree.plan import Wait, WaitGroup
from prism.lang.types import BFLOAT16, FLOAT8_E4M3FN
from prism.lang.types.shorts import bits_of, values_of
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.mutation import named
from tests.rarely import rarely

ALL = Terms()


@functools.cache
def program(cut: Cut, terms: Terms = ALL, out: str = "float16", plain: bool = True) -> Any:
    given = {
        "T": "float8_e4m3fn",
        "W": "float8_e4m3fn",
        "OUT": out,
        "INDEX": "int32",
        "CUT": cut,
        "TERMS": terms,
        "SCORE": as_it_is,
        "PLAIN": plain,
    }
    return check(attend, given)


@functools.cache
def program_of_transposition(words: int) -> Any:
    return check(transpose_values, {"WORDS": words})


def order(keys: int) -> Any:
    """The key of which each position of a transposed row is."""
    p = np.arange(-(-keys // 16) * 16)
    return p // 16 * 16 + p % 16 // 4 * 2 + p % 2 + p // 2 % 2 * 8


def transposed(v: Any, scales: tuple[Any, Any, Any], share: int) -> tuple[Any, Any]:
    """What the kernel makes of values, batches x heads x keys x elements, and of scales of queries, keys and values."""
    batches, heads, keys, dim = v.shape
    wide, words = -(-keys // 16) * 4, dim // 16
    out, pairs = np.full(batches * heads * dim * wide, 0xDEAD, np.uint32), batches * heads * share
    made = np.zeros(2 * pairs, np.float32)
    blocks = batches * heads * -(-wide // 32) * -(-words // 4)
    given = [np.asarray(scale, np.float32).ravel() for scale in scales]
    steps = [np.int64(step // 4) for step in v.strides[:3]]
    numbers = [np.int32(n) for n in (pairs, heads * share, share, keys, wide)]
    memory = np.lib.stride_tricks.as_strided(v, (v.size,), (1,)).view(np.uint32)
    counts = [np.int32(len(scale)) for scale in given]
    run(
        program_of_transposition(words), blocks, 128, [memory, out, *given, made, *numbers, *steps, *counts], check=True
    )
    return out.view(np.uint8).reshape(batches, heads, dim, 4 * wide), made


@pytest.mark.parametrize(("keys", "dim"), [(16, 16), (37, 32), (129, 80)])
def test_values_are_transposed(keys: int, dim: int) -> None:
    random = np.random.default_rng(keys)
    v = random.integers(0, 256, (2, 3, keys, dim), np.uint8)
    found, _ = transposed(v, (1, 1, 1), 1)
    whole = np.zeros((2, 3, found.shape[3], dim), np.uint8)
    whole[:, :, :keys] = v
    assert np.array_equal(found, whole[:, :, order(keys)].swapaxes(2, 3))


def test_values_of_any_steps_are_transposed() -> None:
    v = np.random.default_rng(0).integers(0, 256, (2, 21, 3, 32), np.uint8).transpose(0, 2, 1, 3)
    found, _ = transposed(v, (1, 1, 1), 1)
    assert np.array_equal(found[..., : found.shape[3] - 16], v[:, :, order(16)].swapaxes(2, 3))


@pytest.mark.parametrize("one", [False, True])
def test_scales_are_of_pairs_or_of_all(one: bool) -> None:
    random = np.random.default_rng(0)
    of_q, of_k, of_v = (random.random(1 if one else (2, n)).astype(np.float32) for n in (6, 2, 2))
    _, made = transposed(np.zeros((2, 2, 16, 16), np.uint8), (of_q, of_k, of_v), 3)
    of_q, of_k, of_v = (np.broadcast_to(scale, (2, n)) for scale, n in ((of_q, 6), (of_k, 2), (of_v, 2)))
    assert np.array_equal(made[:12], (of_q * of_k.repeat(3, axis=1)).ravel())
    assert np.array_equal(made[12:], of_v.repeat(3, axis=1).ravel())


# -- the kernel ---------------------------------------------------------------------------------------------------------


def numbers(shape: tuple[int, ...], seed: int) -> Any:
    """Normal random numbers, as the bits of 8-bit floats."""
    return bits_of(np.random.default_rng(seed).normal(size=shape).astype(np.float32), FLOAT8_E4M3FN).astype(np.uint8)


def value(bits: Any) -> Any:
    return np.asarray(values_of(bits, FLOAT8_E4M3FN), np.float64)


class Launch:
    """A launch's arguments, and what comes out."""

    def __init__(
        self, cut: Cut, rows: int, keys: int, *, terms: Terms = ALL, share: int = 1, back: int = 0, out: str = "float16",
        scales: tuple[float, float, float] = (0.5, 0.25, 2.0),
    ) -> None:  # fmt: skip
        heads, self.cut, self.built = 2 * share, cut, program(cut, terms, out)
        self.q, self.k = numbers((1, heads, rows, cut.dim), 0), numbers((1, 2, keys, cut.dim), 1)
        self.v = numbers((1, 2, keys, cut.dim_v), 2)
        turned, factors = transposed(self.v, scales, share)
        kind = np.float16 if out == "float16" else np.uint16
        self.out = np.zeros((1, heads, rows, cut.dim_v), kind)
        self.lse, self.counter = np.zeros(heads * rows, np.float32), np.zeros(1, np.uint32)
        self.ahead, tiles = keys - rows, heads * -(-rows // cut.rows)
        flat = self.out.ravel() if not cut.slab else np.zeros(1, kind)
        self.scale = 1 / math.sqrt(cut.dim)
        sizes = (
            heads, heads, share, rows, keys, self.ahead, back - self.ahead, cut.dim_v, 1, self.scale, 1.0,
            *(step // 2 for step in self.out.strides[:3]),
        )  # fmt: skip
        self.arguments = [
            self.q, self.k, turned, self.out, flat, self.lse, np.zeros(1, np.float32), np.array(sizes, Sizes)[()],
            self.counter, factors, *[np.zeros(0, np.int32)] * 2,
        ]  # fmt: skip
        self.blocks = min(tiles, 2)
        scores = scales[0] * scales[1] * self.scale * (value(self.q) @ value(self.k.repeat(share, 1)).swapaxes(2, 3))
        r, c = np.arange(rows)[:, None], np.arange(keys)
        seen = (c <= r + self.ahead) | (not terms.causal)
        seen &= (c >= r - back + self.ahead) | (not terms.window)
        self.scores = np.where(seen, scores, -np.inf)
        top = self.scores.max(3, keepdims=True)
        weights = np.exp(self.scores - np.where(np.isfinite(top), top, 0))
        total = weights.sum(3, keepdims=True)
        with np.errstate(all="ignore"):
            shares = np.where(total > 0, weights / total, 0)
            self.logarithm = (np.log(total) + top)[..., 0]
        values = scales[2] * value(self.v.repeat(share, 1))
        self.wanted = shares @ values
        # A weight is rounded to 4 bits, 2^-4 of it at most; and 2^-10 of the largest one so far, a key's least, is lost below.
        self.bound = (
            2.0**-4 * (shares @ abs(values)) + 2.0**-18 * abs(values).sum(2, keepdims=True) + 2.0**-9 * abs(self.wanted)
        )

    def run(self, built: Any = None, **options: Any) -> Any:
        self.out[...] = 0
        self.counter[:] = 0  # which a run that ended early leaves
        run(built or self.built, self.blocks, self.cut.threads, self.arguments, **options)
        found = self.out if self.cut.slab else self.arguments[4].reshape(self.out.shape)
        return (found if found.dtype == np.float16 else values_of(found, BFLOAT16)).astype(np.float64)

    def right(self, built: Any = None, **options: Any) -> bool:
        return bool((abs(self.run(built, **options) - self.wanted) <= self.bound).all())


CASES = {
    "whole": (Cut(32, 32, 32, groups=1, width=1), 64, 64, {}),
    "ragged, shared": (Cut(64, 32, 64, groups=1, width=1), 70, 81, {"share": 2, "out": "bfloat16"}),
    "causal": (
        Cut(32, 64, 32, groups=2, width=1),
        100,
        120,
        {"terms": Terms(causal=True, lse=True)},
    ),
    "window": (
        Cut(32, 32, 32, groups=1, slab=False, width=1),
        70,
        70,
        {"terms": Terms(causal=True, window=True), "back": 9},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_attention(name: str) -> None:
    cut, rows, keys, options = CASES[name]
    launch = Launch(cut, rows, keys, **options)
    off = abs(launch.run(check=True) - launch.wanted)
    assert (off <= launch.bound).all(), (off / launch.bound).max()
    if options.get("terms", Terms()).lse:
        assert np.allclose(launch.lse, launch.logarithm.ravel(), rtol=0, atol=1e-5)


# -- synchronisation, registers -----------------------------------------------------------------------------------------


NEEDLESS = ["Wait(k_tile_read)", "WaitGroup(bulk)", "WaitGroup(wgmma)"]
"""Another wait says as much: the loader's for the queries' tile, which is free when a tile's keys are; the storer's and the
computing warps' behind their last trip."""


def test_each_wait_is_needed() -> None:
    """Of each wait and barrier deleted, the machine tells, or the result is wrong: trips of every kind, and tiles of one."""
    cut = replace(cut_of_bytes(128, 128, 1 << 14), dim=32, dim_v=32, keys=32)
    launches = [Launch(cut, rows, keys) for rows, keys in ((129, 140), (300, 20))]
    for launch in launches:
        launch.blocks = 1
        assert launch.right(check=True, schedule="random")
    built, survivors, tried = launches[0].built, [], 0
    for plan in built.plans.values():
        for step in (*plan.barriers, *(op for op in plan.operations if isinstance(op, Wait | WaitGroup))):
            tried += 1
            mutant = built.with_plan(replace(plan, skewed=None).drop_step(step))
            if not any(is_reported(launch, mutant) for launch in launches):
                survivors.append(named(step).split(" ")[0])
    assert tried > 20 and sorted(survivors) == NEEDLESS


def is_reported(launch: Launch, mutant: Any) -> bool:
    try:
        return not launch.right(mutant, check=True, schedule="random")
    except MachineError:
        return True


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str) -> None:
    assert Launch(Cut(64, 32, 32, slab=False, width=1), 140, 100).right(check=True, schedule=schedule)


CHOSEN = [cut_of_bytes(dim, dim, rows) for dim in (64, 128, 256) for rows in (1024, 64)]


@pytest.mark.parametrize(
    "cut", rarely(list(dict.fromkeys(CHOSEN)), but=CHOSEN[2:3]), ids=lambda cut: f"{cut.dim} {cut.groups}"
)
def test_cuts_that_are_chosen(cut: Cut) -> None:
    """No register is spilled, no wgmma waits for another, no thread exchanges weights; and it is attention."""
    text = entry_of(program(cut, Terms(causal=True)), "sm_90a").source
    made = compile_cubin(text, "sm_90a")
    assert made.stack == made.spills == 0 and "px_lay" not in text
    assert Launch(cut, cut.rows + 3, cut.keys + 5, terms=Terms(causal=True)).right()
