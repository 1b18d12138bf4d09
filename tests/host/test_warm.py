"""Launches made again with other addresses: what the driver gets, and when it gets it the longer way.

Tests of prism/runtime/extended_launch.py.
"""

from __future__ import annotations

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism.host.warm import Cleared, Launched, Warm
from prism.runtime import device, extended_launch, launch
from prism.runtime.arrays import ArrayInfo
from prism.runtime.driver import DeviceError
from prism.runtime.entry import Entry, EntryParameter
from prism.runtime.launch import Launcher

POINTERS = tuple(EntryParameter(name, "pointer", "int32") for name in "xyw")
PARAMETERS = (*POINTERS, EntryParameter("n", "scalar", "int16"))
ENTRY = Entry("k", "", "sm_90a", PARAMETERS, thread_multiple=32)


class Gpu:
    """A driver that reads a launch's arguments, the way the driver does, when all who launch at once have come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.launched: list[tuple[int, ...]] = []
        self.statuses: list[int] = []  # of the next launches
        self.together = threading.Barrier(1)
        self.current, self.pushed = 0, 0
        ok = type("Ok", (int,), {"name": "CUDA_SUCCESS"})(0)
        names = {
            "cuCtxGetDevice": lambda: (ok, self.current),
            "cuDeviceGetCount": lambda: (ok, self.devices),
            "cuCtxPushCurrent": self._push,
            "cuCtxPopCurrent": lambda: (ok, 0),
            "CUresult": lambda status: type("Status", (int,), {"name": f"E{status}"})(status),
        }
        self.devices = 1
        fake = SimpleNamespace(**names)
        monkeypatch.setattr(device, "driver", lambda: fake)
        monkeypatch.setattr(launch, "driver", lambda: fake)
        monkeypatch.setattr(device, "device", lambda ordinal: SimpleNamespace(context=ordinal))
        monkeypatch.setattr(extended_launch, "launch_function", lambda: self.launch)
        device.count.cache_clear()

    def _push(self, context: Any) -> Any:
        self.pushed += 1
        return (0,)

    def launch(self, configuration: Any, function: Any, arguments: Any, extra: Any) -> int:
        self.together.wait(10)
        c = configuration._obj
        at = (ctypes.c_void_p * 4).from_address(ctypes.cast(arguments, ctypes.c_void_p).value)
        values = [ctypes.c_int64.from_address(at[k]).value for k in range(3)]
        status = self.statuses.pop(0) if self.statuses else 0
        if not status:
            self.launched.append(
                (c.blocks, c.threads, c.stream or 0, *values, ctypes.c_int16.from_address(at[3]).value)
            )
        return status

    def warm(self, ordinal: int = 0) -> Warm:
        loaded = SimpleNamespace(function=1, device=SimpleNamespace(ordinal=ordinal), occupancy=lambda *_: 1)
        launcher = Launcher(ENTRY, loaded)
        return Warm([Launched(launcher, 3, 64, (0, 0, 0, -7), ((0, 0, 0), (1, 1, 0), (2, 2, 8)))], ordinal)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    yield Gpu(monkeypatch)
    device.count.cache_clear()


@pytest.mark.parametrize("stream", [0, 1])
def test_on_the_default_stream_only_the_addresses_are_written(gpu: Gpu, stream: int) -> None:
    warm = gpu.warm()
    pairs = [(1 << 40, 5), (0, 2**64 - 1), (16, 48), (1 << 40, 5)]
    for x, y in pairs:
        warm((x, y, 4096), stream)
    signed = [(x, y - 2**64 if y >> 63 else y) for x, y in pairs]
    assert gpu.launched == [(3, 64, stream, x, y, 4104, -7) for x, y in signed]


def test_launches_of_several_threads_have_arguments_of_their_own(gpu: Gpu) -> None:
    warm = gpu.warm()
    warm((1, 2, 4096), 0)
    for count in (2, 3, 2):
        gpu.together = threading.Barrier(count)  # none returns before all have written their addresses
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda k: warm((100 + k, 200 + k, 4096), 0), range(count)))
        assert sorted(gpu.launched[-count:]) == [(3, 64, 0, 100 + k, 200 + k, 4104, -7) for k in range(count)]


def test_what_the_driver_refuses(gpu: Gpu) -> None:
    warm = gpu.warm()
    gpu.statuses = [700]
    with pytest.raises(DeviceError, match="launching `k` with 3 blocks of 64 threads: E700"):
        warm((1, 2, 4096), 0)
    warm((1, 2, 4096), 0)
    warm((1, 2, 4096), 0)
    gpu.statuses = [700, 700]
    with pytest.raises(DeviceError, match="E700"):
        warm((3, 4, 4096), 0)
    warm((5, 6, 4096), 0)
    assert [found[3:5] for found in gpu.launched] == [(1, 2), (1, 2), (5, 6)]


def test_a_thread_that_has_used_no_gpu(gpu: Gpu) -> None:
    """It has no current context, which the driver says; the longer way makes one current."""
    warm = gpu.warm()
    warm((1, 2, 4096), 0)
    warm((1, 2, 4096), 0)
    gpu.statuses = [201]
    warm((3, 4, 4096), 0)
    assert [found[3:5] for found in gpu.launched] == [(1, 2), (1, 2), (3, 4)]


def test_another_device_is_made_current_where_there_are_several(gpu: Gpu) -> None:
    gpu.devices = 2
    warm = gpu.warm(1)
    gpu.current = 1
    warm((1, 2, 4096), 0)
    warm((1, 2, 4096), 0)
    assert gpu.pushed == 0
    gpu.current = 0
    warm((3, 4, 4096), 0)
    assert gpu.pushed == 1 and gpu.launched[-1] == (3, 64, 0, 3, 4, 4104, -7)
    gpu.current = 1
    warm((5, 6, 4096), 0)
    assert gpu.pushed == 1 and len(gpu.launched) == 4


def test_a_cooperative_kernel_is_packed_each_time(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a word of the stream's behind its own parameters: another one on another stream."""
    asked: list[int] = []

    def word(ordinal: int, stream: int, size: int, tag: str) -> int:
        asked.append(stream)
        return 64 + stream

    monkeypatch.setattr(launch, "SCRATCH", SimpleNamespace(get=word))
    entry = replace(ENTRY, parameters=ENTRY.parameters[:3], cooperative=True)
    loaded = SimpleNamespace(function=1, device=SimpleNamespace(ordinal=0), occupancy=lambda *_: 1)
    warm = Warm([Launched(Launcher(entry, loaded), 3, 64, (0, 0, 0), ((0, 0, 0), (1, 1, 0), (2, 2, 8)))], 0)
    for stream in (0, 7, 0):
        warm((1, 2, 4096), stream)
    assert asked == [0, 7, 0] and gpu.launched == [(3, 64, s, 1, 2, 4104, 64 + s) for s in asked]


MAPS = Entry("m", "", "sm_90a", (EntryParameter("a", "map", "float16", box=(64, 64), swizzle=128), *PARAMETERS[1:]))


def test_tensor_maps_are_kept_for_the_places_of_arrays(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch on the same memory encodes nothing; one on other memory does, and what is kept has an end."""
    encoded: list[tuple[int, tuple[int, ...]]] = []

    def encode(parameter: EntryParameter, info: ArrayInfo) -> bytes:
        encoded.append((info.pointer, info.shape))
        return info.pointer.to_bytes(8, "little") + bytes(120)

    monkeypatch.setattr("prism.runtime.tensor_maps.encode", encode)
    monkeypatch.setattr("prism.host.warm._MOST", 2)
    loaded = SimpleNamespace(function=1, device=SimpleNamespace(ordinal=0), occupancy=lambda *_: 1)
    facts = ArrayInfo("cupy", "cuda", np.dtype("float16"), (64, 64), (128, 2), 0, False, 0)
    step = Launched(Launcher(MAPS, loaded), 3, 64, (0, 0, 0, -7), ((1, 1, 0), (2, 1, 16)), maps=((0, 0, 256, facts),))
    warm = Warm([step], 0)
    for _ in range(4):
        warm((1 << 40, 48), 5)
    assert gpu.launched == [(3, 64, 5, (1 << 40) + 256, 48, 64, -7)] * 4
    assert encoded == [((1 << 40) + 256, (64, 64))] * 2, "for the first launch, and for the one that is kept"
    places = [(1 << 41, 48), (1 << 40, 64), (1 << 40, 48)]
    for addresses in places:
        warm(addresses, 5)
    assert [one[3:6] for one in gpu.launched[4:]] == [(x + 256, y, y + 16) for x, y in places]
    assert len(warm._elsewhere) <= 2


def test_tensor_maps_and_memory_beside_the_arrays(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is packed is kept for both: each stream has memory of its own."""
    encoded: list[int] = []

    def encode(parameter: EntryParameter, info: ArrayInfo) -> bytes:
        encoded.append(info.pointer)
        return info.pointer.to_bytes(8, "little") + bytes(120)

    monkeypatch.setattr("prism.runtime.tensor_maps.encode", encode)
    loaded = SimpleNamespace(function=1, device=SimpleNamespace(ordinal=0), occupancy=lambda *_: 1)
    facts = ArrayInfo("cupy", "cuda", np.dtype("float16"), (64, 64), (128, 2), 0, False, 0)
    maps, beside = ((0, 0, 0, facts),), ((2, 0, 8),)
    step = Launched(Launcher(MAPS, loaded), 3, 64, (0, 0, 0, -7), ((1, 1, 0),), beside, maps)
    warm = Warm([step], 0, lambda stream: (4096 * stream, 0))
    one, other = (1 << 40, 48), (1 << 41, 64)
    calls = [(one, 5), (one, 5), (one, 6), (other, 6), (one, 5), (one, 6)]
    for addresses, stream in calls:
        warm(addresses, stream)
    assert gpu.launched == [(3, 64, stream, x, y, 4096 * stream + 8, -7) for (x, y), stream in calls]
    assert len(encoded) == 5, "of the three places: one is not launched again"


def plan_of_three(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> tuple[Warm, list[tuple[int, ...]]]:
    """Return memory beside the arrays cleared, a launch, part of an array cleared, and a launch; and what was cleared."""
    cleared: list[tuple[int, ...]] = []
    number = lambda one: getattr(one, "value", one) or 0
    clear = lambda *given: cleared.append((len(gpu.launched), *map(number, given))) or 0
    monkeypatch.setattr(extended_launch, "driver", device.driver)
    monkeypatch.setattr(extended_launch, "_clearing", lambda: clear)
    loaded = SimpleNamespace(function=1, device=SimpleNamespace(ordinal=0), occupancy=lambda *_: 1)
    first = Launched(Launcher(ENTRY, loaded), 3, 64, (0, 0, 0, -7), ((0, 0, 0), (1, 1, 16)), ((2, 1, 8),))
    second = Launched(Launcher(ENTRY, loaded), 5, 32, (0, 0, 0, 9), ((0, 1, 16), (1, 0, 0)), ((2, 0, 0),))
    steps = (Cleared(1, 8, 64, beside=True), first, Cleared(1, 16, 32, beside=False), second)
    return Warm(steps, 0, lambda stream: (4096 * (stream + 1), 1 << 20), alone=False), cleared


@pytest.mark.parametrize("stream", [0, 7])
def test_steps_are_made_in_their_order_on_new_addresses(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, stream: int) -> None:
    warm, cleared = plan_of_three(gpu, monkeypatch)
    places = [(1 << 40, 1 << 41), (1 << 40, 1 << 41), (512, 1 << 42), (1 << 43, 1024), (1 << 40, 1 << 41)]
    for x, y in places:
        warm((x, y), stream)
    words = 4096 * (stream + 1)
    for k, (x, y) in enumerate(places):
        assert gpu.launched[2 * k : 2 * k + 2] == [
            (3, 64, stream, x, y + 16, (1 << 20) + 8, -7), (5, 32, stream, y + 16, x, words, 9),
        ]  # fmt: skip
        assert cleared[2 * k : 2 * k + 2] == [
            (2 * k, (1 << 20) + 8, 0, 64, stream), (2 * k + 1, y + 16, 0, 32, stream),
        ]  # fmt: skip


def test_what_is_behind_a_step_that_is_refused_goes_the_longer_way(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is launched twice: a thread that has used no GPU is refused its first step, and only the others were made."""
    warm, cleared = plan_of_three(gpu, monkeypatch)
    for _ in range(2):
        warm((512, 1024), 0)
    gpu.statuses = [0, 201]
    warm((2048, 4096), 0)
    assert [found[:2] for found in gpu.launched[4:]] == [(3, 64), (5, 32)] and len(cleared) == 6
    gpu.statuses = [0, 700, 700]
    with pytest.raises(DeviceError, match="launching `k` with 5 blocks of 32 threads: E700"):
        warm((2048, 4096), 0)
    warm((512, 1024), 0)
    assert [found[3] for found in gpu.launched[6:]] == [2048, 512, 1040]


class Graphs:
    """Makes graphs: what they launch is noted, how often each is launched, and how long the GPU takes for a trial.

    `launched`: the number of a graph, or "trial", and the stream.
    """

    def __init__(self, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gpu, self.made, self.launched, self.statuses = gpu, [], [], []
        self.took: list[float | None] = [1.0]  # the last one again and again
        monkeypatch.setattr("prism.host.warm.trial_of", self.try_one)
        monkeypatch.setattr("prism.host.warm.graph_of", self.make)

    def captured(self, launch: Any, name: Any, stream: int) -> Any:
        before = len(self.gpu.launched)
        launch(77)
        found = self.gpu.launched[before:]
        del self.gpu.launched[before:]

        def run() -> int:
            status = self.statuses.pop(0) if self.statuses else 0
            if not status:
                self.launched.append((name, stream))
            return status

        return found, run

    def make(self, launch: Any, ordinal: int, stream: int) -> Any:
        found, run = self.captured(launch, len(self.made), stream)
        self.made.append(found)
        return run, ()

    def try_one(self, launch: Any, ordinal: int, stream: int) -> Any:
        _, run = self.captured(launch, "trial", stream)
        look = lambda: self.took.pop(0) if len(self.took) > 1 else self.took[0]
        return SimpleNamespace(launch=run, microseconds=look)


def test_steps_that_are_made_at_the_same_places_become_a_graph(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of these places, and this stream's memory; elsewhere the steps are launched, or are another graph."""
    made = Graphs(gpu, monkeypatch)
    warm, cleared = plan_of_three(gpu, monkeypatch)
    for _ in range(4):
        warm((512, 1024), 0)
    assert len(gpu.launched) == 8 and made.launched == []
    for _ in range(3):
        warm((512, 1024), 0)
    words = 4096
    assert made.made == [[(3, 64, 77, 512, 1040, (1 << 20) + 8, -7), (5, 32, 77, 1040, 512, words, 9)]]
    assert made.launched == [(0, 0)] * 3 and len(gpu.launched) == 8 and len(cleared) == 10
    warm((512, 2048), 0)
    warm((512, 1024), 7)
    assert [found[2:4] for found in gpu.launched[8:]] == [(0, 512), (0, 2064), (7, 512), (7, 1040)]
    made.statuses = [201]  # the thread has used no GPU
    warm((512, 1024), 0)
    assert len(gpu.launched) == 14 and len(made.launched) == 3
    for _ in range(5):
        warm((512, 2048), 0)
    assert len(made.made) == 2 and made.launched[3:] == [(1, 0)] * 3
    warm((512, 1024), 0)
    assert made.launched[-1] == (0, 0)


def of_one_step(waited: bool = False, maps: bool = False) -> Warm:
    """Return a launch of `k`, or of `m`."""
    loaded = SimpleNamespace(function=1, device=SimpleNamespace(ordinal=0), occupancy=lambda *_: 1)
    facts = ArrayInfo("cupy", "cuda", np.dtype("float16"), (64, 64), (128, 2), 0, False, 0)
    entry, slots = (MAPS, ()) if maps else (ENTRY, ((0, 0, 0),))
    of_maps = ((0, 0, 0, facts),) if maps else ()
    step = Launched(Launcher(entry, loaded), 3, 64, (0, 0, 0, -7), (*slots, (1, 1, 0), (2, 1, 0)), maps=of_maps)
    return Warm([step], 0, waited=waited)


@pytest.mark.parametrize(
    ("took", "stays"),
    [([11.0], True), ([None, None, 11.0], True), ([13.0, None, 11.0], True), ([13.0, float("inf"), 12.1, 5.0], False)],
)
@pytest.mark.parametrize("maps", [False, True])
def test_a_step_alone_is_a_graph_where_one_of_its_trials_ended_soon(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, maps: bool, took: list[float | None], stays: bool
) -> None:
    """As long as none has, and where none did, the step is launched; the other places need no trial of their own."""
    made = Graphs(gpu, monkeypatch)
    encode = lambda parameter, info: info.pointer.to_bytes(8, "little") + bytes(120)
    monkeypatch.setattr("prism.runtime.tensor_maps.encode", encode)
    warm, made.took = of_one_step(maps=maps), [*took, 1.0]
    for number, place in enumerate((512, 2048)):
        for _ in range(20):
            warm((place, 1024), 0)
        graphs = [name for name, _ in made.launched if name == number]
        # At the first place four before the trials, each of which is launched and looked at; elsewhere three, or four with maps.
        tried = len(took) + sum(one is not None for one in took)
        assert len(graphs) == ((17 - maps) if number else 16 - tried) * stays
    assert made.launched[0] == ("trial", 0) and len(made.launched) + len(gpu.launched) == 40
    assert len(made.made) == 2 * stays


def test_a_step_that_the_host_waits_for_is_a_graph(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Graphs(gpu, monkeypatch)
    warm = of_one_step(waited=True)
    for _ in range(8):
        warm((512, 1024), 0)
    assert made.launched == [(0, 0)] * 4 and len(gpu.launched) == 4


def test_graphs_are_few_and_others_are_launched(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Graphs(gpu, monkeypatch)
    monkeypatch.setattr("prism.host.warm._GRAPHS", 2)
    warm, _ = plan_of_three(gpu, monkeypatch)
    for place in (512, 1024, 2048):
        for _ in range(8):
            warm((place, 4096), 0)
    assert len(made.made) == 2 and {number for number, _ in made.launched} == {0, 1}
    assert sum(found[3] == 2048 for found in gpu.launched) == 8
    before = len(made.launched)
    monkeypatch.setattr("prism.host.warm._MOST", 4)  # what is kept of places goes, and graphs stay
    for place in (*range(4096, 8192, 512), 512, 1024):
        warm((place, 4096), 0)
    assert made.launched[before:] == [(0, 0), (1, 0)]


def test_places_that_are_always_others_are_not_counted_for_ever(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Graphs(gpu, monkeypatch)
    monkeypatch.setattr("prism.host.warm._MOST", 8)
    warm, _ = plan_of_three(gpu, monkeypatch)
    for place in range(512, 512 + 64 * 20, 64):
        warm((place, 1024), 0)
    assert not warm._seen
    for _ in range(8):
        warm((512, 1024), 0)
    assert made.launched == [] and len(gpu.launched) == 56


def test_a_graph_is_launched_by_one_thread_at_a_time(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes while it is under way launches the steps, and it is the graph again afterwards."""
    made = Graphs(gpu, monkeypatch)
    warm, _ = plan_of_three(gpu, monkeypatch)
    for _ in range(8):
        warm((512, 1024), 0)
    before, graphs = len(gpu.launched), len(made.launched)
    inside: list[bool] = []

    class Reentering(list[Any]):
        def append(self, one: Any) -> None:
            super().append(one)
            if not inside:
                inside.append(True)
                warm((512, 1024), 0)

    made.launched = Reentering(made.launched)
    warm((512, 1024), 0)
    assert len(gpu.launched) == before + 2 and len(made.launched) == graphs + 1 and len(made.made) == 1
    warm((512, 1024), 0)
    assert len(gpu.launched) == before + 2 and len(made.launched) == graphs + 2


def test_a_trial_is_looked_at_by_one_thread(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes meanwhile launches the step."""
    made = Graphs(gpu, monkeypatch)
    monkeypatch.setattr("prism.host.warm._TRIALS", 1)
    warm = of_one_step()
    for _ in range(5):
        warm((512, 1024), 0)
    (trial,) = warm._trials

    def look() -> float:
        warm((512, 1024), 0)
        return 1.0

    trial.microseconds = look
    before = len(gpu.launched)
    warm((512, 1024), 0)
    assert len(gpu.launched) == before + 2 and made.launched == [("trial", 0)] and not made.made
    warm((512, 1024), 0)
    assert made.launched == [("trial", 0), (0, 0)]


@pytest.mark.parametrize(("devices", "statuses", "pushed"), [(1, [0], 0), (1, [201, 0], 1), (2, [0], 1)])
def test_memory_is_cleared_by_one_call(
    monkeypatch: pytest.MonkeyPatch, devices: int, statuses: list[int], pushed: int
) -> None:
    """Where there is one GPU, and the thread has used it; else it is made current first."""
    gpu, asked = Gpu(monkeypatch), []
    gpu.devices = devices
    results = iter(statuses)
    monkeypatch.setattr(extended_launch, "driver", device.driver)
    number = lambda one: getattr(one, "value", one)
    clear = lambda *given: asked.append(tuple(map(number, given))) or next(results)
    monkeypatch.setattr(extended_launch, "_clearing", lambda: clear)
    extended_launch.clear_memory(4096, 64, 7, 0)
    assert asked == [(4096, 0, 64, 7)] * len(statuses) and gpu.pushed == pushed


def test_memory_that_is_not_cleared_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(monkeypatch)
    monkeypatch.setattr(extended_launch, "driver", device.driver)
    monkeypatch.setattr(extended_launch, "_clearing", lambda: lambda *given: 1)
    with pytest.raises(DeviceError, match="clearing memory"):
        extended_launch.clear_memory(4096, 64, 7, 0)
    assert gpu.pushed == 1
