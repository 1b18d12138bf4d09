"""Shared memory that is sized at launch: what it holds, where it ends, how much of it a block can have.

Tests of prism/lang/facts: rooms, sized; prism/lang/emit/launch_text.py; prism/runtime/room.py.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, BoundsError, UninitialisedError
from prism.lang.check.annotation import LARGEST_SHARED
from prism.lang.facts.rooms import Sized
from prism.launcher import host_entry
from prism.runtime.entry import Entry
from prism.runtime.export import description, header
from prism.runtime.room import Room
from tests.certificates import certified
from tests.interpret.sized_kernels import (
    handed_over,
    handed_over_expected,
    histogram,
    reversed_rows,
    several,
    several_expected,
)
from tests.mutation import TRIED, score


@pytest.mark.parametrize("columns", [1, 31, 77, 200])
def test_a_row_of_any_length(columns: int) -> None:
    x = np.random.default_rng(0).random((3, columns), np.float32)[::-1]
    y = np.zeros_like(x)
    reversed_rows[3, 64](x, y, check=True)
    assert np.array_equal(y, x[:, ::-1])


def test_bins_of_any_number() -> None:
    x = np.random.default_rng(0).integers(0, 256, 500, np.uint8)
    for bins in (1, 37, 300):
        y = np.zeros(bins, np.int32)
        histogram[1, 32](x, y, 500, bins, check=True)
        assert np.array_equal(y, np.bincount(x.astype(int) % bins, minlength=bins))


@pytest.mark.parametrize(("n", "m"), [(10, 3), (33, 70)])
def test_several_objects_beside_one_of_a_constant_size_and_a_callees(n: int, m: int) -> None:
    y = np.zeros((256, 4), np.int32)
    several[2, 128](y, n, m, check=True)
    assert np.array_equal(y, several_expected(128, 2, n, m))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_claim_for_a_role_and_parts_of_warps(schedule: str) -> None:
    x = np.random.default_rng(0).integers(0, 99, (3, 45), np.int32)
    y = np.zeros_like(x)
    handed_over[1, 64](x, y, 45, 3, check=True, schedule=schedule)
    assert np.array_equal(y, handed_over_expected(x))


def test_each_barrier_is_needed() -> None:
    x, n = np.random.default_rng(0).integers(0, 99, (3, 45), np.int32), 45

    def right(built: prism.interpret.run, **options: object) -> bool:  # type: ignore[valid-type]
        y = np.zeros_like(x)
        prism.interpret.run(built, 1, 64, [x, y, n, 3], **options)  # type: ignore[arg-type]
        return np.array_equal(y, handed_over_expected(x))

    found = score(prism.check(handed_over), right, 64, TRIED)
    assert found.wrong and not found.survivors and not found.excused


def test_its_end_is_the_launchs() -> None:
    """A checked run tests each index against the length of this launch, though there is memory behind it."""
    text = """
import prism
from prism.lang import block, claim, grid, group, int32, one, ptr, requires, shared, thread

@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1], read: int32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[n])
        behind: shared(int32[n])
        with claim(s, thread[1]) as mine, claim(behind, thread[1]) as more, one(thread):
            mine[k] = 1
            more[0] = mine[read]
"""
    kernel = prism.source(text).kernel
    kernel[1, 32](np.zeros(1, np.int32), 3, 2, 2, check=True)
    for n, k, read, error in (
        (3, 3, 2, BoundsError),
        (3, -1, 2, BoundsError),
        (3, 2, 1, UninitialisedError),
        (0, 0, 0, BoundsError),
    ):
        with pytest.raises(error):
            kernel[1, 32](np.zeros(1, np.int32), n, k, read, check=True)


def test_too_much_is_refused_with_the_limit() -> None:
    x = np.zeros(4, np.uint8)
    for bins, fault in (
        (
            LARGEST_SHARED // 4 + 1,
            r"needs 232452 bytes of shared memory a block, and a block has at most 232448: `mine` 232452",
        ),
        (-1, r"cannot be launched so: `mine` would have -1 elements, with bins = -1"),
    ):
        with pytest.raises(prism.LaunchError, match=fault):
            histogram[1, 32](x, np.zeros(4, np.int32), 4, bins)
    several[1, 64](np.zeros((64, 4), np.int32), 10, 3)
    with pytest.raises(
        prism.LaunchError, match=r"several.*: a count|`3 \* 1000000000`|does not fit|cannot be launched so"
    ):
        several[1, 64](np.zeros((64, 4), np.int32), 1_000_000_000, 3)


def test_what_an_entry_says() -> None:
    entry = host_entry(prism.check(several))
    assert Entry.from_json(json.loads(json.dumps(entry.to_json()))) == entry
    assert [one.name for one in entry.sized] == ["flags", "long", "short"] and entry.shared_bytes % 16 == 0
    room = Room(entry, 1 << 20, "nobody")
    rounded = [-(-size // 16) * 16 for size in (129, 4 * 32)]
    assert room.bytes(2, 128, (0, 10, 12)) == entry.shared_bytes + sum(rounded) + 4 * 12
    for wrong in ([1, 4, ["argument", 0]], ["s", "4", ["argument", 0]], ["s", 4, ["what", 0]]):
        with pytest.raises((TypeError, ValueError)):
            Sized.from_json(wrong)


@pytest.mark.parametrize("kernel", [reversed_rows, histogram, several, handed_over], ids=lambda kernel: kernel.__name__)
def test_it_has_a_certificate(kernel: prism.Kernel) -> None:
    assert certified(prism.check(kernel)).finding.status == "accepted"


def test_what_is_told_of_it() -> None:
    compiled = prism.compile(several)
    assert "shared memory: 384 bytes, and more as each launch says\n" in compiled.explain()
    assert "\n     behind  short, 4 bytes an element\n" in compiled.explain()
    assert "Behind all others: short, 4 bytes an element." in compiled.explain(html=True)
    assert "px_shared + 384u)" in compiled.cuda and "blockDim.x" in compiled.cuda
    text = header(compiled.entry)
    assert (
        "std::uint64_t shared_bytes = 384;" in text
        and "return cudaErrorInvalidConfiguration;  // the length of `long`" in text
    )
    told = description(compiled.entry, compiled.binary, "several.cubin", {})
    assert [one["name"] for one in told["sized"]] == ["flags", "long", "short"] and told["sized"][2]["length"] == "m"
