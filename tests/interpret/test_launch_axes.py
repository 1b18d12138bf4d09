"""Launches by tuples, and indices along their axes. Tests of prism/lang/check/launch_axes.py."""

from __future__ import annotations

import json

import numpy as np
import pytest

import prism
from prism.interpret import run
from prism.lang import cdiv
from prism.lang.safety import PROVED, verdicts
from prism.launcher import host_entry
from prism.runtime.entry import Entry
from tests.generated.programs import loaded
from tests.interpret.array_kernels import scaled
from tests.interpret.axis_kernels import added, indices, numbers, places

GRIDS = [((2, 3, 4), (4, 2, 8)), ((24,), (64,)), (24, (8, 8)), ((1, 24, 1), 64), ((3, 8), (2, 16, 2))]


def expected(blocks: object, threads: object) -> np.ndarray:
    """What `places` writes: a row for each thread."""
    along = [(*(n if isinstance(n, tuple) else (n,)), 1, 1)[:3] for n in (blocks, threads)]
    b, t = np.divmod(np.arange(24 * 64), 64)
    found = [np.stack([i % x, i // x % y, i // (x * y)], 1) for i, (x, y, _) in zip((b, t), along, strict=True)]
    first = found[0][:, :1] * along[1][0] + found[1][:, :1]
    return np.concatenate([*found, first], 1)


@pytest.mark.parametrize(("blocks", "threads"), GRIDS)
def test_indices_along_three_axes(blocks: object, threads: object) -> None:
    y = np.zeros((24 * 64, 8), np.int32)
    places[blocks, threads](y, check=True)
    assert np.array_equal(y[:, :7], expected(blocks, threads))
    other = np.zeros_like(y)
    places.launch(other, blocks=blocks, threads=threads)
    assert np.array_equal(other, y)


def test_indices_in_the_grid_of_an_array_of_two_axes() -> None:
    y = np.zeros((37, 29), np.int32)[::-1]
    indices[(cdiv(29, 8), cdiv(37, 4)), (8, 4)](y, check=True)
    r, c = np.indices(y.shape)
    assert np.array_equal(y, 1000 * r + c)


HEAD = """
import prism
from prism.lang import array, grid, group, id, int32, int64, partition, ptr, requires, thread

@prism("global")
@requires(grid[1], thread[1])
def kernel(y: array(int32, {axes}) @ grid[1], flat: ptr(int32) @ grid[1], n: int32 @ grid[1], m: int32 @ grid[1]):
    i: int64 @ thread[1] = id(0)
    j: int64 @ thread[1] = id(1)
    k: int64 @ thread[1] = id(2)
    with partition({part}) as mine, group(thread[1]):
        {body}
"""


@pytest.mark.parametrize(
    ("axes", "part", "body", "proved"),
    [
        (3, "y, thread[1], lambda a, b, c: (k + a, i + b, j + c)", "mine[0, 0, 0] = 1", True),
        (3, "y, thread[1], lambda a, b, c: (k + a, 4 * i + b, j + c)", "for e in range(4): mine[0, e, 0] = 1", True),
        (3, "y, thread[1], lambda a, b, c: (k + a, 3 * i + b, j + c)", "for e in range(4): mine[0, e, 0] = 1", False),
        (2, "y, thread[1], lambda a, b: (k + a, j + b)", "mine[0, 0] = 1", False),
        (2, "y, thread[1], lambda a, b: (j + a, i + b)", "mine[0, 0] = 1", False),
        (1, "flat, thread[1], lambda e: (k * m + j) * n + i", "if i < n and j < m: mine[0] = 1", True),
        (1, "flat, thread[1], lambda e: (k * m + j) * n + i", "if j < m: mine[0] = 1", False),
    ],
)
def test_parts_by_a_threads_indices_in_the_grid(axes: int, part: str, body: str, proved: bool) -> None:
    """They are apart where the offset has an index along each axis; the last axis of threads ends where the block does."""
    with loaded(HEAD.format(axes=axes, part=part, body=body)) as names:
        found = [verdict for verdict in verdicts(prism.check(names["kernel"])) if verdict.what.startswith("partition")]
    assert [verdict.status == PROVED for verdict in found] == [proved]


COUNTED = """
import prism
from prism.lang import array, block, claim, count, grid, group, id, int32, one, partition, ptr, requires, thread

@prism("global")
@requires(grid[1], block[1], thread[1])
def kernel(y: array(int32, 2) @ grid[1], flat: ptr(int32) @ grid[1]):
    B0: int32 = count(block[1], 0)
    B1: int32 = count(block[1], 1)
    T0: int32 = count(thread[1], 0)
    T1: int32 = count(thread[1], 1)
    b0: int32 @ block[1] = id(0)
    b1: int32 @ block[1] = id(1)
    i: int32 @ thread[1] = id(0)
    j: int32 @ thread[1] = id(1)
    with partition({part}) as {inside}:
        for k in range(4):
            {body}
"""


@pytest.mark.parametrize(
    ("part", "unit", "body", "proved"),
    [
        ("flat, thread[1], lambda e: (j + e * T1) * 200 + i", "thread[1]", "if i < 200: m[k] = 1", True),
        ("flat, thread[1], lambda e: j * T0 + i", "thread[1]", "if k == 0: m[0] = 1", True),
        ("flat, thread[1], lambda e: e * T0 * T1 + j * T0 + i", "thread[1]", "m[k] = 1", True),
        ("flat, thread[1], lambda e: e * T0 * T1 + j * T1 + i", "thread[1]", "m[k] = 1", False),
        ("flat, thread[1], lambda e: e * T0 + j * T0 + i", "thread[1]", "m[k] = 1", False),
        ("y, thread[1], lambda a, b: (j + a * T1, i + b)", "thread[1]", "m[k, 0] = 1", True),
        ("y, thread[1], lambda a, b: (j + a * T1, i + b * T0)", "thread[1]", "m[k, 3 - k] = 1", True),
        ("y, thread[1], lambda a, b: (j + a, i + b)", "thread[1]", "m[k, 0] = 1", False),
        ("y, thread[1], lambda a, b: (j + a * T0, i + b)", "thread[1]", "m[k, 0] = 1", False),
        ("y, block[1], lambda a, b: (b1 + a * B1, b0 + b * B0)", "block[1]", "m[k, 3 - k] = 1", True),
        ("y, block[1], lambda a, b: (b1 + a * B0, b0 + b)", "block[1]", "m[k, 0] = 1", False),
        ("flat, block[1], lambda e: (e * B1 + b1) * B0 + b0", "block[1]", "m[k] = 1", True),
        ("flat, block[1], lambda e: (e * B0 + b1) * B0 + b0", "block[1]", "m[k] = 1", False),
    ],
)
def test_parts_a_whole_grid_apart(part: str, unit: str, body: str, proved: bool) -> None:
    """An index along an axis is below the number along it: of blocks too, along the last axis too. What is proved never races."""
    alone = "mine, group(block[1]), claim(mine, thread[1]) as m, one(thread)"
    inside = "m, group(thread[1])" if unit == "thread[1]" else alone
    with loaded(COUNTED.format(part=part, inside=inside, body=body)) as names:
        kernel = names["kernel"]
        found = [verdict for verdict in verdicts(prism.check(kernel)) if verdict.what.startswith("partition")]
        assert [verdict.status == PROVED for verdict in found] == [proved]
        races = 0
        for blocks, threads in [((2, 3), (4, 2)), ((3, 2), (2, 4)), ((1, 4), (3, 3)), ((4, 1), 1), ((2, 2), (1, 5))]:
            try:
                kernel[blocks, threads](np.zeros((99, 99), np.int32), np.zeros(20000, np.int32), check=True)
            except prism.interpret.RaceError:
                races += 1
    assert (races == 0) == proved


@pytest.mark.parametrize(("blocks", "threads"), GRIDS)
def test_numbers_along_three_axes(blocks: object, threads: object) -> None:
    y = np.zeros((24 * 64, 16), np.int32)
    numbers[blocks, threads](y.ravel(), check=True)
    b, t = ((*(n if isinstance(n, tuple) else (n,)), 1, 1)[:3] for n in (blocks, threads))
    assert (y[:, :9] == [*b, *(p * q for p, q in zip(b, t, strict=True)), *t]).all()
    other = np.zeros((24 * 64, 8), np.int32)
    places[blocks, threads](other)
    assert np.array_equal(y[:, 9], other[:, 1] * t[1] + other[:, 4])


@pytest.mark.parametrize("shape", [(1, 1), (13, 17), (64, 3), (5, 100)])
@pytest.mark.parametrize(("blocks", "threads"), [((2, 3), (4, 2)), (4, 8), ((1, 1), (1, 1)), ((7, 1), (3, 5))])
def test_steps_of_the_whole_grid(shape: tuple[int, int], blocks: object, threads: object) -> None:
    y = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
    added[blocks, threads](y, 3, check=True)
    assert np.array_equal(y.ravel(), np.arange(y.size) + 3)


def test_numbers_along_axes_are_compiled() -> None:
    compiled = prism.compile(added)
    assert compiled.cubin[:4] == b"\x7fELF" and "int columns_ = blocks_0_ * threads_0_;" in compiled.cuda
    assert prism.compile(numbers).cubin[:4] == b"\x7fELF"
    assert all(one.status == PROVED for one in verdicts(prism.check(added)) if one.what.startswith("partition"))


def test_a_number_along_an_axis_is_a_launch_s() -> None:
    """A kernel that asks for numbers alone has its axes; more threads than 32 bits count are refused."""
    assert host_entry(prism.check(numbers)).axes == 3
    with pytest.raises(prism.LaunchError, match="counts threads along an axis in 32 bits"):
        added[(1, 1 << 26), (32, 32)](np.zeros((9, 9), np.int32), 1)


def test_tuples_for_a_kernel_that_asks_for_no_axis() -> None:
    x, y = np.ones((4, 6), np.float32), np.zeros((4, 6), np.float32)
    scaled[(3, 2), (2, 2)](x, y, 2.0, check=True)
    assert (y == 2).all()


def test_a_run_without_axes_has_one() -> None:
    y = np.zeros((24 * 64, 8), np.int32)
    run(prism.check(places), 24, 64, (y,), check=True)
    assert np.array_equal(y[:, :7], expected(24, 64))


@pytest.mark.parametrize(
    ("blocks", "threads", "fault"),
    [
        ((2, 2, 2), (8, 4), r"`indices` asks for indices up to `id\(1\)`: its blocks have 2 axes, not 3"),
        ((2, 2), (8, 0), "at least one of the threads along each axis"),
        ((2, 2), (8, 3), "needs a multiple of 32 threads a block"),
        ((2, 2, 2, 2), 32, "blocks are given along 1 to 3 axes, not 4"),
        (2, (), "threads are given along 1 to 3 axes, not 0"),
        ((2, 2.0), 32, "the number of blocks must be an integer, not float"),
        (2, (64, 32), "threads"),
        ((1, 1 << 26), (32, 32), "counts threads along an axis in 32 bits"),
    ],
)
def test_what_is_refused(blocks: object, threads: object, fault: str) -> None:
    with pytest.raises((TypeError, prism.LaunchError), match=fault):
        indices[blocks, threads](np.zeros((9, 9), np.int32))


def test_an_entry_says_how_many_axes_it_has() -> None:
    entry = host_entry(prism.check(indices))
    assert entry.axes == 2 and [p.name for p in entry.parameters][-4:] == [
        "blocks[0]",
        "blocks[1]",
        "threads[0]",
        "threads[1]",
    ]
    assert Entry.from_json(json.loads(json.dumps(entry.to_json()))) == entry
    assert host_entry(prism.check(scaled, {"T": "float32"})).axes == 0
