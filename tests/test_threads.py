"""Threads that check, compile and run at the same time; on a free-threaded Python they really do."""
# ruff: noqa: F821 -- names that a kernel declares

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import prism
from prism.lang import (
    block,
    const,
    constexpr,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    shared,
    template,
    thread,
)
from prism.lang.check import PARSED, parsed_of
from prism.lang.emit import emit
from prism.lang.pipeline import lower

THREADS = 6


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Where there is a global lock, it changes hands all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any]) -> list[Any]:
    """Return what `work` returns for each of the threads' numbers, which begin at the same time; raises what one raised."""
    start, found, raised = threading.Barrier(THREADS), [None] * THREADS, []

    def run(number: int) -> None:
        try:
            start.wait()
            found[number] = work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if raised:
        raise raised[0]
    return found


def shifted() -> Any:
    """Return a kernel that nobody has seen: each block's elements, turned by N."""

    @prism.kernel
    @template(N=constexpr(int))
    @requires(grid[1], block[1], thread[32])
    def turned(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
        i: int32 @ thread[1] = id()
        with partition(y, thread[1], i) as mine, group(block[1]):
            t: int32 @ thread[1] = id()
            tile: shared(int32[32])
            with partition(tile, thread[1], t) as slot, group(thread[1]):
                slot[0] = x[i]
            with group(thread[1]):
                mine[0] = tile[(t + N) % 32]

    return turned


def test_one_kernel_is_parsed_once() -> None:
    """Nodes are compared by identity: two trees of one function would be two functions."""
    for _ in range(20):
        kernel = shifted()
        assert len({id_of(tree) for tree in together(lambda _, kernel=kernel: parsed_of(kernel))}) == 1
        del PARSED[kernel]


def id_of(node: object) -> int:
    """Python's `id`, whose name is the language's here."""
    return object.__hash__(node)


def test_checking_gives_all_threads_the_same_text() -> None:
    for _ in range(5):
        kernel = shifted()
        texts = together(lambda number, kernel=kernel: emit(lower(prism.check(kernel, {"N": number % 2}))).source)
        assert len(set(texts)) == 2 and texts[::2] == texts[:1] * 3 and texts[1::2] == texts[1:2] * 3


def test_the_reference_machine_runs_in_threads() -> None:
    """One kernel in all threads, of several templates: what is kept of a program is made under them."""
    kernel, x = shifted(), np.arange(64, dtype=np.int32)

    def work(number: int) -> None:
        for n in range(6):
            y = np.zeros(64, np.int32)
            kernel[2, 32](x, y, template={"N": (n + number) % 6}, check=bool(n % 2))
            assert np.array_equal(y, np.roll(x.reshape(2, 32), -((n + number) % 6), axis=1).ravel())

    together(work)


def test_the_library_is_called_in_threads() -> None:
    x = np.random.default_rng(0).integers(0, 100, 3000, dtype=np.int32)

    def work(number: int) -> None:
        kind = [np.int32, np.int64, np.float32][number % 3]
        for _ in range(3):
            given = (x + number).astype(kind)
            assert np.array_equal(prism.lib.scan(given), np.cumsum(given, dtype=kind))
            assert prism.lib.sum(given) == given.sum()
            assert prism.lib.max(given.reshape(30, 100), axis=1).tolist() == given.reshape(30, 100).max(axis=1).tolist()

    together(work)


def test_one_text_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for needed in ("cuda.core", "cuda.bindings.nvrtc"):
        pytest.importorskip(needed)
    from prism.runtime import code

    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path))
    code.store.cache_clear()
    source = f'extern "C" __global__ void f(int *x) {{ *x = {np.random.default_rng().integers(1 << 30)}; }}'
    try:
        assert len({id_of(cubin) for cubin in together(lambda _: code.machine_code(source, "sm_90a"))}) == 1
    finally:
        code.store.cache_clear()
