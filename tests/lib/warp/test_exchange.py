"""warp.blocked_to_striped and back, also in room, and transposed loads and stores: arrangements of every number of elements.

Tests of prism/lib/warp: exchange, load, store.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    template,
    thread,
    warp,
)


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int), BACK=constexpr(bool))
def exchange(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    items: T[ITEMS] @ thread[1]
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = x[i * ITEMS + k]
    if BACK:
        warp.striped_to_blocked(items)
    else:
        warp.blocked_to_striped(items)
    with partition(y, thread[1], offset=i * ITEMS) as mine:
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


@prism.kernel
@requires(grid[1], block[1], thread[64])
@template(T=dtype, ITEMS=constexpr(int), BACK=constexpr(bool))
def exchange_in_room(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    with partition(y, block[1], offset=0) as target, group(block[1]):
        SIZE: constexpr(int) = (33 - ITEMS % 2) * ITEMS
        cells: shared(T[2 * SIZE])
        i: int32 @ thread[1] = id()
        w: int32 @ warp[1] = id()
        items: T[ITEMS] @ thread[1]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = x[i * ITEMS + k]
        with partition(cells, warp[1], offset=w * SIZE) as room, group(warp[1]):
            if BACK:
                warp.striped_to_blocked_in(room, items)
            else:
                warp.blocked_to_striped_in(room, items)
        with partition(target, thread[1], offset=i * ITEMS) as mine, group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]


@prism("global")
@requires(grid[1], thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def transposed(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(T) @ grid[1], n: int32 @ grid[1], otherwise: T @ grid[1]
):
    i: int32 @ thread[1] = id()
    first: int32 @ thread[32] = 32 * ITEMS * id()
    items: T[ITEMS] @ thread[1]
    with partition(x, thread[32], offset=first) as source:
        warp.load_transposed(source, items, n - first, otherwise)
    with partition(y, thread[1], offset=i * ITEMS) as mine:
        with group(thread[1]):
            for k in range(ITEMS):
                mine[k] = items[k]
    with partition(z, thread[32], offset=first) as target:
        warp.store_transposed(target, items, n - first)


@pytest.mark.parametrize("items", [1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 24, 31, 32, 33, 64])
def test_an_exchange_is_a_transposition(items: int) -> None:
    x = np.arange(64 * items, dtype=np.int32)
    striped, blocked = np.zeros_like(x), np.zeros_like(x)
    exchange[1, 64](x, striped, template={"ITEMS": items, "BACK": False}, check=True)
    assert np.array_equal(striped.reshape(2, 32, items), x.reshape(2, items, 32).transpose(0, 2, 1))
    exchange[1, 64](striped, blocked, template={"ITEMS": items, "BACK": True}, check=True)
    assert np.array_equal(blocked, x)


@pytest.mark.parametrize("items", [1, 2, 3, 8, 15, 16])
def test_in_room(items: int) -> None:
    x = np.arange(64 * items, dtype=np.int32)
    striped, blocked = np.zeros_like(x), np.zeros_like(x)
    exchange_in_room[1, 64](x, striped, template={"ITEMS": items, "BACK": False}, check=True)
    assert np.array_equal(striped.reshape(2, 32, items), x.reshape(2, items, 32).transpose(0, 2, 1))
    exchange_in_room[1, 64](striped, blocked, template={"ITEMS": items, "BACK": True}, check=True)
    assert np.array_equal(blocked, x)
    text = package.compile(exchange_in_room, {"T": "int32", "ITEMS": items, "BACK": True})
    assert ("__syncwarp" in text.cuda) == (items > 1) and "__syncthreads" not in text.cuda


@pytest.mark.parametrize("kind", ["uint8", "float16", "float64"])
def test_of_other_types(kind: str) -> None:
    x = np.arange(64 * 3).astype(kind)
    y = np.zeros_like(x)
    exchange[1, 64](x, y, template={"ITEMS": 3, "BACK": False}, check=True)
    assert np.array_equal(y.reshape(2, 32, 3), x.reshape(2, 3, 32).transpose(0, 2, 1))


@pytest.mark.parametrize(("kind", "items"), [("int16", 4), ("float32", 7)])
def test_transposed_loads_and_stores(kind: str, items: int) -> None:
    tile = 64 * items
    for n in (tile, tile - 1, 32 * items + 1, 5, 0):
        for shift in (0, 1, 3):  # whatever the alignment
            x = np.arange(1, n + shift + 1).astype(kind)[shift:]
            y, z = np.zeros(tile, kind), np.zeros(tile + shift, kind)[shift:]
            transposed[1, 64](x, y, z, n, np.array(-3, kind)[()], template={"ITEMS": items}, check=True)
            assert np.array_equal(y, [*x, *[-3] * (tile - n)])
            assert np.array_equal(z, [*x, *[0] * (tile - n)])


def test_it_compiles() -> None:
    text = package.compile(transposed, {"T": "int32", "ITEMS": 6})
    assert "__syncwarp" not in text.cuda and "__syncthreads" not in text.cuda  # shuffles alone
    assert text.cubin
