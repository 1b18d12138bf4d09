"""Small messages of the ranks of one host, through memory of the host that all of them share: no engine takes part.

Ranks map one file that lies in memory, and their GPUs read and write it. A rank puts a message into its row, 4 bytes and the
number of the call in each word; the others look until all words have that number.

What is known on the host is told by the host, without the GPU; what a kernel makes is told by a kernel behind it
(`prism.kernels.ranks`). Behind the rows are counts of two kinds, for each pair of ranks, by which a stream of one waits for one
of the other: what was sent there, and what is free again (`prism.dist._windows`).
"""

from __future__ import annotations

import atexit
import fcntl
import mmap
import os
import secrets
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from prism.host.machine import Ready
from prism.host.pinned import refuse_capture, require_no_fault
from prism.host.plan import Plan
from prism.lib.algorithms.reduce.messages import TOLD, telling
from prism.runtime.arrays import ArrayInfo
from prism.runtime.device import using
from prism.runtime.driver import DeviceError, check, driver

WORDS = 4096
"""Of a message, 4 bytes each, at most."""
_RANKS = 64  # at most
_PAGE = 4096  # bytes before the rows: two words of 8 bytes of each rank, as `_HEARD` and `_OVER` say
_HEARD, _OVER = 0, _RANKS
"""Where the words are of the last call that a rank's GPU has heard all of, and of whether its host says not to wait any more."""
_NAME = struct.Struct("<48s16s")
_LOCK = struct.Struct("hhqqi4x")  # what fcntl takes
_LAST = 0xFFFFFFFE  # the largest number of a call, an even one: 1 comes next
_SPIN, _PAUSE, _SELDOM = 0.02, 50e-6, 0.1
"""Seconds that the host looks before it sleeps in between, for how many; and how often it looks who is there."""
PATIENCE = 600.0
"""Seconds that a rank waits for the others."""
_FLAGS = 3  # CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_DEVICEMAP
_REACHED, _FENCED = 0, 0
"""CU_STREAM_WAIT_VALUE_GEQ; CU_STREAM_WRITE_VALUE_DEFAULT: all that is before it on the stream is seen by who sees the value."""
SENT, FREE = 0, 1
"""What is counted of a rank for another one: parts that are in its window, and calls whose window it may write over."""
_FOLDER = "/dev/shm"


class Boxes:
    """A rank's end of the memory. A call: each rank says something once, of one length, and hears what all say.

    Calls are made in one order on all ranks. What a rank said is written over two calls later, when all must have heard it; so a
    call begins on the host when the one before has ended on the GPU, or on the GPU behind it. A kernel waits for as long as its
    host does not say that it is over. So whoever queues one waits on the host, too, before the caller gets what he asked for.
    """

    def __init__(self, path: str, rank: int, size: int, kept: Any) -> None:
        self._file, self.rank, self.size, self._kept = os.open(path, os.O_RDWR | os.O_CLOEXEC), rank, size, kept
        memory = mmap.mmap(self._file, _bytes_of(size))
        self._page = memoryview(memory)[:_PAGE].cast("q")
        self._rows = np.frombuffer(memory, np.uint64, 2 * size * WORDS, _PAGE).reshape(2, size, WORDS)
        self._words = memoryview(memory)[_PAGE:].cast("Q")
        self._counts = np.frombuffer(memory, np.int64, 2 * size * size, _PAGE + self._rows.nbytes).reshape(
            2, size, size
        )
        self._awaited = np.zeros((2, size), np.int64)
        self._call, self._under_way, self._address, self._broken = 0, False, 0, ""
        self._launches: dict[tuple[int, int], Callable[[tuple[int, ...], int], None]] = {}
        self._stream, self._many, self._ordinal = 0, 0, 0
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, rank, 1, 0))

    def close(self) -> None:
        """Take the memory away from GPUs, at the end of the program: what is unmapped must not be theirs any more."""
        if self._address:
            self._broken, self._page[_OVER + self.rank] = "the program ends: no rank is told anything any more", 1
            with using(self._ordinal):
                driver().cuMemHostUnregister(int(self._rows.ctypes.data) - _PAGE)
            self._address = 0

    def mark(self) -> bytes:
        """Return what the rank that made the file wrote there."""
        return os.pread(self._file, 16, _PAGE - 16)

    def register(self, ordinal: int) -> bytes:
        """Let GPUs read and write the memory; return what tells this rank's GPU from others. Raises DeviceError."""
        start, cuda, self._ordinal = int(self._rows.ctypes.data) - _PAGE, driver(), ordinal
        with using(ordinal):
            check(cuda.cuMemHostRegister(start, _bytes_of(self.size), _FLAGS), "sharing memory of the host")
            self._address = int(check(cuda.cuMemHostGetDevicePointer(start, 0), "sharing memory"))
        return bytes(check(cuda.cuDeviceGetUuid(ordinal), "asking for a GPU's name").bytes)

    def tell(self, said: bytes) -> np.ndarray[Any, Any]:
        """Return what all ranks say, one behind the other: bytes, as many of each.

        Raises:
            RuntimeError: a rank has ended, or does not answer.
        """
        self.say(words_of(said))
        found: np.ndarray[Any, Any] = self.hear().view(np.uint8).reshape(self.size, -1)[:, : len(said)].reshape(-1)
        return found

    def say(self, words: np.ndarray[Any, Any]) -> None:
        """Begin a call of the host's: say something to all ranks, by `words_of`. Raises RuntimeError as `tell`."""
        self.settle()
        call = self._next()
        self._many = len(words)
        np.bitwise_or(words, call << 32, out=self._rows[call & 1, self.rank, : self._many])  # each is written whole

    def hear(self) -> np.ndarray[Any, Any]:
        """Return what all ranks say in this call: a row of words of 4 bytes for each. Raises RuntimeError as `tell`."""
        while ((seen := self._look()) >> np.uint64(32) != self._call).any():
            pass  # the last word of each has come: the others are on their way
        return seen.astype("<u4")

    def hears(self, known: np.ndarray[Any, Any]) -> bool:
        """Whether all ranks say in this call what is known, a row of words for each. Raises RuntimeError as `tell`."""
        wanted = (known | (self._call << 32)).tobytes()
        while (seen := self._look()).tobytes() != wanted:
            if not (seen >> np.uint64(32) != self._call).any():
                return False
        return True

    def _look(self) -> np.ndarray[Any, Any]:
        """Wait for the last word of each rank; return all of them, each with the number of its call."""
        call, half = self._call, self._call & 1
        first, words = half * self.size * WORDS + self._many - 1, self._words
        for at in range(first, first + self.size * WORDS, WORDS):
            if words[at] >> 32 != call:
                self.wait(lambda at=at: words[at] >> 32 == call)  # type: ignore[misc]
        return self._rows[half, :, : self._many].copy()

    def fits(self, nbytes: int) -> bool:
        """Whether a kernel tells so many bytes."""
        return nbytes % 4 == 0 and nbytes <= 4 * WORDS

    def gather(self, like: ArrayInfo, said: int, told: int, nbytes: int, stream: int) -> None:
        """Tell bytes from one address, on a stream, and put what all say at another, as soon as it has come: see `settle`."""
        places = said, told, self.begin(nbytes, stream)
        self._launch(like, nbytes // 4)(self.arguments(*places), stream)

    def begin(self, nbytes: int, stream: int) -> int:
        """Begin a call of a kernel's on a stream: return its number.

        Raises:
            RuntimeError: a CUDA graph is captured there; or as `tell`.
        """
        refuse_capture(stream)
        if self._broken or (self._under_way and stream != self._stream):
            self.settle()
        self._under_way, self._stream, self._many = True, stream, nbytes // 4
        return self._next()

    def arguments(self, said: int, told: int, call: int) -> tuple[int, ...]:
        """Return what a step of `step` takes, by `TOLD`."""
        start = self._address
        return said, start + _PAGE, told, start + 8 * (_HEARD + self.rank), start + 8 * (_OVER + self.rank), call

    def place_behind(self, nbytes: int) -> int:
        """Return the address of what comes behind so many bytes of a message, in the rows of all ranks."""
        return self._address + _PAGE + 8 * (nbytes // 4)

    def end(self) -> None:
        """Note that this rank's GPU has heard all of the call that is under way."""
        self._under_way = False

    def require(self) -> None:
        """Check that no rank was missed before. Raises RuntimeError."""
        if self._broken:
            raise RuntimeError(self._broken)

    def settle(self) -> None:
        """Wait until this rank's GPU has heard all that it waits for.

        Raises:
            RuntimeError: a rank has ended, or does not answer; or one did not before.
        """
        self.require()
        if self._under_way:
            page, at, call = self._page, _HEARD + self.rank, self._call
            self.wait(lambda: page[at] == call)
            self._under_way = False

    def count(self, kind: int, rank: int, many: int, stream: int) -> None:
        """Let a rank know, behind what is queued on a stream, that there are `many` for it. Raises DeviceError."""
        status = driver().cuStreamWriteValue64(stream, self._count(kind, rank, self.rank), many, _FENCED)
        check(status, "telling another rank's stream")

    def reach(self, kind: int, rank: int, many: int, stream: int) -> None:
        """Let a stream wait until a rank has counted so many for this one: see `settle_counts`. Raises DeviceError."""
        self._awaited[kind, rank] = many
        status = driver().cuStreamWaitValue64(stream, self._count(kind, self.rank, rank), many, _REACHED)
        check(status, "waiting for another rank's stream")

    def _count(self, kind: int, whose: int, of: int) -> int:
        """Return the address of what a rank is told by another one."""
        start = self._address + _PAGE + int(self._rows.nbytes)
        return start + 8 * ((kind * self.size + whose) * self.size + of)

    def settle_counts(self) -> None:
        """Wait until all that was sent to this rank, and that its streams wait for, has come. Raises RuntimeError as `settle`."""
        self.require()
        sent, awaited = self._counts[SENT, self.rank], self._awaited[SENT]
        self.wait(lambda: bool((sent >= awaited).all()), lambda: np.flatnonzero(sent < awaited).tolist())

    def wait(self, has_come: Callable[[], bool], missing: Callable[[], list[int]] | None = None) -> None:
        """Wait for what other ranks say, or for what a kernel says that hears them; `missing`: which ranks are waited for.

        Raises:
            RuntimeError: a rank has ended, or does not answer: kernels don't wait for it any more, and no call is made again.
            DeviceError: a kernel failed.
        """
        begin = asked = time.monotonic()
        while not has_come():
            now = time.monotonic()
            if now - begin > _SPIN:
                time.sleep(_PAUSE)
            if now - asked > _SELDOM:
                asked = now
                self._require_all(begin, (missing or self._silent)())

    def _silent(self) -> list[int]:
        """Return the ranks that have not said what they have to in the last call."""
        said = self._rows[self._call & 1, :, : self._many] >> np.uint64(32) == self._call
        return [rank for rank in np.flatnonzero(~said.all(1)).tolist() if rank != self.rank]

    def _require_all(self, begin: float, missing: list[int]) -> None:
        """Look which of the missing ranks, which are waited for since a time, are there at all.

        Raises:
            RuntimeError, DeviceError: as `wait`.
        """
        if self._under_way:
            require_no_fault(self._stream, self._ordinal)
        ended = [rank for rank in missing if not self._lives(rank)]
        if ended:
            self._broken = f"rank {ended[0]} has ended: this call waits for what it says"
        elif missing and time.monotonic() - begin > PATIENCE:
            self._broken = f"rank {missing[0]} has said nothing for {PATIENCE:.0f} seconds: this call waits for it"
        if self._broken:
            self._page[_OVER + self.rank] = 1
            mine = self._counts[:, self.rank]
            np.maximum(mine, self._awaited, out=mine)  # no stream of this rank waits any more
            raise RuntimeError(self._broken)

    def _lives(self, rank: int) -> bool:
        asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, rank, 1, 0)
        found: int = _LOCK.unpack(fcntl.fcntl(self._file, fcntl.F_OFD_GETLK, asked))[0]
        return found != fcntl.F_UNLCK

    def _next(self) -> int:
        self._call = self._call % _LAST + 1
        return self._call

    def _launch(self, like: ArrayInfo, many: int) -> Callable[[tuple[int, ...], int], None]:
        assert like.device is not None
        key = like.device, many
        if key not in self._launches:
            step = telling(4 * many, self.rank, self.size, WORDS)
            self._launches[key] = Ready(Plan((step,)), TOLD, like, waited=True).launch()
        return self._launches[key]


def words_of(said: bytes) -> np.ndarray[Any, Any]:
    """Return bytes as words of 4, each in 8."""
    return np.frombuffer(said.ljust(-(-len(said) // 4) * 4, b"\0"), "<u4").astype(np.uint64)


_kept: dict[int, tuple[Any, Boxes | None]] = {}
"""By a communicator's identity: the communicator, and its ranks' boxes, if they have any."""


def boxes_of(comm: Any) -> Boxes | None:
    """Return the boxes of a communicator's ranks, if they have been opened."""
    found = _kept.get(id(comm))
    return None if found is None else found[1]


def is_new(comm: Any) -> bool:
    """Whether nobody has tried to open boxes for a communicator."""
    return id(comm) not in _kept


def open_boxes(comm: Any, engine: Any, tell: Callable[[bytes], np.ndarray[Any, Any]]) -> Boxes | None:
    """Open boxes for the ranks of a communicator, if all of them can: called by all, once. `tell`: what the engine does.

    Ranks that share a GPU have none: a kernel that waits for another one's would keep it from running.
    """
    rank, size, found, gpu = engine.rank, engine.size, None, bytes(16)
    path, mark = _make(size) if rank == 0 and size <= _RANKS else ("", bytes(16))
    name, mark = _NAME.unpack(tell(_NAME.pack(path.encode(), mark))[: _NAME.size].tobytes())
    try:
        if name.strip(b"\0"):
            found = Boxes(name.rstrip(b"\0").decode(), rank, size, comm)
            if found.mark() == mark:  # else it is another machine's file of that name
                gpu = found.register(_current(engine.library))
    except (OSError, ValueError, DeviceError):  # ValueError: the file is not as long
        gpu = bytes(16)
    gpus = {row.tobytes() for row in tell(gpu).reshape(size, 16)}
    if path:
        os.unlink(path)  # what is mapped stays
    _kept[id(comm)] = comm, found if len(gpus) == size and bytes(16) not in gpus else None
    return _kept[id(comm)][1]


def forget() -> None:
    """Close all boxes, and let go of communicators: these go before the libraries that they are of."""
    for _, boxes in _kept.values():
        if boxes is not None:
            boxes.close()
    _kept.clear()


def _make(size: int) -> tuple[str, bytes]:
    """Make a file for so many ranks; return its name, and what is written there to tell it from others; "" if it can't be."""
    mark = secrets.token_bytes(16)
    try:
        handle, path = tempfile.mkstemp(prefix="prism-", dir=_FOLDER)
    except OSError:
        return "", mark
    os.ftruncate(handle, _bytes_of(size))
    os.pwrite(handle, mark, _PAGE - 16)
    os.close(handle)
    return path, mark


def _bytes_of(size: int) -> int:
    """Return the bytes of a file for so many ranks: a page, the rows of two calls, and two counts of each for each."""
    return _PAGE + 2 * size * WORDS * 8 + -(-2 * size * size * 8 // _PAGE) * _PAGE


def _current(library: str) -> int:
    """Return the library's current GPU."""
    cuda = sys.modules[library].cuda
    return int(cuda.current_device() if library == "torch" else cuda.Device().id)


atexit.register(forget)
