"""`const(CUtensorMap(...))` is never written; a tile that a map fills has the map's extents, or is named by its first element."""

# ruff: noqa: F821 - kernels declare tiles

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import run
from prism.lang import (
    CompileError,
    CUtensorMap,
    block,
    claim,
    const,
    constexpr,
    float32,
    grid,
    group,
    id,
    int32,
    one,
    partition,
    requires,
    roles,
    shared,
    template,
    thread,
    tma_load,
    tma_store,
    warp,
)
from prism.runtime.build import entry_of


@prism.lang.prism("global")
@requires(grid[1], block[1], warp[1])
def stores_to_const(y: const(CUtensorMap(float32, 8, 32)) @ grid[1]):
    with group(block[1]):
        tile: shared(float32[8, 32])
        t: int32 @ thread[1] = id()
        with partition(tile, thread[1], lambda k: (k, t)) as column, group(thread[1]):
            for k in range(8):
                column[k] = 1
        with one(thread):
            tma_store(y[0, 0], tile)


@prism.lang.prism("device")
@requires(block[1], warp[1])
def put(y: CUtensorMap(float32, 8, 32) @ grid[1], tile: shared(float32[8, 32]) @ block[1]):
    with one(thread):
        tma_store(y[0, 0], tile)


@prism.lang.prism("device")
@requires(block[1], warp[1])
def put_const(y: const(CUtensorMap(float32, 8, 32)) @ grid[1], tile: shared(float32[8, 32]) @ block[1]):
    with one(thread):
        tma_store(y[0, 0], tile)


def through(function, constant: bool):
    if constant:

        @prism.lang.prism("global")
        @requires(grid[1], block[1], warp[1])
        def kernel(y: const(CUtensorMap(float32, 8, 32)) @ grid[1]):
            with group(block[1]):
                tile: shared(float32[8, 32])
                t: int32 @ thread[1] = id()
                with partition(tile, thread[1], lambda k: (k, t)) as column, group(thread[1]):
                    for k in range(8):
                        column[k] = 1
                function(y, tile)

    else:

        @prism.lang.prism("global")
        @requires(grid[1], block[1], warp[1])
        def kernel(y: CUtensorMap(float32, 8, 32) @ grid[1]):
            with group(block[1]):
                tile: shared(float32[8, 32])
                t: int32 @ thread[1] = id()
                with partition(tile, thread[1], lambda k: (k, t)) as column, group(thread[1]):
                    for k in range(8):
                        column[k] = 1
                function(y, tile)

    return kernel


def code(kernel) -> str:
    with pytest.raises(CompileError) as caught:
        prism.check(kernel)
    return caught.value.code


def test_a_const_map_is_never_written() -> None:
    assert code(stores_to_const) == "const"
    assert code(through(put, constant=True)) in ("const", "call-ptr")
    assert code(through(put_const, constant=False)) == "const"
    assert code(through(put_const, constant=True)) == "const"


def test_a_map_that_may_be_written_is() -> None:
    kernel = through(put, constant=False)
    y = np.zeros((8, 32), np.float32)
    kernel[1, 32](y, check=True)
    assert (y == 1).all()
    assert not entry_of(prism.check(kernel), "sm_90a").parameters[0].const


def test_a_read_only_array_is_told_at_the_launch() -> None:
    kernel = through(put, constant=False)
    y = np.zeros((8, 32), np.float32)
    y.flags.writeable = False
    with pytest.raises(ValueError, match="`y` is read-only"):
        kernel[1, 32](y)
    for check in (False, True):
        with pytest.raises(ValueError, match="`y` is written, but its array is read-only"):
            run(prism.check(kernel), 1, 32, [y], check=check)


@prism.lang.prism("global")
@requires(grid[1], block[1], warp[2])
def moved(x: const(CUtensorMap(float32, 8, 32)) @ grid[1], y: CUtensorMap(float32, 8, 32) @ grid[1]):
    with group(block[1]):
        tile: shared(float32[8, 32], ring=1)
        other: shared(float32[8, 32])
        reader, loader = roles(warp, 1, 1)
        with claim(tile, loader) as coming, one(thread):
            tma_load(coming, x[0, 0])
        t: int32 @ thread[1] = id()
        with claim(tile, reader) as here, claim(other, reader) as out:
            with partition(out, thread[1], lambda k: (k, t)) as mine, group(thread[1]):
                for k in range(8):
                    mine[k] = here[k, t] + 1
            with one(thread):
                tma_store(y[0, 0], out)


def test_one_array_for_two_maps_of_which_one_is_written() -> None:
    x, y = np.arange(256, dtype=np.float32).reshape(8, 32), np.zeros((8, 32), np.float32)
    moved[1, 64](x, y, check=True)
    assert np.array_equal(y, x + 1)
    with pytest.raises(ValueError, match="`x` and `y` overlap"):
        moved[1, 64](x, x)
    x.flags.writeable = False  # it is only read
    moved[1, 64](x, y)
    with pytest.raises(ValueError, match="`y` is read-only"):
        moved[1, 64](y, x)


@prism.lang.prism("global")
@template(ROWS=constexpr(int), WHOLE=constexpr(bool))
@requires(grid[1], block[1], warp[2])
def part_of_a_tile(x: const(CUtensorMap(float32, ROWS, 32)) @ grid[1], y: CUtensorMap(float32, 8, 32) @ grid[1]):
    with group(block[1]):
        tile: shared(float32[8, 32], ring=1)
        other: shared(float32[8, 32])
        reader, loader = roles(warp, 1, 1)
        with claim(tile, loader) as coming, one(thread):
            if WHOLE:
                tma_load(coming, x[0, 0])
            else:
                for k in range(8 // ROWS, unroll=True):
                    tma_load(coming[ROWS * k, 0], x[ROWS * k, 0])
        t: int32 @ thread[1] = id()
        with claim(tile, reader) as here, claim(other, reader) as out:
            with partition(out, thread[1], lambda k: (k, t)) as mine, group(thread[1]):
                for k in range(8):
                    mine[k] = here[k, t] + 1
            with one(thread):
                tma_store(y[0, 0], out)


@pytest.mark.parametrize("rows", [1, 2, 4, 16])
def test_a_tile_that_is_named_whole_has_the_maps_extents(rows: int) -> None:
    with pytest.raises(
        CompileError, match=f"the tile has 8 x 32 elements, and the tensor map moves {rows} x 32"
    ) as caught:
        prism.check(part_of_a_tile, {"ROWS": rows, "WHOLE": True})
    assert caught.value.code == "type"
    prism.check(part_of_a_tile, {"ROWS": 8, "WHOLE": True})


@pytest.mark.parametrize("rows", [2, 4, 8])
def test_rows_of_a_tile_are_named_by_the_first(rows: int) -> None:
    x, y = np.arange(256, dtype=np.float32).reshape(8, 32), np.zeros((8, 32), np.float32)
    part_of_a_tile[1, 64](x, y, template={"ROWS": rows, "WHOLE": False}, check=True)
    assert np.array_equal(y, x + 1)


def test_a_store_of_a_tile_with_more_rows_is_refused() -> None:
    @prism.lang.prism("global")
    @requires(grid[1], block[1], warp[1])
    def kernel(y: CUtensorMap(float32, 4, 32) @ grid[1]):
        with group(block[1]):
            tile: shared(float32[8, 32])
            t: int32 @ thread[1] = id()
            with partition(tile, thread[1], lambda k: (k, t)) as column, group(thread[1]):
                for k in range(8):
                    column[k] = 1
            with one(thread):
                tma_store(y[0, 0], tile)

    with pytest.raises(CompileError, match="the tensor map moves 4 x 32"):
        prism.check(kernel)
