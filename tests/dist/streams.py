"""Two or more ranks' windows in one process, with streams that are queues: each next step is of a stream that is drawn."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prism.dist import _boxes, _windows
from prism.runtime.arrays import describe


class Driver:
    """What windows ask of the driver: memory is the host's, and a stream a queue of steps, each of which may have to wait."""

    def __init__(self, seed: int) -> None:
        self.streams: dict[int, deque[Callable[[], bool]]] = {}
        self.marks: dict[int, tuple[int, int]] = {}
        self.done: dict[int, int] = {}
        self.queued: dict[int, int] = {}
        self.memory: list[Any] = []
        self._random = random.Random(seed)

    def queue(self, stream: int, step: Callable[[], bool]) -> None:
        self.queued[stream] = self.queued.get(stream, 0) + 1
        self.streams.setdefault(stream, deque()).append(step)

    def step(self) -> None:
        """Do a step of a stream that is drawn, if any can be done."""
        for stream in self._random.sample(sorted(self.streams), len(self.streams)):
            steps = self.streams[stream]
            if steps and steps[0]():
                steps.popleft()
                self.done[stream] = self.done.get(stream, 0) + 1
                return
        raise AssertionError("no stream can go on")

    def cuStreamCreate(self, flags: int) -> tuple[int, int]:
        return 0, 1000 + len(self.streams) + len(self.queued) * 100 + self._random.randrange(10**6)

    def cuEventCreate(self, flags: int) -> tuple[int, int]:
        return 0, self._random.randrange(10**9)

    def cuMemAlloc(self, nbytes: int) -> tuple[int, int]:
        self.memory.append(np.full(nbytes, 0xAA, np.uint8))
        return 0, self.memory[-1].ctypes.data

    def cuEventRecord(self, event: int, stream: int) -> tuple[int]:
        self.marks[event] = stream, self.queued.get(stream, 0)
        return (0,)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> tuple[int]:
        source, many = self.marks[event]
        self.queue(stream, lambda: self.done.get(source, 0) >= many)
        return (0,)

    def cuStreamWriteValue64(self, stream: int, address: int, value: int, flags: int) -> tuple[int]:
        word = ctypes.c_int64.from_address(address)
        self.queue(stream, lambda: (setattr(word, "value", value), True)[1])
        return (0,)

    def cuStreamWaitValue64(self, stream: int, address: int, value: int, flags: int) -> tuple[int]:
        word = ctypes.c_int64.from_address(address)
        self.queue(stream, lambda: word.value >= value)
        return (0,)

    def cuMemcpyDtoDAsync(self, target: int, source: int, nbytes: int, stream: int) -> tuple[int]:
        def copy() -> bool:
            ctypes.memmove(target, source, nbytes)
            return True

        self.queue(stream, copy)
        return (0,)


class Post:
    """A rank's end, of ranks whose windows are open."""

    def __init__(self, path: str, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.boxes = _boxes.Boxes(path, rank, size, None)
        self.boxes._address = int(self.boxes._rows.ctypes.data) - _boxes._PAGE


def opened(monkeypatch: pytest.MonkeyPatch, size: int, seed: int, nbytes: int = 4096) -> tuple[Driver, list[Any], Any]:
    """Return a driver, the windows of so many ranks, and the facts of an array that lies where they do."""
    made = Driver(seed)
    for module in (_boxes, _windows):
        monkeypatch.setattr(module, "driver", lambda: made)
        monkeypatch.setattr(module, "using", lambda ordinal: contextlib.nullcontext())
        monkeypatch.setattr(module, "check", lambda answer, what: answer[1] if len(answer) > 1 else None)
    monkeypatch.setattr(_windows, "refuse_capture", lambda stream: None)
    monkeypatch.setattr(_windows, "address_of", lambda array: int(array.ctypes.data))

    def array(like: Any, pointer: int, nbytes: int) -> Any:
        return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(pointer), np.uint8)

    monkeypatch.setattr(_windows, "_array", array)

    def wait(boxes: Any, has_come: Callable[[], bool], missing: Any = None) -> None:
        while not has_come():
            made.step()

    monkeypatch.setattr(_boxes.Boxes, "wait", wait)
    path, _ = _boxes._make(size)
    every = [_windows.Windows(Post(path, rank, size), 0) for rank in range(size)]  # type: ignore[arg-type]
    os.unlink(path)
    places = [made.cuMemAlloc(nbytes)[1] for _ in every]
    for rank, one in enumerate(every):
        one._base, one._size, one._opened = places[rank], nbytes, places
        one.stream = 100 + rank
    return made, every, replace(describe(np.zeros(1)), device=0)
