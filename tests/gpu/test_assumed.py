"""What a kernel assumes of its launch, on a GPU: tested on the host each time, on any stream, and as a graph captures it."""

import numpy as np
import pytest

from prism import LaunchError
from tests.lang.facts.test_assumptions import rows
from tests.lang.facts.test_cases import ALL, first_lanes

cupy = pytest.importorskip("cupy")


def test_a_launch_of_which_it_does_not_hold_is_refused():
    y = cupy.full(64, -1, "i4")
    for stream in (None, cupy.cuda.Stream(non_blocking=True)):
        y.fill(-1)
        cupy.cuda.Device().synchronize()
        with pytest.raises(LaunchError, match="which does not hold of this launch: n = 4, wide = 8"):
            rows[2, 16](y, 4, 8, stream=stream)
        rows[2, 16](y, 16, 8, stream=stream)
        with pytest.raises(LaunchError, match="wide = 17"):
            rows[2, 16](y, 16, 17, stream=stream)
        cupy.cuda.Device().synchronize()
        expected = np.where(np.arange(64) % 16 < 8, np.arange(64) // 16 * 8 + np.arange(64) % 16, -1)
        assert (cupy.asnumpy(y) == expected).all()


def test_a_captured_launch_is_tested_as_it_is_captured():
    y, stream = cupy.full(64, -1, "i4"), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
    with stream:
        rows[2, 16](y, 16, 8)
        stream.begin_capture()
        with pytest.raises(LaunchError):
            rows[2, 16](y, 4, 8)
        rows[2, 16](y, 16, 4)
        graph = stream.end_capture()
        y.fill(-1)
        graph.launch(stream)
        stream.synchronize()
    assert cupy.asnumpy(y)[:5].tolist() == [0, 1, 2, 3, -1]


@pytest.mark.parametrize("lanes", range(6))
def test_each_case_of_small_arguments(lanes):
    for apart in {0, 5 - lanes}:
        host, there = np.zeros(64, np.int32), cupy.zeros(64, "i4")
        first_lanes[1, 64](host, lanes, apart, template=ALL)
        first_lanes[1, 64](there, lanes, apart, template=ALL)
        assert (cupy.asnumpy(there) == host).all()
