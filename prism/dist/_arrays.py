"""Arrays as bytes, and back, in their own library: what messages are made of."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from prism.dist._engines import Engine
from prism.host.memory import empty
from prism.runtime.arrays import ArrayInfo, describe


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
    return bring(like, np.asarray(value).astype(dtype).reshape(1)).reshape(())


class Post:
    """What a rank sends and receives."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.rank, self.size = engine, engine.rank, engine.size

    def tell(self, sent: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return what all ranks say, one behind the other: bytes of the host, as many of each."""
        made = np.empty(self.size * len(sent), np.uint8)
        if self.engine.on_host is False:
            there, back = bytes_on_gpu(self.engine, len(sent)), bytes_on_gpu(self.engine, made.size)
            put(there, sent)
            self.engine.all_gather(there, back)
            return on_host(back)
        self.engine.all_gather(sent, made)
        return made

    def lengths(self, mine: int) -> list[int]:
        """Return a number of each rank."""
        found: list[int] = self.tell(np.array([mine], np.int64).view(np.uint8)).view(np.int64).tolist()
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

    def all_gather(self, like: ArrayInfo, part: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return the arrays of all ranks, of one shape and dtype, stacked in their order, in the library of `like`."""
        made = empty(like, (self.size, *shape), dtype)
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

    def all_to_all(self, like: ArrayInfo, parts: Any, rows: Sequence[int], back: Sequence[int]) -> Any:
        """Return the rows that come, `back[r]` from rank r, in the order of ranks; the next `rows[r]` of `parts` go to it."""
        info = describe(parts)
        row = info.shape[1:]
        made = empty(like, (sum(back), *row), info.dtype)
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


def bytes_on_gpu(engine: Engine, count: int) -> Any:
    """Return room on the current GPU, of the library that the engine's messages are of."""
    if engine.library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(count, dtype=torch.uint8, device="cuda")
    return importlib.import_module("cupy").empty(count, np.uint8)
