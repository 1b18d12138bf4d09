"""No garbage collection while a program is made: by several threads, and in a process that forks meanwhile."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def defer_collection() -> Iterator[None]:
    """Nothing looks for cycles meanwhile: what a program is made of stays, and is a sixth faster made so."""
    _pause.begin()
    try:
        yield
    finally:
        _pause.end()


class _Pause:
    """Threads for which collecting is off; the last that ends puts it on again, if it was on when the first began."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        self.lock, self.threads, self.on = threading.Lock(), 0, False

    def begin(self) -> None:
        with self.lock:
            if self.threads == 0:
                self.on = gc.isenabled()
                gc.disable()
            self.threads += 1

    def end(self) -> None:
        with self.lock:
            self.threads = max(0, self.threads - 1)
            if self.threads == 0 and self.on:
                gc.enable()

    def in_child(self) -> None:
        """A forked child has one thread, and what the others of its parent began does not end in it."""
        if self.threads and self.on:
            gc.enable()
        self.begin_anew()


_pause = _Pause()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pause.in_child)
