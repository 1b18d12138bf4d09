"""Numbers that a kernel writes into the host's memory: they are read as soon as they are there, without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from prism.runtime.device import using
from prism.runtime.driver import DeviceError, check, driver
from prism.runtime.scratch import capturing

_PAGE = 4096  # bytes that are allocated at a time; they are kept
_FLAGS = 3  # CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP: for all GPUs, at the address that the host has
_MISSING = -1
_LOOKS = range(10_000)
"""Times that a word is looked at, some 0.7 ms, before the thread sleeps until the stream's work has ended, and wakes up later."""
_WORDS = ctypes.c_int64 * 2
_free: list[Any] = []


def count(
    launch: Callable[[tuple[int, ...], int], None], pointers: tuple[int, ...], stream: int, ordinal: int, numbers: int = 1
) -> tuple[int, ...]:  # fmt: skip
    """Launch on arrays at these addresses, and on one or two words behind them, int64; wait for what is written, at least 0.

    The kernel may still run then: what else it writes is there for the work behind it on the stream.

    Raises:
        RuntimeError: a CUDA graph is being captured on the stream.
        DeviceError: the driver refuses, a kernel failed, or none wrote a number.
    """
    return finish(begin(launch, pointers, stream, ordinal), stream, ordinal, numbers)


def begin(launch: Callable[[tuple[int, ...], int], None], pointers: tuple[int, ...], stream: int, ordinal: int) -> Any:
    """Launch as `count` does; return what `finish` waits for.

    Raises:
        RuntimeError, DeviceError: as `count`.
    """
    if capturing(stream):
        refuse_capture(stream)
    try:
        words = _free.pop()
    except IndexError:
        words = _allocate(ordinal)
    words[0] = words[1] = _MISSING
    launch((*pointers, ctypes.addressof(words)), stream)
    return words


def refuse_capture(stream: int) -> None:
    """Raise RuntimeError where a CUDA graph is being captured on a stream, for a call that waits for what the GPU says."""
    if capturing(stream):
        raise RuntimeError(
            "this call waits for a number of the GPU's, which it can't while a CUDA graph is captured: pass count=True, size= or "
            "length=, where the function takes one of these"
        )


def finish(
    words: Any, stream: int, ordinal: int, numbers: int = 1, wait: Callable[[Callable[[], bool]], None] | None = None
) -> tuple[int, ...]:
    """Wait for what a launch that was begun writes, on that stream; `wait(has_come)` waits where that takes long, if it is given.

    Raises:
        DeviceError: as `count`.
    """
    for _ in _LOOKS:
        if words[0] != _MISSING and (numbers == 1 or words[1] != _MISSING):
            break
    else:
        if wait is not None:
            wait(lambda: _MISSING not in words[:numbers])
        else:
            with using(ordinal):
                check(driver().cuStreamSynchronize(stream), "waiting for the number of results")
    found = (words[0],) if numbers == 1 else (words[0], words[1])
    if _MISSING in found:
        raise DeviceError("the kernels have ended, and the number of results was not written")
    # Only here: who was interrupted above leaves the words to the kernel, which may write them later.
    _free.append(words)
    return found


def require_no_fault(stream: int, ordinal: int) -> None:
    """Check, without a wait, that no kernel on a stream failed. Raises DeviceError."""
    cuda = driver()
    with using(ordinal):
        answer = cuda.cuStreamQuery(stream)
    if answer[0] != cuda.CUresult.CUDA_ERROR_NOT_READY:
        check(answer, "waiting for other ranks")


def _allocate(ordinal: int) -> Any:
    """Return words that no kernel is about to write, of a page that is allocated; the others of it are free."""
    with using(ordinal):
        start = int(check(driver().cuMemHostAlloc(_PAGE, _FLAGS), f"allocating {_PAGE} bytes of pinned memory"))
    first, *others = map(_WORDS.from_address, range(start, start + _PAGE, ctypes.sizeof(_WORDS)))
    _free.extend(others)
    return first
