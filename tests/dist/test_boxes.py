"""Small messages of one host, in memory that processes share: told by the host, without a GPU; and a rank that is killed.

Tests of prism/dist: _boxes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from prism.dist import _boxes

ROOT = Path(__file__).parents[2]


def ranks(folder: Path, size: int, gpus: int, *more: str) -> list[tuple[str, int]]:
    """Return what each of some processes prints, and how it ended."""
    command = [sys.executable, "-m", "tests.dist.over_boxes", str(folder)]
    every = [
        subprocess.Popen([*command, str(rank), str(size), str(gpus), *more], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                         env={**os.environ, "PYTHONPATH": str(ROOT)})
        for rank in range(size)
    ]  # fmt: skip
    return [(one.communicate(timeout=120)[0].strip(), one.returncode) for one in every]


def test_what_ranks_say(tmp_path: Path) -> None:
    before = set(Path(_boxes._FOLDER).glob("prism-*"))
    assert ranks(tmp_path, 3, 3) == [("right", 0)] * 3
    assert set(Path(_boxes._FOLDER).glob("prism-*")) <= before  # no file is left


def test_a_rank_that_is_killed(tmp_path: Path) -> None:
    ended = "rank 1 has ended: this call waits for what it says"
    assert ranks(tmp_path, 3, 3, "ends") == [(ended, 0), ("", -signal.SIGKILL), (ended, 0)]


def test_ranks_that_share_a_gpu_have_none(tmp_path: Path) -> None:
    assert ranks(tmp_path, 2, 1) == [("none", 0)] * 2


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
    boxes._heard[0] = 3
    assert boxes.tell(b"lmno").tobytes() == b"lmno" and boxes._call == 4
    assert not boxes.fits(3) and boxes.fits(96) and not boxes.fits(4 * _boxes.WORDS + 4)
    assert _boxes.boxes_of(engine) is boxes
    _boxes._kept.clear()
