"""Arrays as bytes, and back, in their own library: what messages are made of."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from prism.dist._boxes import Boxes, boxes_of, is_new, open_boxes
from prism.dist._engines import Engine
from prism.host.memory import empty
from prism.runtime.arrays import ArrayInfo, describe
from prism.runtime.streams import current_stream


def as_bytes(array: Any) -> Any:
    """Return the elements in C order as bytes, of the array's library; its memory, where they lie so."""
    if type(array).__module__.partition(".")[0] == "torch":
        torch = sys.modules["torch"]
        lying = array.contiguous().reshape(-1)
        return lying.view(torch.uint8) if lying.numel() else lying.new_empty(0, dtype=torch.uint8)
    flat = array.ravel()
    return flat.view(np.uint8)


def on_host(array: Any) -> np.ndarray[Any, Any]:
    """Return a copy on the host of bytes that lie anywhere; waits for what makes them."""
    if isinstance(array, np.ndarray):
        return array
    found: np.ndarray[Any, Any] = array.cpu().numpy() if hasattr(array, "cpu") else array.get()
    return found


def put(target: Any, source: np.ndarray[Any, Any]) -> None:
    """Copy bytes from the host to where an array of bytes lies."""
    if isinstance(target, np.ndarray):
        target[:] = source
    elif hasattr(target, "copy_"):
        target.copy_(sys.modules["torch"].from_numpy(source))
    else:
        target.set(source)


def bring(like: ArrayInfo, array: np.ndarray[Any, Any]) -> Any:
    """Return a copy of an array of the host in the library of `like`, where it lies; of NumPy's the array itself."""
    if like.library == "numpy":
        return array
    made = empty(like, array.shape, array.dtype)
    put(as_bytes(made), np.ascontiguousarray(array).reshape(-1).view(np.uint8))
    return made


def scalar_of(value: Any) -> np.ndarray[Any, Any]:
    """Return on the host an array without axes, or a scalar, of a dtype that NumPy has; waits for what makes it."""
    if isinstance(value, np.generic | np.ndarray):
        return np.asarray(value)
    info = describe(value)
    return on_host(as_bytes(value)).view(info.dtype).reshape(info.shape)


def kind_of(value: Any) -> np.dtype[Any]:
    """Return the dtype of an array or a number of NumPy's."""
    found: np.dtype[Any] = value.dtype if isinstance(value, np.generic) else describe(value).dtype
    return found


def join(like: ArrayInfo, arrays: Sequence[Any]) -> Any:
    """Return arrays of the library of `like` one behind the other."""
    if like.library == "torch":
        return sys.modules["torch"].cat(list(arrays))
    return (np if like.library == "numpy" else sys.modules["cupy"]).concatenate(list(arrays))


def host_array(array: Any) -> np.ndarray[Any, Any]:
    """Return on the host an array of one dimension, of a dtype that NumPy has; waits for what makes it."""
    return on_host(as_bytes(array)).view(describe(array).dtype)


def scalar_in(like: ArrayInfo, value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number of the host as the library of `like` returns it: NumPy's as a scalar, others as an array without axes."""
    if like.library == "numpy":
        return np.asarray(value).astype(dtype)[()]
    number = np.asarray(value).astype(dtype)
    if dtype.kind not in ("fi" if like.library == "torch" else "biufc"):
        return bring(like, number.reshape(1)).reshape(())
    made = empty(like, (), dtype)  # the value goes with the launch: nothing is copied from the host
    (made.fill_ if like.library == "torch" else made.fill)(number.item())
    return made


class Room(NamedTuple):
    """Memory of one small message: what goes and what comes, on a GPU, and the same on the host, where the driver copies from."""

    sent: Any
    came: Any
    said: np.ndarray[Any, Any]
    told: np.ndarray[Any, Any]
    pinned: tuple[Any, Any]


_free: dict[tuple[str, int, int, int], dict[bytes, Room]] = {}
"""Rooms that no message is in, by the library, its current device, and the bytes that go and come; by what lies in them to go."""
_MOST = 16
"""Rooms of a kind: a call that was made before finds its own."""


class Post:
    """What a rank sends and receives."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.rank, self.size = engine, engine.rank, engine.size
        self.comm = getattr(engine, "comm", engine)

    @property
    def boxes(self) -> Boxes | None:
        """What ranks of one host tell each other by, if there is any; it is opened with the first that is told."""
        return boxes_of(self.comm)

    def tell(self, said: bytes, array: Any = None, at: int = 0) -> np.ndarray[Any, Any]:
        """Return what all ranks say, one behind the other: bytes of the host, as many of each.

        `array`: what this rank says from byte `at` on, where the engine carries it: it need not come to the host first.

        Raises:
            RuntimeError: a rank of this host has ended, or does not answer.
        """
        if self.engine.on_host is False and is_new(self.comm):
            open_boxes(self.comm, self.engine, self._tell)
        boxes = self.boxes
        if boxes is None or not boxes.fits(len(said)):
            return self._tell(said, array, at)
        if array is not None:
            element = scalar_of(array).tobytes()
            said = said[:at] + element + said[at + len(element) :]
        return boxes.tell(said)

    def _tell(self, said: bytes, array: Any = None, at: int = 0) -> np.ndarray[Any, Any]:
        """Do what `tell` does, by the engine."""
        if self.engine.on_host is not False:
            made = np.empty(self.size * len(said), np.uint8)
            self.engine.all_gather(np.frombuffer(bytearray(said), np.uint8), made)
            return made
        work = _ByTorch() if self.engine.library == "torch" else _ByCupy()
        sizes = len(said), self.size * len(said)
        free = _free.setdefault((self.engine.library, work.device, *sizes), {})
        room = free.pop(said, None)
        if room is None:
            room = work.room(*sizes) if len(free) < _MOST else free.pop(next(iter(free)))
            room.said[:] = np.frombuffer(said, np.uint8)
            work.say(room)
        if array is not None:
            work.put(room, array, at)
        boxes = self.boxes
        if boxes is not None and boxes.fits(len(said)):
            like = describe(room.sent)
            boxes.gather(like, like.pointer, describe(room.came).pointer, len(said), current_stream(like))
            boxes.settle()
        else:
            self.engine.all_gather(room.sent, room.came)
        work.wait(room)
        found = room.told.copy()
        free[said] = room  # only here: an interrupted message may still be under way
        return found

    def carries(self, array: Any) -> bool:
        """Whether a small message takes an array from where it lies: on a GPU, of the engine's own library."""
        return self.engine.on_host is False and library_of(array) == self.engine.library

    def queues(self, info: ArrayInfo) -> bool:
        """Whether the engine moves messages of an array's library from where it lies, behind what is queued there."""
        if self.engine.on_host is True or (self.engine.on_host is None and info.device is not None):
            return False
        return self.engine.library == info.library or (self.engine.library == "cupy" and info.library == "torch")

    def lengths(self, mine: int) -> list[int]:
        """Return a number of each rank."""
        found: list[int] = self.tell(mine.to_bytes(8, "little")).view("<i8").tolist()
        return found

    def all_to_all_host(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Send a number to each rank; return the numbers that come."""
        sent, counts = np.ascontiguousarray(numbers).view(np.uint8), [numbers.itemsize] * self.size
        made = np.empty_like(sent)
        if self.engine.on_host is False:
            given, taken = (bytes_on_gpu(self.engine, len(sent)) for _ in range(2))
            put(given, sent)
            self.engine.all_to_all(given, taken, counts, counts)
            made = on_host(taken)
        else:
            self.engine.all_to_all(sent, made, counts, counts)
        return made.view(numbers.dtype)

    def require_reach(self, info: ArrayInfo) -> None:
        """Check that the engine moves arrays that lie where `x` does. Raises TypeError."""
        if self.engine.on_host is False and info.device is None:
            raise TypeError("`comm` moves arrays on a GPU alone (NCCL), and `x` is on the host")

    def settle(self) -> None:
        """Wait until no kernel waits for other ranks of this host. Raises RuntimeError: one has ended, or does not answer."""
        if (boxes := self.boxes) is not None:
            boxes.settle()

    def all_gather(
        self, like: ArrayInfo, part: Any, shape: tuple[int, ...], dtype: np.dtype[Any], made: Any = None, wait: bool = True
    ) -> Any:  # fmt: skip
        """Return the arrays of all ranks, of one shape and dtype, stacked in their order, in the library of `like`, in `made`.

        `wait`: else whoever calls it calls `settle` behind it, when more is queued.
        """
        made = empty(like, (self.size, *shape), dtype) if made is None else made
        boxes, nbytes = self.boxes, math.prod(shape) * dtype.itemsize
        if boxes is not None and like.device is not None and nbytes and boxes.fits(nbytes):
            given = describe(part)
            place = given.pointer if given.contiguous else describe(part := as_bytes(part)).pointer
            boxes.gather(like, place, describe(made).pointer, nbytes, current_stream(like))
            if wait:
                boxes.settle()
            return made
        sent, room = as_bytes(part), as_bytes(made)
        if not len(room):
            return made
        if self.engine.on_host and like.device is not None:
            back = np.empty(len(room), np.uint8)
            self.engine.all_gather(on_host(sent), back)
            put(room, back)
        else:
            self.engine.all_gather(sent, room)
        return made

    def gather_to_host(self, like: ArrayInfo, part: Any, many: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Return on the host the arrays of all ranks, of as many elements, behind each other: what is before has ended then."""
        boxes, nbytes = self.boxes, many * dtype.itemsize
        if boxes is None or like.device is None or not boxes.fits(nbytes):
            return host_array(self.all_gather(like, part, (many,), dtype).reshape(-1))
        made = empty(like, self.size * nbytes, np.dtype(np.uint8))
        boxes.gather(like, describe(part).pointer, describe(made).pointer, nbytes, current_stream(like))
        boxes.settle()
        return boxes.hear().view(dtype).reshape(-1)  # which has come, in memory of the host

    def all_to_all(
        self, like: ArrayInfo, parts: Any, rows: Sequence[int], back: Sequence[int], made: Any = None
    ) -> Any:
        """Return, in `made`, the rows that come, `back[r]` from rank r, in order; the next `rows[r]` of `parts` go to it."""
        info = describe(parts)
        row = info.shape[1:]
        made = empty(like, (sum(back), *row), info.dtype) if made is None else made
        each = math.prod(row) * info.dtype.itemsize
        sent, received = [n * each for n in rows], [n * each for n in back]
        given, room = as_bytes(parts), as_bytes(made)
        if self.engine.on_host and like.device is not None:
            taken = np.empty(len(room), np.uint8)
            self.engine.all_to_all(on_host(given), taken, sent, received)
            put(room, taken)
        else:
            self.engine.all_to_all(given, room, sent, received)
        return made


class _ByTorch:
    """Small messages in torch's tensors, on its current device and stream."""

    def __init__(self) -> None:
        self._torch = sys.modules["torch"]
        self.device = self._torch.cuda.current_device()

    def room(self, sent: int, came: int) -> Room:
        there = [self._torch.empty(n, dtype=self._torch.uint8, device=self.device) for n in (sent, came)]
        here = [self._torch.empty(n, dtype=self._torch.uint8, pin_memory=True) for n in (sent, came)]
        return Room(there[0], there[1], here[0].numpy(), here[1].numpy(), (here[0], here[1]))

    def say(self, room: Room) -> None:
        room.sent.copy_(room.pinned[0], non_blocking=True)

    def put(self, room: Room, array: Any, at: int) -> None:
        parts = as_bytes(array)
        room.sent[at : at + len(parts)] = parts

    def wait(self, room: Room) -> None:
        room.pinned[1].copy_(room.came, non_blocking=True)
        self._torch.cuda.current_stream().synchronize()


class _ByCupy:
    """Small messages in CuPy's arrays, on its current device and stream."""

    def __init__(self) -> None:
        self._cupy = importlib.import_module("cupy")
        self.device = self._cupy.cuda.Device().id

    def room(self, sent: int, came: int) -> Room:
        there = [self._cupy.empty(n, np.uint8) for n in (sent, came)]
        first, second = (self._cupy.cuda.alloc_pinned_memory(n) for n in (sent, came))
        said, told = np.frombuffer(first, np.uint8, sent), np.frombuffer(second, np.uint8, came)
        return Room(there[0], there[1], said, told, (first, second))

    def say(self, room: Room) -> None:
        room.sent.set(room.said)

    def put(self, room: Room, array: Any, at: int) -> None:
        stream = self._cupy.cuda.get_current_stream()
        (room.sent.data + at).copy_from_device_async(self._cupy.ascontiguousarray(array).data, array.nbytes, stream)

    def wait(self, room: Room) -> None:
        stream = self._cupy.cuda.get_current_stream()
        room.came.get(stream=stream, out=room.told, blocking=False)
        stream.synchronize()


def library_of(array: Any) -> str:
    """Return the name of the library that an array is of."""
    return type(array).__module__.partition(".")[0]


def bytes_on_gpu(engine: Engine, count: int) -> Any:
    """Return room on the current GPU, of the library that the engine's messages are of."""
    if engine.library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(count, dtype=torch.uint8, device="cuda")
    return importlib.import_module("cupy").empty(count, np.uint8)
