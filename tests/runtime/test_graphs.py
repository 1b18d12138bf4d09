"""Launches as a graph: what is asked of the driver, in which order, and what becomes of what it refuses."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
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

    @contextmanager
    def using(ordinal: int) -> Iterator[None]:
        found.asked.append(("using", ordinal))
        try:
            yield
        finally:
            found.asked.append(("left", ordinal))

    monkeypatch.setattr(graphs, "using", using)
    monkeypatch.setattr(graphs, "_made", [0])
    graphs._stream.cache_clear()
    yield found
    graphs._stream.cache_clear()


def launching(cuda: Cuda) -> Any:
    return lambda stream: cuda.asked.append(("launch", stream))


def test_launches_are_captured_on_a_stream_of_their_own(cuda: Cuda) -> None:
    again = graphs.graph_of(launching(cuda), 3, 1)
    assert again is not None and cuda.asked == [
        ("cuThreadExchangeStreamCaptureMode", 2), ("using", 3), ("cuStreamCreate", 1), ("cuStreamBeginCapture", OWN, 2),
        ("launch", OWN), ("cuStreamEndCapture", OWN), ("cuGraphInstantiate", GRAPH, 0), ("cuGraphDestroy", GRAPH), ("left", 3),
        ("cuThreadExchangeStreamCaptureMode", 0),
    ]  # fmt: skip
    function, arguments = again
    assert function(*arguments) == 0 and cuda.asked[-1] == ("cuGraphLaunch", LAUNCHED, 1)


def test_a_trial_has_two_events_in_the_graph(cuda: Cuda) -> None:
    """Who has waited for its end for long need not know; what may be under way is not destroyed."""
    trial = graphs.trial_of(launching(cuda), 0, 5)
    assert trial is not None
    assert [one for one in cuda.asked if one[0].startswith(("cuEvent", "cuStreamB", "launch", "cuStreamE"))] == [
        ("cuEventCreate", 0), ("cuEventCreate", 0), ("cuStreamBeginCapture", OWN, 2), ("cuEventRecordWithFlags", 901, OWN, 1),
        ("launch", OWN), ("cuEventRecordWithFlags", 902, OWN, 1), ("cuStreamEndCapture", OWN),
    ]  # fmt: skip
    cuda.asked.clear()
    assert trial.microseconds() is None and not cuda.asked
    assert trial.launch() == 0 and cuda.asked == [("cuGraphLaunch", LAUNCHED, 5)]
    cuda.refused, cuda.took = {"cuEventElapsedTime": NOT_READY}, 0.004
    assert trial.microseconds() is None
    cuda.refused = {}
    cuda.asked.clear()
    assert trial.microseconds() == pytest.approx(4.0)
    assert cuda.asked == [
        ("cuEventElapsedTime", 901, 902), ("cuGraphExecDestroy", LAUNCHED), ("cuEventDestroy", 901), ("cuEventDestroy", 902),
    ]  # fmt: skip
    slow, wrong = (graphs.trial_of(launching(cuda), 0, 0) for _ in range(2))
    slow.launch(), wrong.launch()
    cuda.asked.clear()
    cuda.refused = {"cuEventElapsedTime": NOT_READY}
    assert [slow.microseconds() for _ in range(16)] == [None] * 15 + [float("inf")]
    cuda.refused = {"cuEventElapsedTime": 700}
    assert wrong.microseconds() == float("inf")
    assert {*cuda.names} == {"cuEventElapsedTime"}


def test_a_trial_that_the_driver_refuses_to_launch(cuda: Cuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "function_called", lambda name: lambda *given: 700)
    trial = graphs.trial_of(launching(cuda), 0, 0)
    assert trial is not None and trial.launch() == 700 and trial.microseconds() == float("inf")


@pytest.mark.parametrize("make", [graphs.trial_of, graphs.graph_of])
@pytest.mark.parametrize("name", ["cuStreamCreate", "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate"])
def test_what_the_driver_refuses(cuda: Cuda, name: str, make: Any) -> None:
    """There is no graph then; the capture has ended, and this thread may do what it might before."""
    cuda.refused = {name: 1}
    assert make(launching(cuda), 0, 0) is None
    assert cuda.names[-2:] == ["left", "cuThreadExchangeStreamCaptureMode"]
    began, ended = (cuda.names.count(f"cuStream{word}Capture") for word in ("Begin", "End"))
    assert ended == began - (name == "cuStreamBeginCapture")
    assert cuda.names.count("cuGraphDestroy") == (name == "cuGraphInstantiate")


@pytest.mark.parametrize("name", ["cuEventCreate", "cuEventRecordWithFlags"])
def test_events_that_the_driver_refuses(cuda: Cuda, name: str) -> None:
    cuda.refused = {name: 1}
    assert graphs.trial_of(launching(cuda), 0, 0) is None
    assert cuda.names.count("cuStreamBeginCapture") == cuda.names.count("cuStreamEndCapture")


@pytest.mark.parametrize("make", [graphs.trial_of, graphs.graph_of])
def test_launches_that_are_refused_in_the_capture(cuda: Cuda, make: Any) -> None:
    def launch(stream: int) -> None:
        raise DeviceError("refused")

    assert make(launch, 0, 0) is None
    assert cuda.names[-3:] == ["cuStreamEndCapture", "left", "cuThreadExchangeStreamCaptureMode"]


def test_a_process_has_so_many(cuda: Cuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "_MOST", 2)
    assert [graphs.graph_of(launching(cuda), 0, 0) is None for _ in range(3)] == [False, False, True]
