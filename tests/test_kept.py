"""What a process keeps of the kernels that it has checked, and of a build in another thread when it forks.

Tests of prism/lang/keep: memo, collection.
"""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np

import prism
from prism.lang import grid, group, id, int32, partition, ptr, requires, thread
from prism.lang.check import PARSED
from prism.lang.keep.collection import defer_collection
from prism.lang.keep.memo import lazy_property
from prism.lang.tree.plan import Program
from tests.runtime.test_forks import in_child


def redefined(k: int) -> Any:
    @prism.lang.prism("device")
    @requires(thread[1])
    def helper(x: int32 @ thread[1]) -> int32 @ thread[1]:
        return x + k

    @prism.lang.prism("global")
    @requires(grid[1], thread[32])
    def kernel(y: ptr(int32) @ grid[1]):
        i: int32 @ thread[1] = id()
        with partition(y, thread[1], i) as mine, group(thread[1]):
            mine[0] = helper(i)

    return kernel


def alive(kind: type) -> int:
    gc.collect()
    return sum(type(each) is kind for each in gc.get_objects())


def test_kernels_and_programs_go_when_nobody_has_them(alone: None) -> None:
    """33 kB were kept of each, for as long as the process lasted."""
    before, parsed = alive(Program), len(PARSED)
    kernels = []
    for k in range(60):
        kernel = redefined(k)
        assert "prism_kernel" in prism.compile(kernel).cuda
        kernels.append(weakref.ref(kernel))
    del kernel
    assert alive(Program) <= before + 4
    assert sum(ref() is not None for ref in kernels) == 0
    assert len(PARSED) <= parsed + 1


def test_so_do_those_that_ran_on_the_reference_machine(alone: None) -> None:
    before, kernels = alive(Program), []
    for k in range(150):
        kernel = redefined(k)
        y = np.zeros(32, np.int32)
        kernel[1, 32](y)
        assert y[1] == k + 1
        kernels.append(weakref.ref(kernel))
    del kernel
    assert alive(Program) <= before + 4
    assert sum(ref() is not None for ref in kernels) == 0


def test_what_is_found_out_about_a_function_goes_with_it() -> None:
    program = prism.check(redefined(1))
    assert program.entry.notes and prism.check(redefined(1)).entry.notes is not program.entry.notes


def test_collecting_is_off_until_the_last_thread_has_built() -> None:
    """One that began while another had switched it off took that for what it must restore."""
    assert gc.isenabled()
    first, second = defer_collection(), defer_collection()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_threads_that_build_leave_collecting_on() -> None:
    def build() -> None:
        for k in range(5):
            prism.check(redefined(k))

    threads = [threading.Thread(target=build) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert gc.isenabled()


def test_who_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        prism.check(redefined(0))
        assert not gc.isenabled()
    finally:
        gc.enable()


def beside(begun: threading.Event, done: threading.Event, work: Any) -> threading.Thread:
    thread_ = threading.Thread(target=work)
    thread_.start()
    assert begun.wait(10)
    return thread_


def test_a_child_that_is_forked_while_another_thread_builds_collects() -> None:
    begun, done = threading.Event(), threading.Event()

    def work() -> None:
        with defer_collection():
            begun.set()
            done.wait()

    other = beside(begun, done, work)

    def child() -> None:
        assert gc.isenabled()
        prism.check(redefined(3))
        assert gc.isenabled()

    try:
        assert not gc.isenabled()
        assert in_child(child) == 0
    finally:
        done.set()
        other.join()
    assert gc.isenabled()


class Slow:
    def __init__(self, begun: threading.Event, done: threading.Event) -> None:
        self.begun, self.done = begun, done

    @lazy_property
    def found(self) -> object:
        """Found slowly."""
        self.begun.set()
        self.done.wait()
        return object()


def test_a_child_that_is_forked_while_another_thread_finds_a_property() -> None:
    """`functools.cached_property` would hold its lock there until Python 3.11."""
    begun, done = threading.Event(), threading.Event()
    slow, now = Slow(begun, done), threading.Event()
    now.set()
    other = beside(begun, done, lambda: slow.found)
    try:
        assert in_child(lambda: Slow(threading.Event(), now).found) == 0
    finally:
        done.set()
        other.join()
    assert slow.found is slow.found and Slow.found.__doc__ == "Found slowly."


def test_a_child_compiles_while_another_thread_does() -> None:
    compiled = prism.compile(redefined(8))
    begun, done = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        while not done.is_set():
            prism.compile(redefined(9)).cuda

    other = beside(begun, done, work)
    try:
        for _ in range(3):
            assert in_child(lambda: compiled.__class__(compiled.program, "sm_90a").cuda) == 0
    finally:
        done.set()
        other.join()
