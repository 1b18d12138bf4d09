"""What a faulty run shows: the message, the calls that lead to the fault, and no frame of Prism's own.

Tests of prism/interpret/calls.py.
"""

# ruff: noqa: F821 -- names that kernels declare
from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import prism as package
from prism.interpret import BoundsError, DeadlockError, MachineError, run
from prism.lang import (
    block,
    const,
    constexpr,
    grid,
    group,
    id,
    int32,
    mailbox,
    partition,
    prism,
    ptr,
    receive,
    requires,
    shared,
    template,
    thread,
    uint32,
)
from prism.lib import block as blocks

ROOT = Path(__file__).parents[2]

PROGRAM = """
import numpy as np
import prism
from prism.lang import grid, group, id, int32, partition, ptr, requires, thread

@prism("global")
@requires(grid[1], thread[32])
def past(y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[1] = i
"""
CALL = "past[1, 32](np.zeros(32, np.int32), check=True)"


@prism("global")
@requires(grid[1], thread[32])
def past(y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[1] = i


@pytest.mark.parametrize(
    "use",
    [
        lambda y: past[1, 32](y, check=True),
        lambda y: past.launch(y, check=True),
        lambda y: past[1, 32](y, check=True, schedule="starved"),
        lambda y: run(package.check(past), 1, 32, [y], check=True),
    ],
    ids=["[]", "launch", "apart", "run"],
)
def test_a_traceback_ends_where_the_launch_is(use: Callable[[object], object]) -> None:
    with pytest.raises(BoundsError) as caught:
        use(np.zeros(32, np.int32))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [(frame.filename, frame.name) for frame in frames[1:]] == [(__file__, "<lambda>")]
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    shown = "".join(traceback.format_exception(caught.value))  # what a notebook starts from
    assert shown.count("  File ") == 2 and "error[machine-bounds]" in shown and "prism/interpret/" not in shown


def python(*arguments: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments], input=given, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    return done.stdout + done.stderr


def test_at_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text(PROGRAM)
    given = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom faulty import *\n{CALL}\n"
    told = python("-i", "-q", given=given)
    assert told.count("  File ") == 1 and 'File "<stdin>", line 1' in told, told
    assert "error[machine-bounds]: index 32 is outside `y`" in told and "mine[1] = i" in told


def test_under_pytest(tmp_path: Path) -> None:
    test = tmp_path / "test_faulty.py"
    test.write_text(PROGRAM + f"\n\ndef test_it():\n    {CALL}\n")
    told = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(test))
    assert "error[machine-bounds]: index 32 is outside `y`" in told and f">       {CALL}" in told, told
    assert "prism/interpret" not in told and "prism/launcher" not in told and "surface.py" not in told


# -- the calls that lead to a fault ---------------------------------------------------------------------------------------


def labels(error: MachineError) -> list[tuple[str, str]]:
    """Return each call's text, and the line of source that it is at."""
    found = [(label.text, Path(label.span.file).read_text().splitlines()[label.span.line - 1]) for label in error.trace]
    return [(text, line.strip()) for text, line in found]


@prism("global")
@requires(grid[1], block[1], thread[64])
def loads(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], valid: int32 @ grid[1]):
    with partition(y, thread[1], 4 * id()) as out, group(block[1]):
        items: int32[4] @ thread[1]
        blocks.load(x, items, valid, 0, WIDTH=1, VECTORIZED=False)  # the user's line
        with group(thread[1]):
            for i in range(4):
                out[i] = items[i]


@pytest.mark.parametrize("schedule", ["round-robin", "starved"])
def test_a_collective_shows_its_line_and_the_users(schedule: str) -> None:
    with pytest.raises(BoundsError) as caught:
        loads[1, 64](np.zeros(100, np.int32), np.zeros(256, np.int32), 256, check=True, schedule=schedule)
    error = caught.value
    assert "prism/lib" in error.access.file, "the fault lies inside the collective"
    text, line = labels(error)[-1]
    assert text == "`load` is called here" and line.startswith("blocks.load(") and line.endswith("# the user's line")
    assert len(error.trace) >= 2
    assert f"::: {__file__}" in str(error) and "# the user's line" in str(error) and error.access.file in str(error)


@prism("device")
@requires(thread[1])
def get(x: ptr(const(int32)) @ grid[1], at: int32 @ thread[1]) -> int32 @ thread[1]:
    return x[at]


@prism("device")
@requires(thread[1])
def twice(x: ptr(const(int32)) @ grid[1], at: int32 @ thread[1]) -> int32 @ thread[1]:
    return get(x, at) + get(x, 2 * at)


@prism("global")
@requires(grid[1], thread[32])
def calls_twice(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = twice(x, i)


def test_the_chain_is_told_innermost_first_and_of_two_calls_the_one_that_fails() -> None:
    with pytest.raises(BoundsError) as caught:
        calls_twice[1, 32](np.zeros(40, np.int32), np.zeros(32, np.int32), check=True)
    assert labels(caught.value) == [
        ("`get` is called here", "return get(x, at) + get(x, 2 * at)"),
        ("`twice` is called here", "mine[0] = twice(x, i)"),
    ]
    assert caught.value.trace[0].span.column > len("    return get(x, at)")


@prism("device")
@template(N=constexpr(int))
@requires(block[1], thread[N])
def shift(tile: shared(int32[N]) @ block[1], at: int32 @ block[1]):
    t: int32 @ thread[1] = id()
    with partition(tile, thread[1], t) as mine, group(thread[1]):
        mine[at] = t


@prism("global")
@requires(grid[1], block[1], thread[32])
def compiles_in(y: ptr(int32) @ grid[1]):
    with group(block[1]):
        tile: shared(int32[32])
        shift(tile, 0)
        shift(tile, 1)  # the one that fails


def test_a_function_that_is_compiled_in_is_called_too() -> None:
    with pytest.raises(BoundsError) as caught:
        compiles_in[1, 32](np.zeros(1, np.int32), check=True)
    assert labels(caught.value) == [("`shift` is called here", "shift(tile, 1)  # the one that fails")]


@prism("device")
@requires(thread[1])
def wait_for(box: ptr(mailbox(int32)) @ grid[1], at: int32 @ thread[1]) -> int32 @ thread[1]:
    words: int32[1]
    receive(box[at], words, 1, 1, 0, uint32(1))
    return words[0]


@prism("global")
@requires(grid[1], thread[1])
def waits(box: ptr(mailbox(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = wait_for(box, 0)


@pytest.mark.parametrize("schedule", ["round-robin", "ahead"])
def test_a_wait_that_never_ends_shows_the_calls_that_it_is_in(schedule: str) -> None:
    with pytest.raises(DeadlockError) as caught:
        waits[1, 1](np.zeros(1, np.uint64), np.zeros(1, np.int32), check=True, schedule=schedule)
    assert labels(caught.value) == [("`wait_for` is called here", "mine[0] = wait_for(box, 0)")]
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.filename for frame in frames] == [__file__]
