"""Launches as a graph: what is asked of the driver, in which order, and what becomes of what it refuses."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from prism.runtime import graphs, scratch
from prism.runtime.driver import DeviceError

OWN, GRAPH, LAUNCHED = 77, 501, 502
NOT_READY = 600


class Status(int):
    @property
    def name(self) -> str:
        return f"E{int(self)}"


class Cuda:
    """A driver that notes what it is asked; `refused`: functions by name, and their status."""

    CUresult = SimpleNamespace(CUDA_ERROR_NOT_READY=NOT_READY)
    CUstreamCaptureMode = staticmethod(lambda mode: mode)

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.refused: dict[str, int] = {}
        self.took, self.events = 0.0, 0
        self.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED = 2

    def __getattr__(self, name: str) -> Any:
        def ask(*given: Any) -> tuple[Any, ...]:
            self.asked.append((name, *given))
            status = Status(self.refused.get(name, 0))
            if name == "cuEventCreate":
                self.events += 1
            found = {
                "cuStreamCreate": OWN, "cuStreamEndCapture": GRAPH, "cuGraphInstantiate": LAUNCHED,
                "cuEventCreate": 900 + self.events, "cuEventElapsedTime": self.took, "cuThreadExchangeStreamCaptureMode": 0,
            }  # fmt: skip
            return (status, found[name]) if name in found else (status,)

        return ask

    @property
    def names(self) -> list[str]:
        return [name for name, *_ in self.asked]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = Cuda()
    for module in (graphs, scratch):
        monkeypatch.setattr(module, "driver", lambda: found)
    launch = lambda *given: (
        found.asked.append(("cuGraphLaunch", *(ctypes.cast(x, ctypes.c_void_p).value for x in given))) or 0
    )
    monkeypatch.setattr(graphs, "function_called", lambda name: launch)
    monkeypatch.setattr(graphs, "_made", [0])
    graphs._stream.cache_clear()
    yield found
    graphs._stream.cache_clear()


def launching(cuda: Cuda) -> Any:
    return lambda stream: cuda.asked.append(("launch", stream))


def test_launches_are_captured_on_a_stream_of_their_own(cuda: Cuda) -> None:
    trial = graphs.trial_of(launching(cuda), 0, 1)
    assert trial is not None and cuda.asked == [
        ("cuThreadExchangeStreamCaptureMode", 2), ("cuStreamCreate", 1), ("cuStreamBeginCapture", OWN, 2), ("launch", OWN),
        ("cuStreamEndCapture", OWN), ("cuGraphInstantiate", GRAPH, 0), ("cuGraphDestroy", GRAPH), ("cuEventCreate", 0),
        ("cuEventCreate", 0), ("cuThreadExchangeStreamCaptureMode", 0),
    ]  # fmt: skip
    cuda.asked.clear()
    assert not trial.waits and trial.first() == 0 and trial.waits and cuda.asked == [("cuGraphLaunch", LAUNCHED, 1)]
    cuda.asked.clear()
    assert trial.second() == 0
    assert cuda.asked == [("cuEventRecord", 901, 1), ("cuGraphLaunch", LAUNCHED, 1), ("cuEventRecord", 902, 1)]
    function, arguments = trial.again
    assert function(*arguments) == 0 and cuda.asked[-1] == ("cuGraphLaunch", LAUNCHED, 1)


def test_what_it_took(cuda: Cuda) -> None:
    """None as long as it is under way; who has waited for long need not know."""
    trial = graphs.trial_of(launching(cuda), 0, 0)
    assert trial is not None
    cuda.refused, cuda.took = {"cuEventElapsedTime": NOT_READY}, 0.004
    assert trial.microseconds() is None and "cuEventElapsedTime" not in cuda.names
    trial.first()
    assert trial.microseconds() is None and "cuEventElapsedTime" not in cuda.names
    trial.second()
    assert trial.microseconds() is None
    cuda.refused = {}
    assert trial.microseconds() == pytest.approx(4.0) and cuda.names[-2:] == ["cuEventDestroy"] * 2
    slow, wrong = (graphs.trial_of(launching(cuda), 0, 0) for _ in range(2))
    slow.second(), wrong.second()
    cuda.refused = {"cuEventElapsedTime": NOT_READY}
    looks = [slow.microseconds() for _ in range(16)]
    assert looks == [None] * 15 + [float("inf")]
    cuda.refused = {"cuEventElapsedTime": 700}
    assert wrong.microseconds() == float("inf")


@pytest.mark.parametrize(
    "name", ["cuStreamCreate", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuEventCreate"]
)
def test_what_the_driver_refuses(cuda: Cuda, name: str) -> None:
    """There is no graph then; the capture has ended, and this thread may do what it might before."""
    cuda.refused = {name: 1}
    assert graphs.trial_of(launching(cuda), 0, 0) is None
    assert cuda.names[-1] == "cuThreadExchangeStreamCaptureMode"
    began, ended = (cuda.names.count(f"cuStream{word}Capture") for word in ("Begin", "End"))
    assert ended == began - (name == "cuStreamBeginCapture")
    assert cuda.names.count("cuGraphDestroy") == (name in ("cuGraphInstantiate", "cuEventCreate"))


def test_launches_that_are_refused_in_the_capture(cuda: Cuda) -> None:
    def launch(stream: int) -> None:
        raise DeviceError("refused")

    assert graphs.trial_of(launch, 0, 0) is None
    assert cuda.names[-2:] == ["cuStreamEndCapture", "cuThreadExchangeStreamCaptureMode"]


def test_a_process_has_so_many(cuda: Cuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "_MOST", 2)
    assert [graphs.trial_of(launching(cuda), 0, 0) is None for _ in range(3)] == [False, False, True]
