"""In the capture of a graph a launch is early behind kernels that let it begin, and plain behind all else."""

import ctypes
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from prism.host.warm import Launched, Warm
from prism.runtime.driver import DeviceError
from prism.runtime.entry import Entry, EntryParameter
from prism.runtime.launch import Launcher

EARLY, PLAIN = (6,), ()  # a launch's attributes
PLAINLY = Entry("k", "", "sm_90a", (EntryParameter("n", "scalar", "int32"),))
EARLY_ENTRY = replace(PLAINLY, programmatic=True)


class Node(NamedTuple):
    """A node of a graph, of the driver's kind, 0 is a kernel; and a kernel's parameters."""

    kind: int
    func: int = 0
    kern: int = 0


MINE, MINE_BY_KERNEL, THEIRS, COPY = Node(0, 11), Node(0, 0, 22), Node(0, 31, 32), Node(1, 11)


def launcher(entry: Entry = EARLY_ENTRY, function: int = 11) -> Launcher:
    """Return one whose kernel has the handles `function` and, as the double, that of the kernel in its library."""
    here = SimpleNamespace(ordinal=0, sm_count=2)
    handles = {"function": function, "kernel": 2 * function}
    loaded: Any = SimpleNamespace(**handles, device=here, occupancy=lambda threads, shared: 2)
    return Launcher(entry, loaded)


@pytest.mark.parametrize(
    ("before", "kinds"),
    [
        ([], EARLY), ([MINE], EARLY), ([MINE_BY_KERNEL], EARLY), ([MINE, MINE_BY_KERNEL], EARLY),
        ([THEIRS], PLAIN), ([COPY], PLAIN), ([MINE, THEIRS], PLAIN), ([THEIRS, MINE], PLAIN), ([MINE, COPY], PLAIN),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [2, 99, 2**63 + 8])
def test_behind(fake: Any, before: list[Node], kinds: Any, stream: int) -> None:
    one = launcher()
    one(4, 64, stream, (7,))
    fake.capturing, fake.before = 1, before
    one(4, 64, stream, (7,))
    fake.capturing = 0
    one(4, 64, stream, (7,))
    assert fake.kinds == [EARLY, kinds, EARLY] and fake.questions == 3 * [stream]
    assert fake.launched == 3 * [(11, 4, 1, 1, 64, 1, 1, 0, stream, 7)]


def test_only_kernels_that_wait_by_themselves_let_the_next_begin(fake: Any) -> None:
    one = launcher()
    launcher(function=13), launcher(PLAINLY, 17)
    fake.capturing = 1
    for node in (Node(0, 13), Node(0, 0, 26), Node(0, 17), Node(0, 0, 34), Node(0, 0, 0)):
        fake.before = [node]
        one(4, 64, 99, (7,))
    assert fake.kinds == [EARLY, EARLY, PLAIN, PLAIN, PLAIN]


def test_what_is_not_asked(fake: Any) -> None:
    """The legacy default stream, whose handles are 0 and 1, of which no graph can be captured; and for what is never early."""
    for stream in (0, 1):
        launcher()(4, 64, stream, (7,))
    launcher(PLAINLY)(4, 64, 99, (7,))
    assert fake.questions == [] and fake.kinds == [EARLY, EARLY, PLAIN]


def test_a_capture_that_the_driver_can_tell_nothing_of(fake: Any) -> None:
    """As one that is no longer valid: what is wrong is the launch to tell."""
    fake.capturing, fake.asking, fake.status, fake.before = 2, 901, 901, [THEIRS]
    with pytest.raises(DeviceError, match="launching `k`"):
        launcher()(4, 64, 99, (7,))
    assert fake.kinds == [EARLY]


def test_held_launches_tell_whether_they_are_captured(fake: Any) -> None:
    held = launcher().prepare(4, 64, 97, (7,))
    captured, configuration = held.captured, held.configuration
    assert captured is not None
    for stream, capturing in ((98, 1), (99, 0), (2**63 + 8, 2)):
        configuration.stream, fake.capturing = stream, capturing
        assert captured() is (capturing != 0) and fake.questions[-1] == stream
    fake.capturing, fake.asking = 0, 201  # this thread has used no GPU as yet
    assert captured()
    fake.asking = 0
    assert not captured() and held.function(*held.arguments) == 0 and fake.kinds == [EARLY]
    assert launcher(PLAINLY).prepare(4, 64, 97, (7,)).captured is None


def test_launches_made_again(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prism.runtime.device.count", lambda: 1)
    entry = replace(EARLY_ENTRY, parameters=tuple(EntryParameter(name, "pointer", "int32") for name in "xy"))
    warm = Warm([Launched(launcher(entry), 4, 64, (0, 0), ((0, 0, 0), (1, 1, 0)))], 0)
    for stream in (99, 99, 0, 99):
        warm((1, 2), stream)
    assert fake.kinds == 4 * [EARLY] and fake.questions == [99, 99, 99]
    fake.capturing = 1
    for before, kinds in (([THEIRS], PLAIN), ([MINE], EARLY), ([COPY], PLAIN)):
        fake.before = before
        warm((3, 4), 99)
        assert fake.kinds[-1] == kinds and fake.launched[-1][-1] == 3
    fake.capturing = 0
    warm((5, 6), 99)
    assert fake.kinds[-1] == EARLY and [found[-1] for found in fake.launched] == [1, 1, 1, 1, 3, 3, 3, 5]


def test_the_drivers_function_is_asked_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream in whole, and an int for the answer."""
    from prism.runtime import extended_launch

    seen: list[tuple[int, int]] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int))
    def asked(stream: int, answer: Any) -> int:
        seen.append((stream, answer[0]))
        answer[0] = 1 if stream == 2**63 + 8 else 0
        return 0

    addresses = {b"cuStreamIsCapturing": asked, b"cuLaunchKernelEx": asked}
    look_up = lambda name, version, flags: (0, ctypes.cast(addresses[name], ctypes.c_void_p).value, 0)
    monkeypatch.setattr(extended_launch, "driver", lambda: SimpleNamespace(cuGetProcAddress=look_up))
    extended_launch.function_called.cache_clear()
    try:
        call = extended_launch.Call(11, 0, 0, extended_launch.PROGRAMMATIC)
        found = []
        for stream in (2**63 + 8, 5, 2**63 + 8):
            call.settle(1, 32, stream, True)
            found.append(call.is_captured())
    finally:
        extended_launch.function_called.cache_clear()
    assert found == [True, False, True] and [stream for stream, _ in seen] == [2**63 + 8, 5, 2**63 + 8]
