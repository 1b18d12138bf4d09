"""Memory that the ranks of one host write into by their copy engines, while all multiprocessors compute.

An engine on the GPU moves bytes by kernels, and a product that takes every multiprocessor waits for those. So each rank has a
window, opened by all, into which the others write what is for it, on a stream of their own. Streams of two ranks wait for each
other by counts in memory of the host (`prism.dist._boxes`): a write for the window to be free, a reader for what was written.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prism.dist._arrays import Post
from prism.dist._boxes import FREE, SENT, Boxes
from prism.dist._engines import address_of
from prism.host.pinned import refuse_capture
from prism.runtime.arrays import ArrayInfo
from prism.runtime.device import using
from prism.runtime.driver import DeviceError, check, driver
from prism.runtime.streams import current_stream

_LEAST, _MOST = 1 << 20, 1 << 34  # bytes of a window
_STEPS = 8
"""A window's length is so many times a power of two at the most: little is taken in vain, and seldom anew."""
_PEER = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
_ALONE, _UNTIMED = 1, 2  # CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING
_HANDLE = struct.Struct("<64sQ16s8x")


class Windows:
    """A rank's window, and those of the other ranks.

    A call that uses them: `begin`; then `send` each part that goes to a rank, as many as that one hears by `hear`; then `end`,
    behind all that reads the window. All ranks make such calls in one order.
    """

    def __init__(self, post: Post, ordinal: int) -> None:
        self._post, self._ordinal = post, ordinal
        self._size, self._base, self.closed = 0, 0, False
        self._opened: list[int] = []
        self._uses, self._clear = 0, set[int]()
        self._said, self._heard = [0] * post.size, [0] * post.size
        self._whole: dict[str, Any] = {}
        self._events: list[Any] = []
        self._marked = 0
        self.stream = self._current = 0
        self._last: tuple[int, Any, bool] | None = None
        """The last call's stream, what stands for its end, and whether it sent on the other stream."""

    @property
    def _boxes(self) -> Boxes:
        found = self._post.boxes
        assert found is not None  # else nothing is opened
        return found

    def open(self, nbytes: int) -> bool:
        """Whether each rank's window has so many bytes: called by all, with the same number; then it is the same on all."""
        if self.closed or nbytes > _MOST:
            return False
        if nbytes > self._size:
            self.closed = not self._exchange(_rounded(nbytes))
        return not self.closed

    def is_open(self, nbytes: int) -> bool:
        """Whether they have so many bytes already, of which no rank needs to be told."""
        return not self.closed and nbytes <= self._size

    def _exchange(self, size: int) -> bool:
        post, cuda, handle = self._post, driver(), bytes(64)
        try:
            with using(self._ordinal):
                if post.boxes is not None and not self.stream:
                    stream = int(check(cuda.cuStreamCreate(_ALONE), "a stream for other ranks"))
                    post.boxes.count(SENT, post.rank, 0, stream)  # whether streams can do so
                    self.stream = stream
                if self.stream:
                    # What was there is kept: others may have it open.
                    self._base = int(check(cuda.cuMemAlloc(size), "memory that other ranks write into"))
                    handle = _bytes_of(check(cuda.cuIpcGetMemHandle(self._base), "sharing memory"))
        except DeviceError:
            pass
        told = post.tell(_HANDLE.pack(handle, size, _host())).reshape(post.size, _HANDLE.size)
        every, found = [_HANDLE.unpack(row.tobytes()) for row in told], False
        try:
            if len({host for _, _, host in every}) == 1 and all(any(one) for one, _, _ in every):
                with using(self._ordinal):
                    self._opened = [
                        self._base if rank == post.rank else _open(one) for rank, (one, _, _) in enumerate(every)
                    ]
                self._size, found = size, True
                self._whole.clear()
        except DeviceError:
            pass
        return bool((post.tell(bytes([found]) * 8) == 1).all())

    def room(self, like: ArrayInfo, nbytes: int, offset: int = 0) -> Any:
        """Return bytes of this rank's window, as an array of a library."""
        if like.library not in self._whole:
            self._whole[like.library] = _array(like, self._base, self._size)
        return self._whole[like.library][offset : offset + nbytes]

    def begin(self, like: ArrayInfo) -> None:
        """Begin a call on the current stream of an array's library.

        Raises:
            RuntimeError: a CUDA graph is captured there; or a rank of this host has ended.
        """
        self._current = current_stream(like)
        refuse_capture(self._current)
        self._boxes.require()
        self._marked = 0
        if self._last is None:
            return
        stream, event, aside = self._last  # what is counted is counted in order
        for other in (*([self._current] if stream != self._current else []), *([] if aside else [self.stream])):
            with using(self._ordinal):
                check(driver().cuStreamWaitEvent(other, event, 0), "waiting for the call before")

    def mark(self) -> Any:
        """Return what stands for all that is queued on the call's stream by now; in this call."""
        with using(self._ordinal):
            return self._mark(self._current)

    def _mark(self, stream: int) -> Any:
        cuda = driver()
        if self._marked == len(self._events):
            self._events.append(check(cuda.cuEventCreate(_UNTIMED), "a mark for other streams"))
        event = self._events[self._marked]
        self._marked += 1
        check(cuda.cuEventRecord(event, stream), "marking a stream")
        return event

    def send(
        self, rank: int, parts: Sequence[Any], places: Sequence[int], after: Any = None, aside: bool = True
    ) -> None:
        """Copy arrays without gaps into a rank's window, from some bytes on, when that is free, and tell it that they are there.

        `after`: a mark of what they wait for, if they are not there already. `aside`: on a stream beside the call's own; the
        arrays must be kept until `end`.
        """
        cuda, stream = driver(), self.stream if aside else self._current
        with using(self._ordinal):
            if after is not None:
                check(cuda.cuStreamWaitEvent(stream, after, 0), "waiting for what is sent")
            if rank not in self._clear and rank != self._post.rank:
                self._clear.add(rank)
                self._boxes.reach(FREE, rank, self._uses, stream)
            for one, place in zip(parts, places, strict=False):
                status = cuda.cuMemcpyDtoDAsync(self._opened[rank] + place, address_of(one), one.nbytes, stream)
                check(status, "writing into another rank's memory")
            if rank != self._post.rank:
                self._said[rank] += 1
                self._boxes.count(SENT, rank, self._said[rank], stream)

    def hear(self, *ranks: int) -> None:
        """Let the call's stream wait for the next part of each of these ranks."""
        with using(self._ordinal):
            for rank in ranks:
                self._heard[rank] += 1
                self._boxes.reach(SENT, rank, self._heard[rank], self._current)

    def end(self, aside: bool = True) -> None:
        """End a call: what is queued behind it may write over what was sent, and others over the window, behind what reads it.

        The host waits until all that this rank hears has come: else no one would find out that it never comes. `aside`: something
        was sent so.

        Raises:
            RuntimeError: a rank of this host has ended, or does not answer.
        """
        self._uses += 1
        with using(self._ordinal):
            if aside:
                check(driver().cuStreamWaitEvent(self._current, self._mark(self.stream), 0), "waiting for what is sent")
            for rank in range(self._post.size):
                if rank != self._post.rank:
                    self._boxes.count(FREE, rank, self._uses, self._current)
            if self._last is None:
                self._last = 0, check(driver().cuEventCreate(_UNTIMED), "a mark for other streams"), aside
            check(driver().cuEventRecord(self._last[1], self._current), "marking a stream")
            self._last = self._current, self._last[1], aside
        self._clear.clear()
        self._boxes.settle_counts()


def _rounded(nbytes: int) -> int:
    """Return a window's length, the same on all ranks, for so many bytes."""
    step = max(_LEAST, (1 << (nbytes - 1).bit_length()) // _STEPS)
    return -(-nbytes // step) * step


_windows: dict[int, Windows] = {}
"""By a communicator's identity: its boxes hold it."""


def windows_of(post: Post, comm: Any, like: ArrayInfo) -> Any:
    """Return the windows of a communicator's ranks; None where messages don't lie on the GPU, or there can't be any."""
    if hasattr(comm, "windows"):
        return comm.windows
    if post.engine.on_host is not False or post.size == 1 or not post.queues(like):
        return None
    found = _windows.get(id(comm))
    if found is None:
        assert like.device is not None
        found = _windows[id(comm)] = Windows(post, like.device)
    return None if found.closed else found


class _Memory:
    """Memory on a GPU, as libraries are told of it."""

    def __init__(self, pointer: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {"data": (pointer, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}


def _array(like: ArrayInfo, pointer: int, nbytes: int) -> Any:
    memory = _Memory(pointer, nbytes)
    if like.library == "torch":
        torch = sys.modules["torch"]
        return torch.as_tensor(memory, device=torch.device("cuda", like.device))
    return sys.modules["cupy"].asarray(memory)


def _open(handle: bytes) -> int:
    return int(check(driver().cuIpcOpenMemHandle(_handle_of(handle), _PEER), "opening another rank's memory"))


def _bytes_of(handle: Any) -> bytes:
    return ctypes.string_at(handle.getPtr(), 64)


def _handle_of(text: bytes) -> Any:
    found = driver().CUipcMemHandle()
    ctypes.memmove(found.getPtr(), text, 64)
    return found


def _host() -> bytes:
    """Return what tells this host, since it was started, from others."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        boot = ""
    return hashlib.sha256(f"{socket.gethostname()} {boot}".encode()).digest()[:16]


atexit.register(_windows.clear)  # communicators go before the libraries that they are of
