"""The collectives of a grid on the GPU: as many blocks as it holds, and more, in launches that follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism.lib.thread import operators
from tests.lib.grid import test_gather as gathers
from tests.lib.grid import (
    test_histogram,
    test_look_back,
    test_look_back_digits,
    test_look_back_segments,
    test_tiles,
)
from tests.lib.oracles import AFFINE, CASES, heads_of

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

BLOCKS = (1, 7, 132, 1000, 4000)
"""Few; one a multiprocessor; more than run at once."""
ADD = {"OP": operators.add}
AFFINE_CASE = CASES[-1]


def zeros(size: int, kind: str = "uint64") -> Any:
    return cupy.zeros(size, kind)


def test_each_tile_is_drawn_once_in_every_launch() -> None:
    tiles = 20_000
    owners, epochs, words, control = zeros(tiles, "int32"), zeros(tiles, "uint32"), zeros(2**15), zeros(1)
    for number, blocks in enumerate(BLOCKS * 3, start=1):
        owners.fill(-1)
        test_tiles.drawn[blocks, 64](owners, epochs, tiles, words, 2**15, control)
        assert (owners.get() >= 0).all() and (epochs.get() == number).all()
        assert int(control[0]) == number << 32


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("threads", [32, 256])
def test_scans(threads: int, stable: bool) -> None:
    words, control = zeros(2**16), zeros(1)
    template = {"THREADS": threads, "WORDS": 2, "STABLE": stable, **ADD}
    for seed, blocks in enumerate(BLOCKS * 3):
        x = np.random.default_rng(seed).integers(-9, 9, 1_000_003, dtype=np.int32)
        y = zeros(x.size, "int32")
        arguments = (cupy.asarray(x), y, x.size, 0, 5, words, 2**16, control)
        test_look_back.scan[blocks, threads](*arguments, template=template)
        assert np.array_equal(y.get(), 5 + np.cumsum(x, dtype=np.int32))


def test_stable_sums_of_floats_are_the_same_every_time() -> None:
    x = cupy.asarray(np.random.default_rng(0).normal(size=2_000_000))
    words, control, found = zeros(2**18), zeros(1), set()
    template = {"THREADS": 128, "WORDS": 2, "STABLE": True, **ADD}
    for blocks in BLOCKS * 3:
        y = cupy.zeros_like(x)
        test_look_back.scan[blocks, 128](x, y, x.size, 0.0, 0.0, words, 2**17, control, template=template)
        found.add(y.get().tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("density", [0, 0.0005, 0.2])
def test_segments(density: float) -> None:
    x = np.random.default_rng(0).integers(-9, 9, 500_001, dtype=np.int32)
    heads = heads_of(x.size, density)
    sums, number = np.cumsum(x, dtype=np.int32), np.cumsum(heads)
    before = np.concatenate([[0], (sums - x)[np.flatnonzero(heads)]])[number]
    words, marks, control = zeros(2**14), zeros(2**14), zeros(1)
    for blocks in BLOCKS * 2:
        y, starts = zeros(x.size, "int32"), zeros(2**14, "int32")
        arguments = (cupy.asarray(x), cupy.asarray(heads), y, starts, x.size, 0, words, marks, 2**14, control)
        test_look_back_segments.scan[blocks, 64](*arguments, template={"THREADS": 64, "WORDS": 2, **ADD})
        assert np.array_equal(y.get(), sums - before)


@pytest.mark.parametrize("ordered", [False, True])
def test_gather(ordered: bool) -> None:
    words, control = zeros(2**13), zeros(1)
    for number, blocks in enumerate((1, 2, 33, 132, 1000, 4000) * 3, start=1):
        x = AFFINE_CASE.data(blocks * 96, number) if ordered else np.arange(blocks * 96, dtype=np.uint64)
        operator, identity = (AFFINE.function, 1 << 32) if ordered else (operators.add, 0)
        wanted = AFFINE_CASE.inclusive(x)[-1] if ordered else x.sum()
        y = zeros(1)
        arguments = (cupy.asarray(x), y, np.uint64(identity), np.uint64(identity), words, 2**12, control)
        gathers.combined[blocks, 96](*arguments, template={"OP": operator, "ORDERED": ordered, "WORDS": 9})
        assert y.get()[0] == wanted and int(control[0]) == number << 32


def test_digits() -> None:
    x = np.random.default_rng(0).integers(0, 256, 3_000_000, dtype=np.int32)
    tile = 512
    tiles = -(-x.size // tile)
    parts = np.zeros((tiles, 256), np.int64)
    np.add.at(parts, (np.arange(x.size) // tile, x), 1)
    wanted = np.cumsum(parts, axis=0) - parts
    words, control = zeros(tiles * 256), zeros(1)
    for blocks in BLOCKS * 2:
        y = zeros(tiles * 256, "uint32")
        arguments = (cupy.asarray(x), y, x.size, words, words.size, control)
        test_look_back_digits.starts[blocks, 256](*arguments, template={"THREADS": 256, "DIGITS": 256, "WORDS": 4})
        assert np.array_equal(y.get().reshape(tiles, 256), wanted)


def test_histogram_of_all_blocks() -> None:
    x = np.random.default_rng(0).integers(0, 1000, 1_000_000, dtype=np.int32)
    bins = zeros(1000, "uint64")
    test_histogram.counted[-(-x.size // 256), 64](cupy.asarray(x), bins, x.size, template={"ITEMS": 4, "BINS": 1000})
    assert np.array_equal(bins.get(), np.bincount(x, minlength=1000))
