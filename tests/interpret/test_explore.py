"""`prism check --schedules`: arguments made or given, faults found with seed and place, and the same run again.

Tests of prism/interpret: explore, shapes.
"""

# ruff: noqa: F821 -- kernels: names that they declare
import re
import shlex

import numpy as np
import pytest

from prism.cli import main
from prism.interpret import explore, shapes
from prism.interpret.schedules import SCHEDULES, schedules
from prism.lang import (
    array,
    attr,
    block,
    const,
    constexpr,
    dtype,
    float4,
    float4_cast,
    float32,
    grid,
    group,
    id,
    int32,
    mailbox,
    partition,
    prism,
    ptr,
    publish,
    receive,
    requires,
    shared,
    template,
    thread,
    uint32,
)
from prism.lang.pipeline import build

HERE = __file__


@prism("global")
@requires(grid[1], block[1], thread[32])
def below(x: array(float32, 2) @ grid[1], y: array(float32, 3) @ grid[1]):
    """Rows below the first of `x` are written beyond their end."""
    i: int32 @ thread[1] = id(1)
    j: int32 @ thread[1] = id(0)
    with partition(x, thread[1], lambda p, q: (i + p, j + q)) as mine, group(thread[1]):
        if i < x.shape[0] and j < x.shape[1]:
            mine[0, i] = 1


@prism("global")
@requires(grid[1], thread[32])
def halves(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t // 2) as mine:
        with group(thread[1]):
            if t < n:
                mine[0] = t


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[2], thread[32])
def narrow(y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], offset=id()) as mine, group(thread[1]):
        mine[0] = 1


@prism("global")
@requires(grid[1], block[1], thread[32])
def waits(words: ptr(mailbox(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=t) as mine:
        with group(thread[1]):
            word: int32[1]
            receive(words[t], word, 1, 1, 0, uint32(1))
            mine[0] = word[0]


@prism("global")
@requires(grid[1], block[1], thread[1])
def backwards(words: ptr(mailbox(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    """Each block waits for the next: it ends where all run at once, which a GPU does not promise."""
    b: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=b) as mine, group(thread[1]):
        word: int32[1]
        receive(words[b + 1], word, 1, 1 - b, 0, uint32(1))
        publish(words[b], word[0] + 1, uint32(1))
        mine[0] = word[0]


@prism("global")
@template(T=dtype, N=constexpr(int))
@requires(grid[1], block[1], thread[64])
def turned(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], far: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=i) as mine:
        with group(block[1]):
            t: int32 @ thread[1] = id()
            tile: shared(T[64]) @ block[1]
            with partition(tile, thread[1], t) as slot:
                with group(thread[1]):
                    slot[0] = x[i * N + far]
            with group(thread[1]):
                mine[0] = tile[63 - t]


@prism("global")
@requires(grid[1], block[1], thread[32])
def fours(x: ptr(const(float4)) @ grid[1], y: ptr(float32) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=4 * t) as mine:
        with group(thread[1]):
            word: float4 = x[t]
            float4_cast[mine[0]] = word


EXAMPLES = {"turned": {"T": "int32", "N": 3}}


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["check", *arguments])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_nothing_is_found_in_what_is_right_and_memory_grows_with_the_reach(capsys: pytest.CaptureFixture[str]) -> None:
    number = len(SCHEDULES) + 2
    code, text = check(capsys, f"{HERE}:turned", "--schedules", str(number), "-a", "far=1000")
    assert (
        code == 0 and f"{number} schedules (seeds 0 to {number - 1}) of 2 blocks of 64 threads: nothing found" in text
    )
    assert "x=int32[2048],y=int32[128],far=1000" in text
    assert f"schedules: {', '.join(SCHEDULES)}\n" in text


def test_a_race_is_found_once_with_its_place_and_again_with_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = check(capsys, f"{HERE}:halves", "--schedules", "5", "--seed", "7")
    assert code == 1 and text.count("error[machine-race]") == 1
    assert "perspective thread[1]" in text and "5 of 5 seeds show it" in text and "mine[0] = t" in text
    assert f"seed 7, schedule {schedules(8)[7][0]}, machine-race" in text
    again = re.search(r"^again: prism (.*)$", text, re.MULTILINE)
    assert again is not None
    assert main(shlex.split(again[1])) == 1
    second = capsys.readouterr().out

    def message(whole: str) -> str:
        return whole[whole.index("error[") : whole.index("\nagain")]

    assert message(second) == message(text)


def test_a_deadlock_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = check(capsys, f"{HERE}:waits", "--schedules", "1")
    assert code == 1 and "error[machine-deadlock]" in text and "words=int32[128]" in text


def test_a_wait_for_a_block_that_has_not_begun_is_found_by_the_second_schedule(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = ("--blocks", "2", "--threads", "1", "-a", "words=[3]")
    code, text = check(capsys, f"{HERE}:backwards", "--schedules", "1", *one)
    assert code == 0 and "schedules: round-robin\n" in text
    code, text = check(capsys, f"{HERE}:backwards", "--schedules", "2", *one)
    assert code == 1 and "seed 1, schedule few, machine-deadlock" in text


def test_memory_of_a_given_size_is_not_made_larger(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = check(capsys, f"{HERE}:turned", "--schedules", "1", "-a", "x=[100],far=0")
    assert code == 1 and "which has 100 elements" in text
    code, text = check(capsys, f"{HERE}:turned", "--schedules", "1", "-a", "far=-1")
    assert code == 1 and "index -1 is outside `x`" in text


def test_what_is_told_decides_the_template(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = check(capsys, f"{HERE}:turned", "--schedules", "1", "-a", "x=float32[4096]:range", "-a", "far=2")
    assert code == 0 and "x=float32[4096]:range,y=float32[128],far=2" in text
    code, text = check(capsys, f"{HERE}:turned", "-t", "N=2", "--schedules", "1", "-a", "x=int8[4096],far=2")
    assert code == 0 and "y=int8[128]" in text


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("z=3", "has no parameter 'z'; it has: y, n"),
        ("n=[3]", "`n` is a number (int32)"),
        ("y=int64[3]", "`y` is memory of int32, not of int64"),
        ("y=int33[3]", "no dtype 'int33'"),
        ("y=[3]:many", "'many' is no number"),
        ("y", "NAME=VALUE"),
        ("n=1.5", "`n`: 1.5 is no int32"),
        ("y=[8x8]", "`y` has 1 axis, not 2: y=[8]"),
        ("y=[8x]", "'[8x]' is no array: it is written [1024], or [8x8]"),
    ],
)
def test_arguments_told_wrongly(capsys: pytest.CaptureFixture[str], told: str, message: str) -> None:
    code, text = check(capsys, f"{HERE}:halves", "--schedules", "1", "-a", told)
    assert code == 2 and message in text and "Traceback" not in text


def test_shapes_that_the_kernel_does_not_take(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = check(capsys, f"{HERE}:halves", "--schedules", "1", "--threads", "33")
    assert code == 2 and "multiple of 32 threads" in text
    assert check(capsys, f"{HERE}:halves", "--schedules", "0")[0] == 2


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (("--threads", "5000"), "`halves` takes 1 to 1024 threads a block, not 5000"),
        (("--threads", "0"), "1 to 1024 threads a block, not 0"),
        (("--threads", "-32"), "1 to 1024 threads a block, not -32"),
        (("--threads", "48"), "a multiple of 32 threads a block (its @requires), not 48"),
        (("--blocks", "0"), "1 to 2147483647 blocks, not 0"),
        (("--blocks", "-1"), "1 to 2147483647 blocks, not -1"),
        (("--threads=-32x-1",), "1 to 1024 threads a block, not -32"),
        (("--threads", "64x32"), "1 to 1024 threads a block, not 2048"),
        (("--blocks", "2x"), "a number, or one along each of two or three axes, as 2x2, not '2x'"),
    ],
    ids=lambda told: "".join(told[:2]) if isinstance(told, tuple) else "",
)
@pytest.mark.parametrize("runs", [("--schedules", "1"), ()], ids=["run", "only checked"])
def test_no_gpu_has_such_a_block(
    capsys: pytest.CaptureFixture[str], runs: tuple[str, ...], told: tuple[str, ...], message: str
) -> None:
    code, text = check(capsys, f"{HERE}:halves", *runs, *told)
    assert code == 2 and message in text and "Traceback" not in text


def test_a_block_is_as_large_as_its_launch_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(capsys, f"{HERE}:narrow", "--schedules", "1", "--threads", "128")[0] == 0
    code, text = check(capsys, f"{HERE}:narrow", "--schedules", "1", "--threads", "160")
    assert code == 2 and "1 to 128 threads a block, not 160" in text
    code, text = check(capsys, f"{HERE}:narrow", "--schedules", "1", "--blocks", "3", "--threads", "32")
    assert code == 2 and "a multiple of 2 blocks" in text


def test_the_same_seed_makes_the_same_arguments_whatever_their_size() -> None:
    program, shape = build(halves), shapes.Shape(2, 64)
    one = explore.arguments_of(program, shape, {}, 3, {"y": 100})
    two = explore.arguments_of(program, shape, {}, 3, {"y": 9000})
    assert one[1] == two[1] and np.array_equal(one[0], two[0][:100])
    other = explore.arguments_of(program, shape, {}, 4, {"y": 100})
    assert not np.array_equal(one[0], other[0])


def test_memory_that_is_accessed_atomically_is_zero_and_all_is_aligned() -> None:
    program, shape = build(waits), shapes.Shape(2, 64)
    words, y = explore.arguments_of(program, shape, {}, 0, {})
    assert words.nbytes == 128 * 8 and not words.any() and y.any()
    (x, _) = explore.arguments_of(build(fours), shape, {}, 0, {"x": 9})
    assert x.dtype == np.float32 and x.size == 36 and x.__array_interface__["data"][0] % 256 == 0
    assert explore.explore(build(fours), shape, {}, 2, 0).findings == []


def test_shape_by_what_the_kernel_requires() -> None:
    assert shapes.shape_of(build(halves)) == shapes.Shape(2, 64)
    assert shapes.shape_of(build(turned, EXAMPLES["turned"])) == shapes.Shape(2, 64)
    assert shapes.shape_of(build(halves), (5,), (96,)) == shapes.Shape(5, 96)


def test_a_launch_has_more_than_one_unit_along_each_axis_that_the_kernel_asks_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, text = check(capsys, f"{HERE}:below", "--schedules", "2")
    assert code == 1 and "of 2x2 blocks of 8x8 threads: 1 fault found" in text
    assert "index 15 is outside axis 1 of `x`, of 15 elements" in text
    again = re.search(r"^again: prism (.*)$", text, re.MULTILINE)
    assert (
        again is not None and "--blocks 2x2 --threads 8x8 --arguments 'x=float32[15x15],y=float32[5x5x5]'" in again[1]
    )
    assert main(shlex.split(again[1])) == 1


@pytest.mark.parametrize("told", ["x=[3x9],y=[1,2,3]", "x=float32[3,9]:0,y=[1x2x3]:range"])
def test_shapes_of_launches_and_arrays_are_told(capsys: pytest.CaptureFixture[str], told: str) -> None:
    code, text = check(capsys, f"{HERE}:below", "--schedules", "1", "--blocks", "2,1", "--threads", "8x4", "-a", told)
    assert code == 1 and "of 2x1 blocks of 8x4 threads" in text and "axis 1 of `x`, of 9 elements" in text
    assert "x=float32[3x9]" in text and "y=float32[1x2x3]" in text and "not looked at" not in text
    code, text = check(capsys, f"{HERE}:below", "--schedules", "1", "--blocks", "4", "--threads", "64", "-a", told)
    assert code == 0 and "of 4x1 blocks of 64x1 threads: nothing found" in text
    assert "not looked at: `id(1)` above 0, which --blocks and --threads can have" in text
    code, text = check(capsys, f"{HERE}:below", "--schedules", "1", "--blocks", "2x2x2", "-a", told)
    assert code == 2 and "its blocks have 2 axes, not 3" in text


def test_shapes_by_axes() -> None:
    program = build(below)
    assert shapes.shape_of(program).along == ((2, 2), (8, 8))
    assert shapes.shape_of(program, threads=(96,)).along == ((2, 2), (96, 1))
    assert shapes.shape_of(build(halves), (2, 2), (8, 8)) == shapes.Shape(4, 64)
    assert str(shapes.shape_of(build(narrow))) == "2 blocks of 64 threads"
