"""What a fork leaves to the child: locks that nobody holds, and the knowledge that CUDA can't be used there.

A forked process has one thread. A lock that another thread of its parent held would never be given back in it; and NVIDIA's
driver serves no child of a process that has started it. Checking, compiling, the cache and the reference machine go on.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

CHILD = (
    "this process was forked after its parent had used a GPU, and CUDA can't be used in it: start processes with "
    'multiprocessing.get_context("spawn")'
)
_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """A lock for `with`, which is free in a forked child whoever held it in the parent."""

    def __init__(self) -> None:
        self._held = threading.Lock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._held.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.release()

    def renew(self) -> None:
        """Be free."""
        self._held = threading.Lock()


def _in_child() -> None:
    for lock in _locks:
        lock.renew()


os.register_at_fork(after_in_child=_in_child)
