"""Memory that the ranks of one host read from each other by their copy engines, while all multiprocessors multiply.

An engine on the GPU moves bytes by kernels, and a product that takes every multiprocessor waits for those. So what a product
sends lies in memory that the others may read: allocated once, and opened by all. An engine's message tells that it is ready.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from prism.dist._again import gather_of
from prism.dist._arrays import Post
from prism.dist._engines import address_of
from prism.host.memory import empty
from prism.runtime.arrays import ArrayInfo
from prism.runtime.device import using
from prism.runtime.driver import DeviceError, check, driver
from prism.runtime.streams import current_stream

_LEAST, _MOST = 1 << 20, 1 << 34  # bytes of a window
_TWICE = 1 << 31
"""Bytes of a window, up to which a rank has two. A larger one is alone: ranks meet when all have read what they need of it."""
_KNOWN = 64  # arrays in windows, made once
_PEER = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
_HANDLE = struct.Struct("<64sQ16s8x")


class Windows:
    """Two windows of a rank, used in turn, and those of the other ranks; or one, where that is large.

    What is in one of two may be written over when all have agreed on the call behind the next: by then nobody reads it.
    """

    def __init__(self, post: Post, like: ArrayInfo) -> None:
        assert like.device is not None
        self._post, self._ordinal = post, like.device
        self._size, self._base, self._made, self._turn, self.closed = 0, 0, 0, 0, False
        self._seen: list[int] = []
        self._sizes: list[int] = []
        self._opened: list[int] = []
        self._known: dict[tuple[int, int], Any] = {}
        small = [empty(like, n, np.dtype(np.uint8)) for n in (8, 8 * post.size)]
        self._like, self._small = replace(like, owner=small[0]), small
        self._meet: Callable[[], None] | None = None

    def meet(self) -> None:
        """Let what is queued behind wait until all ranks are here: see `Boxes.settle`."""
        if self._meet is None:  # only here: a communicator's first call opens its boxes
            self._meet = gather_of(self._post, self._like, *self._small)
        self._meet()

    def room(self, nbytes: int) -> int:
        """Take so many bytes; return which ones they are, of all that were taken: 0 where there are none."""
        if self.closed or nbytes > _MOST:
            return 0
        if nbytes > self._size or not self._base:
            size = _LEAST
            while size < nbytes:
                size *= 2
            try:
                with using(self._ordinal):
                    room = size if size > _TWICE else 2 * size
                    self._base = int(check(driver().cuMemAlloc(room), "memory that other ranks read"))
            except DeviceError:
                self.closed = True
                return 0
            self._size, self._made = size, self._made + 1  # what was there is kept: others may read it
        return self._made

    def open(self, made: list[int]) -> bool:
        """Open what the other ranks have, by what `room` gave on each; whether that is possible: the same on all ranks."""
        if self.closed or 0 in made:
            return False
        if made != self._seen:
            self.closed = not self._exchange()
            self._seen = made
        return not self.closed

    def is_open(self, made: list[int]) -> bool:
        """Whether these are open, of which no rank needs to be told."""
        return not self.closed and 0 not in made and made == self._seen

    def _exchange(self) -> bool:
        post, cuda, found = self._post, driver(), False
        handle = bytes(64)
        try:
            with using(self._ordinal):
                handle = _bytes_of(check(cuda.cuIpcGetMemHandle(self._base), "sharing memory"))
        except DeviceError:
            pass
        told = post.tell(_HANDLE.pack(handle, self._size, _host())).reshape(post.size, _HANDLE.size)
        every = [_HANDLE.unpack(row.tobytes()) for row in told]
        try:
            if len({host for _, _, host in every}) == 1:
                with using(self._ordinal):
                    self._opened = [
                        self._base if rank == post.rank else _open(one) for rank, (one, _, _) in enumerate(every)
                    ]
                self._sizes, found = [size for _, size, _ in every], True
        except DeviceError:
            pass
        return bool((post.tell(bytes([found]) * 8) == 1).all())

    def mine(self, nbytes: int) -> Any:
        """Return the first bytes of this rank's window."""
        place = self._base + self._offset(self._size)
        found = self._known.get((place, nbytes))
        if found is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            found = self._known[place, nbytes] = _array(self._like, place, max(1, nbytes))[:nbytes]
        return found

    def put(self, array: Any, offset: int = 0) -> None:
        """Copy an array into this rank's window, from a byte on, on its library's current stream."""
        nbytes = array.nbytes
        whole = array.is_contiguous() if hasattr(array, "is_contiguous") else array.flags.c_contiguous
        if not whole:
            self.mine(offset + nbytes)[offset:].view(array.dtype).reshape(array.shape)[...] = array
            return
        with using(self._ordinal):
            place, stream = self._base + self._offset(self._size) + offset, current_stream(self._like)
            check(driver().cuMemcpyDtoDAsync(place, address_of(array), nbytes, stream), "copying for other ranks")

    def pull(self, rank: int, offset: int, target: Any, stream: int) -> None:
        """Copy what lies in a rank's window from a byte on into an array without gaps, on a stream."""
        source = self._opened[rank] + self._offset(self._sizes[rank]) + offset
        with using(self._ordinal):
            status = driver().cuMemcpyDtoDAsync(address_of(target), source, target.nbytes, stream)
            check(status, "reading another rank's memory")

    def turn(self) -> None:
        """Go on to the other window: called by all ranks at the end of each call that used one, behind what it reads."""
        self._turn = 1 - self._turn
        if max(self._sizes) > _TWICE:
            self.meet()
            self._post.settle()

    def _offset(self, size: int) -> int:
        """Return where the window begins that is used now, of a rank whose windows have that size."""
        return 0 if size > _TWICE else self._turn * size


_windows: dict[tuple[int, str, int | None], Windows] = {}


def windows_of(post: Post, comm: Any, like: ArrayInfo) -> Any:
    """Return the windows of a communicator's ranks; None where messages don't lie on the GPU."""
    if hasattr(comm, "windows"):
        return comm.windows
    if post.engine.on_host is not False or post.size == 1 or not post.queues(like):
        return None
    key = id(comm), like.library, like.device
    found = _windows.get(key)
    if found is None:
        found = _windows[key] = Windows(post, like)
    return found


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
