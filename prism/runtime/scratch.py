"""Scratch memory for kernels, by device and stream: zeroed once, when allocated, and never again.

Kernels tag what they leave (KERNELS.md 1.4), so no launch clears it. A captured graph keeps the addresses of the stream
that it was captured on: replay it there, or not at the same time as other work that uses that stream's scratch. (So two graphs
that were captured on one stream aren't replayed at the same time.)
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prism.lang.keep.bases import Value
from prism.runtime import extended_launch
from prism.runtime.device import using
from prism.runtime.driver import check, driver
from prism.runtime.forks import Lock

_SMALLEST = 4096
_PER_THREAD = 2
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_NO_STREAM = -2
"""In place of the name of a stream that was not asked for it: whoever comes next takes the block over."""
_NO_CONTEXT = (3, 201)  # CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT
_MOST_STREAMS = 256  # that questions are kept for
_questions: dict[int, list[tuple[Any, Any, Any]]] = {}
"""What `capturing` asks the driver by, of each stream: laid out once, as a call that waits for a number asks each time."""


class _Block(Value):
    pointer: int
    nbytes: int
    stream_id: int


class Scratch:
    """All scratch memory of a process. Outgrown blocks are kept: launches in flight and captured graphs may use them.

    Each block is at least twice as large as the one before, so that what is kept is less than what is in use.
    """

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, int, str, int], _Block] = {}
        self._outgrown: list[_Block] = []
        self._lock = Lock()

    def get(self, device: int, stream: int, nbytes: int, tag: str = "") -> int:
        """Return the address of at least `nbytes` of memory, its own for each device, stream and tag.

        A fresh block's zeros are written on `stream`, so work on that stream sees them; inside a capture they are there before
        this returns, and are not part of the graph.

        Raises:
            RuntimeError: the legacy default stream's memory must be allocated, and it waits for a stream that is being captured.
            ValueError: `nbytes` is negative.
            DeviceError: the device has no such stream, or not enough memory.
        """
        key = _key(device, stream, tag)
        block = self._blocks.get(key)
        if stream <= _PER_THREAD and block is not None and block.nbytes >= nbytes:
            return block.pointer  # the default streams live as long as the process
        if capturing(stream):  # nothing may be asked of such a stream: it would invalidate the capture
            if block is not None and block.nbytes >= nbytes:
                return block.pointer
            if stream <= extended_launch.LEGACY:
                raise RuntimeError(
                    "this call is on the legacy default stream, which waits for a stream that is being captured in a CUDA graph: "
                    "make it on the stream that is captured, or after the capture"
                )
            with self._lock, allocating():
                return self._renew(key, nbytes, _NO_STREAM).pointer
        identity = _stream_id(stream)
        if block is not None and block.nbytes >= nbytes and block.stream_id == identity:
            return block.pointer
        with self._lock:
            return self._renew(key, nbytes, identity).pointer

    def reset(self, device: int, stream: int, tag: str = "") -> None:
        """Write zeros again, on the stream: after a kernel was aborted in the middle.

        Raises:
            DeviceError: the driver refuses.
        """
        block = self._blocks.get(_key(device, stream, tag))
        if block is not None:
            with using(device):
                check(driver().cuMemsetD8Async(block.pointer, 0, block.nbytes, stream), "clearing scratch memory")

    def _renew(self, key: tuple[int, int, str, int], nbytes: int, identity: int) -> _Block:
        """Make the block of a key larger, or take it over from a stream that is no more; under the lock."""
        device, stream, _, _ = key
        if nbytes < 0:
            raise ValueError(f"scratch memory must have >= 0 bytes, not {nbytes}")
        block = self._blocks.get(key)
        captured = identity == _NO_STREAM
        if block is not None and block.nbytes >= nbytes and (captured or block.stream_id == identity):
            return block  # another thread was quicker
        with using(device):
            if block is not None and block.stream_id != identity and not captured:
                # The handle belongs to another stream now; the old one's work may still run.
                check(driver().cuCtxSynchronize(), "taking over a stream's scratch memory")
            if block is not None and block.nbytes >= nbytes:
                renewed = _Block(block.pointer, block.nbytes, identity)
            else:
                larger = max(nbytes, _SMALLEST, 2 * block.nbytes if block else 0)
                renewed = _Block(_allocate(larger, None if captured else stream), larger, identity)
                if block is not None:
                    self._outgrown.append(block)
        self._blocks[key] = renewed
        return renewed


SCRATCH = Scratch()


def _key(device: int, stream: int, tag: str) -> tuple[int, int, str, int]:
    """The per-thread default stream is another one in each thread."""
    return device, stream, tag, threading.get_ident() if stream == _PER_THREAD else 0


def _stream_id(stream: int) -> int:
    """The driver's name of a stream, never given twice in a process, as handles are."""
    if stream <= _PER_THREAD:
        return stream  # the default streams live as long as the process
    status, identity = driver().cuStreamGetId(stream)
    return int(identity) if int(status) == 0 else -1


def capturing(stream: int) -> bool:
    """Whether a graph is being captured on the stream, or on another one that the legacy default stream waits for.

    In a thread that has used no GPU as yet, as where an empty array comes first, nothing is.
    """
    free = _questions.get(stream)
    if free is None:
        if len(_questions) >= _MOST_STREAMS:
            _questions.clear()
        free = _questions.setdefault(stream, [])
    try:
        asked = free.pop()  # another thread may ask at the same time
    except IndexError:
        answer = ctypes.c_int()
        asked = answer, ctypes.c_void_p(stream), ctypes.byref(answer)
    status = extended_launch.question()(asked[1], asked[2])
    found = status != 0 and status not in _NO_CONTEXT or status == 0 and asked[0].value != 0
    free.append(asked)
    return found


def capture_of(stream: int) -> int | None:
    """Return the driver's number of the capture of a graph that the stream is in, or None."""
    if not capturing(stream):
        return None
    status, _, number, *_ = driver().cuStreamGetCaptureInfo(stream)
    return int(number) if int(status) == 0 else -1


@contextmanager
def allocating() -> Iterator[None]:
    """Let this thread allocate memory while a graph is captured: it invalidates no capture, but most modes refuse it."""
    cuda = driver()
    doing = "allocating scratch memory while a CUDA graph is captured"
    before = check(cuda.cuThreadExchangeStreamCaptureMode(cuda.CUstreamCaptureMode(_RELAXED)), doing)
    try:
        yield
    finally:
        check(cuda.cuThreadExchangeStreamCaptureMode(before), doing)


def _allocate(nbytes: int, stream: int | None) -> int:
    """Return memory whose zeros are written on the stream; None: on one of their own, and they are there."""
    cuda = driver()
    doing = f"allocating {nbytes} bytes of scratch memory"
    pointer = int(check(cuda.cuMemAlloc(nbytes), doing))
    if stream is not None:
        check(cuda.cuMemsetD8Async(pointer, 0, nbytes, stream), doing)
        return pointer
    own: Any = check(cuda.cuStreamCreate(_NON_BLOCKING), doing)
    check(cuda.cuMemsetD8Async(pointer, 0, nbytes, own), doing)
    check(cuda.cuStreamSynchronize(own), doing)
    check(cuda.cuStreamDestroy(own), doing)
    return pointer
