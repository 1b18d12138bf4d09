"""Small messages of one host, in memory that processes share: told by the host, without a GPU; and a rank that is killed.

Tests of prism/dist: _boxes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from prism.dist import _boxes

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory, whose name is short."""
    with tempfile.TemporaryDirectory(dir=_boxes._FOLDER) as name:
        yield Path(name)


def ranks(folder: Path, size: int, gpus: int, *more: str) -> list[tuple[str, int]]:
    """Return what each of some processes prints, and how it ended."""
    command = [sys.executable, "-m", "tests.dist.over_boxes", str(folder)]
    every = [
        subprocess.Popen([*command, str(rank), str(size), str(gpus), *more], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                         env={**os.environ, "PYTHONPATH": str(ROOT)})
        for rank in range(size)
    ]  # fmt: skip
    return [(one.communicate(timeout=120)[0].strip(), one.returncode) for one in every]


def test_what_ranks_say(folder: Path) -> None:
    assert ranks(folder, 3, 3) == [("right", 0)] * 3
    assert not list(folder.glob("prism-*"))  # no file is left


def test_a_rank_that_is_killed(folder: Path) -> None:
    ended = "rank 1 has ended: this call waits for what it says"
    assert ranks(folder, 3, 3, "ends") == [(ended, 0), ("", -signal.SIGKILL), (ended, 0)]


def test_ranks_that_share_a_gpu_have_none(folder: Path) -> None:
    assert ranks(folder, 2, 1) == [("none", 0)] * 2


def test_numbers_of_calls_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest number is even, and 1 comes next: calls are odd and even in turn."""
    monkeypatch.setattr(_boxes.Boxes, "register", lambda self, ordinal: b"\1" * 16)
    monkeypatch.setattr(_boxes, "_current", lambda library: 0)
    engine = type("Alone", (), {"rank": 0, "size": 1, "library": "numpy"})()
    boxes = _boxes.open_boxes(engine, engine, lambda said: np.frombuffer(said, np.uint8))
    assert boxes is not None
    boxes._call = _boxes._LAST - 1
    for said in (b"abcd", b"efgh", b"ijk"):
        assert boxes.tell(said).tobytes() == said
    assert boxes._call == 2
    monkeypatch.setattr(_boxes, "refuse_capture", lambda stream: None)  # there is no stream
    boxes.begin(96, 1)  # a kernel's call, which ends by itself
    boxes._page[0] = 3
    assert boxes.tell(b"lmno").tobytes() == b"lmno" and boxes._call == 4
    assert not boxes.fits(3) and boxes.fits(96) and not boxes.fits(4 * _boxes.WORDS + 4)
    assert _boxes.boxes_of(engine) is boxes
    _boxes._kept.clear()


def test_a_kernel_that_waits_for_a_rank_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host says that this is over, and all later calls say what happened."""
    monkeypatch.setattr(_boxes, "refuse_capture", lambda stream: None)  # there is no stream
    monkeypatch.setattr(_boxes, "require_no_fault", lambda stream, ordinal: None)
    path, _ = _boxes._make(2)
    boxes = _boxes.Boxes(path, 0, 2, None)
    os.unlink(path)
    call = boxes.begin(96, 1)
    boxes._rows[call & 1, 0, :24] = np.uint64(call << 32)  # what its own kernel says
    over = boxes.arguments(0, 0, call)[4] // 8
    assert boxes._page[over] == 0
    for again in (boxes.settle, lambda: boxes.tell(b"abcd"), lambda: boxes.begin(96, 1)):
        with pytest.raises(RuntimeError, match="rank 1 has ended"):
            again()
        assert boxes._page[over] == 1


def test_a_kernel_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank whose own kernels fail does not wait for others."""

    def failed(stream: int, ordinal: int) -> None:
        raise _boxes.DeviceError("an illegal address")

    monkeypatch.setattr(_boxes, "refuse_capture", lambda stream: None)
    monkeypatch.setattr(_boxes, "require_no_fault", failed)
    path, _ = _boxes._make(1)
    boxes = _boxes.Boxes(path, 0, 1, None)
    os.unlink(path)
    boxes.begin(96, 1)
    with pytest.raises(_boxes.DeviceError, match="illegal address"):
        boxes.settle()


def test_the_end_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUs have the memory no longer, no kernel waits, and the communicator is held by nobody."""
    done: list[str] = []
    cuda = type("Driver", (), {"cuMemHostUnregister": staticmethod(lambda start: done.append("gone"))})
    monkeypatch.setattr(_boxes, "driver", lambda: cuda)
    monkeypatch.setattr(_boxes, "using", lambda ordinal: contextlib.nullcontext())
    monkeypatch.setattr(_boxes.Boxes, "register", lambda self, ordinal: setattr(self, "_address", 8) or b"\1" * 16)
    monkeypatch.setattr(_boxes, "_current", lambda library: 0)
    engine = type("Alone", (), {"rank": 0, "size": 1, "library": "numpy"})()
    held = weakref.ref(engine)
    boxes = _boxes.open_boxes(engine, engine, lambda said: np.frombuffer(said, np.uint8))
    assert boxes is not None
    over = (boxes.arguments(0, 0, 1)[4] - 8) // 8
    assert boxes._page[over] == 0
    _boxes.forget()
    assert done == ["gone"] and boxes._page[over] == 1 and _boxes.boxes_of(engine) is None
    with pytest.raises(RuntimeError, match="the program ends"):
        boxes.tell(b"abcd")
    boxes.close()
    assert done == ["gone"]  # once
    del boxes, engine
    assert held() is None
