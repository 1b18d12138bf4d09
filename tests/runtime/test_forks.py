"""In a forked child: locks that another thread of the parent held are free, and the GPU is refused with the reason."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import prism
from prism.runtime import code, driver
from prism.runtime.compile import compile_cubin
from prism.runtime.driver import DeviceError, check
from prism.runtime.forks import CHILD, Lock
from prism.runtime.store import Store

SOURCE = 'extern "C" __global__ void f(int *x) {{ *x = {}; }}'


def in_child(work: Callable[[], Any]) -> int:
    """Do something in a forked process and return its exit status: not 0 where that raises or takes more than ten seconds."""
    child = os.fork()
    if not child:
        try:
            signal.alarm(10)
            work()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def held_by_another_thread(lock: Lock) -> tuple[threading.Event, threading.Thread]:
    """Let a thread hold a lock until the event."""
    have, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            have.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    have.wait()
    return done, thread


def test_a_lock_that_another_thread_holds_is_free_in_the_child() -> None:
    lock = Lock()
    done, thread = held_by_another_thread(lock)

    def take() -> None:
        with lock:
            pass

    try:
        assert in_child(take) == 0
    finally:
        done.set()
        thread.join()


def test_a_plain_lock_would_stay_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test above would show without `Lock`: the child waits until its alarm."""
    monkeypatch.setattr(signal, "alarm", lambda _: signal.setitimer(signal.ITIMER_REAL, 0.2))
    lock = threading.Lock()
    with lock:
        assert in_child(lock.acquire) == -signal.SIGALRM


def test_the_child_compiles_and_uses_the_cache_and_the_reference_machine(tmp_path: Any) -> None:
    """While a thread of its parent compiles, and holds the cache's lock."""
    pytest.importorskip("cuda.bindings.nvrtc")
    store = Store(tmp_path)
    compile_cubin(SOURCE.format(1), "sm_90a")  # NVRTC has been used before
    holders = [held_by_another_thread(lock) for lock in (store._lock, code._compiling)]

    def work() -> None:
        assert store.put("a" * 64, b"\x7fELF", {}) and store.get("a" * 64) is not None
        assert code.machine_code(SOURCE.format(2), "sm_90a")[:4] == b"\x7fELF"
        assert prism.lib.sum(np.arange(1000)) == 499500

    try:
        assert in_child(work) == 0
    finally:
        for done, thread in holders:
            done.set()
            thread.join()


def test_the_gpu_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    status = type("Status", (), {"name": "CUDA_ERROR_NOT_INITIALIZED", "__int__": lambda self: 3})()
    monkeypatch.setattr(driver, "_started", os.getpid())
    with pytest.raises(DeviceError, match=r"launching `f`: CUDA_ERROR_NOT_INITIALIZED"):
        check((status,), "launching `f`")

    def work() -> None:
        with pytest.raises(DeviceError, match="spawn") as caught:
            check((status,), "launching `f`")
        assert caught.value.code == status.name and CHILD in str(caught.value)

    assert in_child(work) == 0
