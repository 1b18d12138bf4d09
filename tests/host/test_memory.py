"""What is made and copied in the caller's own library goes to the stream that was asked for."""

from __future__ import annotations

import contextlib
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from prism.host import memory


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a torch that only writes down what is entered was asked for. As torch, it takes one of its pool for the handle 0."""
    found: list[str] = []

    @contextlib.contextmanager
    def enter(what: str) -> Any:
        found.append(what)
        yield

    cuda = SimpleNamespace(
        device=lambda ordinal: enter(f"device {ordinal}"),
        stream=lambda stream: enter(f"stream {stream}"),
        default_stream=lambda device: f"default of {device}",
        ExternalStream=lambda handle, device: f"{hex(handle) if handle else 'any of the pool'} of {device}",
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    return found


@pytest.mark.parametrize(
    ("stream", "expected"),
    [(None, []), (0, ["stream default of 3"]), (0x50, ["stream 0x50 of 3"])],
    ids=["current", "default", "own"],
)
def test_torch_works_on_the_stream_of_the_handle(stream: int | None, expected: list[str], entered: list[str]) -> None:
    info: Any = SimpleNamespace(library="torch", device=3)
    with memory.working(info, stream):
        assert entered == ["device 3", *expected]
