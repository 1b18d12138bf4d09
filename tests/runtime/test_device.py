"""Scratch memory, and what to compile for: all that needs no GPU.

Tests of prism/runtime/scratch.py.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from prism.runtime.device import arch_of
from prism.runtime.driver import DeviceError
from prism.runtime.scratch import Scratch, capturing

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


def test_scratch_is_not_allocated_in_a_capture(fake: Any) -> None:
    scratch = Scratch()
    first = scratch.get(0, 64, 10)
    fake.capturing = 1
    assert scratch.get(0, 64, 10) == first
    for stream, nbytes in ((64, 10_000), (65, 10)):
        with pytest.raises(RuntimeError, match="before the capture"):
            scratch.get(0, stream, nbytes)
    assert fake.allocated == [4096]


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
