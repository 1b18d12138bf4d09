"""What is made and copied in the caller's own library goes to the stream that was asked for."""

from __future__ import annotations

import contextlib
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism.host import memory
from prism.runtime.arrays import CODED, ArrayInfo, describe


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


@pytest.mark.parametrize(("stream", "asked"), [(0, []), (7, ["capture of 7"]), (9, ["capture of 9"])])
def test_scratch_memory_of_torch(
    stream: int, asked: list[str], entered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the current stream torch is only asked for memory; no graph is captured of the legacy default stream."""
    current = stream if stream < 9 else 7
    monkeypatch.setattr(memory, "capture_of", lambda stream: asked.remove(f"capture of {stream}"))
    monkeypatch.setattr(memory, "current_stream", lambda info: current)
    made = lambda size, **how: SimpleNamespace(data_ptr=lambda: size, device=how["device"])
    torch = SimpleNamespace(cuda=sys.modules["torch"].cuda, empty=made, uint8="u8", device=lambda *where: where)
    monkeypatch.setitem(sys.modules, "torch", torch)
    room, address = memory.scratch(SimpleNamespace(library="torch", device=3), 4096, stream)
    assert room.device == ("cuda", 3) and address == 4096 and not asked
    assert bool(entered) == (stream == 9)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("pad", [1, 32])
def test_copies_lie_by_rows_or_by_columns(columns: bool, pad: int) -> None:
    """Dense, or so that each row (column) begins at a multiple of so many bytes."""
    x = np.arange(2 * 3 * 5 * 7, dtype=">f4").reshape(2, 3, 5, 7)[:, :, ::2, 1:]
    found = memory.copy(describe(x), columns, pad)
    assert found.shape == x.shape and found.dtype == np.float32 and np.array_equal(found, x)
    inner, outer = (found.strides[-2], found.strides[-1]) if columns else (found.strides[-1], found.strides[-2])
    dense = 4 * x.shape[-2 if columns else -1]
    assert inner == 4 and outer == (dense if pad == 1 else 32)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float32"])
def test_floats_that_numpy_has_not_are_torchs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    torch = SimpleNamespace(empty=lambda size, **how: made.update(how, size=size), **{name: f"torch.{name}"})
    monkeypatch.setitem(sys.modules, "torch", torch)
    dtype = CODED.get(name) or np.dtype(name)
    info = ArrayInfo("torch", "cuda", dtype, (3,), (4,), 0, False, 0, owner=SimpleNamespace(device="cuda:0"))
    memory.empty(info, 4, dtype)
    assert made == {"size": 4, "dtype": f"torch.{name}", "device": "cuda:0"}


@pytest.mark.parametrize("columns", [False, True])
def test_what_is_repeated_is_copied_once(columns: bool) -> None:
    x = np.broadcast_to(np.arange(30, dtype=np.float16).reshape(2, 1, 3, 5), (2, 1000, 3, 5))
    found = memory.copy(describe(x), columns, 32)
    assert found.shape == x.shape and np.array_equal(found, x) and found.strides[1] == 0
    assert found.strides[2:] == ((2, 32) if columns else (32, 2))
