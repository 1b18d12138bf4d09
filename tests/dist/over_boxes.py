"""Small messages of processes of one host, without a GPU: python -m tests.dist.over_boxes FOLDER RANK RANKS GPUS [ends].

Prints what became of it. Rank 1 kills itself in the middle where `ends` is said; the others say what they hear of that.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from prism.dist import _boxes

CALLS, BYTES = 200, 93


class Files:
    """An engine whose only messages are those of opening: files in a folder."""

    library = "numpy"

    def __init__(self, folder: Path, rank: int, size: int) -> None:
        self.rank, self.size, self._folder, self._calls = rank, size, folder, itertools.count()

    def tell(self, said: bytes) -> np.ndarray[Any, Any]:
        call = next(self._calls)
        (self._folder / f"part{self.rank}").write_bytes(said)
        (self._folder / f"part{self.rank}").rename(self._folder / f"{call}.{self.rank}")
        rows = [self._folder / f"{call}.{rank}" for rank in range(self.size)]
        while not all(row.exists() for row in rows):
            time.sleep(0.001)
        return np.frombuffer(b"".join(row.read_bytes() for row in rows), np.uint8)


def tell_many(boxes: _boxes.Boxes, ends: bool) -> str:
    """Say something in many calls; return what became of them."""
    for call in range(CALLS):
        said = np.random.default_rng(call).integers(0, 256, (boxes.size, BYTES), np.uint8)
        told = boxes.tell(said[boxes.rank].tobytes()).reshape(boxes.size, BYTES)
        np.testing.assert_array_equal(told, said)
        words = np.stack([_boxes.words_of(row.tobytes()) for row in said])
        boxes.say(words[boxes.rank])
        words[-1, -1] += call % 2  # every other time the last rank is thought to say something else
        assert boxes.hears(words) == (not call % 2)
        if call % 2:
            words[-1, -1] -= 1
            np.testing.assert_array_equal(boxes.hear(), words)
    assert boxes.tell(bytes(4 * _boxes.WORDS)).size == 4 * _boxes.WORDS * boxes.size
    if ends and boxes.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        boxes.tell(bytes(96))
    except RuntimeError as error:
        return str(error)
    return "right"


def main(folder: str, rank: str, size: str, gpus: str, *ends: str) -> None:
    number = int(rank) % int(gpus) + 1
    _boxes.Boxes.register = lambda self, ordinal: bytes([number] * 16)  # type: ignore[method-assign]
    _boxes._current = lambda library: 0
    _boxes._FOLDER = folder
    engine = Files(Path(folder), int(rank), int(size))
    boxes = _boxes.open_boxes(engine, engine, engine.tell)
    print("none" if boxes is None else tell_many(boxes, bool(ends)))


if __name__ == "__main__":
    main(*sys.argv[1:])
