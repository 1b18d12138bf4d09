"""Numbers that kernels write into the host's memory, where CUDA only looks so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import prism.lib as lib
from prism.host import pinned
from prism.runtime.driver import DeviceError
from tests.host.stand_ins import Gpu, array, stand_in


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        yield found


def test_results_have_as_many_elements_as_the_kernel_says(gpu: Gpu) -> None:
    keys, values = array(5000, "int32"), array(5000)
    for number in (5000, 1, 0, 37):  # the first call decides, the others are warm
        gpu.count = number
        unique, sums = lib.reduce_by_key(keys, values)
        assert unique.shape == sums.shape == (number,) and str(unique.dtype) == "int32"
    words = {launch[4][4] for launch in gpu.launched}
    assert gpu.decided == 1 and len(words) == 1  # given back each time
    gpu.count = 3
    assert lib.reduce_by_key(keys, values, stream=9)[0].shape == (3,)
    assert gpu.launched[-1][3] == 9


def test_a_number_that_is_there_is_not_waited_for(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned, "driver", lambda: pytest.fail("the driver is asked"))
    word = pinned._WORDS()
    pinned._free.append(word)

    def launch(pointers: tuple[int, ...], stream: int) -> None:
        assert pointers == (5, 6, pinned.ctypes.addressof(word)) and stream == 7 and list(word) == [-1, -1]
        word[0] = 1 << 40
        if two:
            word[1] = 3

    for two in (False, True):
        wanted = (1 << 40, 3)[: 1 + two]
        assert pinned.count(launch, (5, 6), 7, 0, 1 + two) == wanted and pinned._free == [word]


def test_what_is_not_written_is_an_error_and_the_word_is_not_taken_again(gpu: Gpu) -> None:
    """The kernel may yet write it, and would give another call its number."""
    keys, values = array(5000, "int32"), array(5000)
    lib.reduce_by_key(keys, values)
    before = len(pinned._free)
    gpu.count = None
    with pytest.raises(DeviceError, match="the number of results was not written"):
        lib.reduce_by_key(keys, values)
    assert len(pinned._free) == before - 1


def test_nothing_is_waited_for_in_a_capture(gpu: Gpu) -> None:
    keys, values = array(5000, "int32"), array(5000)
    lib.reduce_by_key(keys, values)
    gpu.capturing = True
    launched = len(gpu.launched)
    with pytest.raises(RuntimeError, match="pass count=True"):
        lib.reduce_by_key(keys, values)
    assert len(gpu.launched) == launched
