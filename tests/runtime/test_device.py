"""Scratch memory, and what to compile for: all that needs no GPU.

Tests of prism/runtime/scratch.py.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from prism.runtime.device import arch_of
from prism.runtime.driver import DeviceError
from prism.runtime.scratch import Scratch, capturing
from tests.runtime.conftest import Status

# -- Scratch memory ---------------------------------------------------------------------------------------------------


def test_scratch_is_allocated_once_a_stream_and_tag(fake: Any) -> None:
    scratch = Scratch()
    first = scratch.get(0, 64, 1000)
    assert scratch.get(0, 64, 4096) == first and fake.allocated == [4096]
    others = {scratch.get(0, 65, 10), scratch.get(1, 64, 10), scratch.get(0, 64, 10, "tickets"), scratch.get(0, 0, 10)}
    assert len(others | {first}) == 5


def test_scratch_at_least_doubles(fake: Any) -> None:
    scratch = Scratch()
    first = scratch.get(0, 64, 5000)
    assert scratch.get(0, 64, 5001) != first
    assert fake.allocated == [5000, 10000]


def test_scratch_is_allocated_in_a_capture_and_is_no_part_of_it(fake: Any) -> None:
    scratch = Scratch()
    first = scratch.get(0, 64, 10)
    fake.capturing = 1
    assert scratch.get(0, 64, 10) == first
    larger, other = scratch.get(0, 64, 10_000), scratch.get(0, 65, 10)
    assert fake.allocated == [4096, 10_000, 4096] and fake.mode == 0
    assert fake.cleared == [(first, 4096, 64), (larger, 10_000, 777), (other, 4096, 777)]
    assert (scratch.get(0, 64, 10_000), scratch.get(0, 65, 10)) == (larger, other)
    fake.capturing = 0
    assert scratch.get(0, 65, 10) == other and fake.synchronised == 1, (
        "whose stream was not asked for its name in the capture"
    )


@pytest.mark.parametrize("stream", [0, 1])
def test_the_legacy_stream_beside_a_capture(stream: int, fake: Any) -> None:
    scratch = Scratch()
    fake.asking = 906  # it waits for a stream that is captured
    with pytest.raises(RuntimeError, match="legacy default stream, which waits for a stream that is being captured"):
        scratch.get(0, stream, 10)
    assert not fake.allocated


def test_the_mode_of_captures_is_put_back_where_memory_is_out(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.capturing = 1
    monkeypatch.setattr(fake, "cuMemAlloc", lambda nbytes: (Status(2), 0))
    with pytest.raises(DeviceError, match="allocating 4096 bytes of scratch memory"):
        Scratch().get(0, 64, 10)
    assert fake.mode == 0


@pytest.mark.parametrize(("status", "expected"), [(3, False), (201, False), (900, True), (906, True)])
def test_nothing_is_captured_where_no_gpu_was_used_yet(status: int, expected: bool, fake: Any) -> None:
    fake.asking = status  # not initialised, no context; two of captures that the default stream must not disturb
    assert capturing(0) is expected


def test_a_handle_that_means_another_stream_waits_for_the_old_ones_work(fake: Any) -> None:
    scratch = Scratch()
    first = scratch.get(0, 64, 10)
    fake.ids[64] = 1234
    assert scratch.get(0, 64, 10) == first and fake.synchronised == 1
    assert scratch.get(0, 64, 10) == first and fake.synchronised == 1


def test_the_default_stream_of_each_thread_has_its_own_scratch(fake: Any) -> None:
    scratch = Scratch()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(scratch.get, 0, 2, 10).result() != scratch.get(0, 2, 10)


def test_scratch_among_threads(fake: Any) -> None:
    scratch = Scratch()
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: scratch.get(0, 64, 10), range(400)))) == 1
    assert fake.allocated == [4096]


# -- Devices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capability", "supported", "arch"),
    [
        ((9, 0), None, "sm_90a"), ((9, 0), (80, 90), "sm_90a"), ((10, 0), (90, 100), "sm_100a"),
        ((8, 0), None, "sm_80"),
        ((8, 9), (80, 86, 89), "sm_89"), ((10, 3), (90, 100), "sm_100"), ((7, 5), None, "sm_75"),
        ((12, 1), None, "sm_121a"),
    ],
)  # fmt: skip
def test_what_to_compile_for(capability: tuple[int, int], supported: tuple[int, ...] | None, arch: str) -> None:
    assert arch_of(capability, supported) == arch


def test_devices_that_are_too_old_or_too_new() -> None:
    with pytest.raises(DeviceError, match="at least 7.5"):
        arch_of((6, 1))
    with pytest.raises(DeviceError, match="upgrade"):
        arch_of((13, 0), (90, 100))
