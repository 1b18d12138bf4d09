"""Waits for other threads (`prism.lang.facts.waits`): each is in the safety report, and no other loop is."""

# ruff: noqa: F821 -- names of shared memory

import numpy as np
import pytest

from prism.interpret import DeadlockError, RaceError, run
from prism.lang import (
    atomic_add,
    atomic_exchange,
    block,
    claim,
    const,
    grid,
    group,
    id,
    int32,
    load_acquire,
    load_relaxed,
    mailbox,
    one,
    partition,
    prism,
    ptr,
    publish,
    receive,
    requires,
    shared,
    store_release,
    struct,
    thread,
    uint32,
    uint64,
    unsafe,
)  # fmt: skip
from prism.lang.pipeline import build
from prism.lang.safety import verdicts


@prism.device
@requires(thread[1])
def is_set(flag: ptr(uint32) @ grid[1]) -> bool @ thread[1]:
    return load_acquire(flag[0]) != uint32(0)


@prism.kernel
@requires(grid[1], block[1], thread[32])
def by_words(words: ptr(mailbox(int32)) @ grid[1], y: ptr(int32) @ grid[1], epoch: uint32 @ grid[1]):
    b: int32 @ block[1] = id()
    with partition(y, block[1], b) as own, group(block[1]), claim(own, thread[1]) as mine, one(thread):
        before: int32[1] = {0}
        receive(words[b - 1], before, 1, b, 0, epoch)
        publish(words[b], before[0] + 1, epoch)
        mine[0] = before[0]


@prism.kernel
@requires(grid[1], thread[1])
def by_flags(flags: ptr(uint32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with group(thread[1]):
        while i > 0 and load_acquire(flags[i - 1]) == uint32(0):
            pass
        store_release(flags[i], uint32(1))


@prism.kernel
@requires(grid[1], thread[1])
def by_a_function(flag: ptr(uint32) @ grid[1]):
    with group(thread[1]):
        while not is_set(flag):
            pass


@prism.kernel
@requires(grid[1], thread[1])
def by_a_sum_of_nothing(flag: ptr(uint64) @ grid[1]):
    with group(thread[1]):
        while atomic_add(flag[0], 0) == uint64(0):
            pass


@prism.kernel
@requires(grid[1], thread[1])
def by_a_branch(flag: ptr(uint32) @ grid[1]):
    with group(thread[1]):
        done: bool = False
        while not done:
            if load_acquire(flag[0]) != uint32(0):
                done = True


@prism.kernel
@requires(grid[1], block[1], thread[32])
def by_shared_memory(flag: ptr(uint32) @ grid[1]):
    with group(block[1]):
        seen: shared(uint32[1])
        with claim(seen, thread[1]) as own, one(thread):
            own[0] = 0
        come: bool @ block[1] = False
        while not come:
            with claim(seen, thread[1]) as own, one(thread):
                own[0] = load_acquire(flag[0])
            word: uint32 @ block[1] = seen[0]
            come = word != uint32(0)


@struct
class Seen:
    value: uint32
    tries: int32


@prism.device
@requires(thread[1])
def look(flag: ptr(uint32) @ grid[1], seen: uint32[1] @ thread[1]):
    seen[0] = load_acquire(flag[0])


@prism.kernel
@requires(grid[1], thread[1])
def by_a_field(flag: ptr(uint32) @ grid[1]):
    with group(thread[1]):
        seen: Seen = Seen(0, 0)
        while seen.value == uint32(0):
            seen.value = load_acquire(flag[0])


@prism.kernel
@requires(grid[1], thread[1])
def by_what_a_function_leaves(flag: ptr(uint32) @ grid[1]):
    with group(thread[1]):
        seen: uint32[1] = [0]
        while seen[0] == uint32(0):
            look(flag, seen)


@prism.kernel
@requires(grid[1], block[1], thread[32])
def by_a_pointer(flag: ptr(uint32) @ grid[1]):
    with group(block[1]):
        seen: shared(uint32[1])
        there: ptr(uint32) @ block[1] = seen
        with claim(seen, thread[1]) as own, one(thread):
            own[0] = 0
        come: bool @ block[1] = False
        while not come:
            with claim(there, thread[1]) as own, one(thread):
                own[0] = load_acquire(flag[0])
            come = seen[0] != uint32(0)


@prism.kernel
@requires(grid[1], thread[1])
def by_a_text(flag: ptr(uint32) @ grid[1]):
    with group(thread[1]):
        word: uint32 = 0
        while word == uint32(0):
            unsafe("word = *(volatile unsigned*)flag;", reads=[flag], writes=[word])


@prism.kernel
@requires(grid[1], thread[1])
def by_a_lock(lock: ptr(uint32) @ grid[1], count: ptr(int32) @ grid[1]):
    with group(thread[1]):
        free: bool = False
        tries: int32 = 0
        while True:
            old: uint32 = atomic_exchange(lock[0], uint32(1))
            free = old == uint32(0)
            tries += 1
            if tries > 5:
                if free:
                    break
        store_release(lock[0], uint32(0))


@prism.kernel
@requires(grid[1], thread[1])
def no_waits(
    x: ptr(const(int32)) @ grid[1],
    drawn: ptr(uint64) @ grid[1],
    seen: ptr(uint32) @ grid[1],
    y: ptr(int32) @ grid[1],
    n: int32 @ grid[1],
):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        tile: int32 = int32(atomic_add(drawn[0], 1))
        while tile < n:  # it goes on by what it adds
            mine[0] += x[tile]
            tile = int32(atomic_add(drawn[0], 1))
        k: int32 = 0
        while k < n:  # what it reads decides nothing
            mine[0] += int32(load_relaxed(seen[0]))
            k += 1
        while k > 0:  # an inner loop's end is not its own
            for j in range(n):
                if load_relaxed(seen[j]) > uint32(0):
                    break
            k -= 1
        most: int32 = int32(load_relaxed(seen[0]))
        for j in range(most):  # a range ends
            if load_relaxed(seen[j]) > uint32(0):
                break


@pytest.mark.parametrize(
    ("kernel", "line", "what"),
    [
        (by_words, 4, "receive"),
        (by_flags, 3, "while"),
        (by_a_function, 2, "while"),
        (by_a_sum_of_nothing, 2, "while"),
        (by_a_lock, 4, "while"),
        (by_a_branch, 3, "while"),
        (by_shared_memory, 6, "while"),
        (by_a_field, 3, "while"),
        (by_what_a_function_leaves, 3, "while"),
        (by_a_pointer, 7, "while"),
        (by_a_text, 3, "while"),
    ],  # fmt: skip
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_wait_is_assumed_to_end(kernel: object, line: int, what: str) -> None:
    program = build(kernel)
    (found,) = [one for one in verdicts(program) if one.kind == "wait"]
    assert (found.status, found.what, found.function) == ("assumed", f"the wait of `{what}`", program.entry.name)
    assert found.line - program.entry.span.line == line


def test_other_loops_are_no_waits() -> None:
    assert [one for one in verdicts(build(no_waits)) if one.kind == "wait"] == []


def test_what_is_assumed_is_looked_for() -> None:
    """Blocks that wait for later ones end if all run at once; a GPU need not run them so, and a schedule does not."""

    @prism.kernel
    @requires(grid[1], thread[1])
    def backwards(flags: ptr(uint32) @ grid[1], n: int32 @ grid[1]):
        b: int32 @ thread[1] = id()
        with group(thread[1]):
            while b < n - 1 and load_acquire(flags[b + 1]) == uint32(0):
                pass
            store_release(flags[b], uint32(1))

    run(build(backwards), 3, 1, (np.zeros(4, np.uint32), 3), check=True)
    with pytest.raises(DeadlockError, match="the resident block waits"):
        run(build(backwards), 3, 1, (np.zeros(4, np.uint32), 3), check=True, schedule="few")


def test_a_word_that_two_publish_is_found() -> None:
    """Who receives it gets the one or the other. The report says that it is assumed not to happen, and checked runs find it."""

    @prism.kernel
    @requires(grid[1], thread[1])
    def same(words: ptr(mailbox(int32)) @ grid[1], apart: int32 @ grid[1]):
        i: int32 @ thread[1] = id()
        with group(thread[1]):
            publish(words[i * apart], i, uint32(1))
            publish(words[i * apart], i + 1, uint32(1))

    program = build(same)
    found = [one for one in verdicts(program) if one.kind == "word"]
    assert [(one.status, one.what) for one in found] == [("assumed", "what is published in `words`")] * 2
    run(program, 2, 32, (np.zeros(64, np.uint64), 1), check=True)  # one thread may publish a word again
    with pytest.raises(RaceError, match=r"`words\[0\]` is published by two threads"):
        run(program, 1, 32, (np.zeros(64, np.uint64), 0), check=True)
    with pytest.raises(RaceError, match="published by two threads"):
        run(program, 2, 1, (np.zeros(64, np.uint64), 0), check=True)


def test_a_function_that_asks_polls() -> None:
    """A loop that asks by a function is found as one that asks itself: a run of it ends by an error, and not never."""

    @prism.kernel
    @requires(grid[1], thread[1])
    def forever(flag: ptr(uint32) @ grid[1]):
        with group(thread[1]):
            while not is_set(flag):
                pass

    with pytest.raises(DeadlockError, match="this loop polls"):
        run(build(forever), 1, 1, (np.zeros(1, np.uint32),), check=True)
